/* SPDX-License-Identifier: MIT
 *
 * softcap_neon.h: softcap of scores in NEON. */
#ifndef SATTN_KERNELS_VEC_SOFTCAP_NEON_H
#define SATTN_KERNELS_VEC_SOFTCAP_NEON_H

#include "kernels/vec/softcap.h"
#include "kernels/vec/vec_neon.h"

#include <stdint.h>

/* s[0 .. n) = softcap * tanh(s / softcap). Not inlined, where its constants would be spilled. */
SATTN_NOINLINE void vec_softcap(float *s, int64_t n, float softcap)
{
    enum { CAP_LANES = 4 };
    const float32x4_t most = vdupq_n_f32(softcap);
    for (int64_t j = 0; j < n; j += CAP_LANES, s += CAP_LANES) {
        const float32x4_t score = vec_load_tail_f32x4(s, n - j);
        const float32x4_t share = vdivq_f32(score, most);
        const uint32x4_t is_small = vcltq_f32(vabsq_f32(share), vdupq_n_f32(SATTN_SOFTCAP_SMALL));
        const float32x4_t capped = vmulq_f32(most, vec_tanh_f32x4(share));
        vec_store_tail_f32x4(s, vbslq_f32(is_small, score, capped), n - j);
    }
}

#endif
