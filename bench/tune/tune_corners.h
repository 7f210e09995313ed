/* SPDX-License-Identifier: MIT
 *
 * tune_corners.h: shapes at the corners of a class, with odd extents. What is right on the shape
 * that is timed has to be right with every tail that a call of the class may have (case D17). */
#ifndef SATTN_BENCH_TUNE_TUNE_CORNERS_H
#define SATTN_BENCH_TUNE_TUNE_CORNERS_H

#include "bench/tune/tune_jobs.h"

enum { SATTN_TUNE_CORNERS = 2 };

/* Few rows with many keys and narrow heads; many rows with few keys and wide heads. Of one KV head,
 * or of two where tensors are interleaved; masks, limits and biases as the job's shape has them.
 * False: there is no such shape of the class. */
bool sattn_tune_corner(const sattn_tune_job *job, int corner, sattn_shape *shape);

#endif
