/* SPDX-License-Identifier: MIT
 *
 * qk_f32_avx2.c: scores of many query rows, in AVX2; the method is in qk_prefill.h.
 *
 * Tile     6 rows x 2 vectors of 8 keys: 12 accumulators, two vectors of keys and one broadcast, 15
 *          of 16 registers; per feature 6 broadcasts and 2 loads for 12 FMA.
 * Tails    a rest of up to 8 keys takes one vector, stores of the last vector are masked; rows are
 *          dealt evenly to tiles of at most 6. */
#include "kernels/qk/qk_prefill.h"
#include "kernels/vec/softcap_avx2.h"
#include "kernels/vec/vec_avx2.h"

sattn_qk_fn sattn_qk_f32_avx2;

enum {
    LANES = 8,
    WIDTH = 2 * LANES,
    TILE_ROWS = 6,
};

SATTN_INLINE void pack_tile(float *to, const float *k, int64_t k_stride, int n, int64_t features)
{
    const __m256i tail = vec_tail_m8(features);
    __m256 tile[LANES];
    SATTN_UNROLL(8)
    for (int j = 0; j < LANES; ++j)
        tile[j] = j < n ? vec_load_tail_f32x8(k + j * k_stride, tail) : _mm256_setzero_ps();
    vec_transpose_f32x8(tile);
    SATTN_UNROLL(8)
    for (int x = 0; x < LANES; ++x)
        if (x < features)
            _mm256_store_ps(to + x * WIDTH, tile[x]);
}

static void pack(float *panel, const float *k, int64_t k_stride, int n_keys, int64_t d)
{
    qk_prefill_pack(panel, k, k_stride, n_keys, d, pack_tile, LANES);
}

/* One feature: acc += q k. */
SATTN_INLINE void tile_step(__m256 acc[TILE_ROWS][2], const float *const q[TILE_ROWS], int64_t x,
                            const float *k, const int n_rows, const int n_vec)
{
    const __m256 k0 = vec_in_register_f32x8(_mm256_load_ps(k));
    const __m256 k1 = n_vec == 2 ? vec_in_register_f32x8(_mm256_load_ps(k + LANES)) : k0;
    SATTN_UNROLL(6)
    for (int r = 0; r < n_rows; ++r) {
        const __m256 q_all = _mm256_set1_ps(q[r][x]);
        acc[r][0] = _mm256_fmadd_ps(q_all, k0, acc[r][0]);
        if (n_vec == 2)
            acc[r][1] = _mm256_fmadd_ps(q_all, k1, acc[r][1]);
    }
}

SATTN_INLINE void tile(const qk_panel *panel, int row, const int n_rows, const int n_vec)
{
    const int64_t d = panel->d;
    const float *k = panel->k;
    const float *q[TILE_ROWS];
    __m256 acc[TILE_ROWS][2];
    SATTN_UNROLL(6)
    for (int r = 0; r < n_rows; ++r) {
        q[r] = panel->q + (row + r) * panel->q_pitch;
        acc[r][0] = acc[r][1] = _mm256_setzero_ps();
    }
    int64_t x = 0;
    SATTN_NO_UNROLL
    for (; x + 2 <= d; x += 2, k += (ptrdiff_t)2 * WIDTH) {
        tile_step(acc, q, x, k, n_rows, n_vec);
        tile_step(acc, q, x + 1, k + WIDTH, n_rows, n_vec);
    }
    if (x < d)
        tile_step(acc, q, x, k, n_rows, n_vec);
    const __m256i last = vec_tail_m8(panel->n_keys - (n_vec - 1) * LANES);
    SATTN_UNROLL(6)
    for (int r = 0; r < n_rows; ++r) {
        float *const s = panel->s[row + r] + panel->j;
        if (n_vec == 2)
            _mm256_storeu_ps(s, acc[r][0]);
        vec_store_tail_f32x8(s + (n_vec - 1) * LANES, last, acc[r][n_vec - 1]);
    }
}

static void score(const qk_panel *panel)
{
    qk_prefill_score(panel, tile, TILE_ROWS, LANES);
}

void sattn_qk_f32_avx2(const sattn_qk_args *args)
{
    static const qk_prefill_ops ops = {
        .width = WIDTH, .pack = pack, .score = score, .cap = vec_softcap};
    qk_prefill(args, &ops);
}
