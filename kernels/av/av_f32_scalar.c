/* SPDX-License-Identifier: MIT
 *
 * av_f32_scalar.c: av_plain.h without any vector instruction: compiled for the baseline, with loop
 * and straight-line vectorization off. The kernel that runs anywhere, and the measure of what
 * vectors bring. */
#define PLAIN_SCALAR
#include "kernels/av/av_plain.h"

sattn_av_fn sattn_av_f32_scalar;

void sattn_av_f32_scalar(const sattn_av_args *args)
{
    av_plain(args);
}
