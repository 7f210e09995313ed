/* SPDX-License-Identifier: MIT
 *
 * gru_f32_avx2.c: the elementwise part of a GRU step in one pass over the three gates, two
 * vectors of 8 lanes at a time, at two places of a row at once (gru_rows.h). */
#include "kernels/gru/gru_rows.h"
#include "kernels/vec/sigmoid_avx2.h"

sattn_gru_fn sattn_gru_f32_avx2;

enum { LANES = 8, EACH = 2, STEP = LANES * EACH };

SATTN_INLINE __m256i lanes_of(const gru_place *at, int u)
{
    return vec_tail_m8(at->row->n_hidden - at->j - u * LANES);
}

/* Vector u of a place, of an array of the row. */
SATTN_INLINE __m256 load(const float *array, const gru_place *at, int u)
{
    const float *const from = array + at->j + u * LANES;
    return at->is_whole ? _mm256_loadu_ps(from) : vec_load_tail_f32x8(from, lanes_of(at, u));
}

SATTN_INLINE void store(const gru_place *at, int u, __m256 y)
{
    float *const to = at->row->y + at->j + u * LANES;
    if (at->is_whole)
        _mm256_storeu_ps(to, y);
    else
        vec_store_tail_f32x8(to, lanes_of(at, u), y);
}

/* value[u] = gate r or z */
SATTN_INLINE void gates(__m256 value[], const gru_place *at, int gate)
{
    SATTN_UNROLL(2)
    for (int u = 0; u < EACH; ++u)
        value[u] =
            _mm256_add_ps(load(at->row->gates_x[gate], at, u), load(at->row->gates_h[gate], at, u));
    vec_sigmoid_each_f32x8(value, EACH);
}

/* sum[u] = x_n + r h_n */
SATTN_INLINE void candidate_sums(__m256 sum[], const gru_place *at)
{
    gates(sum, at, GRU_RESET);
    SATTN_UNROLL(2)
    for (int u = 0; u < EACH; ++u)
        sum[u] = _mm256_fmadd_ps(sum[u], load(at->row->gates_h[GRU_CANDIDATE], at, u),
                                 load(at->row->gates_x[GRU_CANDIDATE], at, u));
}

/* From the sums to the next states. */
SATTN_INLINE void next_states(const __m256 sum[], const gru_place *at)
{
    __m256 update[EACH];
    gates(update, at, GRU_UPDATE);
    SATTN_UNROLL(2)
    for (int u = 0; u < EACH; ++u) {
        const __m256 candidate = vec_tanh_in_f32x8(sum[u], false);
        const __m256 way = _mm256_sub_ps(load(at->row->h, at, u), candidate);
        store(at, u, _mm256_fmadd_ps(update[u], way, candidate));
    }
}

SATTN_INLINE void row_step(const gru_row *row)
{
    __m256 sum[EACH], next[EACH];
    gru_place here = {.row = row, .is_whole = true};
    if (STEP <= row->n_hidden) {
        candidate_sums(sum, &here);
        for (; here.j + 2 * STEP <= row->n_hidden; here.j += STEP) {
            const gru_place ahead = {.row = row, .j = here.j + STEP, .is_whole = true};
            candidate_sums(next, &ahead);
            next_states(sum, &here);
            SATTN_UNROLL(2)
            for (int u = 0; u < EACH; ++u)
                sum[u] = next[u];
        }
        next_states(sum, &here);
        here.j += STEP;
    }
    if (here.j < row->n_hidden) {
        here.is_whole = false;
        candidate_sums(sum, &here);
        next_states(sum, &here);
    }
}

void sattn_gru_f32_avx2(const sattn_gru_args *args)
{
    gru_rows(args, row_step);
}
