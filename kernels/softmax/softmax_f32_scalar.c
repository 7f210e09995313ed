/* SPDX-License-Identifier: MIT
 *
 * softmax_f32_scalar.c: softmax_plain.h without any vector instruction: compiled for the
 * baseline, with loop and straight-line vectorization off. The kernel that runs anywhere, and the
 * measure of what vectors bring. */
#define PLAIN_SCALAR
#include "kernels/softmax/softmax_plain.h"

sattn_softmax_fn sattn_softmax_f32_scalar;

void sattn_softmax_f32_scalar(const sattn_softmax_args *args)
{
    softmax_plain(args);
}
