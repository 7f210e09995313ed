/* SPDX-License-Identifier: MIT
 *
 * av_f32_neon_autovec.c: av_plain.h as the compiler vectorises it for NEON. */
#include "kernels/av/av_plain.h"

sattn_av_fn sattn_av_f32_neon_autovec;

void sattn_av_f32_neon_autovec(const sattn_av_args *args)
{
    av_plain(args);
}
