/* SPDX-License-Identifier: MIT
 *
 * bench_choice.h: what a call runs that names no kernel, and so which row stands for it. It is the
 * dispatcher's own choice, with the profile of this process where there is one. */
#ifndef SATTN_BENCH_BENCH_BENCH_CHOICE_H
#define SATTN_BENCH_BENCH_BENCH_CHOICE_H

#include "bench/bench/bench_rows.h"

#include <stdbool.h>

/* The kernels of a call of an op with these options, as a comma list. False: it is refused. */
bool sattn_bench_choice(const sattn_bench_op *op, const sattn_shape *shape,
                        const sattn_attention_args *args, const sattn_options *options,
                        char kernels[SATTN_RECIPE_TEXT]);

/* Whether the row is what a call runs that names nothing but the row's threads. At most one row of
 * a task is, on the same data and threads; of op `call`, which has several ways, one of each. */
bool sattn_bench_is_choice(const sattn_bench_row *row, const sattn_shape *shape,
                           const sattn_attention_args *args);

/* Path of the profile that calls follow, or "none". */
const char *sattn_bench_profile(void);

#endif
