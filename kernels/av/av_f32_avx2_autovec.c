/* SPDX-License-Identifier: MIT
 *
 * av_f32_avx2_autovec.c: av_plain.h as the compiler vectorises it for AVX2 and FMA. */
#include "kernels/av/av_plain.h"

sattn_av_fn sattn_av_f32_avx2_autovec;

void sattn_av_f32_avx2_autovec(const sattn_av_args *args)
{
    av_plain(args);
}
