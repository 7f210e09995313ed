/* SPDX-License-Identifier: MIT
 *
 * gru_f32_scalar.c: gru_plain.h without any vector instruction: compiled for the baseline, with
 * loop and straight-line vectorization off. */
#define PLAIN_SCALAR
#include "kernels/gru/gru_plain.h"

sattn_gru_fn sattn_gru_f32_scalar;

void sattn_gru_f32_scalar(const sattn_gru_args *args)
{
    gru_plain(args);
}
