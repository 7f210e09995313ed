/* SPDX-License-Identifier: MIT
 *
 * bench_data.h: the kinds of numbers that a shape is run on. */
#ifndef SATTN_BENCH_BENCH_BENCH_DATA_H
#define SATTN_BENCH_BENCH_BENCH_DATA_H

#include "bench/shapes.h"
#include "bench/verify/inputs.h"

#include <stddef.h>

typedef struct sattn_data {
    const char *name;       /* part of row names */
    const char *note;       /* one line */
    sattn_input_kind input; /* its mask, if it has one, stands in place of the shape's own */
} sattn_data;

/* What shapes are run on unless a preset says otherwise: numbers spread as in trained models, the
 * captured ones for shapes that have some, deviates for arrays. */
const sattn_data *sattn_data_default(const sattn_shape *shape);

/* What preset data compares: normal deviates, which are easy, first, then each kind that is known
 * to make kernels slow. */
const sattn_data *sattn_data_hard(size_t *count);

/* Scores that are harder on the maximum, after the shape's own kind, which is easy. */
const sattn_data *sattn_data_scores(size_t *count);

#endif
