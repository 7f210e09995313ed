/* SPDX-License-Identifier: MIT
 *
 * tanh_f32_neon_sleef.c: tanh of an array by SLEEF's function of 1.0 ULP, under the name of its
 * ISA: SLEEF's own choice of ISA does not ask what the system saves. */
#include "kernels/vec/map_neon.h"

#include <sleef.h>

sattn_tanh_fn sattn_tanh_f32_neon_sleef;

SATTN_INLINE float32x4_t tanh_by_sleef(float32x4_t x)
{
    return Sleef_tanhf4_u10advsimd(x);
}

void sattn_tanh_f32_neon_sleef(const sattn_array_args *args)
{
    vec_map_by_one_f32x4(args, 0, tanh_by_sleef);
}
