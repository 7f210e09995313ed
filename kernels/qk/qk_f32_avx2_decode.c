/* SPDX-License-Identifier: MIT
 *
 * qk_f32_avx2_decode.c: scores of few query rows, 8 features per vector; the method is in
 * qk_decode.h, the register tiles are in vec/score_group_avx2.h. */
#include "kernels/qk/qk_decode.h"
#include "kernels/vec/score_group_avx2.h"
#include "kernels/vec/softcap_avx2.h"

sattn_qk_fn sattn_qk_f32_avx2_decode;

void sattn_qk_f32_avx2_decode(const sattn_qk_args *args)
{
    static const qk_decode_ops ops = {
        .lanes = SCORE_LANES, .score = score_group_f32x8, .cap = vec_softcap};
    qk_decode(args, &ops);
}
