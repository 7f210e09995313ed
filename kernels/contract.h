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

/* Which keys a query row sees, and what is added to their scores. Key j is visible to query i where
 * all of these hold:
 *   length   j < n_k; keys at or beyond n_k are never read
 *   causal   j <= i + causal_offset
 *   window   i + causal_offset - window_left <= j <= i + causal_offset + window_right
 *   mask     mask_bool[...] != 0, or mask_add[...] not -inf
 * So a mask of floats is a bias, and only -inf in it hides: any other value, -FLT_MAX included, is
 * added to the score. The element of head g, query i and key j lies at
 * g * mask_group_stride + i * mask_row_stride + j * mask_key_stride. With slopes given, each score
 * first gets -alibi_slopes[g] * |i + causal_offset - j| (ALiBi: Press, Smith & Lewis 2022), by one
 * fused multiply-add on the distance as a float; causal or not, and with or without a window. */
typedef struct sattn_visibility {
    int64_t n_k; /* keys that exist for this batch entry, >= 0 */
    bool causal, has_window;
    int64_t causal_offset;             /* any int64_t; also where query 0 stands for ALiBi */
    int64_t window_left, window_right; /* >= 0, or -1: unbounded on that side */
    const uint8_t *mask_bool;          /* NULL, or nonzero = attend */
    const float *mask_add;             /* NULL, or added; at most one mask is given */
    int64_t mask_group_stride, mask_row_stride; /* elements; 0 = broadcast */
    int64_t mask_key_stride;                    /* 1, or 0 = broadcast */
    const float *alibi_slopes;                  /* NULL, or [n_group], finite */
} sattn_visibility;

enum {
    SATTN_KEY_BLOCK = 128, /* key blocks start at multiples of this; so must cuts of a range */
    SATTN_TILE_QUERIES_MAX = 64, /* most query rows that a tile may hold */
    SATTN_TILE_KEYS_MAX = 512,   /* most keys that a tile may hold */
    SATTN_FUSED_ROWS_MAX = 128,  /* most query rows that share one passage through the keys */
    SATTN_FUSED_ROW_FLOATS = 80, /* that each of these may need besides its Q and O */
};

/* The work unit of fused, qk, softmax and av is one batch entry and one KV head with the n_group
 * query heads that share it, query rows [i0, i1) of each. All pointers are to row 0 of that batch
 * entry and head; head g of the group lies g * *_group_stride elements further.
 *
 * A row's bits depend on that row, on the keys it sees and on the kernel, and on nothing else: not
 * on the rows beside it, not on how a call is cut into rows, not on hidden keys behind its last.
 * Keys that no row of a call can see by length, causal limit and window are not read. K and V may
 * be NULL where there are no keys; all other pointers are valid. */

/* fused: O = softmax(cap(scale * Q K^T) + bias over the visible keys) V, by online softmax, for the
 * keys [j0, j1).
 *
 * Order      scale, softcap, ALiBi, mask, softmax. `scale` multiplies Q before the dot product,
 *            since a raw dot product may overflow where the scaled one does not; a softcap c makes
 *            c * tanh(s / c) of a score s, as in qk.
 * Visible    as sattn_visibility says. A hidden key has weight exactly 0 whatever K holds there,
 *            and never reaches the running maximum. A non-finite V row under a weight of 0 may
 *            spoil the output: dispatch finds and repairs that.
 * Small      a weight exp(score - m) below 2^-90 is exactly 0, a factor that rescales below 2^-126.
 * Specials   a NaN score, bias or q, or a score of +inf, at a visible key: the whole row is NaN.
 *            Every visible score -inf: the row is NaN. No visible key: the row is +0.
 * Statistics row_max and row_sum, where not NULL, get for each row a reference value m (natural
 *            units; it trails the true maximum by at most the lazy threshold) and the sum of
 *            exp(score - m). No visible key: m = -inf, sum = 0. Keys visible, but each of score
 *            -inf: m = -inf, sum > 0.
 * Partial    with `partial` set the output is left unnormalised, sum of exp(score - m) * v, so that
 *            several key ranges can be merged by (m, sum); otherwise it is divided by the sum.
 *            Kernels process keys in blocks that start at multiples of SATTN_KEY_BLOCK, whatever j0
 *            is.
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
    int64_t j0, j1;  /* keys, 0 <= j0 <= j1 <= visible.n_k */
    int64_t d, d_v;  /* >= 1 */
    float scale;     /* finite; 0 and negative values are honoured */
    float softcap;   /* > 0 and finite, or 0: off */
    bool partial;
    sattn_visibility visible;
    float *row_max; /* NULL, or [n_group][..], row i at [i] */
    float *row_sum; /* NULL, or as row_max */
    int64_t stat_group_stride;
    void *scratch; /* sattn_fused_scratch_bytes(d, d_v), 64-byte aligned */
    /* About how many bytes of K and V the caller reads before it returns to these: a hint where
     * they may come from. 0: no more than these. No result depends on it. */
    int64_t kv_bytes;
    /* The core's own prefetchers follow rows of K and V, so that kernels need prefetch less: a hint
     * too. false: they are not known to. */
    bool rows_are_followed;
} sattn_fused_args;

