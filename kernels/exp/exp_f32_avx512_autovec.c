/* SPDX-License-Identifier: MIT
 *
 * exp_f32_avx512_autovec.c: exp_plain.h as the compiler vectorises it for AVX-512. */
#include "kernels/exp/exp_plain.h"

sattn_exp_fn sattn_exp_f32_avx512_autovec;

void sattn_exp_f32_avx512_autovec(const sattn_array_args *args)
{
    exp_plain(args);
}
