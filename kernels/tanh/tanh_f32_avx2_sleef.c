/* SPDX-License-Identifier: MIT
 *
 * tanh_f32_avx2_sleef.c: tanh of an array by SLEEF's function of 1.0 ULP, under the name of its
 * ISA: SLEEF's own choice of ISA does not ask what the system saves. */
#include "kernels/vec/map_avx2.h"

#include <sleef.h>

sattn_tanh_fn sattn_tanh_f32_avx2_sleef;

SATTN_INLINE __m256 tanh_by_sleef(__m256 x)
{
    return Sleef_tanhf8_u10avx2(x);
}

void sattn_tanh_f32_avx2_sleef(const sattn_array_args *args)
{
    vec_map_by_one_f32x8(args, 0, tanh_by_sleef);
}
