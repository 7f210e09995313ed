/* SPDX-License-Identifier: MIT
 *
 * fused_decode.h: fused attention for few query rows, "lanes over features", the same for all ISAs.
 *
 * With few rows, lanes over queries would stay empty. Here the lanes of a vector hold neighbouring
 * features of one row of K or V, which is how they lie in memory; nothing but Q is rearranged. Each
 * block of K and V comes from memory once and serves all rows of a strip.
 *
 *   for each strip of up to FUSED_DECODE_ROWS rows
 *       Q = scale * Q, the vectors of a group of rows side by side
 *       for each span of blocks of 128 keys
 *           for each block
 *               S = Q K^T         one accumulator per (row, key), then a transposing reduction
 *               softcap; ALiBi
 *               add the mask, hide what causal limit and window hide
 *           for each block
 *               for each row: raise the reference value m where the block exceeds it by the lazy
 *                   threshold; P = exp(S - m), in place; its sum, from zero, is added to the row's
 *                   once
 *               O += P V          each tile from zero, added once
 *       O = O / sum
 *
 * Method: online softmax, Milakov & Gimelshein 2018, eq. 6, by blocks as in FlashAttention-2,
 * algorithm 1. S is row-major, so masks and limits are plain loops over a row, and is filled with
 * -inf up to whole units of FUSED_DECODE_UNIT keys, so that maximum and weights know no tail.
 *
 * The state and the steps of an ISA are described in fused_decode_state.h, what comes between
 * scores and weights is in fused_decode_mask.h, the prefetching in fused_decode_fetch.h.
 *
 * Groups of rows take turns: each meets keys that the first has brought into a cache. From memory
 * turns may be short, so that its stream hardly pauses while the later groups have theirs.
 *
 * A row's bits must depend neither on the rows beside it nor on hidden keys, before its first or
 * behind its last. Hence every (row, key) pair has an accumulator of its own that runs over the
 * features in order, every accumulator goes through the same tree of additions, and the order in
 * which the AV product takes the keys follows from d_v alone. An ISA's tiles may differ in shape,
 * not in this. A strip's first block begins at the first key that one of its rows sees; hidden keys
 * weigh +0 and do not change a sum, as in fused_prefill.h. But that key decides which lane or
 * accumulator takes which keys, where keys are dealt to 2, 4, 8 or 16 of them in turn. So these are
 * added by halves: i and i + n / 2, of the sums i and i + n / 4, and so on. To deal from another
 * one on turns them in a circle, and swaps operands at most. */
#ifndef SATTN_KERNELS_FUSED_DECODE_H
#define SATTN_KERNELS_FUSED_DECODE_H

#include "kernels/fused/fused_decode_fetch.h"
#include "kernels/fused/fused_decode_mask.h"

/* Moves the reference value to the block's maximum where it lags too far behind. */
static inline void fused_decode_raise(const fused_decode_ops *ops, fused_decode_state *st)
{
    for (int r = 0; r < st->n_rows; ++r) {
        if (!(st->block_max[r] - st->row_max[r] > SATTN_LAZY_THRESHOLD)) /* a sum may round up */
            continue;
        const float before = st->row_max[r];
        float *const o = st->o + r * st->o_pitch;
        st->row_max[r] = st->block_max[r];
        if (before == -INFINITY) /* the first time, all sums are 0 */
            continue;
        const float factor = ops->exp(before - st->row_max[r]);
        st->row_sum[r] *= factor;
        for (int64_t y = 0; y < st->o_pitch; ++y)
            o[y] = o[y] * factor + 0.0f; /* -0 becomes +0, which hidden keys leave alone */
    }
}

