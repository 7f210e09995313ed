/* SPDX-License-Identifier: MIT
 *
 * score_skew_avx512.h: the score tile of four query rows in AVX-512 with skewed rows, and what its
 * accumulators add up to.
 *
 * An accumulator holds the parts of one score in its 16 lanes. Bringing the parts together takes
 * two shuffles for each pair of accumulators. So the rows of a group are mixed beforehand, once for
 * all keys: quarter c of its vector i is that of row i ^ c. Then the four quarters of a row stand
 * in different places of different accumulators, and swapping the quarters of one serves all four
 * rows: 18 shuffles instead of 30 for a tile of 16 scores. The products are the same, and lanes are
 * added in the order of vec_hsum_rows_f32x16, so the bits are the same as without. */
#ifndef SATTN_KERNELS_VEC_SCORE_SKEW_AVX512_H
#define SATTN_KERNELS_VEC_SCORE_SKEW_AVX512_H

#include "kernels/vec/score_tile_avx512.h"
#include "kernels/vec/vec_avx512.h"

/* Skews one vector of each of four rows. */
SATTN_INLINE void score_skew_f32x16(__m512 q[4])
{
    __m512 mixed[4];
    SATTN_UNROLL(4)
    for (int i = 0; i < 4; ++i)
        mixed[i] = _mm512_mask_mov_ps(q[i], 0xf0f0, q[i ^ 1]);
    SATTN_UNROLL(4)
    for (int i = 0; i < 4; ++i)
        q[i] = _mm512_mask_mov_ps(mixed[i], 0xff00, mixed[i ^ 2]);
}

/* The sums of acc[r * n_keys + j] over halves of their lanes, for the rows r of a group and key j:
 * quarter by quarter, those of the rows 0, 1, 2, 3 or 1, 0, 3, 2. */
SATTN_INLINE __m512 score_skew_key_f32x16(const __m512 *acc, const int j, const int n_keys)
{
    const __m512 two = acc[2 * n_keys + j];
    const __m512 three = acc[3 * n_keys + j];
    const __m512 even = _mm512_add_ps(acc[j], _mm512_shuffle_f32x4(two, two, 0x4e));
    const __m512 odd = _mm512_add_ps(acc[n_keys + j], _mm512_shuffle_f32x4(three, three, 0x4e));
    return _mm512_add_ps(even, _mm512_shuffle_f32x4(odd, odd, 0xb1));
}

/* Of four keys that score_skew_key_f32x16 left: the sum for row r and key j at lane r * 4 + j. */
SATTN_INLINE __m512 score_skew_sums_f32x16(const __m512 keys[4])
{
    __m512 pairs[2];
    SATTN_UNROLL(2)
    for (int i = 0; i < 2; ++i)
        pairs[i] = _mm512_add_ps(_mm512_shuffle_ps(keys[2 * i], keys[2 * i + 1], 0x44),
                                 _mm512_shuffle_ps(keys[2 * i], keys[2 * i + 1], 0xee));
    return _mm512_add_ps(_mm512_shuffle_ps(pairs[0], pairs[1], 0x88),
                         _mm512_shuffle_ps(pairs[0], pairs[1], 0xdd));
}

#endif
