/* SPDX-License-Identifier: MIT
 *
 * softcap_avx512.h: softcap of scores, in AVX-512. */
#ifndef SATTN_KERNELS_VEC_SOFTCAP_AVX512_H
#define SATTN_KERNELS_VEC_SOFTCAP_AVX512_H

#include "kernels/vec/softcap.h"
#include "kernels/vec/vec_avx512.h"

#include <stdint.h>

/* s[0 .. n) = softcap * tanh(s / softcap). Not inlined, where its constants would be spilled. */
SATTN_NOINLINE void vec_softcap(float *s, int64_t n, float softcap)
{
    enum { CAP_LANES = 16 };
    const __m512 most = _mm512_set1_ps(softcap);
    for (int64_t j = 0; j < n; j += CAP_LANES, s += CAP_LANES) {
        const __mmask16 tail = vec_tail_m16(n - j);
        const __m512 score = vec_load_tail_f32x16(s, tail);
        const __m512 share = _mm512_div_ps(score, most);
        const __mmask16 is_small = _mm512_cmp_ps_mask(
            _mm512_abs_ps(share), _mm512_set1_ps(SATTN_SOFTCAP_SMALL), _CMP_LT_OQ);
        const __m512 capped = _mm512_mul_ps(most, vec_tanh_f32x16(share));
        vec_store_tail_f32x16(s, tail, _mm512_mask_mov_ps(capped, is_small, score));
    }
}

#endif