static inline void fused_decode_start(const sattn_fused_args *a, const fused_decode_ops *ops,
                                      const fused_decode_fetch *fetch, fused_decode_state *st,
                                      const fused_strip *strip)
{
    st->n_rows = strip->n_rows;
    st->group = fetch->is_far ? ops->group : ops->near_group;
    st->slot = fused_decode_padded(st);
    for (int r = 0; r < st->n_rows; ++r) {
        st->row_max[r] = -INFINITY;
        st->row_sum[r] = 0.0f;
    }
    for (int64_t at = 0; at < st->n_rows * st->o_pitch; ++at)
        st->o[at] = 0.0f;
    if (ops->pack)
        ops->pack(st, strip, a->scale);
    else
        score_group_pack(st->q, st->q_pitch, strip->q, st->n_rows, SCORE_GROUP, ops->lanes, st->d,
                         a->scale);
}

static inline void fused_decode_store(const sattn_fused_args *a, const fused_decode_state *st,
                                      const fused_strip *strip)
{
    for (int r = 0; r < st->n_rows; ++r) {
        const bool seen = fused_row_sees(a, strip, r, st->row_sum[r]);
        const float factor = fused_row_finish(a, strip, r, st->row_max[r], st->row_sum[r], seen);
        const float *const from = st->o + r * st->o_pitch;
        float *const to = strip->o[r];
        for (int64_t y = 0; y < a->d_v; ++y)
            to[y] = seen ? factor * from[y] : 0.0f;
    }
}

/* Keys of a block that a group meets before the next has its turn: all, or where several groups
 * read from memory about as many as the first prefetches ahead. */
static inline int fused_decode_turn(const fused_decode_ops *ops, const fused_decode_state *st,
                                    const fused_decode_block *block)
{
    const int64_t width = st->d > st->d_v ? st->d : st->d_v;
    const int64_t n = fused_fetch_distance(FUSED_FETCH_FAR, width);
    if (!ops->takes_turns || !block->is_far || st->n_rows <= st->group || n > FUSED_DECODE_KEYS)
        return FUSED_DECODE_KEYS;
    return (int)(n + FUSED_DECODE_UNIT - 1) / FUSED_DECODE_UNIT * FUSED_DECODE_UNIT;
}

static inline void fused_decode_score(const fused_decode_ops *ops, fused_decode_state *st,
                                      const fused_decode_block *block)
{
    const int turn = fused_decode_turn(ops, st, block);
    for (int j = 0; j < block->n_keys; j += turn)
        for (int row = 0; row < st->n_rows;) {
            const int n_rows = fused_decode_group_rows(st, row);
            const fused_decode_part part = fused_decode_part_of(block, row, n_rows, j, turn);
            ops->score(st, block, &part);
            row += part.n_rows;
        }
}

static inline void fused_decode_accumulate(const fused_decode_ops *ops,
                                           const fused_decode_state *st,
                                           const fused_decode_block *block)
{
    const int turn = fused_decode_turn(ops, st, block);
    const bool from_cache = ops->accumulate_rows && !block->is_far;
    for (int j = 0; j < block->n_keys; j += turn)
        for (int row = 0; row < st->n_rows;) {
            const int n_rows = from_cache ? ops->accumulate_rows(st->n_rows - row)
                                          : fused_decode_group_rows(st, row);
            const fused_decode_part part = fused_decode_part_of(block, row, n_rows, j, turn);
            ops->accumulate(st, block, &part);
            row += part.n_rows;
        }
}

/* Scores of the visible keys, and their maximum, in which columns behind the last key, which are
 * not keys of their own when they are scored, have no share. */
static inline void fused_decode_score_block(const sattn_fused_args *a, const fused_decode_ops *ops,
                                            fused_decode_state *st, const fused_strip *strip,
                                            const fused_decode_block *block)
{
    const bool bent = a->softcap != 0.0f || a->visible.alibi_slopes;
    const bool masked = a->visible.mask_bool || a->visible.mask_add;
    const int n = fused_decode_columns(block);
    const bool cut =
        strip->key_begin_max > block->first || strip->key_end_min < block->first + block->n_keys;
    fused_decode_score(ops, st, block);
    if (bent)
        fused_decode_bend(a, ops, st, strip, block);
    if (masked || cut || n > block->n_keys)
        fused_decode_hide(a, st, strip, block);
    if (bent || masked || cut)
        ops->maximum(st, n);
}

