/* SPDX-License-Identifier: MIT
 *
 * exp_f32_avx512.c: exp of an array by the polynomial of exp_full_poly.h, 16 lanes at a time. */
#include "kernels/vec/map_avx512.h"

sattn_exp_fn sattn_exp_f32_avx512;

void sattn_exp_f32_avx512(const sattn_array_args *args)
{
    vec_map_each_f32x16(args, 4, vec_exp_full_each_f32x16, vec_exp_full_f32x16);
}
