/* SPDX-License-Identifier: MIT
 *
 * explain_rows.h: candidates with all that was measured of them, in the order in which they matter.
 */
#ifndef SATTN_BENCH_EXPLAIN_EXPLAIN_ROWS_H
#define SATTN_BENCH_EXPLAIN_EXPLAIN_ROWS_H

#include "bench/recipe_name.h"
#include "dispatch/simdattn.h"

/* Where figures come from. Those of different sources are of different runs, and a profile's are of
 * the shape that stands for a class: they are never compared with each other. */
typedef enum sattn_explain_source {
    SATTN_EXPLAIN_PROFILE,
    SATTN_EXPLAIN_RESULTS,
    SATTN_EXPLAIN_SOURCES
} sattn_explain_source;

/* As in sattn_candidate; NaN: not measured. */
typedef struct sattn_explain_figures {
    double time_ns, time_p10_ns, time_p90_ns;
    int samples;
    double error, error_bound;
    bool is_on_front; /* of what this source has */
    bool is_tainted;  /* measured beside other work */
} sattn_explain_figures;

typedef struct sattn_explain_row {
    const sattn_candidate *candidate;
    char name[SATTN_RECIPE_NAME];
    sattn_explain_figures figures[SATTN_EXPLAIN_SOURCES];
} sattn_explain_row;

/* A row of each candidate, with the profile's figures. */
void sattn_explain_rows_begin(sattn_call call, const sattn_explanation *explanation,
                              sattn_explain_row *rows);

/* Whether the source has something of the row's candidate. */
bool sattn_explain_is_measured(const sattn_explain_row *row, sattn_explain_source source);
bool sattn_explain_any_measured(const sattn_explain_row *rows, size_t n,
                                sattn_explain_source source);

/* Pareto's front of time against error. */
void sattn_explain_find_front(sattn_explain_row *rows, size_t n, sattn_explain_source source);

/* What is taken, then what is eligible, the fastest first and what the source has no time of last,
 * then the rest; else as they were. */
void sattn_explain_sort(sattn_explain_row *rows, size_t n, sattn_explain_source source);

/* Rows that a table of figures does not show. */
typedef enum sattn_explain_section {
    SATTN_EXPLAIN_SHOWN,        /* taken, or eligible and measured */
    SATTN_EXPLAIN_NOT_MEASURED, /* eligible */
    SATTN_EXPLAIN_NOT_ELIGIBLE
} sattn_explain_section;

sattn_explain_section sattn_explain_section_of(const sattn_explain_row *row);

/* The first row of the section and the reason of rows[at]. */
size_t sattn_explain_group_of(const sattn_explain_row *rows, size_t at);

#endif
