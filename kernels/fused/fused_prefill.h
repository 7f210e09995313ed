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
 * A strip takes the keys that one of its rows sees, so what a row does not see must leave its bits
 * alone. Hidden scores are -inf, so their weights are +0, and added to a sum they do not change it:
 * no sum is ever -0. Blocks end at multiples of SATTN_KEY_BLOCK; where the first of them begins
 * does not matter, since each sum takes the keys of a block in order, or all even and all odd ones.
 */
#ifndef SATTN_KERNELS_FUSED_PREFILL_H
#define SATTN_KERNELS_FUSED_PREFILL_H

#include "kernels/fused/fused_strip.h"

typedef struct fused_prefill_state {
    int64_t d, d_v;
    int n_vec;        /* vectors of rows in use, 1 or 2 */
    float *q_t;       /* [d][width]               */
    float *s_t;       /* [SATTN_KEY_BLOCK][width] scores, then weights */
    float *o_t;       /* [d_v][width]             */
    float *row_max;   /* [width] reference value m of each row, -inf until a key was seen */
    float *row_sum;   /* [width] */
    float *block_max; /* [width] maximum over the visible keys of the block */
    float *factor;    /* [width] what O^T is multiplied by at the end */
    float *slope;     /* [width] what ALiBi multiplies distances by; set only with slopes */
    float *position;  /* [width] of the query, counted from the block's first key; the same */
    /* [width] Keys of the block before the one, and from the other on, are hidden from the row. */
    int32_t *block_begin, *block_end;
} fused_prefill_state;

typedef struct fused_block {
    int64_t first;  /* absolute index of its first key */
    int n_keys;     /* 1 .. SATTN_KEY_BLOCK */
    const float *k; /* row of the first key */
    const float *v;
    const float *k_next; /* K rows scored after these: the next block's, or the next strip's */
    int64_t k_stride, v_stride, mask_key_stride;
} fused_block;

typedef struct fused_prefill_ops {
    int lanes;
    /* q_t[x][r] = scale * q[r][x] */
    void (*pack)(const fused_prefill_state *st, const fused_strip *strip, float scale);
    /* s_t = K q_t and block_max, as if every key of the block were visible */
    void (*score)(const fused_prefill_state *st, const fused_block *block);
    /* s[0 .. n) = softcap * tanh(s / softcap) */
    void (*cap)(float *s, int64_t n, float softcap);
    /* s_t[j][r] += slope[r] * |position[r] - j|, fused */
    void (*slope)(const fused_prefill_state *st, int n_keys);
    /* s_t[j][r] = -inf for j < block_begin[r] and j >= block_end[r] */
    void (*hide)(const fused_prefill_state *st, int n_keys);
    /* adds the mask row of each lane to s_t, -inf where it hides, whatever s_t holds */
    void (*bias)(const fused_prefill_state *st, const fused_strip *strip, const fused_block *block);
    /* block_max from s_t */
    void (*maximum)(const fused_prefill_state *st, int n_keys);
    /* s_t = exp(s_t - m), after raising m and rescaling where due; its sum is added to row_sum */
    void (*weigh)(const fused_prefill_state *st, int n_keys);
    /* o_t += V^T s_t */
    void (*accumulate)(const fused_prefill_state *st, const fused_block *block);
    /* o[r][y] = factor[r] * o_t[y][r] for the n_rows rows of the strip */
    void (*store)(const fused_prefill_state *st, const fused_strip *strip);
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
    st.slope = fused_prefill_take(&next, width);
    st.position = fused_prefill_take(&next, width);
    st.block_begin = (int32_t *)(void *)fused_prefill_take(&next, width);
    st.block_end = (int32_t *)(void *)fused_prefill_take(&next, width);
    return st;
}

/* Softcap of the vectors in use, which lie side by side only where both are. */
static inline void fused_prefill_cap(const fused_prefill_ops *ops, const fused_prefill_state *st,
                                     int n_keys, float softcap)
{
    const int width = 2 * ops->lanes;
    if (st->n_vec == 2) {
        ops->cap(st->s_t, (int64_t)n_keys * width, softcap);
        return;
    }
    for (int j = 0; j < n_keys; ++j)
        ops->cap(st->s_t + j * width, ops->lanes, softcap);
}

static inline void fused_prefill_alibi(const fused_prefill_ops *ops, const fused_prefill_state *st,
                                       const fused_strip *strip, const fused_block *block)
{
    bool near = true;
    for (int r = 0; r < strip->n_lanes; ++r) {
        near = near && sattn_alibi_is_near(strip->position[r], block->first);
        st->slope[r] = strip->slope[r];
        st->position[r] = (float)sattn_add_held(strip->position[r], -block->first);
    }
    if (near)
        ops->slope(st, block->n_keys);
    for (int r = 0; !near && r < strip->n_lanes; ++r)
        fused_add_far(strip, r, st->s_t + r, 2 * ops->lanes, block->first, block->n_keys);
}

