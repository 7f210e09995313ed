/* SPDX-License-Identifier: MIT
 *
 * tanh_f32_scalar.c: tanh_plain.h without any vector instruction: compiled for the baseline, with
 * loop and straight-line vectorization off. */
#define PLAIN_SCALAR
#include "kernels/tanh/tanh_plain.h"

sattn_tanh_fn sattn_tanh_f32_scalar;

void sattn_tanh_f32_scalar(const sattn_array_args *args)
{
    tanh_plain(args);
}
