/* SPDX-License-Identifier: MIT
 *
 * linear_f32_neon.c: a linear map of many rows in NEON; the method is in linear_prefill.h, the
 * register tile in vec/score_panel_neon.h. */
#include "kernels/linear/linear_prefill.h"
#include "kernels/vec/score_panel_neon.h"

sattn_linear_fn sattn_linear_f32_neon;

SATTN_INLINE void add_bias(float32x4_t acc[PANEL_ROWS][2], const float *bias, int n_keys,
                           const int n_rows, const int n_vec)
{
    const int last = n_keys - (n_vec - 1) * PANEL_LANES;
    const float32x4_t bias_last = vec_load_tail_f32x4(bias + (n_vec - 1) * PANEL_LANES, last);
    const float32x4_t bias_first = n_vec == 2 ? vld1q_f32(bias) : bias_last;
    SATTN_UNROLL(8)
    for (int r = 0; r < n_rows; ++r) {
        if (n_vec == 2)
            acc[r][0] = vaddq_f32(acc[r][0], bias_first);
        acc[r][n_vec - 1] = vaddq_f32(acc[r][n_vec - 1], bias_last);
    }
}

SATTN_INLINE void add_to(float32x4_t acc[PANEL_ROWS][2], const score_panel *panel, int row,
                         const int n_rows, const int n_vec)
{
    const int last = panel->n_keys - (n_vec - 1) * PANEL_LANES;
    SATTN_UNROLL(8)
    for (int r = 0; r < n_rows; ++r) {
        const float *const y = panel->s[row + r] + panel->j;
        if (n_vec == 2)
            acc[r][0] = vaddq_f32(vld1q_f32(y), acc[r][0]);
        acc[r][n_vec - 1] =
            vaddq_f32(vec_load_tail_f32x4(y + (n_vec - 1) * PANEL_LANES, last), acc[r][n_vec - 1]);
    }
}

SATTN_INLINE void tile(const score_panel *panel, int row, const int n_rows, const int n_vec)
{
    float32x4_t acc[PANEL_ROWS][2];
    score_panel_sums(acc, panel, row, n_rows, n_vec);
    if (panel->bias)
        add_bias(acc, panel->bias + panel->j, panel->n_keys, n_rows, n_vec);
    if (panel->adds)
        add_to(acc, panel, row, n_rows, n_vec);
    score_panel_store(acc, panel, row, n_rows, n_vec);
}

/* A tile's rows against a group of panels. */
SATTN_INLINE void group(const score_panel *panels, int row, const int n_rows, const int n_vec)
{
    score_panel_each(panels, tile, row, n_rows, n_vec, PANEL_LANES);
}

static void score(const score_panel *panels)
{
    score_panel_rows(panels, group, PANEL_ROWS, 2);
}

void sattn_linear_f32_neon(const sattn_linear_args *args)
{
    static const linear_prefill_ops ops = {
        .width = PANEL_KEYS, .pack = score_panel_pack_f32x4, .score = score};
    linear_prefill(args, &ops);
}
