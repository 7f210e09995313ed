/* SPDX-License-Identifier: MIT
 *
 * linear_f32_avx512.c: a linear map of many rows in AVX-512; the method is in linear_prefill.h, the
 * register tile in vec/score_panel_avx512.h. */
#include "kernels/linear/linear_prefill.h"
#include "kernels/vec/score_panel_avx512.h"

sattn_linear_fn sattn_linear_f32_avx512;

SATTN_INLINE void add_bias(__m512 acc[PANEL_ROWS][2], const float *bias, int n_keys,
                           const int n_rows, const int n_vec)
{
    const __mmask16 last = vec_tail_m16(n_keys - (n_vec - 1) * PANEL_LANES);
    const __m512 bias_last = vec_load_tail_f32x16(bias + (n_vec - 1) * PANEL_LANES, last);
    const __m512 bias_first = n_vec == 2 ? _mm512_loadu_ps(bias) : bias_last;
    SATTN_UNROLL(8)
    for (int r = 0; r < n_rows; ++r) {
        if (n_vec == 2)
            acc[r][0] = _mm512_add_ps(acc[r][0], bias_first);
        acc[r][n_vec - 1] = _mm512_add_ps(acc[r][n_vec - 1], bias_last);
    }
}

SATTN_INLINE void add_to(__m512 acc[PANEL_ROWS][2], const score_panel *panel, int row,
                         const int n_rows, const int n_vec)
{
    const __mmask16 last = vec_tail_m16(panel->n_keys - (n_vec - 1) * PANEL_LANES);
    SATTN_UNROLL(8)
    for (int r = 0; r < n_rows; ++r) {
        const float *const y = panel->s[row + r] + panel->j;
        if (n_vec == 2)
            acc[r][0] = _mm512_add_ps(_mm512_loadu_ps(y), acc[r][0]);
        acc[r][n_vec - 1] = _mm512_add_ps(vec_load_tail_f32x16(y + (n_vec - 1) * PANEL_LANES, last),
                                          acc[r][n_vec - 1]);
    }
}

SATTN_INLINE void tile(const score_panel *panel, int row, const int n_rows, const int n_vec)
{
    __m512 acc[PANEL_ROWS][2];
    score_panel_sums(acc, panel, row, n_rows, n_vec);
    if (panel->bias)
        add_bias(acc, panel->bias + panel->j, panel->n_keys, n_rows, n_vec);
    if (panel->adds)
        add_to(acc, panel, row, n_rows, n_vec);
    score_panel_store(acc, panel, row, n_rows, n_vec);
}

static void score(const score_panel *panel)
{
    score_panel_all(panel, tile, PANEL_ROWS, PANEL_LANES);
}

void sattn_linear_f32_avx512(const sattn_linear_args *args)
{
    static const linear_prefill_ops ops = {
        .width = PANEL_WIDTH, .pack = score_panel_pack_f32x16, .score = score};
    linear_prefill(args, &ops);
}
