/* SPDX-License-Identifier: MIT
 *
 * fused_prefill.h: fused attention for many query rows, "lanes over queries", for all ISAs.
 *
 * One lane of a vector is one query row, so the running maximum, the sum and the rescaling of the
 * online softmax (Milakov & Gimelshein 2018, eq. 6; FlashAttention-2, algorithm 1) are vertical,
 * and K and V are read as they lie in memory, one broadcast scalar at a time. Only Q is packed.
 *
 *   for each strip of `width` rows
 *       Q^T = scale * Q, transposed                                    [d][width]
 *       for each block of up to SATTN_KEY_BLOCK keys
 *           S^T = K Q^T                          8 x 2 register tiles  [keys][width]
 *           softcap; ALiBi
 *           add the mask, hide what causal limit and window hide
 *           raise the reference value m where the block exceeds it by the lazy threshold
 *           P^T = exp(S^T - m), in place; its sum, from zero, is added to the row's once
 *           O^T += V^T P^T, each tile from zero, added once            [d_v][width]
 *       O = O^T / sum, transposed back
 *
 * An ISA supplies the steps (fused_prefill_ops); they are called per block, so an indirect call
 * costs nothing. Arrays are [..][width] with width = 2 * lanes; a strip with at most `lanes` rows
 * left works on the first vector only (n_vec = 1).
 *
 * A vector takes the keys of a block that one of its rows sees (fused_span.h), so what a row does
 * not see must leave its bits alone. Hidden scores are -inf, so their weights are +0, and added to
 * a sum they do not change it: no sum is ever -0. Blocks end at multiples of SATTN_KEY_BLOCK; where
 * in a block the first key or the last stands does not matter, since each sum takes the keys of a
 * block in order, or all even and all odd ones. */
#ifndef SATTN_KERNELS_FUSED_PREFILL_H
#define SATTN_KERNELS_FUSED_PREFILL_H

#include "kernels/fused/fused_span.h"
#include "kernels/vec/fetch.h"

typedef struct fused_prefill_state {
    const fused_strip *strip;
    const fused_strip *next; /* the one after it, or NULL */
    int64_t d, d_v;
    int n_vec;                 /* vectors of rows in use, 1 or 2 */
    int n_fetched, fetch_step; /* rows of the strip that were prefetched, and how many at a time */
    bool is_fresh[2];          /* o_t of the vector counts as zeros, whatever it holds */
    float *q_t;                /* [d][width]               */
    float *s_t;                /* [SATTN_KEY_BLOCK][width] scores, then weights */
    float *o_t;                /* [d_v][width]             */
    float *row_max;   /* [width] reference value m of each row, -inf until a key was seen */
    float *row_sum;   /* [width] */
    float *block_max; /* [width] maximum over the visible keys of the block */
    float *factor;    /* [width] what O^T is multiplied by at the end */
    float *position;  /* [width] of the query, counted from the block's first key; with ALiBi */
} fused_prefill_state;

typedef struct fused_prefill_ops {
    int lanes; /* rows in a vector */
    /* q_t[x][r] = scale * q[r][x] */
    void (*pack)(const fused_prefill_state *st, float scale);
    /* s_t = K q_t of one vector or both, -inf where limits hide; raises block_max */
    void (*score)(const fused_prefill_state *st, const fused_block *block, const fused_span *span);
    /* s[0 .. n) = softcap * tanh(s / softcap) */
    void (*cap)(float *s, int64_t n, float softcap);
    /* The rest is done vector by vector: spans have n_vec = 1.
     * s_t[j][r] += strip->slope[r] * |position[r] - j|, fused */
    void (*slope)(const fused_prefill_state *st, const fused_span *span);
    /* adds the mask row of each lane to s_t, -inf where it hides, whatever s_t holds */
    void (*bias)(const fused_prefill_state *st, const fused_block *block, const fused_span *span);
    /* s_t[j][r] = -inf where limits hide, whatever s_t holds; raises block_max to the others */
    void (*hide)(const fused_prefill_state *st, const fused_block *block, const fused_span *span);
    /* block_max from s_t */
    void (*maximum)(const fused_prefill_state *st, const fused_span *span);
    /* s_t = exp(s_t - m), after raising m and rescaling where due; its sum is added to row_sum */
    void (*weigh)(const fused_prefill_state *st, const fused_span *span);
    /* o_t += V^T s_t, each vector over its keys of the block */
    void (*accumulate)(const fused_prefill_state *st, const fused_block *block);
    /* o[r][y] = factor[r] * o_t[y][r] for the rows of the strip; lanes behind the last repeat it,
     * with its factor, and may store it again. */
    void (*store)(const fused_prefill_state *st);
} fused_prefill_ops;

static inline float *fused_prefill_take(float **next, int64_t floats)
{
    float *const taken = *next;
    *next += (floats + 15) / 16 * 16; /* the next array starts on a cache line too */
    return taken;
}

