/* SPDX-License-Identifier: MIT
 *
 * qk_f32_avx512_decode.c: scores of few query rows, 16 features per vector; the method is in
 * qk_decode.h, the register tiles are in vec/score_group_avx512.h. */
#include "kernels/qk/qk_decode.h"
#include "kernels/vec/score_group_avx512.h"
#include "kernels/vec/softcap_avx512.h"

sattn_qk_fn sattn_qk_f32_avx512_decode;

void sattn_qk_f32_avx512_decode(const sattn_qk_args *args)
{
    static const qk_decode_ops ops = {
        .lanes = SCORE_LANES, .score = score_group_f32x16, .cap = vec_softcap};
    qk_decode(args, &ops);
}
