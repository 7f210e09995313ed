/* SPDX-License-Identifier: MIT
 *
 * linear_f32_avx512.c: a linear map of many rows in AVX-512; the method is in linear_prefill.h, the
 * register tile in vec/score_panel_avx512.h. */
#include "kernels/linear/linear_prefill.h"
#include "kernels/vec/score_panel_avx512.h"

sattn_linear_fn sattn_linear_f32_avx512;

SATTN_INLINE void add_bias(__m512 acc[PANEL_ROWS][PANEL_VECS], const float *bias, int n_keys,
                           const int n_rows, const int n_vec)
{
    const __mmask16 last = vec_tail_m16(n_keys - (n_vec - 1) * PANEL_LANES);
    SATTN_UNROLL(4)
    for (int v = 0; v < n_vec; ++v) {
        const __mmask16 lanes = v + 1 < n_vec ? (__mmask16)0xffff : last;
        const __m512 bias_f32x16 = vec_load_tail_f32x16(bias + v * PANEL_LANES, lanes);
        SATTN_UNROLL(8)
        for (int r = 0; r < n_rows; ++r)
            acc[r][v] = _mm512_add_ps(acc[r][v], bias_f32x16);
    }
}

SATTN_INLINE void add_to(__m512 acc[PANEL_ROWS][PANEL_VECS], const score_panel *panel, int row,
                         const int n_rows, const int n_vec)
{
    const __mmask16 last = vec_tail_m16(panel->n_keys - (n_vec - 1) * PANEL_LANES);
    SATTN_UNROLL(8)
    for (int r = 0; r < n_rows; ++r) {
        const float *const y = panel->s[row + r] + panel->j;
        SATTN_UNROLL(4)
        for (int v = 0; v < n_vec; ++v) {
            const __mmask16 lanes = v + 1 < n_vec ? (__mmask16)0xffff : last;
            const __m512 y_f32x16 = vec_load_tail_f32x16(y + v * PANEL_LANES, lanes);
            acc[r][v] = _mm512_add_ps(y_f32x16, acc[r][v]);
        }
    }
}

SATTN_INLINE void tile(const score_panel *panel, int row, const int n_rows, const int n_vec)
{
    __m512 acc[PANEL_ROWS][PANEL_VECS];
    score_panel_sums(acc, panel, row, n_rows, n_vec);
    if (panel->bias)
        add_bias(acc, panel->bias + panel->j, panel->n_keys, n_rows, n_vec);
    if (panel->adds)
        add_to(acc, panel, row, n_rows, n_vec);
    score_panel_store(acc, panel, row, n_rows, n_vec);
}

static void score(const score_panel *panel)
{
    score_panel_all_f32x16(panel, tile);
}

void sattn_linear_f32_avx512(const sattn_linear_args *args)
{
    static const linear_prefill_ops ops = {
        .width = PANEL_KEYS, .pack = score_panel_pack_f32x16, .score = score};
    linear_prefill(args, &ops);
}
