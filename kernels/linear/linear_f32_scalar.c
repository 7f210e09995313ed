/* SPDX-License-Identifier: MIT
 *
 * linear_f32_scalar.c: linear_plain.h without any vector instruction: compiled for the baseline,
 * with loop and straight-line vectorization off. The kernel that runs anywhere, and the measure of
 * what vectors bring. */
#define PLAIN_SCALAR
#include "kernels/linear/linear_plain.h"

sattn_linear_fn sattn_linear_f32_scalar;

void sattn_linear_f32_scalar(const sattn_linear_args *args)
{
    linear_plain(args);
}
