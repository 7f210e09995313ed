/* SPDX-License-Identifier: MIT
 *
 * gru_f32_neon_autovec.c: gru_plain.h as the compiler vectorises it for NEON. */
#include "kernels/gru/gru_plain.h"

sattn_gru_fn sattn_gru_f32_neon_autovec;

void sattn_gru_f32_neon_autovec(const sattn_gru_args *args)
{
    gru_plain(args);
}
