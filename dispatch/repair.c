/* SPDX-License-Identifier: MIT
 *
 * repair.c: see repair.h. Only the scan is on the common path. */
#include "dispatch/repair.h"

#include "dispatch/unit.h"
#include "kernels/visibility.h"

#include <string.h>

/* Not finite, by bit pattern: all exponent bits set. */
static uint32_t is_not_finite(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (bits & 0x7f800000u) == 0x7f800000u;
}

void sattn_repair_begin(const sattn_repair_memory *memory)
{
    if (memory->lock)
        pthread_mutex_lock(memory->lock);
}

void sattn_repair_end(const sattn_repair_memory *memory)
{
    if (memory->lock)
        pthread_mutex_unlock(memory->lock);
}

bool sattn_may_hide(const sattn_visibility *visible, int64_t n_rows)
{
    if (visible->mask_bool || visible->mask_add)
        return true;
    if (visible->n_k == 0 || n_rows == 0)
        return false;
    /* The first row sees least at the end, the last row least at the beginning. */
    const sattn_key_range first = sattn_visible_range(visible, 0);
    const sattn_key_range last = sattn_visible_range(visible, n_rows - 1);
    return first.end < visible->n_k || last.end < visible->n_k || last.begin > 0;
}

/* Nonzero in its highest bit where x is not finite: a carry out of exponent bits that are all set.
 */
static uint32_t carry_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (bits & 0x7fffffffu) + 0x00800000u;
}

/* This is the scan: several vectors side by side, of any width, and one look at the end. */
static bool row_is_finite(const float *row, int64_t columns)
{
    enum { WIDTH = 32 };
    uint32_t found[WIDTH] = {0};
    uint32_t any = 0;
    int64_t y = 0;
    for (; y + WIDTH <= columns; y += WIDTH)
        for (int u = 0; u < WIDTH; ++u)
            found[u] |= carry_of(row[y + u]);
    for (; y < columns; ++y)
        any |= carry_of(row[y]);
    for (int u = 0; u < WIDTH; ++u)
        any |= found[u];
    return any >> 31 == 0;
}

bool sattn_output_is_suspect(const sattn_averaged *a)
{
    const bool is_dense = a->o_stride == a->d_v; /* so that a head is one long row */
    const int64_t n_rows = is_dense && a->n_rows > 0 ? 1 : a->n_rows;
    const int64_t columns = is_dense ? a->n_rows * a->d_v : a->d_v;
    for (int64_t g = 0; g < a->n_group; ++g)
        for (int64_t i = 0; i < n_rows; ++i)
            if (!row_is_finite(a->o + g * a->o_group_stride + i * a->o_stride, columns))
                return true;
    return false;
}

int64_t sattn_list_non_finite_keys(const sattn_averaged *a, int64_t *keys)
{
    int64_t count = 0;
    for (int64_t j = 0; j < a->visible->n_k; ++j)
        if (!row_is_finite(a->v + j * a->v_stride, a->d_v))
            keys[count++] = j;
    return count;
}

void sattn_copy_finite(const sattn_averaged *a, float *v_copy)
{
    for (int64_t j = 0; j < a->visible->n_k; ++j)
        for (int64_t y = 0; y < a->d_v; ++y) {
            const float value = a->v[j * a->v_stride + y];
            v_copy[j * a->d_v + y] = is_not_finite(value) ? 0.0f : value;
        }
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
static void take_row(const sattn_averaged *a, int64_t g, int64_t i, float *again,
                     const int64_t *keys, int64_t n_keys)
{
    float *const row = a->o + g * a->o_group_stride + i * a->o_stride;
    const sattn_key_range range = sattn_visible_range(a->visible, i);
    bool undecided = is_undecided(row, again, a->d_v);
    for (int64_t n = 0; undecided && n < n_keys; ++n) {
        const int64_t j = keys[n];
        if (j < range.begin || j >= range.end || !sattn_mask_lets_through(a->visible, g, i, j))
            continue;
        const float *const v = a->v + j * a->v_stride;
        for (int64_t y = 0; y < a->d_v; ++y)
            again[y] = is_not_finite(v[y]) ? row[y] : again[y];
        undecided = is_undecided(row, again, a->d_v);
    }
    for (int64_t y = 0; y < a->d_v; ++y)
        row[y] = is_not_finite(row[y]) ? again[y] : row[y];
}

void sattn_take_repaired(const sattn_averaged *a, float *repaired, const int64_t *keys,
                         int64_t n_keys)
{
    for (int64_t g = 0; g < a->n_group; ++g)
        for (int64_t i = 0; i < a->n_rows; ++i)
            take_row(a, g, i, repaired + (g * a->n_rows + i) * a->d_v, keys, n_keys);
}
