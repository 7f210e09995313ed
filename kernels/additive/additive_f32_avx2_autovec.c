/* SPDX-License-Identifier: MIT
 *
 * additive_f32_avx2_autovec.c: additive_plain.h as the compiler vectorises it for AVX2 and FMA. */
#include "kernels/additive/additive_plain.h"

sattn_additive_fn sattn_additive_f32_avx2_autovec;

void sattn_additive_f32_avx2_autovec(const sattn_additive_args *args)
{
    additive_plain(args);
}
