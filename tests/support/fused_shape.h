/* SPDX-License-Identifier: MIT
 *
 * fused_shape.h: what one call of a fused kernel is given: sizes, ranges, visibility, kinds of data
 * and of biases, and how the operands lie in memory. */
#ifndef SATTN_TESTS_SUPPORT_FUSED_SHAPE_H
#define SATTN_TESTS_SUPPORT_FUSED_SHAPE_H

#include "tests/support/buffers.h"
#include "tests/support/harness.h"
#include "tests/support/slopes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum problem_data {
    PROBLEM_NORMAL, /* q, k, v ~ N(0, 1) */
    PROBLEM_EQUAL,  /* every key is the same */
    PROBLEM_STAIRS, /* scores of stair_height * (key / stair_keys) and a little noise; scale 1 */
    PROBLEM_MINUS_ZERO, /* q, k and v are -0 */
} problem_data;

typedef enum problem_mask { PROBLEM_NO_MASK, PROBLEM_BOOL, PROBLEM_ADDITIVE } problem_mask;

enum {
    OPERAND_Q,
    OPERAND_K,
    OPERAND_V,
    OPERAND_O,
    OPERAND_MASK,
    OPERAND_STATS,
    OPERAND_SLOPES,
    OPERAND_COUNT
};

/* Zero means the plain case everywhere; see fused_shape_plain. */
typedef struct fused_shape {
    int64_t n_group, n_rows, n_k, d, d_v;
    int64_t i0, i1, j0, j1; /* ranges to compute; Q holds the canary in other rows */
    float scale, softcap;
    bool causal, has_window;
    int64_t causal_offset, window_left, window_right;
    test_slopes slopes;
    bool partial;
    bool without_statistics;
    bool o_is_q; /* d == d_v */
    problem_data data;
    float stair_height;
    int64_t stair_keys;
    problem_mask mask;
    bool mask_by_group, mask_by_row, mask_by_key; /* false: broadcast */
    int visible_percent;                          /* of the mask's entries */
    /* layout */
    int64_t row_gap[OPERAND_COUNT];         /* elements between the end of a row and the next */
    bool k_repeats, v_repeats, q_is_shared; /* row strides 0; group stride 0 */
    bool heads_in_rows;                     /* heads of the group side by side in each row */
    test_placement placement;
    size_t distance[OPERAND_COUNT]; /* from the flush side, bytes; a multiple of the element size */
    int64_t kv_bytes;               /* that the kernel is told */
    bool rows_are_followed;         /* by the core, as it is told */
} fused_shape;

/* More than any cache holds: a kernel takes K and V for parts of memory. */
#define FUSED_SHAPE_KV_FAR ((int64_t)1 << 40)

/* One head, statistics on, scale 1/sqrt(d), all rows and keys. */
fused_shape fused_shape_plain(int64_t n_rows, int64_t n_k, int64_t d, int64_t d_v);

/* Random mask, causal limit, window, softcap, slopes, gaps, strides and placement for a plain
 * shape. */
void fused_shape_vary(fused_shape *shape, test_random *random);

/* Only the visibility and the bias of that; only the layout. */
void fused_shape_vary_visibility(fused_shape *shape, test_random *random);
void fused_shape_vary_layout(fused_shape *shape, test_random *random);

/* Keys [begin, end). */
typedef struct fused_keys {
    int64_t begin, end;
} fused_keys;

/* The keys of [j0, j1) that row i may see, and those that any of the rows [i0, i1) may, as far as
 * length, causal limit and window go. K and V have only the latter: the places of others hold the
 * canary or cannot be read. */
fused_keys fused_keys_of_row(const fused_shape *shape, int64_t i);
fused_keys fused_keys_of_call(const fused_shape *shape);

/* "rows 3..7 of 9, group 2, keys 0..19 of 19, d 8, ..." */
void fused_shape_print(const fused_shape *shape, char *text, size_t size);

#endif
