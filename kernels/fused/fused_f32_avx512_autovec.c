/* SPDX-License-Identifier: MIT
 *
 * fused_f32_avx512_autovec.c: fused_plain.h as the compiler vectorises it for AVX-512. */
#include "kernels/fused/fused_plain.h"

sattn_fused_fn sattn_fused_f32_avx512_autovec;

void sattn_fused_f32_avx512_autovec(const sattn_fused_args *args)
{
    fused_plain(args);
}
