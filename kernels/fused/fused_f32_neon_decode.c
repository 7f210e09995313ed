/* SPDX-License-Identifier: MIT
 *
 * fused_f32_neon_decode.c: fused attention for few query rows with NEON, 4 features per vector.
 *
 * The method is in fused_decode.h; here are its steps. Scores: rows x keys accumulators, 1 x 8,
 * 2 x 8, 3 x 4 or 4 x 4, each over all features, then pairwise additions. AV: rows x vectors of
 * output columns, 1 x 16, 2 x 8, 3 x 4 or 4 x 4; the weights of 4 keys are one vector, used by lane
 * (fmla by element), so none is broadcast. Every output column has one accumulator that takes the
 * keys in order, whatever the tile. */
#include "kernels/fused/fused_decode.h"
#include "kernels/vec/score_tile_neon.h"
#include "kernels/vec/softcap_neon.h"
#include "kernels/vec/vec_neon.h"

enum {
    LANES = 4,
    TILE = 16,  /* most accumulators of a register tile */
    NARROW = 4, /* vectors of columns in the AV tile that every number of rows has */
};

sattn_fused_fn sattn_fused_f32_neon_decode;

SATTN_INLINE void score_rows(fused_decode_state *st, const fused_decode_block *block, int r,
                             const int n_rows, const int n_keys)
{
    float *const s = st->s + r * FUSED_DECODE_KEYS;
    float32x4_t max[SCORE_GROUP];
    SATTN_UNROLL(4)
    for (int row = 0; row < n_rows; ++row)
        max[row] = vdupq_n_f32(-INFINITY);
    for (int j = 0; j < block->n_keys; j += n_keys) {
        const float *rows[8]; /* behind the last key of the block, that key again */
        float32x4_t acc[TILE];
        SATTN_UNROLL(8)
        for (int i = 0; i < n_keys; ++i) {
            const int key = j + i < block->n_keys ? j + i : block->n_keys - 1;
            rows[i] = block->k + key * block->k_stride;
        }
        score_tile_f32x4(acc, st->q + r * st->q_pitch, rows, st->d, n_rows, n_keys);
        SATTN_UNROLL(4)
        for (int row = 0; row < n_rows; ++row) {
            SATTN_UNROLL(2)
            for (int i = 0; i < n_keys; i += LANES) {
                const float32x4_t sums = vec_hsum_rows_f32x4(&acc[row * n_keys + i]);
                max[row] = vmaxnmq_f32(max[row], sums);
                vst1q_f32(s + row * FUSED_DECODE_KEYS + j + i, sums);
            }
        }
    }
    SATTN_UNROLL(4)
    for (int row = 0; row < n_rows; ++row)
        st->block_max[r + row] = vmaxnmvq_f32(max[row]);
}

static void score(fused_decode_state *st, const fused_decode_block *block)
{
    for (int r = 0, n_rows = 0; r < st->n_rows; r += n_rows) {
        n_rows = score_group_rows(st->n_rows, r);
        if (n_rows == 4)
            score_rows(st, block, r, 4, 4);
        else if (n_rows == 3)
            score_rows(st, block, r, 3, 4);
        else if (n_rows == 2)
            score_rows(st, block, r, 2, 8);
        else
            score_rows(st, block, r, 1, 8);
    }
}

static void slope(float *s, int n, const fused_decode_alibi *alibi)
{
    static const float steps[LANES] = {0, 1, 2, 3};
    const float32x4_t slope = vdupq_n_f32(alibi->slope);
    const float32x4_t position = vdupq_n_f32(alibi->position);
    for (int j = 0; j < n; j += LANES) {
        const float32x4_t key = vaddq_f32(vdupq_n_f32((float)j), vld1q_f32(steps));
        const float32x4_t score = vec_load_tail_f32x4(s + j, n - j);
        const float32x4_t sum = vfmaq_f32(score, slope, vabdq_f32(position, key));
        vec_store_tail_f32x4(s + j, sum, n - j);
    }
}

static void maximum(fused_decode_state *st, int n_keys)
{
    const float32x4_t none = vdupq_n_f32(-INFINITY);
    for (int r = 0; r < st->n_rows; ++r) {
        const float *const s = st->s + r * FUSED_DECODE_KEYS;
        float32x4_t max = none;
        for (int j = 0; j < n_keys; j += LANES)
            max = vmaxnmq_f32(max, vbslq_f32(vec_tail_m4(n_keys - j), vld1q_f32(s + j), none));
        st->block_max[r] = vmaxnmvq_f32(max);
    }
}

/* Sum over the lanes, by halves. */
SATTN_INLINE float sum_of_lanes(float32x4_t v)
{
    const float32x2_t halves = vadd_f32(vget_low_f32(v), vget_high_f32(v));
    return vget_lane_f32(halves, 0) + vget_lane_f32(halves, 1);
}