static inline fused_prefill_state fused_prefill_carve(const sattn_fused_args *a, int width)
{
    float *next = a->scratch;
    fused_prefill_state st = {.d = a->d, .d_v = a->d_v};
    st.q_t = fused_prefill_take(&next, a->d * width);
    st.s_t = fused_prefill_take(&next, (int64_t)SATTN_KEY_BLOCK * width);
    st.o_t = fused_prefill_take(&next, a->d_v * width);
    st.row_max = fused_prefill_take(&next, width);
    st.row_sum = fused_prefill_take(&next, width);
    st.block_max = fused_prefill_take(&next, width);
    st.factor = fused_prefill_take(&next, width);
    st.position = fused_prefill_take(&next, width);
    return st;
}

/* Prefetches some rows of O, which the strip will store, and of Q, which the next strip, where
 * there is one, will pack: both would otherwise wait for memory with no work at hand. A strip of
 * few keys leaves them in the caches, where they are neighbours of its own rows. */
static inline void fused_prefill_fetch(fused_prefill_state *st)
{
    enum { LINE_FLOATS = 16 };
    int r = st->n_fetched;
    st->n_fetched += st->fetch_step;
    const int64_t n = st->d > st->d_v ? st->d : st->d_v;
    for (; r < st->n_fetched && r < st->strip->n_rows; ++r)
        for (int64_t x = 0; x < n; x += LINE_FLOATS) {
            if (st->next && r < st->next->n_lanes)
                vec_fetch(st->next->q[r], x * (int64_t)sizeof(float));
            vec_fetch(st->strip->o[r], x * (int64_t)sizeof(float));
        }
}

/* Scores of all keys of the block, run by run. */
static inline void fused_prefill_score(const fused_prefill_ops *ops, const fused_prefill_state *st,
                                       const fused_block *block)
{
    const fused_span spans[3] = {{0, 1, 0, block->both_begin},
                                 {0, 2, block->both_begin, block->both_end},
                                 {1, 1, block->both_end, block->n_keys}};
    for (int r = 0; r < 2 * ops->lanes; ++r)
        st->block_max[r] = -INFINITY;
    for (int i = 0; i < 3; ++i)
        if (spans[i].begin < spans[i].end)
            ops->score(st, block, &spans[i]);
}

/* Softcap of what was scored: the vectors lie side by side only where both take part. */
static inline void fused_prefill_cap(const fused_prefill_ops *ops, const fused_prefill_state *st,
                                     const fused_block *block, float softcap)
{
    const int width = 2 * ops->lanes;
    const int n_both = block->both_end - block->both_begin;
    ops->cap(st->s_t + block->both_begin * width, (int64_t)n_both * width, softcap);
    for (int j = 0; j < block->both_begin; ++j)
        ops->cap(st->s_t + j * width, ops->lanes, softcap);
    for (int j = block->both_end; j < block->n_keys; ++j)
        ops->cap(st->s_t + j * width + ops->lanes, ops->lanes, softcap);
}

static inline void fused_prefill_alibi(const fused_prefill_ops *ops, const fused_prefill_state *st,
                                       const fused_block *block, const fused_span *span)
{
    const fused_strip *const strip = st->strip;
    const int width = 2 * ops->lanes;
    const int end = (span->vec + 1) * ops->lanes;
    bool near = true;
    for (int r = span->vec * ops->lanes; r < end; ++r) {
        near = near && sattn_alibi_is_near(strip->position[r], block->first);
        st->position[r] = (float)sattn_add_held(strip->position[r], -block->first);
    }
    if (near)
        ops->slope(st, span);
    for (int r = span->vec * ops->lanes; !near && r < end; ++r)
        fused_add_far(strip, r, st->s_t + span->begin * width + r, width,
                      block->first + span->begin, span->end - span->begin);
}

/* Softcap, ALiBi and a mask may lift scores that limits hide, or make NaN of them. */
static inline void fused_prefill_hide(const fused_prefill_ops *ops, const fused_prefill_state *st,
                                      const fused_block *block, const fused_span *span)
{
    const int vec = span->vec;
    const int begin = (int)fused_held(block->sure_begin[vec], span->begin, span->end);
    const int end = (int)fused_held(block->sure_end[vec], begin, span->end);
    ops->hide(st, block, &(fused_span){vec, 1, span->begin, begin});
    ops->hide(st, block, &(fused_span){vec, 1, end, span->end});
}

static inline void fused_prefill_block(const sattn_fused_args *a, const fused_prefill_ops *ops,
                                       fused_prefill_state *st, const fused_block *block)
{
    const bool capped = a->softcap != 0.0f;
    const bool sloped = a->visible.alibi_slopes != NULL;
    const bool masked = a->visible.mask_bool || a->visible.mask_add;
    const bool changed = capped || sloped || masked;
    fused_prefill_fetch(st);
    fused_prefill_score(ops, st, block);
    fused_prefill_fetch(st);
    if (capped)
        fused_prefill_cap(ops, st, block, a->softcap);
    for (int vec = 0; vec < 2; ++vec) {
        const fused_span span = fused_block_span(block, vec);
        if (span.begin == span.end)
            continue;
        if (sloped)
            fused_prefill_alibi(ops, st, block, &span);
        if (masked)
            ops->bias(st, block, &span);
        if (changed) {
            fused_prefill_hide(ops, st, block, &span);
            ops->maximum(st, &span);
        }
        ops->weigh(st, &span);
    }
    fused_prefill_fetch(st);
    ops->accumulate(st, block);
    st->is_fresh[0] = st->is_fresh[0] && block->both_end == 0;
    st->is_fresh[1] = st->is_fresh[1] && block->both_begin == block->n_keys;
}

