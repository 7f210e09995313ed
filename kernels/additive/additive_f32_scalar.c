/* SPDX-License-Identifier: MIT
 *
 * additive_f32_scalar.c: additive_plain.h without any vector instruction: compiled for the
 * baseline, with loop and straight-line vectorization off. */
#define PLAIN_SCALAR
#include "kernels/additive/additive_plain.h"

sattn_additive_fn sattn_additive_f32_scalar;

void sattn_additive_f32_scalar(const sattn_additive_args *args)
{
    additive_plain(args);
}
