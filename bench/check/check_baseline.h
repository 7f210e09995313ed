/* SPDX-License-Identifier: MIT
 *
 * check_baseline.h: stored errors of `simdattn check`, and what has become of them.
 *
 * A baseline is a JSON file: schema and version, seed, the environment it was made in, and for each
 * variant and shape class an object of arrays [worst, mean, bound], one for each kind of data. It
 * is compared on any machine, compiler and commit; differences of environment are told, and excuse
 * nothing. */
#ifndef SATTN_BENCH_CHECK_CHECK_BASELINE_H
#define SATTN_BENCH_CHECK_CHECK_BASELINE_H

#include "bench/check/check.h"
#include "bench/environment/environment.h"

#include <jansson.h>
#include <stdio.h>

typedef struct sattn_check_baseline {
    json_t *document;
    json_t *errors; /* "kernel shape data" -> [worst, mean, bound] */
    int64_t seed;
    size_t n_entries;
} sattn_check_baseline;

/* Reads and checks a file. Returns an exit code: 2 for what cannot be read or is no baseline (a
 * number missing, negative or not finite, an entry twice), 3 for another schema or seed, or no
 * entries. Unless it is 0, `error` says why and the baseline holds nothing. */
int sattn_check_baseline_load(const char *path, uint64_t seed, sattn_check_baseline *baseline,
                              char *error, size_t error_size);
void sattn_check_baseline_free(sattn_check_baseline *baseline);

enum { SATTN_CHECK_KEY_SIZE = 256 };

/* What the numbers of an entry are found by: writes SATTN_CHECK_KEY_SIZE bytes at most. */
void sattn_check_baseline_key(char *key, const char *kernel, const char *shape, const char *data);

typedef enum sattn_check_change {
    SATTN_CHANGE_ERROR_GREW, /* above 1.5 times the stored error and one unit */
    SATTN_CHANGE_MISSING,    /* stored, its variant ran, but not this entry */
    SATTN_CHANGE_NEW,        /* not stored */
    SATTN_CHANGE_ABSENT,     /* its variant cannot run here, or is not in this build */
} sattn_check_change;

typedef struct sattn_check_difference {
    sattn_check_change change;
    const char *kernel, *shape, *data; /* shape and data "": the whole variant */
    const char *what;                  /* "worst" or "mean" where the error grew */
    double stored, now, allowed;
    int64_t n; /* entries that it stands for */
} sattn_check_difference;

typedef struct sattn_check_comparison {
    int64_t n_compared, n_grew, n_missing, n_new, n_skipped, n_absent; /* entries */
    sattn_check_difference *differences;
    size_t n_differences, capacity;
    bool out_of_memory;
} sattn_check_comparison;

/* check_comparison.c: compares the run with the baseline, which must outlive the comparison. */
void sattn_check_compare(const sattn_check_run *run, const sattn_check_baseline *baseline,
                         sattn_check_comparison *comparison);
void sattn_check_comparison_free(sattn_check_comparison *comparison);
/* 0; 1 where an error grew or an entry is missing; 3 where nothing was compared. */
int sattn_check_comparison_code(const sattn_check_comparison *comparison);
void sattn_check_comparison_print(const sattn_check_comparison *comparison,
                                  const sattn_check_baseline *baseline, json_t *environment,
                                  const char *path, FILE *file);

/* ---- the document; NULL: out of memory */

json_t *sattn_check_environment(const sattn_environment *environment);
/* Schema, seed, environment and entries: what a baseline holds. */
json_t *sattn_check_document(const sattn_check_run *run, const json_t *environment);
/* The same and all about this run; `comparison` and `baseline` may be NULL. */
json_t *sattn_check_report(const sattn_check_run *run, const json_t *environment,
                           const sattn_check_comparison *comparison,
                           const sattn_check_baseline *baseline);
/* Prints it with one line for each variant and shape; false if that failed. */
bool sattn_check_document_print(const json_t *document, FILE *file);

#endif
