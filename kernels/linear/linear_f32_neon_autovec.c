/* SPDX-License-Identifier: MIT
 *
 * linear_f32_neon_autovec.c: linear_plain.h as the compiler vectorises it for AArch64. */
#include "kernels/linear/linear_plain.h"

sattn_linear_fn sattn_linear_f32_neon_autovec;

void sattn_linear_f32_neon_autovec(const sattn_linear_args *args)
{
    linear_plain(args);
}
