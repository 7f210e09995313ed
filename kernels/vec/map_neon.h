/* SPDX-License-Identifier: MIT
 *
 * map_neon.h: y_i = f(x_i) over an array, 4 lanes at a time. Every element goes through the same
 * vector function, the last ones in a vector of their own, so its bits do not depend on its place.
 */
#ifndef SATTN_KERNELS_VEC_MAP_NEON_H
#define SATTN_KERNELS_VEC_MAP_NEON_H

#include "kernels/contract.h"
#include "kernels/vec/vec_neon.h"

typedef float32x4_t vec_function_f32x4(float32x4_t x);

/* From element i on, one vector at a time: for a function that is called, not inlined. */
SATTN_INLINE void vec_map_by_one_f32x4(const sattn_array_args *args, int64_t i,
                                       vec_function_f32x4 *f)
{
    for (; i + 4 <= args->n; i += 4)
        vst1q_f32(args->y + i, f(vld1q_f32(args->x + i)));
    if (i < args->n) {
        float last[4];
        vst1q_f32(last, f(vec_load_tail_f32x4(args->x + i, args->n - i)));
        for (int64_t lane = 0; lane < args->n - i; ++lane)
            args->y[i + lane] = last[lane];
    }
}

typedef void vec_function_each_f32x4(float32x4_t x[], const int count);

/* `count` vectors at a time, 1 .. VEC_EACH, as long as there are so many. */
SATTN_INLINE void vec_map_each_f32x4(const sattn_array_args *args, const int count,
                                     vec_function_each_f32x4 *f_each, vec_function_f32x4 *f)
{
    const float *const x = args->x;
    float *const y = args->y;
    int64_t i = 0;
    for (; i + 4 * count <= args->n; i += 4 * count) {
        float32x4_t v[VEC_EACH];
        SATTN_UNROLL(4)
        for (int u = 0; u < count; ++u)
            v[u] = vld1q_f32(x + i + 4 * u);
        f_each(v, count);
        SATTN_UNROLL(4)
        for (int u = 0; u < count; ++u)
            vst1q_f32(y + i + 4 * u, v[u]);
    }
    vec_map_by_one_f32x4(args, i, f);
}

#endif
