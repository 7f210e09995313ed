/* SPDX-License-Identifier: MIT
 *
 * fused_f32_avx512_decode.c: fused attention for few query rows, 16 features per vector.
 *
 * The method is in fused_decode.h; here are its steps. Scores: 16 accumulators, for 1 row x 16
 * keys, 2 x 8 or 4 x 4 (3 x 4), each over all features, then one transposing reduction. AV: rows x
 * vectors of output columns in registers, one broadcast weight per row and key. Where d_v is too
 * short for enough chains of additions, the keys are dealt to 2 or 4 accumulators, by d_v alone. */
#include "kernels/fused/fused_decode.h"
#include "kernels/vec/score_tile_avx512.h"
#include "kernels/vec/softcap_avx512.h"
#include "kernels/vec/vec_avx512.h"

enum {
    LANES = 16,
    TILE = 16, /* accumulators of a register tile */
    SPAN = 8,  /* vectors of columns that one row of weights meets at a time */
    WIDE = 256 /* features beyond which one row takes keys side by side */
};

void sattn_fused_f32_avx512_decode(const sattn_fused_args *args);

/* max returns its second operand if either is NaN, so the running maximum comes second. */
SATTN_INLINE __m512 raise_max(__m512 max_f32x16, __m512 s_f32x16)
{
    return _mm512_max_ps(s_f32x16, max_f32x16);
}

/* Chains as long as those of wide rows fill the processor's window, so few keys would overlap by
 * themselves: wide ones go eight side by side, in streams that hardware follows. */
SATTN_INLINE void score_1_row(fused_decode_state *st, const fused_decode_block *block, int r,
                              const bool wide)
{
    const int64_t whole = st->d / LANES * LANES;
    const __mmask16 tail = vec_tail_m16(st->d - whole);
    const int64_t stride = block->k_stride;
    const int64_t ahead = block->k_ahead;
    const float *const q = st->q + r * st->q_pitch;
    const float *k = block->k;
    float *s = st->s + r * FUSED_DECODE_KEYS;
    __m512 max_f32x16 = _mm512_set1_ps(-INFINITY);
    for (int left = block->n_keys; left > 0; left -= TILE, s += TILE) {
        __m512 acc[TILE];
        SATTN_UNROLL(16)
        for (int i = 0; i < TILE; ++i, k += stride) {
            if (i >= left) { /* a key again, so that the maximum stays right */
                acc[i] = acc[0];
            } else if (!wide) {
                acc[i] = score_key_f32x16(q, k, whole, tail, ahead);
            } else if (i % 8 == 0) {
                const float *rows[8];
                fused_decode_rows(rows, k, stride, left - i, 8);
                score_tile_f32x16(acc + i, q, rows, st->d, ahead, 1, 8, SCORE_FETCH_NONE);
            }
        }
        const __m512 tile_f32x16 = vec_hsum_rows_f32x16(acc);
        max_f32x16 = raise_max(max_f32x16, tile_f32x16);
        _mm512_storeu_ps(s, tile_f32x16);
    }
    st->block_max[r] = vec_hmax_f32x16(max_f32x16);
}

/* Stores a tile of n_keys scores for each of n_rows rows. */
SATTN_INLINE void store_tile(float *s, __m512 tile_f32x16, const int n_rows, const int n_keys)
{
    if (n_keys == 8) {
        _mm256_storeu_ps(s, _mm512_castps512_ps256(tile_f32x16));
        _mm256_storeu_ps(s + FUSED_DECODE_KEYS, _mm512_extractf32x8_ps(tile_f32x16, 1));
        return;
    }
    _mm_storeu_ps(s, _mm512_castps512_ps128(tile_f32x16));
    _mm_storeu_ps(s + FUSED_DECODE_KEYS, _mm512_extractf32x4_ps(tile_f32x16, 1));
    _mm_storeu_ps(s + 2 * FUSED_DECODE_KEYS, _mm512_extractf32x4_ps(tile_f32x16, 2));
    if (n_rows > 3)
        _mm_storeu_ps(s + 3 * FUSED_DECODE_KEYS, _mm512_extractf32x4_ps(tile_f32x16, 3));
}