/* -inf into s_t where limits hide, whatever it holds there. */
static inline void fused_prefill_hide(const fused_prefill_ops *ops, const fused_prefill_state *st,
                                      const fused_strip *strip, const fused_block *block)
{
    for (int r = 0; r < strip->n_lanes; ++r) {
        st->block_begin[r] = fused_place(strip->key_begin[r], block->first, block->n_keys);
        st->block_end[r] = fused_place(strip->key_end[r], block->first, block->n_keys);
    }
    ops->hide(st, block->n_keys);
}

static inline void fused_prefill_block(const sattn_fused_args *a, const fused_prefill_ops *ops,
                                       const fused_prefill_state *st, const fused_strip *strip,
                                       const fused_block *block)
{
    const bool capped = a->softcap != 0.0f;
    const bool sloped = a->visible.alibi_slopes != NULL;
    const bool masked = a->visible.mask_bool || a->visible.mask_add;
    const bool cut =
        strip->key_begin_max > block->first || strip->key_end_min < block->first + block->n_keys;
    ops->score(st, block);
    if (capped)
        fused_prefill_cap(ops, st, block->n_keys, a->softcap);
    if (sloped)
        fused_prefill_alibi(ops, st, strip, block);
    if (masked)
        ops->bias(st, strip, block);
    if (cut)
        fused_prefill_hide(ops, st, strip, block);
    if (capped || sloped || masked || cut)
        ops->maximum(st, block->n_keys);
    ops->weigh(st, block->n_keys);
    ops->accumulate(st, block);
}

static inline void fused_prefill_store(const sattn_fused_args *a, const fused_prefill_ops *ops,
                                       const fused_prefill_state *st, const fused_strip *strip)
{
    bool seen[SATTN_TILE_QUERIES_MAX];
    for (int r = 0; r < strip->n_lanes; ++r)
        seen[r] = fused_row_sees(a, strip, r, st->row_sum[r]);
    for (int r = 0; r < strip->n_rows; ++r)
        st->factor[r] = fused_row_finish(a, strip, r, st->row_max[r], st->row_sum[r], seen[r]);
    for (int r = strip->n_rows; r < strip->n_lanes; ++r)
        st->factor[r] = 1.0f;
    ops->store(st, strip);
    for (int r = 0; r < strip->n_rows; ++r)
        for (int64_t y = 0; !seen[r] && y < a->d_v; ++y)
            strip->o[r][y] = 0.0f;
}

static inline void fused_prefill_strip(const sattn_fused_args *a, const fused_prefill_ops *ops,
                                       fused_prefill_state *st, const fused_strip *strip)
{
    const int width = 2 * ops->lanes;
    for (int r = 0; r < width; ++r) {
        st->row_max[r] = -INFINITY;
        st->row_sum[r] = 0.0f;
    }
    for (int64_t at = 0; at < a->d_v * width; ++at)
        st->o_t[at] = 0.0f;
    ops->pack(st, strip, a->scale);
    const int64_t end = strip->key_end_max;
    for (int64_t j = strip->key_begin_min; j < end;) {
        const int64_t next = (j / SATTN_KEY_BLOCK + 1) * SATTN_KEY_BLOCK;
        const int64_t stop = next < end ? next : end;
        const int64_t next_scored = stop < end ? stop : strip->key_begin_min;
        const fused_block block = {.first = j,
                                   .n_keys = (int)(stop - j),
                                   .k = a->k + j * a->k_stride,
                                   .v = a->v + j * a->v_stride,
                                   .k_next = a->k + next_scored * a->k_stride,
                                   .k_stride = a->k_stride,
                                   .v_stride = a->v_stride,
                                   .mask_key_stride = a->visible.mask_key_stride};
        fused_prefill_block(a, ops, st, strip, &block);
        j = stop;
    }
    fused_prefill_store(a, ops, st, strip);
}

static inline void fused_prefill(const sattn_fused_args *a, const fused_prefill_ops *ops)
{
    const int width = 2 * ops->lanes;
    const int64_t n_rows = fused_row_count(a);
    fused_prefill_state st = fused_prefill_carve(a, width);
    fused_strip strip;
    for (int64_t first = 0; first < n_rows; first += width) {
        st.n_vec = n_rows - first <= ops->lanes ? 1 : 2;
        fused_strip_fill(&strip, a, first, st.n_vec * ops->lanes);
        fused_prefill_strip(a, ops, &st, &strip);
    }
}

#endif
