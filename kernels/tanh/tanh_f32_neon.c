/* SPDX-License-Identifier: MIT
 *
 * tanh_f32_neon.c: tanh of an array by the polynomial of tanh_poly.h, 4 lanes at a time. */
#include "kernels/vec/map_neon.h"

sattn_tanh_fn sattn_tanh_f32_neon;

void sattn_tanh_f32_neon(const sattn_array_args *args)
{
    vec_map_each_f32x4(args, 2, vec_tanh_each_f32x4, vec_tanh_f32x4);
}
