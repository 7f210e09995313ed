/* SPDX-License-Identifier: MIT
 *
 * fused_decode_state.h: what the steps of fused_decode.h work on, and which steps an ISA brings. */
#ifndef SATTN_KERNELS_FUSED_DECODE_STATE_H
#define SATTN_KERNELS_FUSED_DECODE_STATE_H

#include "kernels/fused/fused_strip.h"
#include "kernels/vec/score_tile.h"

enum {
    FUSED_DECODE_KEYS = SATTN_KEY_BLOCK, /* most keys of a block */
    FUSED_DECODE_UNIT = 16, /* keys of a part of a block; a multiple of every vector and key tile */
    FUSED_DECODE_ROWS = 32, /* most rows of a strip */
    FUSED_DECODE_SPAN = 512 << 10, /* bytes of K or V up to which blocks share a span */
};

typedef struct fused_decode_state {
    int64_t d, d_v;
    int64_t q_pitch; /* floats per row of q: d rounded up to whole vectors */
    int64_t o_pitch; /* floats per row of o */
    int n_rows;
    int group;    /* most rows of a group */
    float *q;     /* scale * q, zeros behind d, as `pack` leaves it; by score_group_pack: group of n
                   * rows from row r on at q + r * q_pitch, laid out [vectors of a row][n][lanes] */
    float *s;     /* [slot][FUSED_DECODE_KEYS] scores, then weights, of the block at hand */
    float *spans; /* [FUSED_DECODE_ROWS][FUSED_DECODE_KEYS]: s of the blocks of a span */
    int slot;     /* rows of s: n_rows, whole groups if there are several rows */
    float *o;     /* [n_rows][o_pitch] */
    float *sum;   /* [n_rows][o_pitch], or as many as one group's accumulators of the AV product:
                   * sums of a block that are not in registers */
    float *dots;  /* [FUSED_DECODE_KEYS][lanes] products of one row and the keys of a block, whose
                   * lanes are still to be added up */
    float row_max[FUSED_DECODE_ROWS]; /* reference value m, -inf until a key was seen */
    float row_sum[FUSED_DECODE_ROWS];
    float *block_max; /* maximum over the visible keys of the block at hand, [slot], from: */
    float span_max[FUSED_DECODE_ROWS];
} fused_decode_state;

typedef struct fused_decode_block {
    int64_t first;  /* absolute index of its first key */
    int n_keys;     /* at least 1 */
    const float *k; /* row of the first key */
    const float *v;
    int64_t k_stride, v_stride;
    bool is_far;              /* K and V are taken to come from memory */
    bool is_followed;         /* they need no prefetching */
    int64_t k_ahead, v_ahead; /* bytes from a row to the one prefetched with it */
} fused_decode_block;

/* A group of rows, and the keys of a block that are worked on for it: [begin, end). */
typedef struct fused_decode_part {
    int row, n_rows;
    int begin, end;
    bool is_far; /* as in the block; later groups find K and V in a cache */
    bool is_followed;
    int64_t k_ahead, v_ahead;
} fused_decode_part;

/* ALiBi of one row at one block. */
typedef struct fused_decode_alibi {
    float slope;    /* what distances are multiplied by */
    float position; /* of the query, counted from the block's first key */
} fused_decode_alibi;

typedef struct fused_decode_ops {
    int lanes;
    int group;        /* most rows of a group from memory: SCORE_GROUP, or twice that */
    int near_group;   /* and from a cache */
    int in_order;     /* most rows that read K key by key, so in the order in which it lies */
    bool takes_turns; /* from memory groups of rows meet a few keys of a block at a time */
    /* q = scale * Q as `score` wants it; NULL: by score_group_pack,
     * of groups of at most SCORE_GROUP rows */
    void (*pack)(fused_decode_state *st, const fused_strip *strip, float scale);
    /* s[r][j] = q[r] . k[j] for the rows and keys of the part, and block_max over the keys of the
     * block up to the last of these, as if every key were visible; a NaN does not enter block_max.
     * May write s up to the end of the unit. */
    void (*score)(fused_decode_state *st, const fused_decode_block *block,
                  const fused_decode_part *part);
    /* s[0 .. n) = softcap * tanh(s / softcap) */
    void (*cap)(float *s, int64_t n, float softcap);
    /* s[j] += slope * |position - j| for j < n, fused */
    void (*slope)(float *s, int n, const fused_decode_alibi *alibi);
    /* block_max from s[r][0 .. n), n in whole units; a NaN is passed over */
    void (*maximum)(fused_decode_state *st, int n);
    /* s[r][0 .. n) = exp(s - m), n in whole units; adds the sum to row_sum, its lanes by halves */
    void (*weigh)(fused_decode_state *st, int n);
    /* exp(t) of one number, as `weigh` has it, but 0 only below SATTN_EXP_LOWEST */
    float (*exp)(float t);
    /* Rows of the next group of `accumulate` from a cache, where n_left are left; NULL: those of a
     * group of `score`, as from memory. */
    int (*accumulate_rows)(int n_left);
    /* o += s v for the rows and keys of the part, by the block's last part at the latest */
    void (*accumulate)(const fused_decode_state *st, const fused_decode_block *block,
                       const fused_decode_part *part);
} fused_decode_ops;

/* Rows of the group that starts at `row`. */
static inline int fused_decode_group_rows(const fused_decode_state *st, int row)
{
    const int left = st->n_rows - row;
    if (st->group == SCORE_GROUP)
        return score_group_rows(st->n_rows, row, SCORE_GROUP);
    return left < st->group ? left : st->group;
}

/* Rows with those that fill up the last group, which are scored but mean nothing. */
static inline int fused_decode_padded(const fused_decode_state *st)
{
    if (st->n_rows <= SCORE_GROUP)
        return st->n_rows;
    return (st->n_rows + st->group - 1) / st->group * st->group;
}

/* Takes block i of a span in hand. */
static inline void fused_decode_take(fused_decode_state *st, int i)
{
    st->s = st->spans + (int64_t)i * st->slot * FUSED_DECODE_KEYS;
    st->block_max = st->span_max + i * st->slot;
}

/* The keys of a block in whole units. */
static inline int fused_decode_columns(const fused_decode_block *block)
{
    return (block->n_keys + FUSED_DECODE_UNIT - 1) / FUSED_DECODE_UNIT * FUSED_DECODE_UNIT;
}

/* With nothing but -inf so far, any finite reference gives the weights 0 that are due. */
static inline float fused_decode_reference(const fused_decode_state *st, int r)
{
    return st->row_max[r] == -INFINITY ? 0.0f : st->row_max[r];
}

#endif
