/* SPDX-License-Identifier: MIT
 *
 * qk_f32_avx512.c: scores of many query rows in AVX-512; the method is in qk_prefill.h, the
 * register tile in vec/score_panel_avx512.h. */
#include "kernels/qk/qk_prefill.h"
#include "kernels/vec/score_panel_avx512.h"
#include "kernels/vec/softcap_avx512.h"

sattn_qk_fn sattn_qk_f32_avx512;

void sattn_qk_f32_avx512(const sattn_qk_args *args)
{
    _Static_assert((int)QK_GROUP_KEYS <= (int)PANEL_KEYS, "a register tile takes a group's keys");
    static const qk_prefill_ops ops = {.pack = score_panel_pack_f32x16,
                                       .score = score_panel_f32x16,
                                       .cap = vec_softcap};
    qk_prefill(args, &ops);
}
