/* SPDX-License-Identifier: MIT
 *
 * softmax_f32_neon.c: softmax by rows in NEON; the method is in softmax_rows.h.
 *
 * Flat     4 rows of n columns are n whole vectors. A table tells the row of each lane, whose
 *          maximum and factor it takes. Maxima and sums go by rows, for all 4 at once, and end
 *          in one transposed reduction. */
#include "kernels/softmax/softmax_turn_neon.h"

sattn_softmax_fn sattn_softmax_f32_neon;

enum { FLAT_COLUMNS = 52 }; /* of a run, at most; more do better in turns */

/* Scratch of runs. */
typedef struct flat_memory {
    float base[ROWS], factor[ROWS];
    uint32_t row_of[ROWS * FLAT_COLUMNS + LANES]; /* of each element */
} flat_memory;

_Static_assert(sizeof(flat_memory) <= 16 * SATTN_TILE_KEYS_MAX * sizeof(float), "see contract.h");
_Static_assert((int)FLAT_COLUMNS <= (int)SATTN_KEY_BLOCK, "flat_sums takes one block of keys");

/* Lane i of the result is the largest lane of rows[i]. */
SATTN_INLINE float32x4_t max_of_rows(const float32x4_t rows[4])
{
    return vpmaxq_f32(vpmaxq_f32(rows[0], rows[1]), vpmaxq_f32(rows[2], rows[3]));
}

/* Which row's value each element of a run of n columns takes. What a row's last vector has too much
 * is the next one's. */
SATTN_INLINE void flat_rows(uint32_t *row_of, int64_t n)
{
    const uint32_t first = 0x03020100, next = 0x04040404; /* bytes of row 0; on to the next row's */
    for (int r = 0; r < ROWS; ++r, row_of += n) {
        for (int64_t j = 0; j < n; j += LANES)
            vst1q_u32(row_of + j, vdupq_n_u32(first + next * (uint32_t)r));
    }
}

/* The value of the row that each lane of a vector belongs to. */
SATTN_INLINE float32x4_t of_row(float32x4_t of, uint8x16_t rows)
{
    return vreinterpretq_f32_u8(vqtbl1q_u8(vreinterpretq_u8_f32(of), rows));
}

/* The maxima of 4 rows of n scores, back to back. A row ends in a vector that overlaps the one
 * before. */
SATTN_INLINE float32x4_t flat_maxima(const float *s, int64_t n)
{
    float32x4_t top[ROWS];
    const float *at = s + n - LANES;
    SATTN_UNROLL(4)
    for (int r = 0; r < ROWS; ++r, at += n)
        top[r] = raise(vdupq_n_f32(-INFINITY), vld1q_f32(at));
    for (int64_t j = 0; j + LANES < n; j += LANES) {
        at = s + j;
        SATTN_UNROLL(4)
        for (int r = 0; r < ROWS; ++r, at += n)
            top[r] = raise(top[r], vld1q_f32(at));
    }
    return max_of_rows(top);
}

/* The weights, and the quotients of the run before, of `count` vectors, at most TURN_VECS, from
 * element `at` on. */
SATTN_INLINE void flat_vectors(const softmax_flat *t, const flat_memory *m, int64_t at,
                               float32x4_t base, float32x4_t factor, const bool has_own,
                               const bool has_done, const int count)
{
    const float *const ahead = t->next ? t->next : t->s; /* what is read after these */
    uint8x16_t rows[TURN_VECS];
    float32x4_t weight[TURN_VECS];
    SATTN_UNROLL(2)
    for (int u = 0; u < count; ++u)
        rows[u] = vreinterpretq_u8_u32(vld1q_u32(m->row_of + at + u * LANES));
    if (has_own) {
        vec_fetch(t->p + at, SOFTMAX_AHEAD);
        vec_fetch(ahead + at, 0);
        SATTN_UNROLL(2)
        for (int u = 0; u < count; ++u) {
            const float32x4_t s = vld1q_f32(t->s + at + u * LANES);
            weight[u] = vec_exp_f32x4(vsubq_f32(s, of_row(base, rows[u])));
        }
    }
    if (has_done) {
        SATTN_UNROLL(2)
        for (int u = 0; u < count; ++u) {
            float *const done = t->done + at + u * LANES;
            vst1q_f32(done, vmulq_f32(vld1q_f32(done), of_row(factor, rows[u])));
        }
    }
    if (has_own) {
        SATTN_UNROLL(2)
        for (int u = 0; u < count; ++u)
            vst1q_f32(t->p + at + u * LANES, weight[u]);
    }
}

/* The weights of a run, and the quotients of the one before. */
SATTN_INLINE void flat_weigh(const softmax_flat *of, const flat_memory *m, const bool has_own,
                             const bool has_done)
{
    const softmax_flat t = *of; /* of its own, to stay in registers */
    const float32x4_t base = vld1q_f32(m->base);
    const float32x4_t factor = vld1q_f32(m->factor);
    const int64_t end = t.n * ROWS;
    int64_t at = 0;
    SATTN_NO_UNROLL
    for (; at + TURN_VECS * LANES <= end; at += TURN_VECS * LANES)
        flat_vectors(&t, m, at, base, factor, has_own, has_done, TURN_VECS);
    SATTN_NO_UNROLL
    for (; at < end; at += LANES)
        flat_vectors(&t, m, at, base, factor, has_own, has_done, 1);
}

/* part[r] += the n_lanes lanes of row r at p + r * n. */
SATTN_INLINE void flat_add(float32x4_t part[ROWS], const float *p, int64_t n, int64_t n_lanes)
{
    SATTN_UNROLL(4)
    for (int r = 0; r < ROWS; ++r, p += n)
        part[r] = vaddq_f32(part[r], vec_load_tail_f32x4(p, n_lanes));
}

/* The sums of 4 rows of n weights, each in the order of weigh. */
SATTN_INLINE float32x4_t flat_sums(const float *p, int64_t n)
{
    float32x4_t part[ROWS];
    int64_t j = 0;
    SATTN_UNROLL(4)
    for (int r = 0; r < ROWS; ++r)
        part[r] = vdupq_n_f32(0.0f);
    for (; j + LANES <= n; j += LANES)
        flat_add(part, p + j, n, LANES);
    if (j < n)
        flat_add(part, p + j, n, n - j);
    return vec_hsum_rows_f32x4(part);
}

SATTN_INLINE void flat_open(const softmax_flat *t, flat_memory *m)
{
    const float32x4_t max = flat_maxima(t->next, t->n);
    const uint32x4_t none = vceqq_f32(max, vdupq_n_f32(-INFINITY));
    vst1q_f32(m->base, vbslq_f32(none, vdupq_n_f32(0.0f), max)); /* as softmax_base */
    if (t->row_max)
        vst1q_f32(t->row_max, vaddq_f32(max, vdupq_n_f32(0.0f)));
}

SATTN_INLINE void flat_close(const softmax_flat *t, flat_memory *m)
{
    const float32x4_t one = vdupq_n_f32(1.0f);
    const float32x4_t sum = flat_sums(t->p, t->n);
    vst1q_f32(m->factor, vdivq_f32(one, sum));
    if (t->row_sum)
        vst1q_f32(t->row_sum, vbslq_f32(vceqzq_f32(sum), one, sum));
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

void sattn_softmax_f32_neon(const sattn_softmax_args *args)
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
