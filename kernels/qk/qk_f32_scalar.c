/* SPDX-License-Identifier: MIT
 *
 * qk_f32_scalar.c: qk_plain.h without any vector instruction: compiled for the baseline, with loop
 * and straight-line vectorization off. The kernel that runs anywhere, and the measure of what
 * vectors bring. */
#define PLAIN_SCALAR
#include "kernels/qk/qk_plain.h"

sattn_qk_fn sattn_qk_f32_scalar;

void sattn_qk_f32_scalar(const sattn_qk_args *args)
{
    qk_plain(args);
}