/* Statistics of the rows, and +0 for those that see no key. */
static inline void fused_prefill_finish(const sattn_fused_args *a, const fused_prefill_state *st)
{
    const fused_strip *const strip = st->strip;
    for (int r = 0; r < strip->n_rows; ++r) {
        const bool seen = fused_row_sees(a, strip, r, st->row_sum[r]);
        fused_row_statistics(a, strip, r, st->row_max[r], st->row_sum[r], seen);
        for (int64_t y = 0; !seen && y < a->d_v; ++y)
            strip->o[r][y] = 0.0f;
    }
}

static inline void fused_prefill_store(const sattn_fused_args *a, const fused_prefill_ops *ops,
                                       const fused_prefill_state *st)
{
    const int width = 2 * ops->lanes;
    bool any_empty = false; /* a row sees no key, or scores of -inf alone */
    for (int r = 0; r < st->strip->n_lanes; ++r) {
        st->factor[r] = fused_row_factor(a, st->row_sum[r]);
        any_empty = any_empty || st->row_sum[r] == 0.0f;
    }
    for (int vec = 0; vec < st->n_vec; ++vec)
        for (int64_t y = 0; st->is_fresh[vec] && y < a->d_v; ++y)
            for (int r = vec * ops->lanes; r < (vec + 1) * ops->lanes; ++r)
                st->o_t[y * width + r] = 0.0f;
    ops->store(st);
    if (any_empty || a->row_max || a->row_sum)
        fused_prefill_finish(a, st);
}

static inline void fused_prefill_start(const fused_prefill_ops *ops, fused_prefill_state *st)
{
    const int width = 2 * ops->lanes;
    const int64_t n_blocks = (st->strip->key_end_max - st->strip->key_begin_min) / SATTN_KEY_BLOCK;
    for (int r = 0; r < width; ++r) {
        st->row_max[r] = -INFINITY;
        st->row_sum[r] = 0.0f;
    }
    st->is_fresh[0] = st->is_fresh[1] = true;
    st->n_fetched = 0;
    st->fetch_step = n_blocks < 2 ? 0 : 1 + (int)(width / (3 * (n_blocks + 1)));
}

static inline void fused_prefill_strip(const sattn_fused_args *a, const fused_prefill_ops *ops,
                                       fused_prefill_state *st)
{
    const fused_strip *const strip = st->strip;
    const fused_ranges ranges = fused_strip_ranges(strip, ops->lanes);
    const int64_t end = strip->key_end_max;
    fused_prefill_start(ops, st);
    if (strip->key_begin_min >= end) { /* no row sees a key: queries are more than keys, say */
        fused_prefill_finish(a, st);
        return;
    }
    ops->pack(st, a->scale);
    for (int64_t j = strip->key_begin_min; j < end;) {
        const int64_t border = (j / SATTN_KEY_BLOCK + 1) * SATTN_KEY_BLOCK;
        const int64_t stop = border < end ? border : end;
        fused_block block = {.k_stride = a->k_stride,
                             .v_stride = a->v_stride,
                             .mask_key_stride = a->visible.mask_key_stride};
        if (fused_block_find(&block, a, strip, &ranges, ops->lanes, j, stop)) {
            block.k = a->k + block.first * a->k_stride;
            block.v = a->v + block.first * a->v_stride;
            fused_block_cut(&block, strip, ops->lanes);
            fused_prefill_block(a, ops, st, &block);
        }
        j = stop;
    }
    fused_prefill_store(a, ops, st);
}

static inline void fused_prefill(const sattn_fused_args *a, const fused_prefill_ops *ops)
{
    const int width = 2 * ops->lanes;
    const int64_t n_rows = fused_row_count(a);
    fused_prefill_state st = fused_prefill_carve(a, width);
    fused_strip strips[2];
    if (n_rows == 0)
        return;
    fused_strip_fill(&strips[0], a, 0, n_rows <= ops->lanes ? ops->lanes : width);
    for (int64_t first = 0, turn = 0; first < n_rows; first += width, ++turn) {
        fused_strip *const next = &strips[(turn + 1) & 1];
        const int64_t rest = n_rows - first - width;
        if (rest > 0)
            fused_strip_fill(next, a, first + width, rest <= ops->lanes ? ops->lanes : width);
        st.strip = &strips[turn & 1];
        st.next = rest > 0 ? next : NULL;
        st.n_vec = st.strip->n_lanes / ops->lanes;
        fused_prefill_strip(a, ops, &st);
    }
}

#endif