typedef void sattn_fused_fn(const sattn_fused_args *args);

/* Rescaling is lazy (FlashAttention-4 calls it conditional; the idea is older): a row's reference
 * value m moves only when a block's maximum exceeds it by more than this, in natural units. A stale
 * m is exact softmax all the same; weights then reach exp(16) < 2^24, which f32 holds easily. */
#define SATTN_LAZY_THRESHOLD 16.0f

/* Bytes of scratch that any fused kernel may use, unless its registry row asks for more: queries
 * (scaled, transposed), outputs and SATTN_FUSED_ROW_FLOATS more for each of SATTN_FUSED_ROWS_MAX
 * rows, its state and description; a tile of scores, one of bias and 16 vectors of row state for
 * SATTN_TILE_QUERIES_MAX rows. d and d_v are extents in elements, below 2^40. */
static inline size_t sattn_fused_scratch_bytes(int64_t d, int64_t d_v)
{
    const size_t columns = (size_t)d + (size_t)d_v + (size_t)SATTN_FUSED_ROW_FLOATS;
    const size_t tile_columns = 2 * (size_t)SATTN_TILE_KEYS_MAX + 64;
    return (columns * (size_t)SATTN_FUSED_ROWS_MAX +
            tile_columns * (size_t)SATTN_TILE_QUERIES_MAX) *
           sizeof(float);
}

/* qk: S = (scale * Q) K^T for the keys [j0, j1), and with softcap != 0 then
 * softcap * tanh(S / softcap).
 *
 * Every pair of a query and a key gets its score, visible or not; what a NaN or an infinity in Q or
 * K does to a score is IEEE's business. `scale` multiplies Q, as in fused. A score is one chain of
 * fused multiply-adds or a fixed tree of such chains over the features: its bits depend on d, q_i
 * and k_j alone. A score below 2^-13 of the softcap comes back as it is. s overlaps no input. */
typedef struct sattn_qk_args {
    const float *q;   /* [n_group][.., d] */
    const float *k;   /* [.., d]          */
    float *s;         /* [n_group][..][..] key j of a row at [j]; columns [j0, j1) are written */
    int64_t q_stride; /* elements between rows; may be 0 */
    int64_t k_stride; /* may be 0 */
    int64_t s_stride;
    int64_t q_group_stride; /* elements between the heads of the group; may be 0 */
    int64_t s_group_stride;
    int64_t n_group; /* >= 1 */
    int64_t i0, i1;  /* query rows, 0 <= i0 <= i1 */
    int64_t j0, j1;  /* keys, 0 <= j0 <= j1 */
    int64_t d;       /* >= 1 */
    float scale;     /* finite */
    float softcap;   /* > 0 and finite, or 0: off */
    void *scratch;   /* sattn_qk_scratch_bytes(d), 64-byte aligned */
} sattn_qk_args;

typedef void sattn_qk_fn(const sattn_qk_args *args);

/* Rows of scaled queries and of transposed keys, SATTN_TILE_QUERIES_MAX of the ones and
 * SATTN_TILE_KEYS_MAX of the others, either way round, and 64 floats for each row. */
static inline size_t sattn_qk_scratch_bytes(int64_t d)
{
    const size_t rows = (size_t)SATTN_TILE_QUERIES_MAX + (size_t)SATTN_TILE_KEYS_MAX;
    return ((size_t)d + 64) * rows * sizeof(float);
}

/* softmax: P = softmax(S + bias over the visible keys), row by row.
 *
 * Written    columns [0, n_columns) of each row: the weights of visible keys, +0 for hidden keys
 *            and for columns at or beyond n_k. A weight below 2^-126 of the row's largest is 0.
 * Read       of S and of the mask nothing at or beyond n_k; what S holds at a hidden key does not
 *            matter.
 * Specials   as in fused, over the row's visible scores: NaN or +inf, or all -inf: every visible
 *            weight is NaN (hidden ones stay +0). No visible key: +0 everywhere.
 * Statistics as in fused, with m the row's true maximum.
 * Aliasing   p == s with equal strides, or no overlap at all. */
