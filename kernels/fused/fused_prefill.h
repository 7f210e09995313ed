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
 * That is the order while K and V of a head stay in the second-level cache from strip to strip. Of
 * larger ones each block meets all strips of SATTN_FUSED_ROWS_MAX rows before the next has its
 * turn: it comes from further away once for all of them, and what a strip keeps, Q^T, O^T and two
 * numbers per row, comes from that cache, up to d + d_v of some thousand. No strip sees the
 * difference.
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
    const fused_strip *next; /* the one to be packed after it, or NULL */
    fused_ranges ranges;
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

enum {
    FUSED_STRIPS_MAX = 8, /* at work together */
    /* Bytes of K and V that a strip finds where the one before left them. Chosen on a core with 2
     * MB of second-level cache; smaller ones have less to lose than to gain above it. */
    FUSED_NEAR_KV = 1 << 20,
};

/* What else lies in scratch, the term for tiles in sattn_fused_scratch_bytes has room for. */
_Static_assert((FUSED_STRIPS_MAX + 1) * sizeof(fused_strip) <=
                   (SATTN_FUSED_ROW_FLOATS - 2) * SATTN_FUSED_ROWS_MAX * sizeof(float),
               "strips have room in scratch, beside their rows' maxima and sums");

/* The keys that SATTN_FUSED_ROWS_MAX queries in order may see between them, at most. */
static inline int64_t fused_prefill_reach(const sattn_fused_args *a)
{
    const sattn_visibility *const v = &a->visible;
    const int64_t n_keys = a->j1 - a->j0;
    const int64_t right = v->causal ? 0 : v->window_right;
    if (!v->has_window || v->window_left < 0 || right < 0)
        return n_keys;
    const int64_t seen =
        sattn_add_held(sattn_add_held(v->window_left, right), SATTN_FUSED_ROWS_MAX);
    return seen < n_keys ? seen : n_keys;
}

/* How many strips meet a block before the next block has its turn. */
static inline int fused_prefill_n_together(const sattn_fused_args *a, int lanes)
{
    const int64_t row_bytes = (a->d + a->d_v) * (int64_t)sizeof(float);
    const int most = SATTN_FUSED_ROWS_MAX / (2 * lanes);
    if (fused_prefill_reach(a) <= FUSED_NEAR_KV / row_bytes)
        return 1;
    return most < FUSED_STRIPS_MAX ? most : FUSED_STRIPS_MAX;
}

/* States of n strips, which share what lives no longer than one of their blocks. Returns the part
 * of scratch behind them, where n + 1 strips have room. */
