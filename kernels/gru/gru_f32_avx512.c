/* SPDX-License-Identifier: MIT
 *
 * gru_f32_avx512.c: the elementwise part of a GRU step in one pass over the three gates, two
 * vectors of 16 lanes at a time, at two places of a row at once (gru_rows.h). */
#include "kernels/gru/gru_rows.h"
#include "kernels/vec/sigmoid_avx512.h"

sattn_gru_fn sattn_gru_f32_avx512;

enum { LANES = 16, EACH = 2, STEP = LANES * EACH };

SATTN_INLINE __mmask16 lanes_of(const gru_place *at, int u)
{
    return at->is_whole ? (__mmask16)0xffff : vec_tail_m16(at->row->n_hidden - at->j - u * LANES);
}

/* Vector u of a place, of an array of the row. */
SATTN_INLINE __m512 load(const float *array, const gru_place *at, int u)
{
    return vec_load_tail_f32x16(array + at->j + u * LANES, lanes_of(at, u));
}

SATTN_INLINE void store(const gru_place *at, int u, __m512 y)
{
    vec_store_tail_f32x16(at->row->y + at->j + u * LANES, lanes_of(at, u), y);
}

/* value[u] = gate r or z */
SATTN_INLINE void gates(__m512 value[], const gru_place *at, int gate)
{
    SATTN_UNROLL(2)
    for (int u = 0; u < EACH; ++u)
        value[u] =
            _mm512_add_ps(load(at->row->gates_x[gate], at, u), load(at->row->gates_h[gate], at, u));
    vec_sigmoid_in_each_f32x16(value, EACH, false);
}

/* sum[u] = x_n + r h_n */
SATTN_INLINE void candidate_sums(__m512 sum[], const gru_place *at)
{
    gates(sum, at, GRU_RESET);
    SATTN_UNROLL(2)
    for (int u = 0; u < EACH; ++u)
        sum[u] = _mm512_fmadd_ps(sum[u], load(at->row->gates_h[GRU_CANDIDATE], at, u),
                                 load(at->row->gates_x[GRU_CANDIDATE], at, u));
}

/* From the sums to the next states. */
SATTN_INLINE void next_states(__m512 sum[], const gru_place *at)
{
    __m512 update[EACH];
    gates(update, at, GRU_UPDATE);
    vec_tanh_in_each_f32x16(sum, EACH, false);
    SATTN_UNROLL(2)
    for (int u = 0; u < EACH; ++u) {
        const __m512 way = _mm512_sub_ps(load(at->row->h, at, u), sum[u]);
        store(at, u, _mm512_fmadd_ps(update[u], way, sum[u]));
    }
}

SATTN_INLINE void row_step(const gru_row *row)
{
    __m512 sum[EACH], next[EACH];
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

void sattn_gru_f32_avx512(const sattn_gru_args *args)
{
    gru_rows(args, row_step);
}
