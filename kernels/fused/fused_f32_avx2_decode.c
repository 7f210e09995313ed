/* SPDX-License-Identifier: MIT
 *
 * fused_f32_avx2_decode.c: fused attention for few query rows, 8 features per vector.
 *
 * The method is in fused_decode.h; here are its steps. Scores: 8 accumulators, for 1 row x 8 keys,
 * 2 x 4 or 4 x 2 (3 x 2), each over all features, then one transposing reduction. AV: rows x
 * vectors of output columns in registers, one broadcast weight per row and key. Where a span of
 * columns is too narrow for enough chains of additions, its keys are dealt to two accumulators. */
#include "kernels/fused/fused_decode.h"
#include "kernels/vec/vec_avx2.h"

enum {
    LANES = 8,
    TILE = 9, /* most accumulators of a register tile */
    SPAN = 8, /* vectors of columns that one row of weights meets at a time */
};

void sattn_fused_f32_avx2_decode(const sattn_fused_args *args);

/* Keeps a loaded vector that several multiply-adds use from being loaded again by each of them. */
SATTN_INLINE __m256 in_register(__m256 loaded)
{
    __asm__("" : "+x"(loaded));
    return loaded;
}

/* One vector of features; a cache line holds two, so half of the rows prefetch at each `turn`. */
SATTN_INLINE void dot_step(__m256 *acc, const float *q, const float *const *k, int64_t x,
                           int64_t ahead, const int n_rows, const int n_keys, const int turn)
{
    __m256 q_f32x8[FUSED_DECODE_GROUP];
    SATTN_KEEP_ORDER();
    SATTN_UNROLL(4)
    for (int r = 0; r < n_rows; ++r)
        q_f32x8[r] = in_register(_mm256_loadu_ps(q + r * LANES));
    SATTN_UNROLL(8)
    for (int j = 0; j < n_keys; ++j) {
        __m256 k_f32x8 = _mm256_loadu_ps(k[j] + x);
        if (n_rows > 1)
            k_f32x8 = in_register(k_f32x8);
        if (j % 2 == turn)
            fused_decode_fetch(k[j] + x, ahead);
        SATTN_UNROLL(4)
        for (int r = 0; r < n_rows; ++r)
            acc[r * n_keys + j] = _mm256_fmadd_ps(q_f32x8[r], k_f32x8, acc[r * n_keys + j]);
    }
}

/* acc[r * n_keys + j] = q[r] . k[j] by lanes, for the rows k[0 .. n_keys) */
SATTN_INLINE void dot_tile(__m256 *acc, const float *q, const float *const *k, int64_t d,
                           int64_t ahead, const int n_rows, const int n_keys)
{
    SATTN_UNROLL(8)
    for (int i = 0; i < n_rows * n_keys; ++i)
        acc[i] = _mm256_setzero_ps();
    int64_t x = 0;
    SATTN_NO_UNROLL
    for (; x + 2 * LANES <= d; x += 2 * LANES, q += 2 * n_rows * LANES) {
        dot_step(acc, q, k, x, ahead, n_rows, n_keys, 0);
        dot_step(acc, q + n_rows * LANES, k, x + LANES, ahead, n_rows, n_keys, 1);
    }
    if (x + LANES <= d) {
        dot_step(acc, q, k, x, ahead, n_rows, n_keys, 0);
        x += LANES;
        q += n_rows * LANES;
    }
    if (x == d)
        return;
    const __m256i tail = vec_tail_m8(d - x);
    SATTN_UNROLL(8)
    for (int j = 0; j < n_keys; ++j) {
        const __m256 k_f32x8 = vec_load_tail_f32x8(k[j] + x, tail);
        SATTN_UNROLL(4)
        for (int r = 0; r < n_rows; ++r)
            acc[r * n_keys + j] =
                _mm256_fmadd_ps(_mm256_loadu_ps(q + r * LANES), k_f32x8, acc[r * n_keys + j]);
    }
}

/* max returns its second operand if either is NaN, so the running maximum comes second. */
SATTN_INLINE __m256 raise_max(__m256 max_f32x8, __m256 s_f32x8)
{
    return _mm256_max_ps(s_f32x8, max_f32x8);
}

