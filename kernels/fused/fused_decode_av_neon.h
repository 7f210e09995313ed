/* SPDX-License-Identifier: MIT
 *
 * fused_decode_av_neon.h: the AV product of few query rows, lanes over columns of V.
 *
 * A tile is rows x vectors of columns, 1 x 16, 2 x 8, 3 x 4 or 4 x 4; the weights of 4 keys are one
 * vector, used by lane (fmla by element), so none is broadcast. Every column has one accumulator
 * that takes the keys in order, whatever the tile. */
#ifndef SATTN_KERNELS_FUSED_DECODE_AV_NEON_H
#define SATTN_KERNELS_FUSED_DECODE_AV_NEON_H

#include "kernels/fused/fused_decode_state.h"
#include "kernels/vec/vec_neon.h"

enum {
    AV_LANES = 4,
    AV_TILE = 16,  /* most accumulators of a register tile */
    AV_NARROW = 4, /* vectors of columns in the tile that every number of rows has */
};

/* What the AV tiles of one group of rows work on. */
typedef struct av_step {
    const float *s;
    float *o;       /* column 0 */
    const float *v; /* column 0 */
    int64_t o_pitch, v_stride;
    int n_keys;
    int n_tail; /* columns of the last, partial vector */
} av_step;

/* One key: its weight is lane `lane` of p[r] for row r. */
SATTN_INLINE void av_key(float32x4_t acc[AV_TILE], const float32x4_t p[SCORE_GROUP], const int lane,
                         const float *v, const int n_rows, const int n_vecs, int n_tail)
{
    SATTN_UNROLL(16)
    for (int y = 0; y < n_vecs; ++y) {
        if (y % 8 == 0)
            SATTN_KEEP_ORDER(); /* loads hoisted further would not find registers */
        const float32x4_t v_vec =
            n_tail ? vec_load_tail_f32x4(v, n_tail) : vld1q_f32(v + y * AV_LANES);
        SATTN_UNROLL(4)
        for (int r = 0; r < n_rows; ++r)
            acc[r * n_vecs + y] = vec_fma_lane_f32x4(acc[r * n_vecs + y], v_vec, p[r], lane);
    }
}

/* o += s v for the n_vecs vectors of columns from `column` on, leaving out the first n_done. */
SATTN_INLINE void av_tile(const av_step *step, int64_t column, const int n_rows, const int n_vecs,
                          int n_done, int n_tail)
{
    const float *v = step->v + column;
    const float *s = step->s;
    float32x4_t acc[AV_TILE];
    float32x4_t p[SCORE_GROUP];
    SATTN_UNROLL(16)
    for (int i = 0; i < n_rows * n_vecs; ++i)
        acc[i] = vdupq_n_f32(0.0f);
    int left = step->n_keys;
    SATTN_NO_UNROLL
    for (; left >= AV_LANES; left -= AV_LANES, s += AV_LANES) {
        SATTN_UNROLL(4)
        for (int r = 0; r < n_rows; ++r)
            p[r] = vld1q_f32(s + r * FUSED_DECODE_KEYS);
        SATTN_UNROLL(4)
        for (int lane = 0; lane < AV_LANES; ++lane, v += step->v_stride)
            av_key(acc, p, lane, v, n_rows, n_vecs, n_tail);
    }
    SATTN_NO_UNROLL
    for (; left > 0; --left, ++s, v += step->v_stride) {
        SATTN_UNROLL(4)
        for (int r = 0; r < n_rows; ++r)
            p[r] = vld1q_dup_f32(s + r * FUSED_DECODE_KEYS);
        av_key(acc, p, 0, v, n_rows, n_vecs, n_tail);
    }
    SATTN_UNROLL(16)
    for (int y = 0; y < n_vecs; ++y) {
        if (y < n_done)
            continue;
        float *const o = step->o + column + y * AV_LANES;
        SATTN_UNROLL(4)
        for (int r = 0; r < n_rows; ++r)
            vst1q_f32(o + r * step->o_pitch,
                      vaddq_f32(vld1q_f32(o + r * step->o_pitch), acc[r * n_vecs + y]));
    }
}

/* `widest` vectors of columns at a time, then AV_NARROW; the last tile is moved back to overlap the
 * one before. Fewer than AV_NARROW, and a partial vector, go one by one. */
SATTN_INLINE void av_rows(const av_step *step, int64_t n_vecs, const int n_rows, const int widest)
{
    int64_t y = 0;
    for (; widest > AV_NARROW && y + widest <= n_vecs; y += widest)
        av_tile(step, y * AV_LANES, n_rows, widest, 0, 0);
    for (; n_vecs >= AV_NARROW && y < n_vecs; y += AV_NARROW) {
        const int64_t from = y + AV_NARROW <= n_vecs ? y : n_vecs - AV_NARROW;
        av_tile(step, from * AV_LANES, n_rows, AV_NARROW, (int)(y - from), 0);
    }
    for (; y < n_vecs; ++y)
        av_tile(step, y * AV_LANES, n_rows, 1, 0, 0);
    if (step->n_tail)
        av_tile(step, n_vecs * AV_LANES, n_rows, 1, 0, step->n_tail);
}

static inline void av_group(const fused_decode_state *st, const fused_decode_block *block,
                            const fused_decode_part *part)
{
    const int64_t n_vecs = st->d_v / AV_LANES;
    const av_step step = {.s = st->s + part->row * FUSED_DECODE_KEYS,
                          .o = st->o + part->row * st->o_pitch,
                          .v = block->v,
                          .o_pitch = st->o_pitch,
                          .v_stride = block->v_stride,
                          .n_keys = block->n_keys,
                          .n_tail = (int)(st->d_v % AV_LANES)};
    if (part->n_rows == 4)
        av_rows(&step, n_vecs, 4, 4);
    else if (part->n_rows == 3)
        av_rows(&step, n_vecs, 3, 4);
    else if (part->n_rows == 2)
        av_rows(&step, n_vecs, 2, 8);
    else
        av_rows(&step, n_vecs, 1, 16);
}

#endif
