/* SPDX-License-Identifier: MIT
 *
 * softcap_avx2.h: softcap of scores, in AVX2. */
#ifndef SATTN_KERNELS_VEC_SOFTCAP_AVX2_H
#define SATTN_KERNELS_VEC_SOFTCAP_AVX2_H

#include "kernels/vec/softcap.h"
#include "kernels/vec/vec_avx2.h"

#include <stdint.h>

/* s[0 .. n) = softcap * tanh(s / softcap). Not inlined, where its constants would be spilled. */
SATTN_NOINLINE void vec_softcap(float *s, int64_t n, float softcap)
{
    enum { CAP_LANES = 8 };
    const __m256 most = _mm256_set1_ps(softcap);
    for (int64_t j = 0; j < n; j += CAP_LANES, s += CAP_LANES) {
        const __m256i tail = vec_tail_m8(n - j);
        const __m256 score = vec_load_tail_f32x8(s, tail);
        const __m256 share = _mm256_div_ps(score, most);
        const __m256 size = _mm256_andnot_ps(_mm256_set1_ps(-0.0f), share);
        const __m256 is_small =
            _mm256_cmp_ps(size, _mm256_set1_ps(SATTN_SOFTCAP_SMALL), _CMP_LT_OQ);
        const __m256 capped = _mm256_mul_ps(most, vec_tanh_f32x8(share));
        vec_store_tail_f32x8(s, tail, _mm256_blendv_ps(capped, score, is_small));
    }
}

#endif
