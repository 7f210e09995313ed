/* SPDX-License-Identifier: MIT
 *
 * exp_f32_neon.c: exp of an array by the polynomial of exp_full_poly.h, 4 lanes at a time. */
#include "kernels/vec/map_neon.h"

sattn_exp_fn sattn_exp_f32_neon;

void sattn_exp_f32_neon(const sattn_array_args *args)
{
    vec_map_each_f32x4(args, 4, vec_exp_full_each_f32x4, vec_exp_full_f32x4);
}
