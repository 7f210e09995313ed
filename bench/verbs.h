/* SPDX-License-Identifier: MIT
 *
 * verbs.h: the subcommands of the program. Each gets the arguments after its name and returns the
 * exit code. */
#ifndef SATTN_BENCH_VERBS_H
#define SATTN_BENCH_VERBS_H

typedef enum sattn_exit {
    SATTN_EXIT_GOOD = 0,
    SATTN_EXIT_FAILED = 1,   /* a check or a kernel failed, or a result could not be written */
    SATTN_EXIT_USAGE = 2,    /* wrong usage, or input that cannot be read */
    SATTN_EXIT_NOTHING = 3,  /* nothing was selected or compared */
    SATTN_EXIT_SIGNAL = 128, /* and the signal's number: ended early, as shells say it */
} sattn_exit;

typedef int sattn_verb_fn(int argc, char **argv);

sattn_verb_fn sattn_verb_info;
sattn_verb_fn sattn_verb_bench;
sattn_verb_fn sattn_verb_check;
sattn_verb_fn sattn_verb_tune;
sattn_verb_fn sattn_verb_explain;
sattn_verb_fn sattn_verb_conform;

#endif
