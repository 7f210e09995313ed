/* SPDX-License-Identifier: MIT
 *
 * qk_f32_neon.c: scores of many query rows with NEON; the method is in qk_prefill.h, the register
 * tile in vec/score_panel_neon.h. */
#include "kernels/qk/qk_prefill.h"
#include "kernels/vec/score_panel_neon.h"
#include "kernels/vec/softcap_neon.h"

sattn_qk_fn sattn_qk_f32_neon;

void sattn_qk_f32_neon(const sattn_qk_args *args)
{
    static const qk_prefill_ops ops = {.pack = score_panel_pack_f32x4,
                                       .score = score_panel_f32x4,
                                       .cap = vec_softcap};
    qk_prefill(args, &ops);
}
