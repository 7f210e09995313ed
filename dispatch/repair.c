/* SPDX-License-Identifier: MIT
 *
 * repair.c: see repair.h. Only the scan is on the common path. */
#include "dispatch/repair.h"

#include <math.h>
#include <string.h>

/* Not finite, by bit pattern: all exponent bits set. */
static uint32_t is_not_finite(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (bits & 0x7f800000u) == 0x7f800000u;
}

bool sattn_unit_may_hide(const sattn_fused_args *u)
{
    return u->mask_bool || u->mask_add || (u->causal && u->causal_offset < u->n_k - 1 - u->i0);
}

static bool row_is_suspect(const float *row, int64_t d_v)
{
    uint32_t found = 0;
    for (int64_t y = 0; y < d_v; ++y)
        found |= is_not_finite(row[y]);
    return found != 0;
}

bool sattn_unit_output_is_suspect(const sattn_fused_args *u)
{
    for (int64_t g = 0; g < u->n_group; ++g)
        for (int64_t i = u->i0; i < u->i1; ++i)
            if (row_is_suspect(u->o + g * u->o_group_stride + i * u->o_stride, u->d_v))
                return true;
    return false;
}

void sattn_copy_finite(const sattn_fused_args *u, float *v_copy)
{
    for (int64_t j = 0; j < u->n_k; ++j)
        for (int64_t y = 0; y < u->d_v; ++y) {
            const float value = u->v[j * u->v_stride + y];
            v_copy[j * u->d_v + y] = is_not_finite(value) ? 0.0f : value;
        }
}

static bool is_visible(const sattn_fused_args *u, int64_t g, int64_t i, int64_t j)
{
    const int64_t at = g * u->mask_group_stride + i * u->mask_row_stride + j * u->mask_key_stride;
    if (u->causal && u->causal_offset < j - i)
        return false;
    if (u->mask_bool)
        return u->mask_bool[at] != 0;
    return !u->mask_add || u->mask_add[at] != -INFINITY;
}

/* Some visible key brings a non-finite value into column y of this row. */
static bool brings_non_finite(const sattn_fused_args *u, int64_t g, int64_t i, int64_t y)
{
    for (int64_t j = 0; j < u->n_k; ++j)
        if (is_not_finite(u->v[j * u->v_stride + y]) && is_visible(u, g, i, j))
            return true;
    return false;
}

void sattn_take_repaired(const sattn_fused_args *u, const float *repaired)
{
    for (int64_t g = 0; g < u->n_group; ++g)
        for (int64_t i = u->i0; i < u->i1; ++i) {
            float *const row = u->o + g * u->o_group_stride + i * u->o_stride;
            const float *const again = repaired + (g * u->i1 + i) * u->d_v;
            for (int64_t y = 0; y < u->d_v; ++y)
                if (is_not_finite(row[y]) && !brings_non_finite(u, g, i, y))
                    row[y] = again[y];
        }
}
