/* SPDX-License-Identifier: MIT
 *
 * softmax_f32_avx2.c: softmax by rows in AVX2; the method is in softmax_rows.h.
 *
 * Flat     8 rows of n columns are n whole vectors. A table tells the row of each lane, whose
 *          maximum and factor it takes. Maxima and sums go by rows, for all 8 at once, and end
 *          in one transposed reduction. */
#include "kernels/softmax/softmax_turn_avx2.h"

sattn_softmax_fn sattn_softmax_f32_avx2;

enum { FLAT_COLUMNS = 208 }; /* of a run, at most; more do better in turns */

/* Scratch of runs. */
typedef struct flat_memory {
    float base[ROWS], factor[ROWS];
    float tile[ROWS * LANES];                     /* sums of a block of keys */
    uint32_t row_of[ROWS * FLAT_COLUMNS + LANES]; /* of each element */
} flat_memory;

_Static_assert(sizeof(flat_memory) <= 16 * SATTN_TILE_KEYS_MAX * sizeof(float), "see contract.h");

/* Lane i of the result is the largest lane of rows[i]. */
SATTN_INLINE __m256 max_of_rows(const __m256 rows[8])
{
    __m256 half[4];
    __m256 pair[2];
    SATTN_UNROLL(4)
    for (int i = 0; i < 4; ++i)
        half[i] = _mm256_max_ps(_mm256_permute2f128_ps(rows[i], rows[i + 4], 0x20),
                                _mm256_permute2f128_ps(rows[i], rows[i + 4], 0x31));
    SATTN_UNROLL(2)
    for (int i = 0; i < 2; ++i)
        pair[i] = _mm256_max_ps(_mm256_shuffle_ps(half[2 * i], half[2 * i + 1], 0x44),
                                _mm256_shuffle_ps(half[2 * i], half[2 * i + 1], 0xee));
    return _mm256_max_ps(_mm256_shuffle_ps(pair[0], pair[1], 0x88),
                         _mm256_shuffle_ps(pair[0], pair[1], 0xdd));
}

/* Which row's value each element of a run of n columns takes. What a row's last vector has too much
 * is the next one's. */
SATTN_INLINE void flat_rows(uint32_t *row_of, int64_t n)
{
    for (int r = 0; r < ROWS; ++r, row_of += n) {
        for (int64_t j = 0; j < n; j += LANES)
            _mm256_storeu_si256((__m256i *)(void *)(row_of + j), _mm256_set1_epi32(r));
    }
}

/* Of a value for each row, those of the rows that lanes from `row_of` on belong to. */
SATTN_INLINE __m256 of_row(const float *of, const uint32_t *row_of)
{
    return _mm256_permutevar8x32_ps(_mm256_load_ps(of),
                                    _mm256_load_si256((const __m256i *)(const void *)row_of));
}

/* The maxima of 8 rows of n scores, back to back. A row ends in a vector that overlaps the one
 * before. */
SATTN_INLINE __m256 flat_maxima(const float *s, int64_t n)
{
    __m256 top[ROWS];
    const float *at = s + n - LANES;
    SATTN_UNROLL(8)
    for (int r = 0; r < ROWS; ++r, at += n)
        top[r] = raise(_mm256_set1_ps(-INFINITY), _mm256_loadu_ps(at));
    for (int64_t j = 0; j + LANES < n; j += LANES) {
        at = s + j;
        SATTN_UNROLL(8)
        for (int r = 0; r < ROWS; ++r, at += n)
            top[r] = raise(top[r], _mm256_loadu_ps(at));
    }
    return max_of_rows(top);
}

/* The weights, and the quotients of the run before, of `count` vectors, at most VEC_EACH, from
 * element `at` on. */
SATTN_INLINE void flat_vectors(const softmax_flat *t, const flat_memory *m, int64_t at,
                               const bool has_own, const bool has_done, const int count)
{
    const float *const ahead = t->next ? t->next : t->s; /* what is read after these */
    __m256 weight[VEC_EACH];
    SATTN_KEEP_ORDER(); /* there are not registers for what loops could keep */
    if (has_own) {
        SATTN_UNROLL(2)
        for (int u = 0; u < count; u += 2) { /* two to a line */
            vec_fetch(t->p + at + u * LANES, SOFTMAX_AHEAD);
            vec_fetch(ahead + at + u * LANES, 0);
        }
        SATTN_UNROLL(4)
        for (int u = 0; u < count; ++u)
            weight[u] = _mm256_sub_ps(_mm256_loadu_ps(t->s + at + u * LANES),
                                      of_row(m->base, m->row_of + at + u * LANES));
        vec_exp_each_f32x8(weight, count);
        SATTN_KEEP_ORDER();
    }
    if (has_done) {
        SATTN_UNROLL(4)
        for (int u = 0; u < count; ++u) {
            float *const done = t->done + at + u * LANES;
            _mm256_storeu_ps(done, _mm256_mul_ps(_mm256_loadu_ps(done),
                                                 of_row(m->factor, m->row_of + at + u * LANES)));
        }
    }
    if (has_own) {
        SATTN_UNROLL(4)
        for (int u = 0; u < count; ++u)
            _mm256_storeu_ps(t->p + at + u * LANES, weight[u]);
    }
}

