/* SPDX-License-Identifier: MIT
 *
 * linear_decode.h: a linear map of few rows, "lanes over features", the same for all ISAs.
 *
 * A decoder step has one row, or a few, and is done when W has been read. So the lanes of a vector
 * hold neighbouring features of one row of W, each vector of which serves a group of rows while it
 * is in a register, and all groups of a strip while its block of outputs is in the first cache.
 *
 *   for each strip of rows
 *       copy X, the vectors of a group of rows side by side
 *       for each chunk of outputs
 *           for each block of outputs, for each group
 *               sums = X W^T      one accumulator per (row, output), then a transposing reduction
 *           Y = sums + b, or Y += sums + b
 *
 * W as it lies is what K is to qk_decode.h. Packed, four outputs take turns vector by vector, in
 * the order in which they are read: memory is read from front to end, whatever the number of
 * features. Both ways every sum takes the same steps, and has the same bits. */
#ifndef SATTN_KERNELS_LINEAR_DECODE_H
#define SATTN_KERNELS_LINEAR_DECODE_H

#include "kernels/linear/linear_finish.h"
#include "kernels/linear/linear_strip.h"
#include "kernels/vec/score_group.h"

enum {
    LINEAR_PACKED = 4,                        /* outputs that take turns where W is packed */
    LINEAR_CHUNK = SATTN_TILE_KEYS_MAX,       /* outputs whose sums wait in scratch, ... */
    LINEAR_PITCH = LINEAR_CHUNK + SCORE_TILE, /* ... and what a tile may write behind them */
};

/* Of a group that reads packed W, k is the block of its first key, and k_stride the floats that
 * each key takes: the features and the zeros behind them. */
typedef struct linear_decode_ops {
    int lanes;
    int packed_rows; /* most rows of a group where W is packed */
    /* s[r][j] = q[r] . k[j]; the second may write up to SCORE_TILE sums at once */
    void (*score)(const score_group *group);
    void (*score_packed)(const score_group *group);
} linear_decode_ops;

/* The sums of a strip of rows and of outputs [first, first + n), n <= LINEAR_CHUNK. */
static inline void linear_decode_sums(const sattn_linear_args *a, const linear_decode_ops *ops,
                                      score_group *group, const float *x, int64_t x_pitch,
                                      int n_rows, float *sums, int64_t first, int64_t n)
{
    const int most = a->packed ? ops->packed_rows : SCORE_GROUP;
    /* One group of rows reads all outputs, once. */
    const int64_t tile = a->packed ? LINEAR_PACKED : SCORE_TILE;
    const int64_t block = n_rows <= most ? LINEAR_CHUNK : score_group_block(tile, a->n_in);
    for (int64_t o = 0; o < n; o += block) {
        group->k = (a->packed ? a->packed : a->w) + (first + o) * group->k_stride;
        group->n_keys = n - o < block ? n - o : block;
        for (int r = 0; r < n_rows; r += group->n_rows) {
            group->n_rows = score_group_rows(n_rows, r, most);
            group->q = x + r * x_pitch;
            for (int i = 0; i < group->n_rows; ++i)
                group->s[i] = sums + (r + i) * LINEAR_PITCH + o;
            if (a->packed)
                ops->score_packed(group);
            else
                ops->score(group);
        }
    }
}

static inline void linear_decode(const sattn_linear_args *a, const linear_decode_ops *ops)
{
    const int64_t x_pitch = (a->n_in + ops->lanes - 1) / ops->lanes * ops->lanes;
    float *const x = a->scratch;
    float *const sums = x + LINEAR_STRIP_ROWS * x_pitch;
    const int most = a->packed ? ops->packed_rows : SCORE_GROUP;
    score_group group = {.k_stride = a->packed ? x_pitch : a->w_stride, .d = a->n_in};
    group.ahead = score_group_ahead(a->o1 - a->o0, a->n_in, group.k_stride);
    linear_strip strip;
    linear_sums done = {.sums = sums, .pitch = LINEAR_PITCH};
    for (done.i = a->i0; done.i < a->i1; done.i += strip.n_rows) {
        linear_strip_fill(&strip, a, done.i);
        score_group_pack(x, x_pitch, strip.x, strip.n_rows, most, ops->lanes, a->n_in, 1.0f);
        done.n_rows = strip.n_rows;
        for (done.o = a->o0; done.o < a->o1; done.o += LINEAR_CHUNK) {
            done.n = a->o1 - done.o < LINEAR_CHUNK ? a->o1 - done.o : LINEAR_CHUNK;
            linear_decode_sums(a, ops, &group, x, x_pitch, strip.n_rows, sums, done.o, done.n);
            linear_finish(a, &done);
        }
    }
}

#endif
