/* SPDX-License-Identifier: MIT
 *
 * fused_f32_neon_decode.c: fused attention for few query rows with NEON, 4 features per vector.
 *
 * The method is in fused_decode.h; here are its steps but the AV product. Scores: rows x keys
 * accumulators, 1 x 8, 2 x 8, 3 x 4 or 4 x 4, each over all features, then pairwise additions. */
#include "kernels/fused/fused_decode.h"
#include "kernels/fused/fused_decode_av_neon.h"
#include "kernels/vec/score_tile_neon.h"
#include "kernels/vec/softcap_neon.h"
#include "kernels/vec/vec_neon.h"

enum {
    LANES = 4,
    TILE = 16, /* most accumulators of a register tile */
};

sattn_fused_fn sattn_fused_f32_neon_decode;

SATTN_INLINE void score_rows(fused_decode_state *st, const fused_decode_block *block,
                             const fused_decode_part *part, const int n_rows, const int n_keys)
{
    const float *const q = st->q + part->row * st->q_pitch;
    float *const s = st->s + part->row * FUSED_DECODE_KEYS;
    float32x4_t max[SCORE_GROUP];
    SATTN_UNROLL(4)
    for (int row = 0; row < n_rows; ++row)
        max[row] = vdupq_n_f32(-INFINITY);
    for (int j = part->begin; j < part->end; j += n_keys) {
        const float *rows[SCORE_KEYS]; /* behind the last key of the block, that key again */
        float32x4_t acc[TILE];
        SATTN_UNROLL(8)
        for (int i = 0; i < n_keys; ++i) {
            const int key = j + i < block->n_keys ? j + i : block->n_keys - 1;
            rows[i] = block->k + key * block->k_stride;
        }
        score_tile_f32x4(acc, q, rows, st->d, n_rows, n_keys);
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
        st->block_max[part->row + row] = vmaxnmvq_f32(max[row]);
}

static void score(fused_decode_state *st, const fused_decode_block *block,
                  const fused_decode_part *part)
{
    if (part->n_rows == 4)
        score_rows(st, block, part, 4, 4);
    else if (part->n_rows == 3)
        score_rows(st, block, part, 3, 4);
    else if (part->n_rows == 2)
        score_rows(st, block, part, 2, 8);
    else
        score_rows(st, block, part, 1, 8);
}

SATTN_NOINLINE void slope(float *s, int n, const fused_decode_alibi *alibi)
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

static void maximum(fused_decode_state *st, int n)
{
    for (int r = 0; r < st->n_rows; ++r) {
        const float *const s = st->s + r * FUSED_DECODE_KEYS;
        float32x4_t max = vdupq_n_f32(-INFINITY);
        for (int j = 0; j < n; j += LANES)
            max = vmaxnmq_f32(max, vld1q_f32(s + j));
        st->block_max[r] = vmaxnmvq_f32(max);
    }
}

/* Sum over the lanes, by halves. */
SATTN_INLINE float sum_of_lanes(float32x4_t v)
{
    const float32x2_t halves = vadd_f32(vget_low_f32(v), vget_high_f32(v));
    return vget_lane_f32(halves, 0) + vget_lane_f32(halves, 1);
}

static void weigh(fused_decode_state *st, int n)
{
    for (int r = 0; r < st->n_rows; ++r) {
        float *const s = st->s + r * FUSED_DECODE_KEYS;
        const float32x4_t m = vdupq_n_f32(fused_decode_reference(st, r));
        float32x4_t sum = vdupq_n_f32(0.0f);
        for (int j = 0; j < n; j += LANES) {
            const float32x4_t p = vec_fused_exp_f32x4(vsubq_f32(vld1q_f32(s + j), m));
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

void sattn_fused_f32_neon_decode(const sattn_fused_args *args)
{
    static const fused_decode_ops ops = {.lanes = LANES,
                                         .group = SCORE_GROUP,
                                         .near_group = SCORE_GROUP,
                                         .score = score,
                                         .cap = vec_softcap,
                                         .slope = slope,
                                         .maximum = maximum,
                                         .weigh = weigh,
                                         .exp = exp_of_one,
                                         .accumulate = av_group};
    fused_decode(args, &ops);
}
