/* SPDX-License-Identifier: MIT
 *
 * linear_f32_avx2_autovec.c: linear_plain.h as the compiler vectorises it for AVX2 and FMA. */
#include "kernels/linear/linear_plain.h"

sattn_linear_fn sattn_linear_f32_avx2_autovec;

void sattn_linear_f32_avx2_autovec(const sattn_linear_args *args)
{
    linear_plain(args);
}
