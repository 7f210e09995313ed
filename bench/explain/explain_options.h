/* SPDX-License-Identifier: MIT
 *
 * explain_options.h: the options of `simdattn explain`: one call, and what is known of its kernels.
 */
#ifndef SATTN_BENCH_EXPLAIN_EXPLAIN_OPTIONS_H
#define SATTN_BENCH_EXPLAIN_EXPLAIN_OPTIONS_H

#include "bench/shapes.h"
#include "dispatch/registry.h"

typedef struct sattn_explain_options {
    sattn_op op;       /* fused: a whole attention, in whatever way */
    sattn_shape shape; /* that was named, with the extents that were given; no name: none was */
    bool is_changed;   /* it is not the named one any more */
    bool has_window;
    int64_t window_left, window_right; /* as in sattn_attention_args; shape.window may not tell */
    bool has_scores;                   /* the call returns its scores */
    int threads, key_splits;
    /* As sattn_options takes them; NULL: not given. */
    const char *isa, *kernels, *plan;
    const char *profile, *results; /* files, or NULL */
    bool json, help;
} sattn_explain_options;

/* False: wrong usage or no memory; a sentence about it has gone to stderr. */
bool sattn_explain_options_parse(int argc, char **argv, sattn_explain_options *options);

void sattn_explain_help(void);

#endif