/* Stores a tile of n_keys scores for each of n_rows rows. */
SATTN_INLINE void store_tile(float *s, __m256 tile_f32x8, const int n_rows, const int n_keys)
{
    const __m128 low = _mm256_castps256_ps128(tile_f32x8);
    const __m128 high = _mm256_extractf128_ps(tile_f32x8, 1);
    if (n_keys == 8) {
        _mm256_storeu_ps(s, tile_f32x8);
    } else if (n_keys == 4) {
        _mm_storeu_ps(s, low);
        _mm_storeu_ps(s + FUSED_DECODE_KEYS, high);
    } else {
        _mm_storel_pi((__m64 *)(void *)s, low);
        _mm_storeh_pi((__m64 *)(void *)(s + FUSED_DECODE_KEYS), low);
        _mm_storel_pi((__m64 *)(void *)(s + 2 * FUSED_DECODE_KEYS), high);
        if (n_rows > 3)
            _mm_storeh_pi((__m64 *)(void *)(s + 3 * FUSED_DECODE_KEYS), high);
    }
}

/* block_max of n_rows rows from the maximum over their tiles of n_keys scores. */
SATTN_INLINE void store_max(float *block_max, __m256 max_f32x8, const int n_rows, const int n_keys)
{
    float lanes[LANES];
    max_f32x8 = _mm256_max_ps(max_f32x8, _mm256_permute_ps(max_f32x8, 0xb1));
    if (n_keys >= 4)
        max_f32x8 = _mm256_max_ps(max_f32x8, _mm256_permute_ps(max_f32x8, 0x4e));
    if (n_keys == 8)
        max_f32x8 = _mm256_max_ps(max_f32x8, _mm256_permute2f128_ps(max_f32x8, max_f32x8, 1));
    _mm256_storeu_ps(lanes, max_f32x8);
    SATTN_UNROLL(4)
    for (int r = 0; r < n_rows; ++r)
        block_max[r] = lanes[r * n_keys];
}

SATTN_INLINE void score_rows(fused_decode_state *st, const fused_decode_block *block, int r,
                             const int n_rows, const int n_keys)
{
    const int64_t d = st->d;
    const int64_t stride = block->k_stride;
    const int64_t ahead = block->k_ahead;
    const float *const q = st->q + r * st->q_pitch;
    const float *k = block->k;
    float *s = st->s + r * FUSED_DECODE_KEYS;
    __m256 max_f32x8 = _mm256_set1_ps(-INFINITY);
    for (int left = block->n_keys; left > 0; left -= n_keys, s += n_keys, k += n_keys * stride) {
        const float *rows[8];
        __m256 acc[8];
        fused_decode_rows(rows, k, stride, left, n_keys);
        dot_tile(acc, q, rows, d, ahead, n_rows, n_keys);
        SATTN_UNROLL(8)
        for (int i = n_rows * n_keys; i < 8; ++i)
            acc[i] = _mm256_setzero_ps();
        const __m256 tile_f32x8 = vec_hsum_rows_f32x8(acc);
        max_f32x8 = raise_max(max_f32x8, tile_f32x8);
        store_tile(s, tile_f32x8, n_rows, n_keys);
    }
    store_max(st->block_max + r, max_f32x8, n_rows, n_keys);
}

static void score(fused_decode_state *st, const fused_decode_block *block)
{
    for (int r = 0, n_rows = 0; r < st->n_rows; r += n_rows) {
        n_rows = fused_decode_group(st, r);
        if (n_rows == 4)
            score_rows(st, block, r, 4, 2);
        else if (n_rows == 3)
            score_rows(st, block, r, 3, 2);
        else if (n_rows == 2)
            score_rows(st, block, r, 2, 4);
        else
            score_rows(st, block, r, 1, 8);
    }
}

/* Lanes of the vector of keys at j that hold a key of the block; the others repeat its last key. */
SATTN_INLINE __m256 real_keys(int n_keys, int j)
{
    return _mm256_castsi256_ps(vec_tail_m8(n_keys - j));
}

static void maximum(fused_decode_state *st, int n_keys)
{
    const __m256 none = _mm256_set1_ps(-INFINITY);
    for (int r = 0; r < st->n_rows; ++r) {
        const float *const s = st->s + r * FUSED_DECODE_KEYS;
        __m256 max_f32x8 = none;
        for (int j = 0; j < n_keys; j += LANES)
            max_f32x8 = raise_max(
                max_f32x8, _mm256_blendv_ps(none, _mm256_loadu_ps(s + j), real_keys(n_keys, j)));
        st->block_max[r] = vec_hmax_f32x8(max_f32x8);
    }
}

