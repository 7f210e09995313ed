/* SPDX-License-Identifier: MIT
 *
 * explain_results.h: what a result file of `simdattn bench --out` has of a call's candidates. */
#ifndef SATTN_BENCH_EXPLAIN_EXPLAIN_RESULTS_H
#define SATTN_BENCH_EXPLAIN_EXPLAIN_RESULTS_H

#include "bench/environment/environment.h"
#include "bench/explain/explain_rows.h"

#include <jansson.h>

enum { SATTN_EXPLAIN_NOTE = 512 };

typedef struct sattn_explain_results {
    const char *path;              /* NULL: no file was given */
    json_t *document;              /* NULL: not used */
    char note[SATTN_EXPLAIN_NOTE]; /* why it is not used, or "" */
    size_t n_taken;                /* candidates that it has a row of */
} sattn_explain_results;

/* The call that rows have to be of. */
typedef struct sattn_explain_wanted {
    const char *op;    /* of a single step or function; "" of an attention, whose plan it is */
    const char *shape; /* as sattn_shape_describe has it */
    int threads;
} sattn_explain_wanted;

/* A file of another CPU or build is not used, and `note` names what differs. False: it cannot be
 * read, `note` says why. */
bool sattn_explain_results_open(sattn_explain_results *results, const char *path,
                                const sattn_environment *environment);
void sattn_explain_results_close(sattn_explain_results *results);

/* Whether a context is of this CPU and build; else `note` names the field that differs. */
bool sattn_explain_is_of_here(const json_t *context, const sattn_environment *environment,
                              char note[SATTN_EXPLAIN_NOTE]);

/* The median of the candidate in such a call, with warm caches; NULL: none. Of several, as of
 * several kinds of data, the first. */
const json_t *sattn_explain_row_for(const json_t *benchmarks, const sattn_explain_wanted *wanted,
                                    const sattn_candidate *candidate);

/* Fills in figures. */
void sattn_explain_results_take(sattn_explain_results *results, const sattn_explain_wanted *wanted,
                                sattn_explain_row *rows, size_t n);

#endif
