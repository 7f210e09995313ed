/* SPDX-License-Identifier: MIT
 *
 * exp_f32_scalar.c: exp_plain.h without any vector instruction: compiled for the baseline, with
 * loop and straight-line vectorization off. */
#define PLAIN_SCALAR
#include "kernels/exp/exp_plain.h"

sattn_exp_fn sattn_exp_f32_scalar;

void sattn_exp_f32_scalar(const sattn_array_args *args)
{
    exp_plain(args);
}
