/* SPDX-License-Identifier: MIT
 *
 * qk_f32_avx2_autovec.c: qk_plain.h as the compiler vectorises it for AVX2 and FMA. */
#include "kernels/qk/qk_plain.h"

sattn_qk_fn sattn_qk_f32_avx2_autovec;

void sattn_qk_f32_avx2_autovec(const sattn_qk_args *args)
{
    qk_plain(args);
}
