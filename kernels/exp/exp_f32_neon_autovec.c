/* SPDX-License-Identifier: MIT
 *
 * exp_f32_neon_autovec.c: exp_plain.h as the compiler vectorises it for NEON. */
#include "kernels/exp/exp_plain.h"

sattn_exp_fn sattn_exp_f32_neon_autovec;

void sattn_exp_f32_neon_autovec(const sattn_array_args *args)
{
    exp_plain(args);
}
