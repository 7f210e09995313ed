/* SPDX-License-Identifier: MIT
 *
 * fused_f32_avx512_quad.c: fused attention for 5 and more but still few query rows, whose scores
 * need fewer shuffles than those of fused_f32_avx512_decode.c: for CPUs on which shuffles of 512
 * bits keep a port from multiply-adds.
 *
 * The method is in fused_decode.h, its steps are in fused_decode_avx512.h, the products in
 * fused_decode_quad_avx512.h and fused_decode_av_avx512.h. */
#include "kernels/fused/fused_decode.h"
#include "kernels/fused/fused_decode_av_avx512.h"
#include "kernels/fused/fused_decode_avx512.h"
#include "kernels/fused/fused_decode_quad_avx512.h"
#include "kernels/vec/softcap_avx512.h"

sattn_fused_fn sattn_fused_f32_avx512_quad;

void sattn_fused_f32_avx512_quad(const sattn_fused_args *args)
{
    static const fused_decode_ops ops = {.lanes = LANES,
                                         .group = QUAD_ROWS,
                                         .near_group = QUAD_ROWS,
                                         .pack = quad_pack,
                                         .score = quad_score_part,
                                         .cap = vec_softcap,
                                         .slope = slope,
                                         .maximum = maximum,
                                         .weigh = weigh,
                                         .exp = exp_of_one,
                                         .accumulate_rows = av_group_rows,
                                         .accumulate = av_group};
    fused_decode(args, &ops);
}
