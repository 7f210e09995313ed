/* SPDX-License-Identifier: MIT
 *
 * exp_f32_avx512_sleef.c: exp of an array by SLEEF's function of 1.0 ULP, under the name of its
 * ISA: SLEEF's own choice of ISA does not ask what the system saves. */
#include "kernels/vec/map_avx512.h"

#include <sleef.h>

sattn_exp_fn sattn_exp_f32_avx512_sleef;

SATTN_INLINE __m512 exp_by_sleef(__m512 x)
{
    return Sleef_expf16_u10avx512f(x);
}

void sattn_exp_f32_avx512_sleef(const sattn_array_args *args)
{
    vec_map_by_one_f32x16(args, 0, exp_by_sleef);
}
