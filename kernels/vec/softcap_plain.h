/* SPDX-License-Identifier: MIT
 *
 * softcap_plain.h: softcap of scores in plain C. */
#ifndef SATTN_KERNELS_VEC_SOFTCAP_PLAIN_H
#define SATTN_KERNELS_VEC_SOFTCAP_PLAIN_H

#include "kernels/vec/softcap.h"
#include "kernels/vec/vec_plain.h"

/* A capped score, or the score itself where the quotient is small. Chosen by bits: a compiler that
 * honours traps moves arithmetic that only one choice needs into a branch, and then does not
 * vectorise. */
SATTN_INLINE float plain_capped(float score, float softcap)
{
    const float share = score / softcap;
    const float capped = softcap * plain_tanh(share);
    const uint32_t is_small = fabsf(share) < SATTN_SOFTCAP_SMALL ? UINT32_MAX : 0;
    uint32_t bits, score_bits;
    memcpy(&bits, &capped, sizeof bits);
    memcpy(&score_bits, &score, sizeof score_bits);
    bits = (score_bits & is_small) | (bits & ~is_small);
    float result;
    memcpy(&result, &bits, sizeof result);
    return result;
}

/* s[0 .. n) = softcap * tanh(s / softcap) */
SATTN_INLINE void plain_softcap(float *s, int n, float softcap)
{
    PLAIN_SIMD()
    for (int j = 0; j < n; ++j)
        s[j] = plain_capped(s[j], softcap);
}

#endif
