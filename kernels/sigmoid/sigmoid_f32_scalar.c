/* SPDX-License-Identifier: MIT
 *
 * sigmoid_f32_scalar.c: sigmoid_plain.h without any vector instruction: compiled for the
 * baseline, with loop and straight-line vectorization off. */
#define PLAIN_SCALAR
#include "kernels/sigmoid/sigmoid_plain.h"

sattn_sigmoid_fn sattn_sigmoid_f32_scalar;

void sattn_sigmoid_f32_scalar(const sattn_array_args *args)
{
    sigmoid_plain(args);
}
