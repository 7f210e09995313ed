/* SPDX-License-Identifier: MIT
 *
 * exp_f32_avx2.c: exp of an array by the polynomial of exp_full_poly.h, 8 lanes at a time. */
#include "kernels/vec/map_avx2.h"

sattn_exp_fn sattn_exp_f32_avx2;

void sattn_exp_f32_avx2(const sattn_array_args *args)
{
    vec_map_each_f32x8(args, 4, vec_exp_full_each_f32x8, vec_exp_full_f32x8);
}
