/* SPDX-License-Identifier: MIT
 *
 * sigmoid_f32_avx512_autovec.c: sigmoid_plain.h as the compiler vectorises it for AVX-512. */
#include "kernels/sigmoid/sigmoid_plain.h"

sattn_sigmoid_fn sattn_sigmoid_f32_avx512_autovec;

void sattn_sigmoid_f32_avx512_autovec(const sattn_array_args *args)
{
    sigmoid_plain(args);
}
