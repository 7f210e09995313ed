/* SPDX-License-Identifier: MIT
 *
 * explain_help.c: the text of `simdattn explain --help`. */
#include "bench/explain/explain_options.h"

#include <stdio.h>

static const char help_text[] =
    "usage: simdattn explain --shape NAME [OPTION...]\n"
    "       simdattn explain --n-q N --n-k N --d N [OPTION...]\n"
    "\n"
    "Shows which kernels a call runs on this machine, what decided that, and why\n"
    "every other candidate was not taken. Nothing is measured: times and errors are\n"
    "those that `simdattn tune` has put into the profile, and those of --results.\n"
    "\n"
    "The call:\n"
    "  --op NAME          fused (the default: a whole attention, also as a chain),\n"
    "                     qk, softmax, av, exp, tanh, sigmoid, additive, linear or gru\n"
    "  --shape NAME       a named shape, or the beginning of one name; `simdattn bench\n"
    "                     --list --preset full` has them. What else is given changes it\n"
    "  --n-q N            query rows\n"
    "  --n-k N            keys\n"
    "  --d N              features of queries and keys\n"
    "  --d-v N            features of values (default: as --d)\n"
    "  --heads N          query heads (default: 1)\n"
    "  --kv-heads N       KV heads (default: as --heads)\n"
    "  --batch N          entries of the batch (default: 1)\n"
    "  --n N              length of an array, for exp, tanh and sigmoid; units of a\n"
    "                     gru\n"
    "  --packed           weights are packed, for linear, whose --n-q are rows, --n-k\n"
    "                     outputs and --d inputs\n"
    "  --causal           no key after the query\n"
    "  --window L,R       L keys before and R after the query's own; -1 is no limit\n"
    "  --mask KIND        bool or additive\n"
    "  --strided          tensors are [batch, rows, heads, features], so that rows of\n"
    "                     a head do not follow one another\n"
    "  --scores           the call returns its scores too\n"
    "\n"
    "Its options:\n"
    "  --threads N        the most threads that work on it (default: 1)\n"
    "  --isa NAME         highest ISA level to use, as SATTN_ISA\n"
    "  --kernel NAMES     kernels to use, separated by commas, as SATTN_KERNEL\n"
    "  --plan NAME        fused or chain\n"
    "  --key-splits N     ranges that the keys are cut into\n"
    "  --profile FILE     this profile, as SATTN_PROFILE names one; none: no profile\n"
    "\n"
    "What is shown:\n"
    "  --results FILE     beside them times and errors of the same shape from\n"
    "                     `simdattn bench --out FILE`, if CPU, kernels and compiler\n"
    "                     are those of here\n"
    "  --json             one JSON document on standard output\n"
    "  --help             this text\n"
    "\n"
    "Exit codes: 0 good, 2 wrong usage, a profile or result file that cannot be read,\n"
    "or a call that the library refuses.\n";

void sattn_explain_help(void)
{
    fputs(help_text, stdout);
}