/* block_max of n_rows rows from the maximum over their tiles of n_keys scores. */
SATTN_INLINE void store_max(float *block_max, __m512 max_f32x16, const int n_rows, const int n_keys)
{
    max_f32x16 = _mm512_max_ps(max_f32x16, _mm512_permute_ps(max_f32x16, 0x4e));
    max_f32x16 = _mm512_max_ps(max_f32x16, _mm512_permute_ps(max_f32x16, 0xb1));
    if (n_keys == 8)
        max_f32x16 = _mm512_max_ps(max_f32x16, _mm512_shuffle_f32x4(max_f32x16, max_f32x16, 0xb1));
    max_f32x16 = _mm512_maskz_compress_ps(n_keys == 8 ? 0x0101 : 0x1111, max_f32x16);
    vec_store_tail_f32x16(block_max, vec_tail_m16(n_rows), max_f32x16);
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
    __m512 max_f32x16 = _mm512_set1_ps(-INFINITY);
    for (int left = block->n_keys; left > 0; left -= n_keys, s += n_keys, k += n_keys * stride) {
        const float *rows[8];
        __m512 acc[TILE];
        fused_decode_rows(rows, k, stride, left, n_keys);
        score_tile_f32x16(acc, q, rows, d, ahead, n_rows, n_keys, SCORE_FETCH_BY_KEY);
        SATTN_UNROLL(16)
        for (int i = n_rows * n_keys; i < TILE; ++i)
            acc[i] = _mm512_setzero_ps();
        const __m512 tile_f32x16 = vec_hsum_rows_f32x16(acc);
        max_f32x16 = raise_max(max_f32x16, tile_f32x16);
        store_tile(s, tile_f32x16, n_rows, n_keys);
    }
    store_max(st->block_max + r, max_f32x16, n_rows, n_keys);
}

static void score(fused_decode_state *st, const fused_decode_block *block)
{
    for (int r = 0, n_rows = 0; r < st->n_rows; r += n_rows) {
        n_rows = score_group_rows(st->n_rows, r);
        if (n_rows == 4)
            score_rows(st, block, r, 4, 4);
        else if (n_rows == 3)
            score_rows(st, block, r, 3, 4);
        else if (n_rows == 2)
            score_rows(st, block, r, 2, 8);
        else if (st->d > WIDE)
            score_1_row(st, block, r, true);
        else
            score_1_row(st, block, r, false);
    }
}

static void slope(float *s, int n, const fused_decode_alibi *alibi)
{
    const __m512 slope = _mm512_set1_ps(alibi->slope);
    const __m512 position = _mm512_set1_ps(alibi->position);
    const __m512 steps = _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    for (int j = 0; j < n; j += LANES) {
        const __mmask16 tail = vec_tail_m16(n - j);
        const __m512 key = _mm512_add_ps(_mm512_set1_ps((float)j), steps);
        const __m512 distance = _mm512_abs_ps(_mm512_sub_ps(position, key));
        const __m512 s_f32x16 = vec_load_tail_f32x16(s + j, tail);
        vec_store_tail_f32x16(s + j, tail, _mm512_fmadd_ps(slope, distance, s_f32x16));
    }
}

static void maximum(fused_decode_state *st, int n_keys)
{
    for (int r = 0; r < st->n_rows; ++r) {
        const float *const s = st->s + r * FUSED_DECODE_KEYS;
        __m512 max_f32x16 = _mm512_set1_ps(-INFINITY);
        for (int j = 0; j < n_keys; j += LANES) {
            const __mmask16 real = vec_tail_m16(n_keys - j);
            const __m512 s_f32x16 = vec_load_tail_f32x16(s + j, real);
            max_f32x16 = _mm512_mask_max_ps(max_f32x16, real, s_f32x16, max_f32x16);
        }
        st->block_max[r] = vec_hmax_f32x16(max_f32x16);
    }
}