static void weigh(fused_decode_state *st, int n_keys)
{
    for (int r = 0; r < st->n_rows; ++r) {
        float *const s = st->s + r * FUSED_DECODE_KEYS;
        const __m256 m_f32x8 = _mm256_set1_ps(fused_decode_reference(st, r));
        __m256 sum_f32x8 = _mm256_setzero_ps();
        for (int j = 0; j < n_keys; j += LANES) {
            const __m256 p_f32x8 = vec_exp_f32x8(_mm256_sub_ps(_mm256_loadu_ps(s + j), m_f32x8));
            sum_f32x8 = _mm256_add_ps(sum_f32x8, _mm256_and_ps(p_f32x8, real_keys(n_keys, j)));
            _mm256_storeu_ps(s + j, p_f32x8);
        }
        st->row_sum[r] += vec_hsum_f32x8(sum_f32x8);
    }
}

static float exp_of_one(float t)
{
    return _mm256_cvtss_f32(vec_exp_f32x8(_mm256_set1_ps(t)));
}

/* What the AV tiles of one group of rows work on. */
typedef struct av_step {
    const float *s;
    float *o;
    const float *v;
    int64_t o_pitch, v_stride, v_ahead;
    int n_keys;
    __m256i tail; /* lanes of the last, partial vector */
} av_step;

SATTN_INLINE void av_key(__m256 *acc, const float *s, const float *v, __m256i tail, int64_t ahead,
                         const int n_rows, const int n_vecs, const bool is_tail)
{
    __m256 v_f32x8[SPAN];
    SATTN_KEEP_ORDER();
    SATTN_UNROLL(8)
    for (int y = 0; y < n_vecs; ++y) {
        v_f32x8[y] = is_tail ? vec_load_tail_f32x8(v, tail) : _mm256_loadu_ps(v + y * LANES);
        if (y % 2 == 0)
            fused_decode_fetch(v + y * LANES, ahead);
        if (n_rows > 1)
            v_f32x8[y] = in_register(v_f32x8[y]);
    }
    SATTN_UNROLL(4)
    for (int r = 0; r < n_rows; ++r) {
        const __m256 p_f32x8 = _mm256_set1_ps(s[r * FUSED_DECODE_KEYS]);
        SATTN_UNROLL(8)
        for (int y = 0; y < n_vecs; ++y)
            acc[r * n_vecs + y] = _mm256_fmadd_ps(p_f32x8, v_f32x8[y], acc[r * n_vecs + y]);
    }
}

/* o += s v for n_vecs vectors of columns; key j goes to accumulator j % n_parts, n_parts <= 2. */
SATTN_INLINE int av_tile(const av_step *step, const int n_rows, const int n_vecs, const int n_parts,
                         const bool is_tail)
{
    const int n_sums = n_rows * n_vecs;
    const __m256i tail = step->tail;
    const int64_t v_stride = step->v_stride;
    const int64_t ahead = step->v_ahead;
    const float *v = step->v;
    const float *s = step->s;
    const float *const end = s + step->n_keys;
    __m256 acc[TILE];
    SATTN_UNROLL(9)
    for (int i = 0; i < n_sums * n_parts; ++i)
        acc[i] = _mm256_setzero_ps();
    SATTN_NO_UNROLL
    for (; end - s >= n_parts; s += n_parts, v += n_parts * v_stride) {
        av_key(acc, s, v, tail, ahead, n_rows, n_vecs, is_tail);
        if (n_parts > 1)
            av_key(acc + n_sums, s + 1, v + v_stride, tail, ahead, n_rows, n_vecs, is_tail);
    }
    if (s < end)
        av_key(acc, s, v, tail, ahead, n_rows, n_vecs, is_tail);
    SATTN_UNROLL(9)
    for (int i = 0; i < n_sums; ++i) {
        float *const o = step->o + i / n_vecs * step->o_pitch + i % n_vecs * LANES;
        const __m256 sum = n_parts > 1 ? _mm256_add_ps(acc[i], acc[n_sums + i]) : acc[i];
        _mm256_storeu_ps(o, _mm256_add_ps(_mm256_loadu_ps(o), sum));
    }
    return n_vecs;
}

