/* SPDX-License-Identifier: MIT
 *
 * bench_help.c: the text of `simdattn bench --help`. */
#include "bench/bench_options.h"

#include <stdio.h>

static const char help_text[] =
    "usage: simdattn bench [OPTION...]\n"
    "\n"
    "Verifies each kernel against the double-precision oracle, then times it in windows that\n"
    "alternate with equally long windows of the loop that bounds it. Kernels of one shape are\n"
    "interleaved. Without options: --op fused --preset quick.\n"
    "\n"
    "  --op NAMES       fused and chain (whole attentions; both together are compared in one\n"
    "                   table), qk, softmax, av (the steps of the chain), exp, tanh,\n"
    "                   sigmoid (arrays), additive, linear, gru (parts of layers), decoder (a "
    "step\n"
    "                   of one, and its parts), self (self-attention layers), call (what\n"
    "                   sattn_plan_run and sattn_attention add to their kernel);\n"
    "                   without --preset each on shapes that show what limits it\n"
    "  --preset NAME    quick, models, decode, real; data: numbers and masks that are hard, "
    "beside\n"
    "                   easy ones; limits: the figures to reach, and how near this machine comes,\n"
    "                   row by row in ten minutes; lecture: decoders step by step, layers and "
    "their\n"
    "                   scores in three minutes; full: every op on every shape, which takes "
    "long\n"
    "  --shape NAMES    these shapes instead of a preset's (see --list)\n"
    "  --kernel NAMES   these kernels alone, ranked for the shape or not (without it, the row "
    "marked\n"
    "                   * is the call of a user who names none)\n"
    "  --isa NAMES      kernels of these ISA levels only\n"
    "  --cache STATE    warm, cold or both: one set of buffers again and again, or so many that\n"
    "                   none is in the last-level cache; cold is for shapes with few query rows\n"
    "                   and for softmax, gru and arrays (default: warm; both in preset decode)\n"
    "  --threads NAMES  numbers of threads, such as 1,2: rows for each, interleaved, on cores of\n"
    "                   their own (default: 1)\n"
    "  --peers          other libraries beside ours, on the same buffers in the same rounds, on "
    "one\n"
    "                   thread: OpenBLAS, oneDNN, PyTorch, ONNX Runtime, as far as they are here\n"
    "  --seconds S      measuring time per row (default: 0.8 in quick and real and for --shape,\n"
    "                   what ten minutes allow in limits, else 0.4)\n"
    "  --dataset DIR    captured tensors for the minilm shapes\n"
    "  --list           names of shapes and rows (in limits goals too), and run nothing\n"
    "  --out FILE       write the results as they come, in Google Benchmark's JSON schema\n"
    "  --json           the same document on standard output instead of the table\n"
    "  --help           this text\n"
    "\n"
    "NAMES are separated by commas. Rows are named "
    "<kernel>/<shape>/<data>/<warm|cold>/t<threads>.\n"
    "Scalar and autovec rows together get 0.2 s of a round: where that is short of the whole call\n"
    "they run on fewer heads, or rows of one head, and say so; their times are scaled up.\n"
    "\n"
    "Options that begin with --benchmark_ are Google Benchmark's: --benchmark_filter=REGEX (POSIX\n"
    "extended, against row names; a leading '-' inverts it), --benchmark_list_tests and\n"
    "--benchmark_out=FILE, where every round is a repetition with its measured time as manual\n"
    "time. --benchmark_format=console|json|csv shows its output instead of the table.\n"
    "\n"
    "Interrupted (SIGINT, SIGTERM, SIGHUP) it ends soon, with all that is finished shown and\n"
    "written; a second signal ends it at once.\n"
    "\n"
    "Exit codes: 0 good, 1 a kernel failed, 2 wrong usage or unreadable input, 3 nothing matched,\n"
    "128 and the signal's number if interrupted.\n";

void sattn_bench_help(void)
{
    fputs(help_text, stdout);
}
