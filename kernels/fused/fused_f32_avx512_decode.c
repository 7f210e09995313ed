/* SPDX-License-Identifier: MIT
 *
 * fused_f32_avx512_decode.c: fused attention for few query rows, 16 features per vector.
 *
 * The method is in fused_decode.h, its steps are in fused_decode_avx512.h, the products in
 * fused_decode_score_avx512.h and fused_decode_av_avx512.h. */
#include "kernels/fused/fused_decode.h"
#include "kernels/fused/fused_decode_av_avx512.h"
#include "kernels/fused/fused_decode_avx512.h"
#include "kernels/fused/fused_decode_score_avx512.h"
#include "kernels/vec/softcap_avx512.h"

void sattn_fused_f32_avx512_decode(const sattn_fused_args *args);

void sattn_fused_f32_avx512_decode(const sattn_fused_args *args)
{
    static const fused_decode_ops ops = {.lanes = LANES,
                                         .group = SCORE_WIDE,
                                         .near_group = SCORE_GROUP,
                                         .in_order = 2,
                                         .pack = pack,
                                         .score = score,
                                         .cap = vec_softcap,
                                         .slope = slope,
                                         .maximum = maximum,
                                         .weigh = weigh,
                                         .exp = exp_of_one,
                                         .accumulate_rows = av_group_rows,
                                         .accumulate = av_group};
    fused_decode(args, &ops);
}