/* The weights of a run, and the quotients of the one before. */
SATTN_INLINE void flat_weigh(const softmax_flat *of, const flat_memory *m, const bool has_own,
                             const bool has_done)
{
    const softmax_flat t = *of; /* of its own, to stay in registers */
    const int64_t end = t.n * ROWS;
    int64_t at = 0;
    SATTN_NO_UNROLL
    for (; at + VEC_EACH * LANES <= end; at += VEC_EACH * LANES)
        flat_vectors(&t, m, at, has_own, has_done, VEC_EACH);
    SATTN_NO_UNROLL
    for (; at < end; at += LANES)
        flat_vectors(&t, m, at, has_own, has_done, 1);
}

/* part[r] += the n_lanes lanes of row r at p + r * n. */
SATTN_INLINE void flat_add(__m256 part[ROWS], const float *p, int64_t n, int64_t n_lanes)
{
    const __m256i lanes = vec_tail_m8(n_lanes);
    SATTN_UNROLL(8)
    for (int r = 0; r < ROWS; ++r, p += n) {
        const __m256 row = n_lanes == LANES ? _mm256_loadu_ps(p) : vec_load_tail_f32x8(p, lanes);
        part[r] = _mm256_add_ps(part[r], row);
    }
}

/* The sums of 8 rows of n weights, each in the order of weigh. */
SATTN_INLINE __m256 flat_sums(const float *p, int64_t n, float *tile)
{
    __m256 part[ROWS];
    for (int64_t j = 0; j < n;) {
        const int64_t stop = j + SATTN_KEY_BLOCK < n ? j + SATTN_KEY_BLOCK : n;
        const bool is_first = j == 0;
        SATTN_UNROLL(8)
        for (int r = 0; r < ROWS; ++r)
            part[r] = _mm256_setzero_ps();
        for (; j + LANES <= stop; j += LANES)
            flat_add(part, p + j, n, LANES);
        if (j < stop)
            flat_add(part, p + j, n, stop - j);
        j = stop;
        if (is_first && j == n)
            return vec_hsum_rows_f32x8(part); /* one block: nothing has to wait in the tile */
        SATTN_UNROLL(8)
        for (int r = 0; r < ROWS; ++r) {
            const __m256 sum = is_first ? _mm256_setzero_ps() : _mm256_load_ps(tile + r * LANES);
            _mm256_store_ps(tile + r * LANES, _mm256_add_ps(sum, part[r]));
        }
    }
    SATTN_UNROLL(8)
    for (int r = 0; r < ROWS; ++r)
        part[r] = _mm256_load_ps(tile + r * LANES);
    return vec_hsum_rows_f32x8(part);
}

SATTN_INLINE void flat_open(const softmax_flat *t, flat_memory *m)
{
    const __m256 max = flat_maxima(t->next, t->n);
    const __m256 known = _mm256_cmp_ps(max, _mm256_set1_ps(-INFINITY), _CMP_NEQ_UQ);
    _mm256_store_ps(m->base, _mm256_and_ps(known, max)); /* as softmax_base */
    if (t->row_max)
        _mm256_storeu_ps(t->row_max, _mm256_add_ps(max, _mm256_setzero_ps()));
}

SATTN_INLINE void flat_close(const softmax_flat *t, flat_memory *m)
{
    const __m256 one = _mm256_set1_ps(1.0f);
    const __m256 sum = flat_sums(t->p, t->n, m->tile);
    _mm256_store_ps(m->factor, _mm256_div_ps(one, sum));
    if (t->row_sum) {
        const __m256 is_zero = _mm256_cmp_ps(sum, _mm256_setzero_ps(), _CMP_EQ_OQ);
        _mm256_storeu_ps(t->row_sum, _mm256_blendv_ps(sum, one, is_zero));
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

void sattn_softmax_f32_avx2(const sattn_softmax_args *args)
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
