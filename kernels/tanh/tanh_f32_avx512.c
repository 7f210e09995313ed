/* SPDX-License-Identifier: MIT
 *
 * tanh_f32_avx512.c: tanh of an array by the polynomial of tanh_poly.h, 16 lanes at a time. */
#include "kernels/vec/map_avx512.h"

sattn_tanh_fn sattn_tanh_f32_avx512;

void sattn_tanh_f32_avx512(const sattn_array_args *args)
{
    vec_map_each_f32x16(args, 2, vec_tanh_each_f32x16, vec_tanh_f32x16);
}