typedef struct sattn_softmax_args {
    const float *s;                         /* [n_group][..][n_k]       */
    float *p;                               /* [n_group][..][n_columns] */
    int64_t s_stride, p_stride;             /* elements between rows */
    int64_t s_group_stride, p_group_stride; /* elements between the heads of the group */
    int64_t n_group;                        /* >= 1 */
    int64_t i0, i1;                         /* query rows, 0 <= i0 <= i1 */
    int64_t n_columns;                      /* >= visible.n_k */
    sattn_visibility visible;
    float *row_max; /* NULL, or [n_group][..], row i at [i] */
    float *row_sum; /* NULL, or as row_max */
    int64_t stat_group_stride;
    void *scratch; /* sattn_softmax_scratch_bytes(n_columns), 64-byte aligned */
} sattn_softmax_args;

typedef void sattn_softmax_fn(const sattn_softmax_args *args);

/* A tile of SATTN_TILE_KEYS_MAX columns for 16 rows, and four floats for each key block of a row.
 */
static inline size_t sattn_softmax_scratch_bytes(int64_t n_columns)
{
    const size_t blocks = (size_t)(n_columns / SATTN_KEY_BLOCK) + 1;
    return (blocks * 4 + 16 * (size_t)SATTN_TILE_KEYS_MAX + 64) * sizeof(float);
}

/* av: O = P V over the visible keys.
 *
 * P is what a softmax left, or any weights: a hidden key counts with weight 0, whatever P holds
 * there. A non-finite V row under a weight of 0 may spoil the output: dispatch finds and repairs
 * that. Each block of SATTN_KEY_BLOCK keys, from absolute key 0 on, is summed from zero by one
 * chain of fused multiply-adds in the order of the keys and added once to the sum of its span of 64
 * blocks. Spans are added with the rounding errors of their additions, so that a row of any length
 * drifts no more than one of a span. No visible key: +0. A bias (mask_add) only hides here; o
 * overlaps no input. */
typedef struct sattn_av_args {
    const float *p;   /* [n_group][..][n_k] */
    const float *v;   /* [n_k, d_v]         */
    float *o;         /* [n_group][.., d_v] */
    int64_t p_stride; /* elements between rows */
    int64_t v_stride; /* may be 0 */
    int64_t o_stride;
    int64_t p_group_stride, o_group_stride; /* elements between the heads of the group */
    int64_t n_group;                        /* >= 1 */
    int64_t i0, i1;                         /* query rows, 0 <= i0 <= i1 */
    int64_t d_v;                            /* >= 1 */
    sattn_visibility visible;
    void *scratch; /* sattn_av_scratch_bytes(d_v), 64-byte aligned */
} sattn_av_args;

typedef void sattn_av_fn(const sattn_av_args *args);

/* A tile of weights, one of outputs, and 64 floats for each of their rows; and one such row more.
 */
static inline size_t sattn_av_scratch_bytes(int64_t d_v)
{
    const size_t columns = (size_t)d_v + (size_t)SATTN_TILE_KEYS_MAX + 64;
    return columns * ((size_t)SATTN_TILE_QUERIES_MAX + 1) * sizeof(float);
}

/* exp, tanh, sigmoid: y_i = f(x_i) for n numbers, over all of f32. y == x, or no overlap.
 *
 * exp      NaN gives NaN, -inf and all below ln 2^-150 exactly 0, results below FLT_MIN are rounded
 *          to denormals, all above ln FLT_MAX gives +inf.
 * tanh     NaN gives NaN, +-inf +-1, +-0 +-0; odd bit for bit.
 * sigmoid  1 / (1 + exp(-x)): NaN gives NaN, +inf 1, -inf and all below ln 2^-150 exactly 0, +-0
 *          0.5, results below FLT_MIN are rounded to denormals.
 * An element's bits do not depend on where in the array it stands. */
typedef struct sattn_array_args {
    const float *x; /* [n] */
    float *y;       /* [n] */
    int64_t n;      /* >= 0 */
} sattn_array_args;

typedef void sattn_exp_fn(const sattn_array_args *args);
typedef void sattn_tanh_fn(const sattn_array_args *args);
typedef void sattn_sigmoid_fn(const sattn_array_args *args);

/* additive: S_ij = v . tanh(q_i + k_j), the alignment of Bahdanau, Cho & Bengio (2015, appendix
 * A.1.2) with its projections done: q_i = W s_i + b of a decoder state, k_j = U h_j of an encoder
 * state. The sums over d are formed as they are needed; the n_q x n_k x d tensor is never stored.
 *
 * q_i + k_j is rounded once, then tanh, then one chain of fused multiply-adds by v or a fixed tree
 * of such chains over the features: a score's bits depend on d, q_i, k_j and v alone. NaN in q, k
 * or v gives NaN; an infinite sum is +-1 under tanh, opposite infinities are NaN. s overlaps no
 * input.
 */
