/* SPDX-License-Identifier: MIT
 *
 * exp_f32_avx2_autovec.c: exp_plain.h as the compiler vectorises it for AVX2 and FMA. */
#include "kernels/exp/exp_plain.h"

sattn_exp_fn sattn_exp_f32_avx2_autovec;

void sattn_exp_f32_avx2_autovec(const sattn_array_args *args)
{
    exp_plain(args);
}
