/* SPDX-License-Identifier: MIT
 *
 * gru_f32_avx2_autovec.c: gru_plain.h as the compiler vectorises it for AVX2 and FMA. */
#include "kernels/gru/gru_plain.h"

sattn_gru_fn sattn_gru_f32_avx2_autovec;

void sattn_gru_f32_avx2_autovec(const sattn_gru_args *args)
{
    gru_plain(args);
}
