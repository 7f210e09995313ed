/* SPDX-License-Identifier: MIT
 *
 * qk_f32_avx512.c: scores of many query rows, in AVX-512; the method is in qk_prefill.h.
 *
 * Tile     8 rows x 2 vectors of 16 keys: 16 accumulators, and per feature 8 broadcasts and 2 loads
 *          for 16 FMA, so neither latency nor load slots bind.
 * Stores   go to a few cache lines of each of 8 rows. Where S leaves the caches and its rows are a
 *          page apart, a tile that only stored to them would wait for memory (Zen 5, gcc 12, 1024 x
 *          1024 scores of 64 features, 16 heads). So it asks for them before it starts: for the
 *          line in which each vector ends, since the panel before had the one in which a row that
 *          is not aligned begins.
 * Tails    a rest of up to 16 keys takes one vector, stores of the last vector are masked; rows are
 *          dealt evenly to tiles of at most 8. */
#include "kernels/qk/qk_prefill.h"
#include "kernels/vec/softcap_avx512.h"
#include "kernels/vec/vec_avx512.h"

sattn_qk_fn sattn_qk_f32_avx512;

enum {
    LANES = 16,
    WIDTH = 2 * LANES,
    TILE_ROWS = 8,
};

SATTN_INLINE void pack_tile(float *to, const float *k, int64_t k_stride, int n, int64_t features)
{
    const __mmask16 tail = vec_tail_m16(features);
    __m512 tile[LANES];
    SATTN_UNROLL(16)
    for (int j = 0; j < LANES; ++j)
        tile[j] = j < n ? vec_load_tail_f32x16(k + j * k_stride, tail) : _mm512_setzero_ps();
    vec_transpose_f32x16(tile);
    SATTN_UNROLL(16)
    for (int x = 0; x < LANES; ++x)
        if (x < features)
            _mm512_store_ps(to + x * WIDTH, tile[x]);
}

static void pack(float *panel, const float *k, int64_t k_stride, int n_keys, int64_t d)
{
    qk_prefill_pack(panel, k, k_stride, n_keys, d, pack_tile, LANES);
}

/* One feature: acc += q k. */
SATTN_INLINE void tile_step(__m512 acc[TILE_ROWS][2], const float *const q[TILE_ROWS], int64_t x,
                            const float *k, const int n_rows, const int n_vec)
{
    const __m512 k0 = vec_in_register_f32x16(_mm512_load_ps(k));
    const __m512 k1 = n_vec == 2 ? vec_in_register_f32x16(_mm512_load_ps(k + LANES)) : k0;
    SATTN_UNROLL(8)
    for (int r = 0; r < n_rows; ++r) {
        const __m512 q_all = _mm512_set1_ps(q[r][x]);
        acc[r][0] = _mm512_fmadd_ps(q_all, k0, acc[r][0]);
        if (n_vec == 2)
            acc[r][1] = _mm512_fmadd_ps(q_all, k1, acc[r][1]);
    }
}

SATTN_INLINE void tile(const qk_panel *panel, int row, const int n_rows, const int n_vec)
{
    const int64_t d = panel->d;
    const float *k = panel->k;
    const float *q[TILE_ROWS];
    __m512 acc[TILE_ROWS][2];
    SATTN_UNROLL(8)
    for (int r = 0; r < n_rows; ++r) {
        const float *const s = panel->s[row + r] + panel->j;
        if (n_vec == 2)
            __builtin_prefetch(s + LANES - 1, 1);
        __builtin_prefetch(s + panel->n_keys - 1, 1);
        q[r] = panel->q + (row + r) * panel->q_pitch;
        acc[r][0] = acc[r][1] = _mm512_setzero_ps();
    }
    int64_t x = 0;
    SATTN_NO_UNROLL
    for (; x + 2 <= d; x += 2, k += (ptrdiff_t)2 * WIDTH) {
        tile_step(acc, q, x, k, n_rows, n_vec);
        tile_step(acc, q, x + 1, k + WIDTH, n_rows, n_vec);
    }
    if (x < d)
        tile_step(acc, q, x, k, n_rows, n_vec);
    const __mmask16 last = vec_tail_m16(panel->n_keys - (n_vec - 1) * LANES);
    SATTN_UNROLL(8)
    for (int r = 0; r < n_rows; ++r) {
        float *const s = panel->s[row + r] + panel->j;
        if (n_vec == 2)
            _mm512_storeu_ps(s, acc[r][0]);
        vec_store_tail_f32x16(s + (n_vec - 1) * LANES, last, acc[r][n_vec - 1]);
    }
}

static void score(const qk_panel *panel)
{
    qk_prefill_score(panel, tile, TILE_ROWS, LANES);
}

void sattn_qk_f32_avx512(const sattn_qk_args *args)
{
    static const qk_prefill_ops ops = {
        .width = WIDTH, .pack = pack, .score = score, .cap = vec_softcap};
    qk_prefill(args, &ops);
}
