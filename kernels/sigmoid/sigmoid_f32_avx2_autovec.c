/* SPDX-License-Identifier: MIT
 *
 * sigmoid_f32_avx2_autovec.c: sigmoid_plain.h as the compiler vectorises it for AVX2 and FMA. */
#include "kernels/sigmoid/sigmoid_plain.h"

sattn_sigmoid_fn sattn_sigmoid_f32_avx2_autovec;

void sattn_sigmoid_f32_avx2_autovec(const sattn_array_args *args)
{
    sigmoid_plain(args);
}