typedef struct sattn_additive_args {
    const float *q;   /* [.., d] */
    const float *k;   /* [.., d], may be NULL without keys */
    const float *v;   /* [d] */
    float *s;         /* [..][..] key j of a row at [j]; columns [j0, j1) are written */
    int64_t q_stride; /* elements between rows; may be 0 */
    int64_t k_stride; /* may be 0 */
    int64_t s_stride;
    int64_t i0, i1; /* query rows, 0 <= i0 <= i1 */
    int64_t j0, j1; /* keys, 0 <= j0 <= j1 */
    int64_t d;      /* features of the alignment (its hidden layer), >= 1 */
    void *scratch;  /* sattn_additive_scratch_bytes(d), 64-byte aligned */
} sattn_additive_args;

typedef void sattn_additive_fn(const sattn_additive_args *args);

/* As for qk: a tile of queries, one of keys, and 64 floats for each row of either. */
static inline size_t sattn_additive_scratch_bytes(int64_t d)
{
    return sattn_qk_scratch_bytes(d);
}

/* linear: Y = X W^T + b, or Y += X W^T + b where `adds` is set.
 *
 * Weights    W is [n_out, n_in] as it lies, or was packed for this kernel: in blocks of tile_keys
 *            outputs, in a block for every tile_d features those of one output after those of the
 *            other, both as the kernel's registry row has them; zeros stand where n_out or n_in
 *            end, and a block is [ceil(n_in / tile_d)][tile_keys][tile_d] floats. Exactly one of w
 *            and packed is given.
 * Bits       An element is one chain of fused multiply-adds or a fixed tree of such chains over the
 *            features, plus b_o where there is one; that is then added to what y holds. Its bits
 *            depend on n_in, x_i, w_o, b_o and what y holds alone, not on whether W is packed. What
 *            a NaN or an infinity does is IEEE's business.
 * Aliasing   y overlaps no input. */
typedef struct sattn_linear_args {
    const float *x;      /* [.., n_in] */
    const float *w;      /* [.., n_in], or NULL */
    const float *packed; /* NULL, or 64-byte aligned */
    const float *bias;   /* NULL, or [..], that of output o at [o] */
    float *y;            /* [.., ..] output o of a row at [o]; columns [o0, o1) are written */
    int64_t x_stride;    /* elements between rows; may be 0 */
    int64_t w_stride;    /* may be 0 */
    int64_t y_stride;
    int64_t i0, i1; /* rows of X and Y, 0 <= i0 <= i1 */
    int64_t o0, o1; /* outputs, 0 <= o0 <= o1; o0 is a multiple of tile_keys where W is packed */
    int64_t n_in;   /* >= 1 */
    bool adds;
    void *scratch; /* sattn_linear_scratch_bytes(n_in), 64-byte aligned */
} sattn_linear_args;

typedef void sattn_linear_fn(const sattn_linear_args *args);

/* As for qk: a tile of rows of X, one of W, and 64 floats for each row of either. */
static inline size_t sattn_linear_scratch_bytes(int64_t n_in)
{
    return sattn_qk_scratch_bytes(n_in);
}

/* gru: from the two projections of a gated recurrent unit to its next state (Cho et al. 2014; the
 * reset gate multiplies the projected state, as in cuDNN and PyTorch):
 *
 *   r = sigmoid(x_r + h_r)   z = sigmoid(x_z + h_z)   n = tanh(x_n + r h_n)   y = n + z (h - n)
 *
 * with x_. the three parts of gates_x = W_i x + b_i, h_. those of gates_h = W_h h + b_h, each of
 * n_hidden numbers in the order r, z, n. Each step is rounded once, the last two by one fused
 * multiply-add each; an element's bits depend on its seven numbers alone. y may be exactly h, with
 * equal strides, and overlaps nothing else. */
typedef struct sattn_gru_args {
    const float *gates_x;   /* [.., 3 n_hidden] */
    const float *gates_h;   /* [.., 3 n_hidden] */
    const float *h;         /* [.., n_hidden] */
    float *y;               /* [.., n_hidden] */
    int64_t gates_x_stride; /* elements between rows; may be 0 */
    int64_t gates_h_stride; /* may be 0 */
    int64_t h_stride;       /* may be 0 */
    int64_t y_stride;
    int64_t i0, i1;   /* rows, 0 <= i0 <= i1 */
    int64_t n_hidden; /* >= 0 */
} sattn_gru_args;

typedef void sattn_gru_fn(const sattn_gru_args *args);

#endif