/* Lanes behind the last key hold a score that is nobody's; their weights are set to 0. */
static void weigh(fused_decode_state *st, int n_keys)
{
    for (int r = 0; r < st->n_rows; ++r) {
        float *const s = st->s + r * FUSED_DECODE_KEYS;
        const float32x4_t m = vdupq_n_f32(fused_decode_reference(st, r));
        float32x4_t sum = vdupq_n_f32(0.0f);
        for (int j = 0; j < n_keys; j += LANES) {
            const float32x4_t all = vec_exp_f32x4(vsubq_f32(vld1q_f32(s + j), m));
            const float32x4_t p = vbslq_f32(vec_tail_m4(n_keys - j), all, vdupq_n_f32(0.0f));
            sum = vaddq_f32(sum, p);
            vst1q_f32(s + j, p);
        }
        st->row_sum[r] += sum_of_lanes(sum);
    }
}

static float exp_of_one(float t)
{
    return vgetq_lane_f32(vec_exp_f32x4(vdupq_n_f32(t)), 0);
}

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
SATTN_INLINE void av_key(float32x4_t acc[TILE], const float32x4_t p[SCORE_GROUP], const int lane,
                         const float *v, const int n_rows, const int n_vecs, int n_tail)
{
    SATTN_UNROLL(16)
    for (int y = 0; y < n_vecs; ++y) {
        if (y % 8 == 0)
            SATTN_KEEP_ORDER(); /* loads hoisted further would not find registers */
        const float32x4_t v_vec =
            n_tail ? vec_load_tail_f32x4(v, n_tail) : vld1q_f32(v + y * LANES);
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
    float32x4_t acc[TILE];
    float32x4_t p[SCORE_GROUP];
    SATTN_UNROLL(16)
    for (int i = 0; i < n_rows * n_vecs; ++i)
        acc[i] = vdupq_n_f32(0.0f);
    int left = step->n_keys;
    SATTN_NO_UNROLL
    for (; left >= LANES; left -= LANES, s += LANES) {
        SATTN_UNROLL(4)
        for (int r = 0; r < n_rows; ++r)
            p[r] = vld1q_f32(s + r * FUSED_DECODE_KEYS);
        SATTN_UNROLL(4)
        for (int lane = 0; lane < LANES; ++lane, v += step->v_stride)
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
        float *const o = step->o + column + y * LANES;
        SATTN_UNROLL(4)
        for (int r = 0; r < n_rows; ++r)
            vst1q_f32(o + r * step->o_pitch,
                      vaddq_f32(vld1q_f32(o + r * step->o_pitch), acc[r * n_vecs + y]));
    }
}

/* `widest` vectors of columns at a time, then NARROW; the last tile is moved back to overlap the
 * one before. Fewer than NARROW, and a partial vector, go one by one. */
SATTN_INLINE void av_rows(const av_step *step, int64_t n_vecs, const int n_rows, const int widest)
{
    int64_t y = 0;
    for (; widest > NARROW && y + widest <= n_vecs; y += widest)
        av_tile(step, y * LANES, n_rows, widest, 0, 0);
    for (; n_vecs >= NARROW && y < n_vecs; y += NARROW) {
        const int64_t from = y + NARROW <= n_vecs ? y : n_vecs - NARROW;
        av_tile(step, from * LANES, n_rows, NARROW, (int)(y - from), 0);
    }
    for (; y < n_vecs; ++y)
        av_tile(step, y * LANES, n_rows, 1, 0, 0);
    if (step->n_tail)
        av_tile(step, n_vecs * LANES, n_rows, 1, 0, step->n_tail);
}

static void accumulate(const fused_decode_state *st, const fused_decode_block *block)
{
    const int64_t n_vecs = st->d_v / LANES;
    for (int r = 0, n_rows = 0; r < st->n_rows; r += n_rows) {
        n_rows = score_group_rows(st->n_rows, r);
        const av_step step = {.s = st->s + r * FUSED_DECODE_KEYS,
                              .o = st->o + r * st->o_pitch,
                              .v = block->v,
                              .o_pitch = st->o_pitch,
                              .v_stride = block->v_stride,
                              .n_keys = block->n_keys,
                              .n_tail = (int)(st->d_v % LANES)};
        if (n_rows == 4)
            av_rows(&step, n_vecs, 4, 4);
        else if (n_rows == 3)
            av_rows(&step, n_vecs, 3, 4);
        else if (n_rows == 2)
            av_rows(&step, n_vecs, 2, 8);
        else
            av_rows(&step, n_vecs, 1, 16);
    }
}

void sattn_fused_f32_neon_decode(const sattn_fused_args *args)
{
    static const fused_decode_ops ops = {.lanes = LANES,
                                         .score = score,
                                         .cap = vec_softcap,
                                         .slope = slope,
                                         .maximum = maximum,
                                         .weigh = weigh,
                                         .exp = exp_of_one,
                                         .accumulate = accumulate};
    fused_decode(args, &ops);
}
