/* SPDX-License-Identifier: MIT
 *
 * tanh_f32_neon_autovec.c: tanh_plain.h as the compiler vectorises it for NEON. */
#include "kernels/tanh/tanh_plain.h"

sattn_tanh_fn sattn_tanh_f32_neon_autovec;

void sattn_tanh_f32_neon_autovec(const sattn_array_args *args)
{
    tanh_plain(args);
}
