/* SPDX-License-Identifier: MIT
 *
 * qk_f32_avx2.c: scores of many query rows in AVX2; the method is in qk_prefill.h, the register
 * tile in vec/score_panel_avx2.h. */
#include "kernels/qk/qk_prefill.h"
#include "kernels/vec/score_panel_avx2.h"
#include "kernels/vec/softcap_avx2.h"

sattn_qk_fn sattn_qk_f32_avx2;

void sattn_qk_f32_avx2(const sattn_qk_args *args)
{
    static const qk_prefill_ops ops = {.pack = score_panel_pack_f32x8,
                                       .score = score_panel_f32x8,
                                       .cap = vec_softcap};
    qk_prefill(args, &ops);
}
