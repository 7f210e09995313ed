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

static bool row_is_finite(const float *row, int64_t columns)
{
    uint32_t found = 0;
    for (int64_t y = 0; y < columns; ++y)
        found |= is_not_finite(row[y]);
    return found == 0;
}

bool sattn_unit_output_is_suspect(const sattn_fused_args *u)
{
    for (int64_t g = 0; g < u->n_group; ++g)
        for (int64_t i = u->i0; i < u->i1; ++i)
            if (!row_is_finite(u->o + g * u->o_group_stride + i * u->o_stride, u->d_v))
                return true;
    return false;
}

int64_t sattn_list_non_finite_keys(const sattn_fused_args *u, int64_t *keys)
{
    int64_t count = 0;
    for (int64_t j = 0; j < u->n_k; ++j)
        if (!row_is_finite(u->v + j * u->v_stride, u->d_v))
            keys[count++] = j;
    return count;
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

/* Some element is finite in the second result only, so that the second may have to be taken. */
static bool is_undecided(const float *row, const float *again, int64_t d_v)
{
    uint32_t found = 0;
    for (int64_t y = 0; y < d_v; ++y)
        found |= is_not_finite(row[y]) & ~is_not_finite(again[y]);
    return found != 0;
}

/* A visible key's non-finite values make the first result the right one in their columns. The keys
 * are gone through once per row, and no further than something is left to decide. */
static void take_row(const sattn_fused_args *u, int64_t g, int64_t i, float *again,
                     const int64_t *keys, int64_t n_keys)
{
    float *const row = u->o + g * u->o_group_stride + i * u->o_stride;
    bool undecided = is_undecided(row, again, u->d_v);
    for (int64_t n = 0; undecided && n < n_keys; ++n) {
        if (!is_visible(u, g, i, keys[n]))
            continue;
        const float *const v = u->v + keys[n] * u->v_stride;
        for (int64_t y = 0; y < u->d_v; ++y)
            again[y] = is_not_finite(v[y]) ? row[y] : again[y];
        undecided = is_undecided(row, again, u->d_v);
    }
    for (int64_t y = 0; y < u->d_v; ++y)
        row[y] = is_not_finite(row[y]) ? again[y] : row[y];
}

void sattn_take_repaired(const sattn_fused_args *u, float *repaired, const int64_t *keys,
                         int64_t n_keys)
{
    for (int64_t g = 0; g < u->n_group; ++g)
        for (int64_t i = u->i0; i < u->i1; ++i)
            take_row(u, g, i, repaired + (g * u->i1 + i) * u->d_v, keys, n_keys);
}
