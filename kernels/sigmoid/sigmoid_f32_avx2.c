/* SPDX-License-Identifier: MIT
 *
 * sigmoid_f32_avx2.c: sigmoid of an array by kernels/vec/sigmoid.h, 8 lanes at a time. */
#include "kernels/vec/map_avx2.h"
#include "kernels/vec/sigmoid_avx2.h"

sattn_sigmoid_fn sattn_sigmoid_f32_avx2;

void sattn_sigmoid_f32_avx2(const sattn_array_args *args)
{
    vec_map_each_f32x8(args, 3, vec_sigmoid_each_f32x8, vec_sigmoid_f32x8);
}