/* As many of the n_vecs vectors left in a span as registers hold. */
static int av_1_row(const av_step *step, int n_vecs)
{
    switch (n_vecs) {
    case 1:
        return av_tile(step, 1, 1, 2, false);
    case 2:
        return av_tile(step, 1, 2, 2, false);
    case 3:
        return av_tile(step, 1, 3, 2, false);
    case 4:
        return av_tile(step, 1, 4, 2, false);
    case 5:
        return av_tile(step, 1, 5, 1, false);
    case 6:
        return av_tile(step, 1, 6, 1, false);
    case 7:
        return av_tile(step, 1, 7, 1, false);
    default:
        return av_tile(step, 1, 8, 1, false);
    }
}

SATTN_INLINE int av_more_rows(const av_step *step, const int n_rows, int n_vecs, int n_parts)
{
    const int most = n_rows == 2 ? 4 : n_rows == 3 ? 3 : 2;
    if (n_parts == 2)
        return n_rows == 2 && n_vecs > 1 ? av_tile(step, n_rows, n_rows == 2 ? 2 : 1, 2, false)
                                         : av_tile(step, n_rows, 1, 2, false);
    if (n_vecs >= most)
        return av_tile(step, n_rows, most, 1, false);
    if (n_vecs == 3 && n_rows == 2)
        return av_tile(step, n_rows, n_rows == 2 ? 3 : 1, 1, false);
    return n_vecs == 2 ? av_tile(step, n_rows, 2, 1, false) : av_tile(step, n_rows, 1, 1, false);
}

static int av_vectors(const av_step *step, int n_rows, int n_vecs, int n_parts)
{
    switch (n_rows) {
    case 1:
        return av_1_row(step, n_vecs);
    case 2:
        return av_more_rows(step, 2, n_vecs, n_parts);
    case 3:
        return av_more_rows(step, 3, n_vecs, n_parts);
    default:
        return av_more_rows(step, 4, n_vecs, n_parts);
    }
}

static void av_tail(const av_step *step, int n_rows)
{
    switch (n_rows) {
    case 1:
        (void)av_tile(step, 1, 1, 2, true);
        break;
    case 2:
        (void)av_tile(step, 2, 1, 2, true);
        break;
    case 3:
        (void)av_tile(step, 3, 1, 2, true);
        break;
    default:
        (void)av_tile(step, 4, 1, 2, true);
        break;
    }
}

/* Columns go in spans of SPAN vectors, a partial vector by itself; how many accumulators share the
 * keys of a column follows from the width of its span, never from the rows. */
static void accumulate(const fused_decode_state *st, const fused_decode_block *block)
{
    for (int r = 0, n_rows = 0; r < st->n_rows; r += n_rows) {
        n_rows = fused_decode_group(st, r);
        av_step step = {.s = st->s + r * FUSED_DECODE_KEYS,
                        .o = st->o + r * st->o_pitch,
                        .v = block->v,
                        .o_pitch = st->o_pitch,
                        .v_stride = block->v_stride,
                        .v_ahead = block->v_ahead,
                        .n_keys = block->n_keys,
                        .tail = vec_tail_m8(st->d_v % LANES)};
        for (int64_t whole = st->d_v / LANES; whole > 0; whole -= SPAN) {
            int n_vecs = whole < SPAN ? (int)whole : SPAN;
            const int n_parts = n_vecs > 4 ? 1 : 2;
            while (n_vecs > 0) {
                const int done = av_vectors(&step, n_rows, n_vecs, n_parts);
                n_vecs -= done;
                step.o += done * LANES;
                step.v += done * LANES;
            }
        }
        if (st->d_v % LANES)
            av_tail(&step, n_rows);
    }
}

void sattn_fused_f32_avx2_decode(const sattn_fused_args *args)
{
    static const fused_decode_ops ops = {.lanes = LANES,
                                         .score = score,
                                         .maximum = maximum,
                                         .weigh = weigh,
                                         .exp = exp_of_one,
                                         .accumulate = accumulate};
    fused_decode(args, &ops);
}