static void weigh(fused_decode_state *st, int n_keys)
{
    for (int r = 0; r < st->n_rows; ++r) {
        float *const s = st->s + r * FUSED_DECODE_KEYS;
        const __m512 m_f32x16 = _mm512_set1_ps(fused_decode_reference(st, r));
        __m512 sum_f32x16 = _mm512_setzero_ps();
        for (int j = 0; j < n_keys; j += LANES) {
            const __mmask16 real = vec_tail_m16(n_keys - j);
            const __m512 s_f32x16 = vec_load_tail_f32x16(s + j, real);
            const __m512 p_f32x16 = vec_exp_f32x16(_mm512_sub_ps(s_f32x16, m_f32x16));
            sum_f32x16 = _mm512_mask_add_ps(sum_f32x16, real, sum_f32x16, p_f32x16);
            _mm512_storeu_ps(s + j, p_f32x16);
        }
        st->row_sum[r] += vec_hsum_f32x16(sum_f32x16);
    }
}

static float exp_of_one(float t)
{
    return _mm512_cvtss_f32(vec_exp_f32x16(_mm512_set1_ps(t)));
}

/* What the AV tiles of one group of rows work on. */
typedef struct av_step {
    const float *s;
    float *o;
    const float *v;
    int64_t o_pitch, v_stride, v_ahead;
    int64_t n_columns; /* left, from o and v on */
    int n_keys;
} av_step;

SATTN_INLINE void av_span(__m512 *acc, const float *s, const float *v, __mmask16 last,
                          int64_t ahead, const int n_rows, const int n_vecs)
{
    __m512 v_f32x16[SPAN];
    SATTN_KEEP_ORDER();
    SATTN_UNROLL(8)
    for (int y = 0; y < n_vecs; ++y) {
        v_f32x16[y] = y + 1 < n_vecs ? _mm512_loadu_ps(v + y * LANES)
                                     : vec_load_tail_f32x16(v + y * LANES, last);
        vec_fetch(v + y * LANES, ahead);
        if (n_rows > 1)
            v_f32x16[y] = vec_in_register_f32x16(v_f32x16[y]);
    }
    SATTN_UNROLL(4)
    for (int r = 0; r < n_rows; ++r) {
        const __m512 p_f32x16 = _mm512_set1_ps(s[r * FUSED_DECODE_KEYS]);
        SATTN_UNROLL(8)
        for (int y = 0; y < n_vecs; ++y)
            acc[r * n_vecs + y] = _mm512_fmadd_ps(p_f32x16, v_f32x16[y], acc[r * n_vecs + y]);
    }
}

/* Two spans one after the other, since registers do not hold V and the sums of both. */
SATTN_INLINE void av_key(__m512 *acc, const float *s, const float *v, __mmask16 last, int64_t ahead,
                         const int n_rows, const int n_vecs)
{
    if (n_vecs <= SPAN) {
        av_span(acc, s, v, last, ahead, n_rows, n_vecs);
    } else {
        av_span(acc, s, v, vec_tail_m16(LANES), ahead, 1, SPAN);
        av_span(acc + SPAN, s, v + SPAN * LANES, last, ahead, 1, SPAN);
    }
}

/* o += s v for n_vecs vectors of columns; key j goes to accumulator j % n_parts. Those of a column
 * are added by halves, as in fused_decode.h. */
SATTN_INLINE int av_tile(const av_step *step, const int n_rows, const int n_vecs, const int n_parts)
{
    const int n_sums = n_rows * n_vecs;
    const __mmask16 last = vec_tail_m16(step->n_columns - (n_vecs - 1) * LANES);
    const int64_t v_stride = step->v_stride;
    const int64_t ahead = step->v_ahead;
    const float *v = step->v;
    const float *s = step->s;
    const float *const end = s + step->n_keys;
    __m512 acc[TILE];
    SATTN_UNROLL(16)
    for (int i = 0; i < n_sums * n_parts; ++i)
        acc[i] = _mm512_setzero_ps();
    SATTN_NO_UNROLL
    for (; end - s >= n_parts; s += n_parts) {
        SATTN_UNROLL(4)
        for (int part = 0; part < n_parts; ++part, v += v_stride)
            av_key(acc + part * n_sums, s + part, v, last, ahead, n_rows, n_vecs);
    }
    SATTN_UNROLL(4)
    for (int part = 0; part + 1 < n_parts; ++part, v += v_stride)
        if (end - s > part)
            av_key(acc + part * n_sums, s + part, v, last, ahead, n_rows, n_vecs);
    SATTN_UNROLL(16)
    for (int i = 0; i < n_sums; ++i) {
        float *const o = step->o + i / n_vecs * step->o_pitch + i % n_vecs * LANES;
        __m512 sum = acc[i];
        if (n_parts == 2)
            sum = _mm512_add_ps(sum, acc[n_sums + i]);
        if (n_parts == 4)
            sum = _mm512_add_ps(_mm512_add_ps(sum, acc[2 * n_sums + i]),
                                _mm512_add_ps(acc[n_sums + i], acc[3 * n_sums + i]));
        _mm512_storeu_ps(o, _mm512_add_ps(_mm512_loadu_ps(o), sum));
    }
    return n_vecs;
}

