/* SPDX-License-Identifier: MIT
 *
 * fused_f32_avx2_decode.c: fused attention for few query rows, 8 features per vector.
 *
 * The method is in fused_decode.h; here are its steps but the products. */
#include "kernels/fused/fused_decode.h"
#include "kernels/fused/fused_decode_av_avx2.h"
#include "kernels/fused/fused_decode_score_avx2.h"
#include "kernels/vec/exp_powers_avx2.h"
#include "kernels/vec/softcap_avx2.h"
#include "kernels/vec/vec_avx2.h"

enum { LANES = 8 };

void sattn_fused_f32_avx2_decode(const sattn_fused_args *args);

static void slope(float *s, int n, const fused_decode_alibi *alibi)
{
    const __m256 slope = _mm256_set1_ps(alibi->slope);
    const __m256 position = _mm256_set1_ps(alibi->position);
    const __m256 steps = _mm256_setr_ps(0, 1, 2, 3, 4, 5, 6, 7);
    for (int j = 0; j < n; j += LANES) {
        const __m256i tail = vec_tail_m8(n - j);
        const __m256 key = _mm256_add_ps(_mm256_set1_ps((float)j), steps);
        const __m256 distance =
            _mm256_andnot_ps(_mm256_set1_ps(-0.0f), _mm256_sub_ps(position, key));
        const __m256 s_f32x8 = vec_load_tail_f32x8(s + j, tail);
        vec_store_tail_f32x8(s + j, tail, _mm256_fmadd_ps(slope, distance, s_f32x8));
    }
}

static void maximum(fused_decode_state *st, int n)
{
    for (int r = 0; r < st->n_rows; ++r) {
        const float *const s = st->s + r * FUSED_DECODE_KEYS;
        __m256 max_f32x8 = _mm256_set1_ps(-INFINITY);
        for (int j = 0; j < n; j += LANES)
            max_f32x8 = raise_max(max_f32x8, _mm256_loadu_ps(s + j));
        st->block_max[r] = vec_hmax_f32x8(max_f32x8);
    }
}

static void weigh(fused_decode_state *st, int n)
{
    for (int r = 0; r < st->n_rows; ++r) {
        float *const s = st->s + r * FUSED_DECODE_KEYS;
        const __m256 m_f32x8 = _mm256_set1_ps(fused_decode_reference(st, r));
        __m256 sum_f32x8 = _mm256_setzero_ps();
        for (int j = 0; j < n; j += 2 * LANES) { /* two vectors of a unit side by side */
            __m256 p_f32x8[2] = {_mm256_sub_ps(_mm256_loadu_ps(s + j), m_f32x8),
                                 _mm256_sub_ps(_mm256_loadu_ps(s + j + LANES), m_f32x8)};
            vec_fused_exp_each_f32x8(p_f32x8, 2);
            sum_f32x8 = _mm256_add_ps(_mm256_add_ps(sum_f32x8, p_f32x8[0]), p_f32x8[1]);
            _mm256_storeu_ps(s + j, p_f32x8[0]);
            _mm256_storeu_ps(s + j + LANES, p_f32x8[1]);
        }
        st->row_sum[r] += vec_hsum_f32x8(sum_f32x8);
    }
}

static float exp_of_one(float t)
{
    return _mm256_cvtss_f32(vec_exp_f32x8(_mm256_set1_ps(t)));
}

void sattn_fused_f32_avx2_decode(const sattn_fused_args *args)
{
    static const fused_decode_ops ops = {.lanes = LANES,
                                         .group = SCORE_GROUP,
                                         .near_group = SCORE_GROUP,
                                         .in_order = 1,
                                         .takes_turns = true,
                                         .score = score,
                                         .cap = vec_softcap,
                                         .slope = slope,
                                         .maximum = maximum,
                                         .weigh = weigh,
                                         .exp = exp_of_one,
                                         .accumulate_rows = av_group_rows,
                                         .accumulate = av_group};
    fused_decode(args, &ops);
}
