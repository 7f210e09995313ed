/* SPDX-License-Identifier: MIT
 *
 * tune_corners.h: other shapes of a class than the one that stands for it. What is right on that
 * one has to be right with every tail that a call of the class may have (case D17), so there are
 * shapes at the corners, with odd extents; what is the fastest on it must not be slower than the
 * default elsewhere, so there are some inside. */
#ifndef SATTN_BENCH_TUNE_TUNE_CORNERS_H
#define SATTN_BENCH_TUNE_TUNE_CORNERS_H

#include "bench/tune/tune_jobs.h"

enum { SATTN_TUNE_CORNERS = 2 };

/* Few rows with many keys and narrow heads; many rows with few keys and wide heads. Of one KV head,
 * or of two where tensors are interleaved; masks, limits and biases as the job's shape has them.
 * False: there is no such shape of the class. */
bool sattn_tune_corner(const sattn_tune_job *job, int corner, sattn_shape *shape);

enum { SATTN_TUNE_INSIDE = 2 };

/* Two that differ from each other in all that a class leaves open: few keys (or rows) and many;
 * and where queries are few, K and V that caches hold and such that none does. False: there is no
 * such shape, or it is the job's own. The job is to be run whole. */
bool sattn_tune_inside(const sattn_tune_job *job, int which, sattn_tune_job *inside);

#endif
