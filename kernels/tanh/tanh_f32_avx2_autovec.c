/* SPDX-License-Identifier: MIT
 *
 * tanh_f32_avx2_autovec.c: tanh_plain.h as the compiler vectorises it for AVX2 and FMA. */
#include "kernels/tanh/tanh_plain.h"

sattn_tanh_fn sattn_tanh_f32_avx2_autovec;

void sattn_tanh_f32_avx2_autovec(const sattn_array_args *args)
{
    tanh_plain(args);
}
