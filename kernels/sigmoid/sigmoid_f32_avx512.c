/* SPDX-License-Identifier: MIT
 *
 * sigmoid_f32_avx512.c: sigmoid of an array by kernels/vec/sigmoid.h, 16 lanes at a time. */
#include "kernels/vec/map_avx512.h"
#include "kernels/vec/sigmoid_avx512.h"

sattn_sigmoid_fn sattn_sigmoid_f32_avx512;

void sattn_sigmoid_f32_avx512(const sattn_array_args *args)
{
    vec_map_each_f32x16(args, 4, vec_sigmoid_each_f32x16, vec_sigmoid_f32x16);
}