static inline void fused_decode_add_block(const fused_decode_ops *ops, fused_decode_state *st,
                                          const fused_decode_block *block)
{
    fused_decode_raise(ops, st);
    ops->weigh(st, fused_decode_columns(block));
    fused_decode_accumulate(ops, st, block);
}

/* The block of which key j is the first that some row sees. */
static inline fused_decode_block fused_decode_block_at(const sattn_fused_args *a,
                                                       const fused_decode_fetch *fetch, int64_t j,
                                                       int64_t end)
{
    const int64_t next = (j / FUSED_DECODE_KEYS + 1) * FUSED_DECODE_KEYS;
    return (fused_decode_block){.first = j,
                                .n_keys = (int)((next < end ? next : end) - j),
                                .k = a->k + j * a->k_stride,
                                .v = a->v + j * a->v_stride,
                                .k_stride = a->k_stride,
                                .v_stride = a->v_stride,
                                .is_far = fetch->is_far,
                                .is_followed = fetch->is_followed,
                                .k_ahead = fetch->k_ahead,
                                .v_ahead = fetch->v_ahead};
}

/* How many blocks are scored before the first of them meets V. Wherever K and V come from, going
 * over from one to the other costs time; but scores should stay in the first cache. */
static inline int fused_decode_span(const sattn_fused_args *a, const fused_decode_state *st)
{
    const int64_t width = a->d > a->d_v ? a->d : a->d_v;
    const int64_t bytes = FUSED_DECODE_KEYS * width * (int64_t)sizeof(float);
    const int64_t most = FUSED_DECODE_ROWS / st->slot;
    const int64_t n = FUSED_DECODE_SPAN / bytes;
    return (int)(n < 1 ? 1 : n < most ? n : most);
}

static inline void fused_decode_strip(const sattn_fused_args *a, const fused_decode_ops *ops,
                                      fused_decode_state *st, const fused_strip *strip)
{
    const int64_t end = strip->key_end_max;
    const fused_decode_fetch fetch = fused_decode_fetch_of(a, ops, strip);
    fused_decode_start(a, ops, &fetch, st, strip);
    const int span = fused_decode_span(a, st);
    for (int64_t scored = strip->key_begin_min, added = scored; scored < end;) {
        for (int i = 0; i < span && scored < end; ++i) {
            const fused_decode_block block = fused_decode_block_at(a, &fetch, scored, end);
            fused_decode_take(st, i);
            fused_decode_score_block(a, ops, st, strip, &block);
            scored += block.n_keys;
        }
        for (int i = 0; added < scored; ++i) {
            const fused_decode_block block = fused_decode_block_at(a, &fetch, added, end);
            fused_decode_take(st, i);
            fused_decode_add_block(ops, st, &block);
            added += block.n_keys;
        }
    }
    fused_decode_store(a, st, strip);
}

static inline void fused_decode(const sattn_fused_args *a, const fused_decode_ops *ops)
{
    const int64_t n_rows = fused_row_count(a);
    fused_decode_state st; /* field by field: to clear all of it takes as long as some keys do */
    st.d = a->d;
    st.d_v = a->d_v;
    st.q_pitch = (a->d + ops->lanes - 1) / ops->lanes * ops->lanes;
    st.o_pitch = (a->d_v + ops->lanes - 1) / ops->lanes * ops->lanes;
    st.q = a->scratch;
    st.spans = st.q + FUSED_DECODE_ROWS * ((st.q_pitch + 15) / 16 * 16);
    st.o = st.spans + FUSED_DECODE_ROWS * FUSED_DECODE_KEYS;
    st.sum = st.o + FUSED_DECODE_ROWS * st.o_pitch;
    st.dots = st.sum + FUSED_DECODE_ROWS * st.o_pitch;
    fused_strip strip;
    for (int64_t first = 0; first < n_rows; first += FUSED_DECODE_ROWS) {
        const int64_t left = n_rows - first;
        fused_strip_fill(&strip, a, first,
                         left < FUSED_DECODE_ROWS ? (int)left : FUSED_DECODE_ROWS);
        fused_decode_strip(a, ops, &st, &strip);
    }
}

#endif
