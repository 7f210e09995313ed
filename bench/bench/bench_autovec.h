/* SPDX-License-Identifier: MIT
 *
 * bench_autovec.h: hand-written rows against their autovec siblings, the same plain C vectorized by
 * the compiler for the same ISA. A kernel that is slower than that has no reason to exist, so a run
 * says of each whether it is, as far as its rounds show it. */
#ifndef SATTN_BENCH_BENCH_BENCH_AUTOVEC_H
#define SATTN_BENCH_BENCH_BENCH_AUTOVEC_H

#include "bench/bench/bench_rows.h"

#include <stddef.h>
#include <stdio.h>

typedef enum sattn_against {
    SATTN_AGAINST_NOTHING, /* not hand-written, or one of the two was not measured */
    SATTN_AGAINST_FASTER,  /* the 95 % interval of the ratio lies above 1 */
    SATTN_AGAINST_SLOWER,  /* it lies below 1 */
    SATTN_AGAINST_OPEN, /* it does not exclude equal speed, or there are too few rounds for one */
    SATTN_AGAINST_COUNT,
} sattn_against;

sattn_against sattn_bench_against_autovec(const sattn_bench_row *row);
const char *sattn_against_name(sattn_against against); /* "faster", ...; NULL for NOTHING */

/* One line with counts, and one for each row that is slower; nothing if no row was compared. */
void sattn_bench_print_autovec(const sattn_bench_jobs *list, FILE *file);

#endif
