/* SPDX-License-Identifier: MIT
 *
 * softmax_f32_avx2_autovec.c: softmax_plain.h as the compiler vectorises it for AVX2 and FMA. */
#include "kernels/softmax/softmax_plain.h"

sattn_softmax_fn sattn_softmax_f32_avx2_autovec;

void sattn_softmax_f32_avx2_autovec(const sattn_softmax_args *args)
{
    softmax_plain(args);
}
