/* SPDX-License-Identifier: MIT
 *
 * explain_given.h: the options of `simdattn explain` as they were given, before it is known what
 * they are about. */
#ifndef SATTN_BENCH_EXPLAIN_EXPLAIN_GIVEN_H
#define SATTN_BENCH_EXPLAIN_EXPLAIN_GIVEN_H

#include "bench/explain/explain_options.h"

typedef enum sattn_extent {
    SATTN_EXTENT_N_Q,
    SATTN_EXTENT_N_K,
    SATTN_EXTENT_D,
    SATTN_EXTENT_D_V,
    SATTN_EXTENT_HEADS,
    SATTN_EXTENT_KV_HEADS,
    SATTN_EXTENT_BATCH,
    SATTN_EXTENT_LENGTH, /* of an array; of gated units their number */
    SATTN_EXTENTS
} sattn_extent;

/* "--n-q" */
const char *sattn_extent_option(sattn_extent extent);

typedef struct sattn_explain_given {
    sattn_explain_options *options;
    const sattn_shape *named;       /* or NULL */
    int64_t extents[SATTN_EXTENTS]; /* 0: not given */
    bool is_causal, is_strided, is_packed;
    sattn_mask_kind mask;
} sattn_explain_given;

/* Named shapes by number: those of `bench`, then those of `tune --verify`; NULL: no more. */
const sattn_shape *sattn_explain_shape_at(size_t index);

/* Into a const sattn_shape *: a named shape, or the only one whose name begins so (a
 * sattn_option_fn). False: there is none, or several; `error` says it. */
bool sattn_explain_set_shape(void *into, const char *name, char *error, size_t error_size);

/* Makes the shape of the options from what was given: the extents change the named shape, if there
 * is one. False: something is missing or does not go together, and a sentence says what. */
bool sattn_explain_complete(sattn_explain_given *given);

#endif
