/* SPDX-License-Identifier: MIT
 *
 * fused_f32_scalar.c: fused_plain.h without any vector instruction: compiled for the
 * baseline, with loop and straight-line vectorization off. The kernel that runs anywhere, and the
 * measure of what vectors bring. */
#define PLAIN_SCALAR
#include "kernels/fused/fused_plain.h"

sattn_fused_fn sattn_fused_f32_scalar;

void sattn_fused_f32_scalar(const sattn_fused_args *args)
{
    fused_plain(args);
}
