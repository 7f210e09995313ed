/* SPDX-License-Identifier: MIT
 *
 * regret_shapes.h: the calls on which `tune --verify` asks what a profile is worth: none of them
 * one that was tuned, and none at a corner of its class. */
#ifndef SATTN_BENCH_TUNE_REGRET_SHAPES_H
#define SATTN_BENCH_TUNE_REGRET_SHAPES_H

#include "bench/shapes.h"
#include "dispatch/registry.h"

typedef struct sattn_regret_shape {
    sattn_op op; /* fused: a whole attention, in whatever way */
    sattn_shape shape;
} sattn_regret_shape;

const sattn_regret_shape *sattn_regret_shapes(size_t *count);

#endif
