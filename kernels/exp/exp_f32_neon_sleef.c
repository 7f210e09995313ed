/* SPDX-License-Identifier: MIT
 *
 * exp_f32_neon_sleef.c: exp of an array by SLEEF's function of 1.0 ULP, under the name of its ISA:
 * SLEEF's own choice of ISA does not ask what the system saves. */
#include "kernels/vec/map_neon.h"

#include <sleef.h>

sattn_exp_fn sattn_exp_f32_neon_sleef;

SATTN_INLINE float32x4_t exp_by_sleef(float32x4_t x)
{
    return Sleef_expf4_u10advsimd(x);
}

void sattn_exp_f32_neon_sleef(const sattn_array_args *args)
{
    vec_map_by_one_f32x4(args, 0, exp_by_sleef);
}
