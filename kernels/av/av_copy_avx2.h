/* SPDX-License-Identifier: MIT
 *
 * av_copy_avx2.h: copies a row's weights with 0 for hidden keys, 8 keys at a time. Neither weights
 * nor mask are read behind the last key. */
#ifndef SATTN_KERNELS_AV_COPY_AVX2_H
#define SATTN_KERNELS_AV_COPY_AVX2_H

#include "kernels/av/av_tiles.h"
#include "kernels/vec/vec_avx2.h"

enum { AV_KEYS = 8 };

/* The first n bytes at `from`, 1 .. 8; the rest is 0. */
SATTN_INLINE __m128i av_load_bytes(const uint8_t *from, int n)
{
    uint64_t bytes = 0;
    if (n >= AV_KEYS)
        return _mm_loadl_epi64((const __m128i *)(const void *)from);
    for (int i = 0; i < n; ++i)
        bytes |= (uint64_t)from[i] << (8 * i);
    return _mm_cvtsi64_si128((long long)bytes);
}

/* Lanes of the 8 keys from j on that the row sees. */
SATTN_INLINE __m256i av_visible_keys(const av_row *row, int j, __m256i index, const bool is_bool,
                                     const bool is_add)
{
    const __m256i lanes =
        _mm256_andnot_si256(_mm256_cmpgt_epi32(_mm256_set1_epi32(row->begin), index),
                            _mm256_cmpgt_epi32(_mm256_set1_epi32(row->end), index));
    if (is_bool) {
        const __m256i mask = _mm256_cvtepu8_epi32(av_load_bytes(row->mask_bool + j, row->n - j));
        return _mm256_andnot_si256(_mm256_cmpeq_epi32(mask, _mm256_setzero_si256()), lanes);
    }
    if (is_add) {
        const __m256 mask = vec_load_tail_f32x8(row->mask_add + j, lanes);
        const __m256 shows = _mm256_cmp_ps(mask, _mm256_set1_ps(-INFINITY), _CMP_NEQ_UQ);
        return _mm256_and_si256(_mm256_castps_si256(shows), lanes);
    }
    return lanes;
}

SATTN_INLINE bool av_copy_row(float *to, const av_row *row, const bool is_bool, const bool is_add)
{
    __m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    __m256i seen = _mm256_setzero_si256();
    for (int j = 0; j < row->n; j += AV_KEYS) {
        const __m256i lanes = av_visible_keys(row, j, index, is_bool, is_add);
        _mm256_storeu_ps(to + j, vec_load_tail_f32x8(row->p + j, lanes));
        index = _mm256_add_epi32(index, _mm256_set1_epi32(AV_KEYS));
        seen = _mm256_or_si256(seen, lanes);
    }
    return _mm256_testz_si256(seen, seen) == 0;
}

static inline bool av_copy(float *to, const av_row *row)
{
    if (row->mask_bool)
        return av_copy_row(to, row, true, false);
    if (row->mask_add)
        return av_copy_row(to, row, false, true);
    return av_copy_row(to, row, false, false);
}

#endif
