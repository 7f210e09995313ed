/* SPDX-License-Identifier: MIT
 *
 * tune_help.c: the text of `simdattn tune --help`. */
#include "bench/tune/tune_options.h"

#include <stdio.h>

static const char help_text[] =
    "usage: simdattn tune [OPTION...]\n"
    "\n"
    "Measures for each class of calls which kernels are the fastest on this machine, and writes "
    "that\n"
    "into a profile, which the library reads. Kernels are verified first and then raced, "
    "interleaved\n"
    "and in random order, until the fastest is ahead by more than what the rounds differ in; in a "
    "tie\n"
    "the default is kept. Classes of the model shapes come first, then single steps, decode\n"
    "with other numbers of keys, other shapes, and tensors that are interleaved.\n"
    "\n"
    "  --budget SECONDS  time for all of it (default: 60)\n"
    "  --max-error E     take only what is measured to stay within this error, in the unit of the "
    "op\n"
    "                    (docs/numerics.md), beside its bound; other choices for these classes go\n"
    "  --op NAMES        fused (whole attentions, in whatever way), qk, softmax, av, exp, tanh,\n"
    "                    sigmoid, additive, linear, gru\n"
    "  --shape NAMES     the classes of these shapes alone (see --list)\n"
    "  --threads N,...   numbers of threads that calls may use, such as 1,2 (default: 1)\n"
    "  --isa NAMES       tune calls that are capped to these ISA levels (default: no cap but\n"
    "                    that of SATTN_ISA)\n"
    "  --out FILE        the profile (default: the file that SATTN_PROFILE names, else where the\n"
    "                    library looks: simdattn/profile.json in $XDG_CONFIG_HOME or ~/.config)\n"
    "  --fresh           measure again what the file has\n"
    "  --seed N          of the random orders (default: 1)\n"
    "  --verify          measure no profile, but what the profile is worth: the time of what it "
    "has\n"
    "                    calls take over the best of a fresh run, on shapes that are not those it "
    "was\n"
    "                    made with\n"
    "  --list            classes and the shapes that stand for them, and run nothing\n"
    "  --json            one document on standard output instead of the table\n"
    "  --help            this text\n"
    "\n"
    "NAMES are separated by commas. What is finished is in the file every few seconds. "
    "Interrupted\n"
    "(SIGINT, SIGTERM, SIGHUP) or out of time, the same command goes on where it ended: classes "
    "that\n"
    "are complete in a profile of this machine, build and --max-error are kept.\n"
    "\n"
    "Exit codes: 0 good, 1 a default kernel is wrong or refused, a class could not be tuned, or "
    "the\n"
    "profile cannot be written, 2 wrong usage, 3 nothing matched, nothing was exact enough for\n"
    "--max-error, there is no profile to verify, or no race that verifies it was decided, 128 and\n"
    "the signal's number if interrupted.\n";

void sattn_tune_help(void)
{
    fputs(help_text, stdout);
}
