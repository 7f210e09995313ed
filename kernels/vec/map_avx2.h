/* SPDX-License-Identifier: MIT
 *
 * map_avx2.h: y_i = f(x_i) over an array, 8 lanes at a time. Every element goes through the same
 * vector function, the last ones under a mask, so its bits do not depend on its place. */
#ifndef SATTN_KERNELS_VEC_MAP_AVX2_H
#define SATTN_KERNELS_VEC_MAP_AVX2_H

#include "kernels/contract.h"
#include "kernels/vec/vec_avx2.h"

typedef __m256 vec_function_f32x8(__m256 x);

/* From element i on, one vector at a time: for a function that is called, not inlined. */
SATTN_INLINE void vec_map_by_one_f32x8(const sattn_array_args *args, int64_t i,
                                       vec_function_f32x8 *f)
{
    for (; i + 8 <= args->n; i += 8)
        _mm256_storeu_ps(args->y + i, f(_mm256_loadu_ps(args->x + i)));
    if (i < args->n) {
        const __m256i lanes = vec_tail_m8(args->n - i);
        vec_store_tail_f32x8(args->y + i, lanes, f(vec_load_tail_f32x8(args->x + i, lanes)));
    }
}

typedef void vec_function_each_f32x8(__m256 x[], const int count);

/* `count` vectors at a time, 1 .. VEC_EACH, as long as there are so many. */
SATTN_INLINE void vec_map_each_f32x8(const sattn_array_args *args, const int count,
                                     vec_function_each_f32x8 *f_each, vec_function_f32x8 *f)
{
    const float *const x = args->x;
    float *const y = args->y;
    int64_t i = 0;
    for (; i + 8 * count <= args->n; i += 8 * count) {
        __m256 v[VEC_EACH];
        SATTN_UNROLL(4)
        for (int u = 0; u < count; ++u)
            v[u] = _mm256_loadu_ps(x + i + 8 * u);
        f_each(v, count);
        SATTN_UNROLL(4)
        for (int u = 0; u < count; ++u)
            _mm256_storeu_ps(y + i + 8 * u, v[u]);
    }
    vec_map_by_one_f32x8(args, i, f);
}

#endif