/* All n_vecs vectors of a span, for 1 or 2 rows. */
SATTN_INLINE int av_few_rows(const av_step *step, const int n_rows, int n_vecs)
{
    switch (n_vecs) {
    case 1:
        return av_tile(step, n_rows, 1, 4);
    case 2:
        return av_tile(step, n_rows, 2, 4);
    case 3:
        return av_tile(step, n_rows, 3, 2);
    case 4:
        return av_tile(step, n_rows, 4, 2);
    case 5:
        return av_tile(step, n_rows, 5, 1);
    case 6:
        return av_tile(step, n_rows, 6, 1);
    case 7:
        return av_tile(step, n_rows, 7, 1);
    default:
        /* Two whole spans, so that a wide row of V is read in one go. */
        if (n_rows == 1 && step->n_columns >= 2 * SPAN * LANES)
            return av_tile(step, n_rows, n_rows == 1 ? 2 * SPAN : SPAN, 1);
        return av_tile(step, n_rows, 8, 1);
    }
}

/* As many of the n_vecs vectors left in a span as registers hold, for 3 or 4 rows. */
SATTN_INLINE int av_more_rows(const av_step *step, const int n_rows, int n_vecs, int n_parts)
{
    if (n_parts == 4)
        return av_tile(step, n_rows, 1, 4);
    if (n_parts == 2)
        return n_vecs == 1 ? av_tile(step, n_rows, 1, 2) : av_tile(step, n_rows, 2, 2);
    switch (n_vecs) {
    case 1:
        return av_tile(step, n_rows, 1, 1);
    case 2:
        return av_tile(step, n_rows, 2, 1);
    case 3:
        return av_tile(step, n_rows, 3, 1);
    default:
        return av_tile(step, n_rows, 4, 1);
    }
}

static int av_vectors(const av_step *step, int n_rows, int n_vecs, int n_parts)
{
    switch (n_rows) {
    case 1:
        return av_few_rows(step, 1, n_vecs);
    case 2:
        return av_few_rows(step, 2, n_vecs);
    case 3:
        return av_more_rows(step, 3, n_vecs, n_parts);
    default:
        return av_more_rows(step, 4, n_vecs, n_parts);
    }
}

/* Columns go in spans of SPAN vectors; how many accumulators share the keys of a column follows
 * from the width of its span, never from the rows. */
static void accumulate(const fused_decode_state *st, const fused_decode_block *block)
{
    for (int r = 0, n_rows = 0; r < st->n_rows; r += n_rows) {
        n_rows = score_group_rows(st->n_rows, r);
        av_step step = {.s = st->s + r * FUSED_DECODE_KEYS,
                        .o = st->o + r * st->o_pitch,
                        .v = block->v,
                        .o_pitch = st->o_pitch,
                        .v_stride = block->v_stride,
                        .v_ahead = block->v_ahead,
                        .n_columns = st->d_v,
                        .n_keys = block->n_keys};
        while (step.n_columns > 0) {
            const int64_t all_vecs = (step.n_columns + LANES - 1) / LANES;
            int n_vecs = all_vecs < SPAN ? (int)all_vecs : SPAN;
            const int n_parts = n_vecs > 4 ? 1 : n_vecs > 2 ? 2 : 4;
            while (n_vecs > 0) {
                const int done = av_vectors(&step, n_rows, n_vecs, n_parts);
                n_vecs -= done;
                step.o += done * LANES;
                step.v += done * LANES;
                step.n_columns -= done * LANES;
            }
        }
    }
}

void sattn_fused_f32_avx512_decode(const sattn_fused_args *args)
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
