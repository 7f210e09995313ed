/* SPDX-License-Identifier: MIT
 *
 * fused_f32_avx2_decode.c: fused attention for few query rows, 8 features per vector.
 *
 * The method is in fused_decode.h; here are its steps. Scores: 8 accumulators, for 1 row x 8 keys,
 * 2 x 4 or 4 x 2 (3 x 2), each over all features, then one transposing reduction. AV: rows x
 * vectors of output columns in registers, one broadcast weight per row and key. A single row has no
 * use for V but once, so there the speed of memory counts: wide rows of V are read from front to
 * back, a few side by side, and added to a row of sums that stays in the first cache. */
#include "kernels/fused/fused_decode.h"
#include "kernels/vec/score_tile_avx2.h"
#include "kernels/vec/softcap_avx2.h"
#include "kernels/vec/vec_avx2.h"

enum {
    LANES = 8,
    TILE = 9,    /* most accumulators of a register tile */
    COLUMNS = 8, /* most vectors of columns of a register tile */
    STREAMS = 8, /* most rows of V that are read side by side */
};

void sattn_fused_f32_avx2_decode(const sattn_fused_args *args);

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
                             const int n_rows, const int n_keys, const score_fetch fetch)
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
        score_tile_f32x8(acc, q, rows, d, ahead, n_rows, n_keys, fetch);
        SATTN_UNROLL(8)
        for (int i = n_rows * n_keys; i < 8; ++i)
            acc[i] = _mm256_setzero_ps();
        const __m256 tile_f32x8 = vec_hsum_rows_f32x8(acc);
        max_f32x8 = raise_max(max_f32x8, tile_f32x8);
        store_tile(s, tile_f32x8, n_rows, n_keys);
    }
    store_max(st->block_max + r, max_f32x8, n_rows, n_keys);
}

/* For one row, eight keys side by side are streams that hardware follows by itself, unless the rows
 * of K are short. */
static void score(fused_decode_state *st, const fused_decode_block *block)
{
    for (int r = 0, n_rows = 0; r < st->n_rows; r += n_rows) {
        n_rows = score_group_rows(st->n_rows, r);
        if (n_rows == 4)
            score_rows(st, block, r, 4, 2, SCORE_FETCH_BY_KEY);
        else if (n_rows == 3)
            score_rows(st, block, r, 3, 2, SCORE_FETCH_BY_KEY);
        else if (n_rows == 2)
            score_rows(st, block, r, 2, 4, SCORE_FETCH_BY_KEY);
        else if (st->d < COLUMNS * LANES)
            score_rows(st, block, r, 1, 8, SCORE_FETCH_BY_KEY);
        else
            score_rows(st, block, r, 1, 8, SCORE_FETCH_NONE);
    }
}

/* Lanes of the vector of keys at j that hold a key of the block; the others repeat its last key. */
SATTN_INLINE __m256 real_keys(int n_keys, int j)
{
    return _mm256_castsi256_ps(vec_tail_m8(n_keys - j));
}

static void slope(float *s, int n, const fused_decode_alibi *alibi)
{
    const __m256 slope = _mm256_set1_ps(alibi->slope);
    const __m256 position = _mm256_set1_ps(alibi->position);
    const __m256 steps = _mm256_setr_ps(0, 1, 2, 3, 4, 5, 6, 7);
    for (int j = 0; j < n; j += LANES) {
        const __m256i tail = vec_tail_m8(n - j);
        const __m256 key = _mm256_add_ps(_mm256_set1_ps((float)j), steps);
        const __m256 distance =
            _mm256_andnot_ps(_mm256_set1_ps(-0.0f), _mm256_sub_ps(position, key));
        const __m256 s_f32x8 = vec_load_tail_f32x8(s + j, tail);
        vec_store_tail_f32x8(s + j, tail, _mm256_fmadd_ps(slope, distance, s_f32x8));
    }
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
            const __m256 real = real_keys(n_keys, j);
            const __m256 s_f32x8 = _mm256_and_ps(_mm256_loadu_ps(s + j), real);
            const __m256 p_f32x8 = vec_exp_f32x8(_mm256_sub_ps(s_f32x8, m_f32x8));
            sum_f32x8 = _mm256_add_ps(sum_f32x8, _mm256_and_ps(p_f32x8, real));
            _mm256_storeu_ps(s + j, p_f32x8);
        }
        st->row_sum[r] += vec_hsum_f32x8(sum_f32x8);
    }
}

static float exp_of_one(float t)
{
    return _mm256_cvtss_f32(vec_exp_f32x8(_mm256_set1_ps(t)));
}

/* What the AV product of one group of rows works on. */
typedef struct av_step {
    const float *s;
    float *o;
    const float *v;
    float *sum;
    int64_t o_pitch, v_stride, v_ahead;
    int64_t n_vecs; /* whole vectors of columns */
    int n_keys;
    bool has_tail; /* columns follow that fill a part of a vector: */
    __m256i tail;  /* these lanes */
} av_step;

SATTN_INLINE __m256 av_load(const float *v, __m256i tail, const bool is_tail)
{
    return is_tail ? vec_load_tail_f32x8(v, tail) : _mm256_loadu_ps(v);
}

