/* SPDX-License-Identifier: MIT
 *
 * softmax_f32_avx512.c: softmax by rows in AVX-512; the method is in softmax_rows.h.
 *
 * Flat     16 rows of n columns are n whole vectors. A table tells the row of each lane, whose
 *          maximum and factor it takes. Maxima and sums go by rows, for all 16 at once, and
 *          end in one transposed reduction. */
#include "kernels/softmax/softmax_turn_avx512.h"

sattn_softmax_fn sattn_softmax_f32_avx512;

enum { FLAT_COLUMNS = 208 }; /* of a run, at most; more do better in turns */

/* Scratch of runs. */
typedef struct flat_memory {
    float base[ROWS], factor[ROWS];
    float tile[ROWS * LANES];                     /* sums of a block of keys */
    uint32_t row_of[ROWS * FLAT_COLUMNS + LANES]; /* of each element */
} flat_memory;

_Static_assert(sizeof(flat_memory) <= 16 * SATTN_TILE_KEYS_MAX * sizeof(float), "see contract.h");

/* Lane i of the result is the largest lane of rows[i]. */
SATTN_INLINE __m512 max_of_rows(const __m512 rows[16])
{
    __m512 half[8];
    __m512 quarter[4];
    __m512 pair[2];
    SATTN_UNROLL(8)
    for (int i = 0; i < 8; ++i) {
        const __m512 a = rows[(i & 3) + 2 * (i & 4)];
        const __m512 b = rows[(i & 3) + 2 * (i & 4) + 4];
        half[i] = _mm512_max_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));
    }
    SATTN_UNROLL(4)
    for (int i = 0; i < 4; ++i)
        quarter[i] = _mm512_max_ps(_mm512_shuffle_f32x4(half[i], half[i + 4], 0x88),
                                   _mm512_shuffle_f32x4(half[i], half[i + 4], 0xdd));
    SATTN_UNROLL(2)
    for (int i = 0; i < 2; ++i)
        pair[i] = _mm512_max_ps(_mm512_shuffle_ps(quarter[2 * i], quarter[2 * i + 1], 0x44),
                                _mm512_shuffle_ps(quarter[2 * i], quarter[2 * i + 1], 0xee));
    return _mm512_max_ps(_mm512_shuffle_ps(pair[0], pair[1], 0x88),
                         _mm512_shuffle_ps(pair[0], pair[1], 0xdd));
}

/* Which row's value each element of a run of n columns takes. What a row's last vector has too much
 * is the next one's. */
SATTN_INLINE void flat_rows(uint32_t *row_of, int64_t n)
{
    for (int r = 0; r < ROWS; ++r, row_of += n) {
        for (int64_t j = 0; j < n; j += LANES)
            _mm512_storeu_si512(row_of + j, _mm512_set1_epi32(r));
    }
}

/* The value of the row that each lane of a vector belongs to. */
SATTN_INLINE __m512 of_row(__m512 of, __m512i rows)
{
    return _mm512_permutexvar_ps(rows, of);
}

/* The maxima of 16 rows of n scores, back to back. A row ends in a vector that overlaps the one
 * before. */
SATTN_INLINE __m512 flat_maxima(const float *s, int64_t n)
{
    __m512 top[ROWS];
    const float *at = s + n - LANES;
    SATTN_UNROLL(16)
    for (int r = 0; r < ROWS; ++r, at += n)
        top[r] = raise(_mm512_set1_ps(-INFINITY), _mm512_loadu_ps(at));
    for (int64_t j = 0; j + LANES < n; j += LANES) {
        at = s + j;
        SATTN_UNROLL(16)
        for (int r = 0; r < ROWS; ++r, at += n)
            top[r] = raise(top[r], _mm512_loadu_ps(at));
    }
    return max_of_rows(top);
}

/* The weights, and the quotients of the run before, of `count` vectors, at most VEC_EACH, from
 * element `at` on. */
SATTN_INLINE void flat_vectors(const softmax_flat *t, const flat_memory *m, int64_t at, __m512 base,
                               __m512 factor, const bool has_own, const bool has_done,
                               const int count)
{
    const float *const ahead = t->next ? t->next : t->s; /* what is read after these */
    __m512i rows[VEC_EACH];
    __m512 weight[VEC_EACH];
    SATTN_UNROLL(4)
    for (int u = 0; u < count; ++u)
        rows[u] = _mm512_load_si512(m->row_of + at + u * LANES);
    if (has_own) {
        SATTN_UNROLL(4)
        for (int u = 0; u < count; ++u) {
            vec_fetch(t->p + at + u * LANES, SOFTMAX_AHEAD);
            vec_fetch(ahead + at + u * LANES, 0);
            weight[u] =
                _mm512_sub_ps(_mm512_loadu_ps(t->s + at + u * LANES), of_row(base, rows[u]));
        }
        vec_exp_each_f32x16(weight, count);
    }
    if (has_done) {
        SATTN_UNROLL(4)
        for (int u = 0; u < count; ++u) {
            float *const done = t->done + at + u * LANES;
            _mm512_storeu_ps(done, _mm512_mul_ps(_mm512_loadu_ps(done), of_row(factor, rows[u])));
        }
    }
    if (has_own) {
        SATTN_UNROLL(4)
        for (int u = 0; u < count; ++u)
            _mm512_storeu_ps(t->p + at + u * LANES, weight[u]);
    }
}

