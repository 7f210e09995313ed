/* SPDX-License-Identifier: MIT
 *
 * sigmoid_f32_neon.c: sigmoid of an array by kernels/vec/sigmoid.h, 4 lanes at a time. */
#include "kernels/vec/map_neon.h"
#include "kernels/vec/sigmoid_neon.h"

sattn_sigmoid_fn sattn_sigmoid_f32_neon;

void sattn_sigmoid_f32_neon(const sattn_array_args *args)
{
    vec_map_each_f32x4(args, 2, vec_sigmoid_each_f32x4, vec_sigmoid_f32x4);
}
