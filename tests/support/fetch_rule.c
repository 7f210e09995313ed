/* SPDX-License-Identifier: MIT
 *
 * fetch_rule.c: see fetch_rule.h. */
#include "tests/support/fetch_rule.h"

fused_decode_fetch test_fetch_of(const sattn_fused_args *args, int n_rows)
{
    const fused_decode_ops ops = {.group = SCORE_GROUP, .in_order = 1};
    fused_strip strip;
    strip.n_rows = n_rows;
    strip.key_begin_min = 0;
    strip.key_end_max = args->visible.n_k;
    return fused_decode_fetch_of(args, &ops, &strip);
}
