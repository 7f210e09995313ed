/* SPDX-License-Identifier: MIT
 *
 * exp_f32_avx2_sleef.c: exp of an array by SLEEF's function of 1.0 ULP, under the name of its ISA:
 * SLEEF's own choice of ISA does not ask what the system saves. */
#include "kernels/vec/map_avx2.h"

#include <sleef.h>

sattn_exp_fn sattn_exp_f32_avx2_sleef;

SATTN_INLINE __m256 exp_by_sleef(__m256 x)
{
    return Sleef_expf8_u10avx2(x);
}

void sattn_exp_f32_avx2_sleef(const sattn_array_args *args)
{
    vec_map_by_one_f32x8(args, 0, exp_by_sleef);
}
