/* SPDX-License-Identifier: MIT
 *
 * qk_f32_neon_autovec.c: qk_plain.h as the compiler vectorises it for AArch64. */
#include "kernels/qk/qk_plain.h"

sattn_qk_fn sattn_qk_f32_neon_autovec;

void sattn_qk_f32_neon_autovec(const sattn_qk_args *args)
{
    qk_plain(args);
}