/* acc[r * pitch + y] += s[r] v[y] for one key and n_vecs vectors of columns */
SATTN_INLINE void av_key(__m256 *acc, const float *s, const float *v, __m256i tail, int64_t ahead,
                         const int n_rows, const int n_vecs, const int pitch, const bool is_tail)
{
    __m256 v_f32x8[COLUMNS / 2];
    SATTN_KEEP_ORDER();
    SATTN_UNROLL(4)
    for (int y = 0; y < n_vecs; ++y) {
        v_f32x8[y] = av_load(v + y * LANES, tail, is_tail);
        if (y % 2 == 0)
            vec_fetch(v + y * LANES, ahead);
        if (n_rows > 1)
            v_f32x8[y] = vec_in_register_f32x8(v_f32x8[y]);
    }
    SATTN_UNROLL(4)
    for (int r = 0; r < n_rows; ++r) {
        const __m256 p_f32x8 = _mm256_set1_ps(s[r * FUSED_DECODE_KEYS]);
        SATTN_UNROLL(4)
        for (int y = 0; y < n_vecs; ++y)
            acc[r * pitch + y] = _mm256_fmadd_ps(p_f32x8, v_f32x8[y], acc[r * pitch + y]);
    }
}

/* o += s v for n_rows rows and the n_vecs vectors of columns from `column` on; not all of the 8
 * that one row may have at once, since registers do not hold V and the sums of so many. */
SATTN_INLINE void av_tile(const av_step *step, int64_t column, const int n_rows, const int n_vecs,
                          const bool is_tail)
{
    const int half = n_vecs < COLUMNS / 2 ? n_vecs : COLUMNS / 2;
    const __m256i tail = step->tail;
    const int64_t v_stride = step->v_stride;
    const int64_t ahead = step->v_ahead;
    const float *v = step->v + column;
    const float *s = step->s;
    const float *const end = s + step->n_keys;
    __m256 acc[TILE];
    SATTN_UNROLL(9)
    for (int i = 0; i < n_rows * n_vecs; ++i)
        acc[i] = _mm256_setzero_ps();
    SATTN_NO_UNROLL
    for (; s < end; ++s, v += v_stride) {
        av_key(acc, s, v, tail, ahead, n_rows, half, n_vecs, is_tail);
        if (n_vecs > half)
            av_key(acc + half, s, v + half * LANES, tail, ahead, n_rows, n_vecs - half, n_vecs,
                   is_tail);
    }
    SATTN_UNROLL(9)
    for (int i = 0; i < n_rows * n_vecs; ++i) {
        float *const o = step->o + i / n_vecs * step->o_pitch + column + i % n_vecs * LANES;
        _mm256_storeu_ps(o, _mm256_add_ps(_mm256_loadu_ps(o), acc[i]));
    }
}

/* All columns, `widest` vectors at a time, but rather twice 2 than 3 and 1. */
SATTN_INLINE void av_rows(const av_step *step, const int n_rows, const int widest)
{
    int64_t y = 0;
    for (; step->n_vecs - y >= widest && step->n_vecs - y != widest + 1; y += widest)
        av_tile(step, y * LANES, n_rows, widest, false);
    for (; step->n_vecs - y >= 2; y += 2)
        av_tile(step, y * LANES, n_rows, 2, false);
    if (y < step->n_vecs)
        av_tile(step, y * LANES, n_rows, 1, false);
    if (step->has_tail)
        av_tile(step, step->n_vecs * LANES, n_rows, 1, true);
}

/* sum += p v for n_rows rows, n_keys keys and n_vecs vectors of columns, which begin at sum and
 * v[j] + column. With `fetch`, each line of V prefetches that of the n_keys rows behind. */
SATTN_INLINE void av_streams(float *sum, int64_t pitch, const __m256 *p_f32x8,
                             const float *const *v, int64_t column, int64_t v_stride, __m256i tail,
                             const int n_rows, const int n_keys, const int n_vecs,
                             const bool is_tail, const bool fetch)
{
    const int64_t ahead = (column + n_keys * v_stride) * (int64_t)sizeof(float);
    __m256 acc[4];
    SATTN_KEEP_ORDER();
    SATTN_UNROLL(4)
    for (int i = 0; i < n_rows * n_vecs; ++i)
        acc[i] = _mm256_loadu_ps(sum + i / n_vecs * pitch + i % n_vecs * LANES + column);
    SATTN_UNROLL(8)
    for (int j = 0; j < n_keys; ++j) {
        SATTN_UNROLL(2)
        for (int y = 0; y < n_vecs; ++y) {
            __m256 v_f32x8 = av_load(v[j] + y * LANES + column, tail, is_tail);
            if (n_rows > 1)
                v_f32x8 = vec_in_register_f32x8(v_f32x8);
            SATTN_UNROLL(2)
            for (int r = 0; r < n_rows; ++r)
                acc[r * n_vecs + y] =
                    _mm256_fmadd_ps(p_f32x8[r * n_keys + j], v_f32x8, acc[r * n_vecs + y]);
        }
        if (fetch)
            vec_fetch(v[j], ahead);
    }
    SATTN_UNROLL(4)
    for (int i = 0; i < n_rows * n_vecs; ++i)
        _mm256_storeu_ps(sum + i / n_vecs * pitch + i % n_vecs * LANES + column, acc[i]);
}