/* The weights of a run, and the quotients of the one before. */
SATTN_INLINE void flat_weigh(const softmax_flat *of, const flat_memory *m, const bool has_own,
                             const bool has_done)
{
    const softmax_flat t = *of; /* of its own, to stay in registers */
    const __m512 base = _mm512_load_ps(m->base);
    const __m512 factor = _mm512_load_ps(m->factor);
    const int64_t end = t.n * ROWS;
    int64_t at = 0;
    SATTN_NO_UNROLL
    for (; at + VEC_EACH * LANES <= end; at += VEC_EACH * LANES)
        flat_vectors(&t, m, at, base, factor, has_own, has_done, VEC_EACH);
    SATTN_NO_UNROLL
    for (; at < end; at += LANES)
        flat_vectors(&t, m, at, base, factor, has_own, has_done, 1);
}

/* part[r] += the given lanes of row r, at p + r * n. */
SATTN_INLINE void flat_add(__m512 part[ROWS], const float *p, int64_t n, __mmask16 lanes)
{
    SATTN_UNROLL(16)
    for (int r = 0; r < ROWS; ++r, p += n)
        part[r] = _mm512_add_ps(part[r], vec_load_tail_f32x16(p, lanes));
}

/* The sums of 16 rows of n weights, each in the order of weigh. */
SATTN_INLINE __m512 flat_sums(const float *p, int64_t n, float *tile)
{
    __m512 part[ROWS];
    for (int64_t j = 0; j < n;) {
        const int64_t stop = j + SATTN_KEY_BLOCK < n ? j + SATTN_KEY_BLOCK : n;
        const bool is_first = j == 0;
        SATTN_UNROLL(16)
        for (int r = 0; r < ROWS; ++r)
            part[r] = _mm512_setzero_ps();
        for (; j + LANES <= stop; j += LANES)
            flat_add(part, p + j, n, 0xffff);
        if (j < stop)
            flat_add(part, p + j, n, vec_tail_m16(stop - j));
        j = stop;
        if (is_first && j == n)
            return vec_hsum_rows_f32x16(part); /* one block: nothing has to wait in the tile */
        SATTN_UNROLL(16)
        for (int r = 0; r < ROWS; ++r) {
            const __m512 sum = is_first ? _mm512_setzero_ps() : _mm512_load_ps(tile + r * LANES);
            _mm512_store_ps(tile + r * LANES, _mm512_add_ps(sum, part[r]));
        }
    }
    SATTN_UNROLL(16)
    for (int r = 0; r < ROWS; ++r)
        part[r] = _mm512_load_ps(tile + r * LANES);
    return vec_hsum_rows_f32x16(part);
}

SATTN_INLINE void flat_open(const softmax_flat *t, flat_memory *m)
{
    const __m512 max = flat_maxima(t->next, t->n);
    const __mmask16 known = _mm512_cmp_ps_mask(max, _mm512_set1_ps(-INFINITY), _CMP_NEQ_UQ);
    _mm512_store_ps(m->base, _mm512_maskz_mov_ps(known, max)); /* as softmax_base */
    if (t->row_max)
        _mm512_storeu_ps(t->row_max, _mm512_add_ps(max, _mm512_setzero_ps()));
}

SATTN_INLINE void flat_close(const softmax_flat *t, flat_memory *m)
{
    const __m512 one = _mm512_set1_ps(1.0f);
    const __m512 sum = flat_sums(t->p, t->n, m->tile);
    _mm512_store_ps(m->factor, _mm512_div_ps(one, sum));
    if (t->row_sum) {
        const __mmask16 is_zero = _mm512_cmp_ps_mask(sum, _mm512_setzero_ps(), _CMP_EQ_OQ);
        _mm512_storeu_ps(t->row_sum, _mm512_mask_mov_ps(sum, is_zero, one));
    }
}

#include "kernels/softmax/softmax_flat.h"

SATTN_NOINLINE void with_alibi(const sattn_softmax_args *args)
{
    static const softmax_ops ops = {.lanes = LANES,
                                    .slope = slope,
                                    .maximum = alibi_maximum,
                                    .weigh = alibi_weigh,
                                    .scale = scale};
    softmax_rows(args, &ops);
}

void sattn_softmax_f32_avx512(const sattn_softmax_args *args)
{
    static const softmax_ops ops = {.lanes = LANES,
                                    .maximum = maximum,
                                    .weigh = weigh,
                                    .scale = scale,
                                    .flat = flat,
                                    .flat_rows = ROWS,
                                    .flat_columns = FLAT_COLUMNS,
                                    .turn = turn};
    if (args->visible.alibi_slopes)
        with_alibi(args);
    else
        softmax_rows(args, &ops);
}
