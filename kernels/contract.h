/* SPDX-License-Identifier: MIT
 *
 * contract.h: what a kernel is given, and what it owes. Read this first.
 *
 * A kernel is one exported function that takes one `const` args struct, computes one work unit and
 * returns nothing. Loops over batch entries and KV heads, argument checks, threads, copies and the
 * repair of hidden non-finite values are the caller's (dispatch/).
 *
 * Every kernel, of every op
 *   - takes every shape: extents are int64_t, zero or more; tails are handled inside;
 *   - reads and writes only the described elements, at any 4-byte alignment; strides are in
 *     elements, the innermost stride is 1;
 *   - never allocates, locks, prints or fails, keeps no state, and leaves floating-point control
 *     (rounding, flushing, exception masks) as it found it;
 *   - gets its working memory from the caller: 64-byte aligned, contents undefined, of at least the
 *     op's bound below (a kernel that needs more says so in its registry row).
 */
#ifndef SATTN_KERNELS_CONTRACT_H
#define SATTN_KERNELS_CONTRACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* fused: O = softmax(scale * Q K^T + bias over the visible keys) V, by online softmax.
 *
 * The work unit is one batch entry and one KV head with the n_group query heads that share it,
 * query rows [i0, i1) of each, and keys [j0, j1). All pointers are to row 0 of that batch entry and
 * head; head g of the group lies g * *_group_stride elements further.
 *
 * Order      scale, bias, visibility, softmax. `scale` multiplies Q before the dot product, since a
 *            raw dot product may overflow where the scaled one does not.
 * Visible    key j is visible to query i where j < n_k and, if causal, j <= i + causal_offset, and
 *            the mask lets it through: mask_bool[...] != 0, or mask_add[...] not -inf (any other
 *            value, -FLT_MAX included, is a bias that is added to the score). Keys at or beyond n_k
 *            are never read. A hidden key has weight exactly 0 whatever K holds there, and never
 *            reaches the running maximum. A non-finite V row under a weight of 0 may spoil the
 *            output: dispatch finds and repairs that.
 * Specials   a NaN score, bias or q, or a score of +inf, at a visible key: the whole row is NaN.
 *            Every visible score -inf: the row is NaN. No visible key: the row is +0.
 * Statistics row_max and row_sum, where not NULL, get for each row a reference value m (natural
 *            units; it trails the true maximum by at most the lazy threshold) and the sum of
 *            exp(score - m). No visible key: m = -inf, sum = 0. Keys visible, but each of score
 *            -inf: m = -inf, sum > 0.
 * Partial    with `partial` set the output is left unnormalised, sum of exp(score - m) * v, so that
 *            several key ranges can be merged by (m, sum); otherwise it is divided by the sum.
 *            Kernels process keys in blocks that start at multiples of SATTN_KEY_BLOCK, whatever j0
 *            is, so a row's bits depend neither on its neighbours nor on how rows are cut.
 * Domain     n_k * 2^24 * max|V| < FLT_MAX.
 * Aliasing   o overlaps no input, with one exception: o == q with equal strides and d == d_v.
 *            So a kernel is done with a row of Q before it writes that row of O, and never reads Q
 *            of a row whose O it has written. */
typedef struct sattn_fused_args {
    const float *q;   /* [n_group][.., d]   */
    const float *k;   /* [n_k, d]           */
    const float *v;   /* [n_k, d_v]         */
    float *o;         /* [n_group][.., d_v] written in full for rows [i0, i1) */
    int64_t q_stride; /* elements between rows */
    int64_t k_stride; /* may be 0 */
    int64_t v_stride; /* may be 0 */
    int64_t o_stride;
    int64_t q_group_stride; /* elements between the heads of the group; may be 0 */
    int64_t o_group_stride;
    int64_t n_group; /* >= 1 */
    int64_t i0, i1;  /* query rows, 0 <= i0 <= i1 */
    int64_t j0, j1;  /* keys, 0 <= j0 <= j1 <= n_k */
    int64_t n_k;     /* keys that exist for this batch entry */
    int64_t d, d_v;  /* >= 1 */
    float scale;     /* finite; 0 and negative values are honoured */
    bool causal;
    bool partial;
    int64_t causal_offset;    /* signed */
    const uint8_t *mask_bool; /* NULL, or nonzero = attend */
    const float *mask_add;    /* NULL, or added to the score; at most one mask is given */
    int64_t mask_group_stride, mask_row_stride; /* elements; 0 = broadcast */
    int64_t mask_key_stride;                    /* 1, or 0 = broadcast */
    float *row_max;                             /* NULL, or [n_group][..], row i at [i] */
    float *row_sum;                             /* NULL, or as row_max */
    int64_t stat_group_stride;
    void *scratch; /* sattn_fused_scratch_bytes(d, d_v), 64-byte aligned */
} sattn_fused_args;

typedef void sattn_fused_fn(const sattn_fused_args *args);

enum {
    SATTN_KEY_BLOCK = 128, /* key blocks start at multiples of this; so must cuts of a range */
    SATTN_TILE_QUERIES_MAX = 64, /* most query rows that a tile may hold */
    SATTN_TILE_KEYS_MAX = 512,   /* most keys that a tile may hold */
};

/* Rescaling is lazy (FlashAttention-4 calls it conditional; the idea is older): a row's reference
 * value m moves only when a block's maximum exceeds it by more than this, in natural units. A stale
 * m is exact softmax all the same; weights then reach exp(16) < 2^24, which f32 holds easily. */
#define SATTN_LAZY_THRESHOLD 16.0f

/* Bytes of scratch that any fused kernel may use, unless its registry row asks for more: a tile of
 * queries (scaled, transposed), of scores, of bias, of outputs, and 16 vectors of row state, each
 * for SATTN_TILE_QUERIES_MAX rows. d and d_v are extents in elements, below 2^40. */
static inline size_t sattn_fused_scratch_bytes(int64_t d, int64_t d_v)
{
    const size_t columns = (size_t)d + (size_t)d_v + 2 * (size_t)SATTN_TILE_KEYS_MAX + 64;
    return columns * (size_t)SATTN_TILE_QUERIES_MAX * sizeof(float);
}

#endif