/* sum += s v for n_keys rows of V, from front to back */
SATTN_INLINE void av_keys(const av_step *step, int first, const int n_rows, const int n_keys,
                          const bool fetch)
{
    const int64_t whole = step->n_vecs * LANES;
    const int64_t pitch = step->o_pitch;
    const int64_t stride = step->v_stride;
    const __m256i tail = step->tail;
    float *const sum = step->sum;
    const float *v[STREAMS];
    __m256 p_f32x8[STREAMS];
    SATTN_UNROLL(8)
    for (int j = 0; j < n_keys; ++j) {
        v[j] = step->v + (first + j) * stride;
        SATTN_UNROLL(2)
        for (int r = 0; r < n_rows; ++r)
            p_f32x8[r * n_keys + j] = _mm256_set1_ps(step->s[r * FUSED_DECODE_KEYS + first + j]);
    }
    int64_t y = 0;
    SATTN_NO_UNROLL
    for (; y + 2 * LANES <= whole; y += 2 * LANES)
        av_streams(sum, pitch, p_f32x8, v, y, stride, tail, n_rows, n_keys, 2, false, fetch);
    if (y < whole)
        av_streams(sum, pitch, p_f32x8, v, y, stride, tail, n_rows, n_keys, 1, false, fetch);
    if (step->has_tail)
        av_streams(sum, pitch, p_f32x8, v, whole, stride, tail, n_rows, n_keys, 1, true, fetch);
}

SATTN_INLINE void av_wide(const av_step *step, const int n_rows, const int n_keys, const bool fetch)
{
    const int64_t n_sums = n_rows * step->o_pitch;
    for (int64_t i = 0; i < n_sums; i += LANES)
        _mm256_storeu_ps(step->sum + i, _mm256_setzero_ps());
    int j = 0;
    for (; j + n_keys <= step->n_keys; j += n_keys)
        av_keys(step, j, n_rows, n_keys, fetch);
    for (; j < step->n_keys; ++j)
        av_keys(step, j, n_rows, 1, fetch);
    for (int64_t i = 0; i < n_sums; i += LANES) {
        const __m256 o_f32x8 = _mm256_loadu_ps(step->o + i);
        _mm256_storeu_ps(step->o + i, _mm256_add_ps(o_f32x8, _mm256_loadu_ps(step->sum + i)));
    }
}

/* One function per number of rows, not one for all, so that a tile's pointers find registers.
 *
 * Narrow rows of V fit a register tile. Wide ones are best left to hardware, in many streams, until
 * eight rows lie too far apart for it. */
SATTN_NOINLINE void av_1_row(const av_step *step)
{
    if (step->n_vecs >= 4 * COLUMNS)
        av_wide(step, 1, 4, true);
    else if (step->n_vecs == 8)
        av_rows(step, 1, 8);
    else if (step->n_vecs == 6)
        av_rows(step, 1, 6);
    else if (step->n_vecs < 5)
        av_rows(step, 1, 4);
    else
        av_wide(step, 1, 8, false);
}

SATTN_NOINLINE void av_2_rows(const av_step *step)
{
    if (step->n_vecs > COLUMNS)
        av_wide(step, 2, 4, true);
    else
        av_rows(step, 2, 4);
}

SATTN_NOINLINE void av_3_rows(const av_step *step)
{
    av_rows(step, 3, 3);
}

SATTN_NOINLINE void av_4_rows(const av_step *step)
{
    av_rows(step, 4, 2);
}

static void accumulate(const fused_decode_state *st, const fused_decode_block *block)
{
    for (int r = 0, n_rows = 0; r < st->n_rows; r += n_rows) {
        n_rows = score_group_rows(st->n_rows, r);
        const av_step step = {.s = st->s + r * FUSED_DECODE_KEYS,
                              .o = st->o + r * st->o_pitch,
                              .v = block->v,
                              .sum = st->sum,
                              .o_pitch = st->o_pitch,
                              .v_stride = block->v_stride,
                              .v_ahead = block->v_ahead,
                              .n_vecs = st->d_v / LANES,
                              .n_keys = block->n_keys,
                              .has_tail = st->d_v % LANES != 0,
                              .tail = vec_tail_m8(st->d_v % LANES)};
        if (n_rows == 4)
            av_4_rows(&step);
        else if (n_rows == 3)
            av_3_rows(&step);
        else if (n_rows == 2)
            av_2_rows(&step);
        else
            av_1_row(&step);
    }
}

void sattn_fused_f32_avx2_decode(const sattn_fused_args *args)
{
    static const fused_decode_ops ops = {.lanes = LANES,
                                         .score = score,
                                         .cap = vec_softcap,
                                         .slope = slope,
                                         .maximum = maximum,
                                         .weigh = weigh,
                                         .exp = exp_of_one,
                                         .accumulate = accumulate};
    fused_decode(args, &ops);
}
