/* SPDX-License-Identifier: MIT
 *
 * piece_shape.h: what one call of a qk, softmax or av kernel is given: sizes, ranges, visibility,
 * kinds of data, and how the operands lie in memory.
 *
 * The three ops have one form: an input with a row per query of each head, an operand that the
 * heads of the group share, and an output with a row per query.
 *
 *            IN                   SHARED          OUT
 *   qk       q [.., n_features]   k [n_keys, ..]  s [.., n_keys], columns [j0, j1)
 *   softmax  s [.., n_keys]       none            p [.., n_columns]
 *   av       p [.., n_keys]       v [n_keys, ..]  o [.., n_features] */
#ifndef SATTN_TESTS_SUPPORT_PIECE_SHAPE_H
#define SATTN_TESTS_SUPPORT_PIECE_SHAPE_H

#include "tests/support/buffers.h"
#include "tests/support/harness.h"
#include "tests/support/slopes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum piece_data {
    PIECE_NORMAL,     /* N(0, 1); scores of softmax times `spread`; weights of av |N(0, 1)| / 16 */
    PIECE_EQUAL,      /* every key is the same: rows of K and V, scores and weights of a row */
    PIECE_RISING,     /* softmax: scores rise by `spread` with every key */
    PIECE_SIGNED,     /* av: weights of both signs */
    PIECE_MINUS_ZERO, /* all inputs are -0 */
    PIECE_ZEROS,      /* +0 and -0 */
} piece_data;

typedef enum piece_mask { PIECE_NO_MASK, PIECE_BOOL, PIECE_ADDITIVE } piece_mask;

enum { PIECE_IN, PIECE_SHARED, PIECE_OUT, PIECE_MASK, PIECE_STATS, PIECE_SLOPES, PIECE_OPERANDS };

/* Zero means the plain case everywhere; see piece_shape_plain. */
typedef struct piece_shape {
    sattn_op op;
    int64_t n_group, n_rows, n_keys, n_features;
    int64_t n_columns; /* softmax: of P, at least n_keys */
    int64_t i0, i1;    /* rows to compute; the input holds the canary in others */
    int64_t j0, j1;    /* qk: keys to compute */
    float scale, softcap;
    float spread;
    piece_data data;
    bool causal, has_window;
    int64_t causal_offset, window_left, window_right;
    test_slopes slopes; /* softmax; given to av too, which has no use for them */
    piece_mask mask;
    bool mask_by_group, mask_by_row, mask_by_key; /* false: broadcast */
    int visible_percent;                          /* of the mask's entries */
    bool without_statistics;
    bool in_place; /* softmax: p is s */
    /* layout */
    int64_t row_gap[PIECE_OPERANDS]; /* elements between the end of a row and the next */
    bool in_repeats, shared_repeats; /* qk: q_stride 0; k_stride or v_stride 0 */
    bool heads_in_rows;              /* heads of the group side by side in each row */
    test_placement placement;
    size_t
        distance[PIECE_OPERANDS]; /* from the flush side, bytes; a multiple of the element size */
} piece_shape;

/* One head, all rows, keys and columns visible, statistics on. Softmax has no features. */
piece_shape piece_shape_plain(sattn_op op, int64_t n_rows, int64_t n_keys, int64_t n_features);

/* Random visibility (softmax, av), scale and softcap (qk), gaps, strides and placement. */
void piece_shape_vary(piece_shape *shape, test_random *random);

/* Only the visibility, or only the layout, of that. */
void piece_shape_vary_visibility(piece_shape *shape, test_random *random);
void piece_shape_vary_layout(piece_shape *shape, test_random *random);

/* Elements of a row of the input, of the shared operand, of the output. */
int64_t piece_in_width(const piece_shape *shape);
int64_t piece_out_width(const piece_shape *shape);

/* Whether length, causal limit, window and the mask's kind let row i see key j; the mask's values
 * are not looked at. */
bool piece_is_in_range(const piece_shape *shape, int64_t i, int64_t j);

/* The keys [begin, end) that a row of the call may see in this way; qk: [j0, j1). K and V have only
 * these: the places of others hold the canary or cannot be read. */
typedef struct piece_keys {
    int64_t begin, end;
} piece_keys;
piece_keys piece_keys_of_call(const piece_shape *shape);

/* "rows 3..7 of 9, group 2, keys 0..19, ..." */
void piece_shape_print(const piece_shape *shape, char *text, size_t size);

#endif