static inline fused_strip *fused_prefill_carve(fused_prefill_state st[], int n,
                                               const sattn_fused_args *a, int lanes)
{
    const int width = 2 * lanes;
    float *next = a->scratch;
    for (int i = 0; i < n; ++i)
        st[i] = (fused_prefill_state){
            .d = a->d, .d_v = a->d_v, .q_t = fused_prefill_take(&next, a->d * width)};
    st[0].s_t = fused_prefill_take(&next, (int64_t)SATTN_KEY_BLOCK * width);
    for (int i = 0; i < n; ++i) {
        st[i].o_t = fused_prefill_take(&next, a->d_v * width);
        st[i].row_max = fused_prefill_take(&next, width);
        st[i].row_sum = fused_prefill_take(&next, width);
    }
    st[0].block_max = fused_prefill_take(&next, width);
    st[0].factor = fused_prefill_take(&next, width);
    st[0].position = fused_prefill_take(&next, width);
    for (int i = 1; i < n; ++i) {
        st[i].s_t = st[0].s_t;
        st[i].block_max = st[0].block_max;
        st[i].factor = st[0].factor;
        st[i].position = st[0].position;
    }
    return (fused_strip *)(void *)next;
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

/* Makes the strip ready for its first block, if it has any. */
static inline void fused_prefill_start(const sattn_fused_args *a, const fused_prefill_ops *ops,
                                       fused_prefill_state *st)
{
    const fused_strip *const strip = st->strip;
    const int width = 2 * ops->lanes;
    const int64_t n_keys = strip->key_end_max - strip->key_begin_min;
    const int64_t n_blocks = n_keys / SATTN_KEY_BLOCK;
    for (int r = 0; r < width; ++r) {
        st->row_max[r] = -INFINITY;
        st->row_sum[r] = 0.0f;
    }
    st->n_vec = strip->n_lanes / ops->lanes;
    st->ranges = fused_strip_ranges(strip, ops->lanes);
    st->is_fresh[0] = st->is_fresh[1] = true;
    st->n_fetched = 0;
    st->fetch_step = n_blocks < 2 ? 0 : 1 + (int)(width / (3 * (n_blocks + 1)));
    if (n_keys > 0)
        ops->pack(st, a->scale);
}

/* Where no row sees a key, as of queries that are more than keys, there are only zeros to store. */
static inline void fused_prefill_end(const sattn_fused_args *a, const fused_prefill_ops *ops,
                                     fused_prefill_state *st)
{
    if (st->strip->key_begin_min < st->strip->key_end_max)
        fused_prefill_store(a, ops, st);
    else
        fused_prefill_finish(a, st);
}

/* What the strip sees of the keys [j, stop), which lie in one block. */
static inline void fused_prefill_keys(const sattn_fused_args *a, const fused_prefill_ops *ops,
                                      fused_prefill_state *st, int64_t j, int64_t stop)
{
    fused_block block = {.k_stride = a->k_stride,
                         .v_stride = a->v_stride,
                         .mask_key_stride = a->visible.mask_key_stride};
    if (!fused_block_find(&block, a, st->strip, &st->ranges, ops->lanes, j, stop))
        return;
    block.k = a->k + block.first * a->k_stride;
    block.v = a->v + block.first * a->v_stride;
    fused_block_cut(&block, st->strip, ops->lanes);
    fused_prefill_block(a, ops, st, &block);
}

/* n strips of rows in order: block by block, each strip in turn. */
static inline void fused_prefill_strips(const sattn_fused_args *a, const fused_prefill_ops *ops,
                                        fused_prefill_state st[], int n)
{
    const int64_t end = st[n - 1].strip->key_end_max; /* limits never move back */
    for (int i = 0; i < n; ++i)
        fused_prefill_start(a, ops, &st[i]);
    for (int64_t j = st[0].strip->key_begin_min, stop; j < end; j = stop) {
        const int64_t border = (j / SATTN_KEY_BLOCK + 1) * SATTN_KEY_BLOCK;
        stop = border < end ? border : end;
        for (int i = 0; i < n; ++i)
            fused_prefill_keys(a, ops, &st[i], j, stop);
    }
    for (int i = 0; i < n; ++i)
        fused_prefill_end(a, ops, &st[i]);
}

/* The strip of the rows from `first` on, up to a strip's width of them. */
static inline void fused_prefill_fill(fused_strip *strip, const sattn_fused_args *a, int64_t first,
                                      int lanes)
{
    const int64_t rest = fused_row_count(a) - first;
    fused_strip_fill(strip, a, first, rest <= lanes ? lanes : 2 * lanes);
}

/* Strips in a ring of n + 1: those at work, and the one behind them, whose Q is prefetched. */
typedef struct fused_prefill_ring {
    fused_strip *strips;
    int n, at;     /* strips[at] is the next one */
    int64_t first; /* its first row */
} fused_prefill_ring;

/* Gives the next n strips to the states, or those that are left. Returns how many. */
static inline int fused_prefill_advance(fused_prefill_ring *ring, fused_prefill_state st[],
                                        const sattn_fused_args *a, int lanes)
{
    const int64_t n_rows = fused_row_count(a);
    int n = 0;
    for (; n < ring->n && ring->first < n_rows; ++n) {
        st[n].strip = &ring->strips[ring->at];
        st[n].next = NULL;
        ring->at = ring->at < ring->n ? ring->at + 1 : 0;
        ring->first += 2 * (int64_t)lanes;
        if (ring->first < n_rows)
            fused_prefill_fill(&ring->strips[ring->at], a, ring->first, lanes);
    }
    if (n > 0 && ring->first < n_rows)
        st[n - 1].next = &ring->strips[ring->at];
    return n;
}

static inline void fused_prefill(const sattn_fused_args *a, const fused_prefill_ops *ops)
{
    fused_prefill_state st[FUSED_STRIPS_MAX];
    fused_prefill_ring ring = {.n = fused_prefill_n_together(a, ops->lanes)};
    if (fused_row_count(a) == 0)
        return;
    ring.strips = fused_prefill_carve(st, ring.n, a, ops->lanes);
    fused_prefill_fill(ring.strips, a, 0, ops->lanes);
    for (int n; (n = fused_prefill_advance(&ring, st, a, ops->lanes)) > 0;)
        fused_prefill_strips(a, ops, st, n);
}

#endif
