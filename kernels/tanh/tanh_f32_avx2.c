/* SPDX-License-Identifier: MIT
 *
 * tanh_f32_avx2.c: tanh of an array by the polynomial of tanh_poly.h, 8 lanes at a time. */
#include "kernels/vec/map_avx2.h"

sattn_tanh_fn sattn_tanh_f32_avx2;

void sattn_tanh_f32_avx2(const sattn_array_args *args)
{
    vec_map_by_one_f32x8(args, 0, vec_tanh_f32x8);
}
