/* SPDX-License-Identifier: MIT
 *
 * fused_shape.c: plain, varied and printed shapes (fused_shape.h). */
#include "tests/support/fused_shape.h"

#include "bench/verify/visible.h"

#include <math.h>
#include <stdio.h>

fused_shape fused_shape_plain(int64_t n_rows, int64_t n_k, int64_t d, int64_t d_v)
{
    const fused_shape shape = {.n_group = 1,
                               .n_rows = n_rows,
                               .n_k = n_k,
                               .d = d,
                               .d_v = d_v,
                               .i1 = n_rows,
                               .j1 = n_k,
                               .scale = (float)(1.0 / sqrt((double)d)),
                               .visible_percent = 70};
    return shape;
}

void fused_shape_vary_layout(fused_shape *shape, test_random *random)
{
    shape->placement = test_random_chance(random, 50) ? TEST_END_FLUSH : TEST_START_FLUSH;
    shape->heads_in_rows = test_random_chance(random, 30);
    for (int operand = 0; operand < OPERAND_COUNT; ++operand) {
        shape->row_gap[operand] = test_random_chance(random, 50) ? 0 : test_random_below(random, 9);
        if (test_random_chance(random, 30))
            shape->distance[operand] = 4 * (size_t)test_random_below(random, 16);
    }
    shape->k_repeats = test_random_chance(random, 3);
    shape->v_repeats = test_random_chance(random, 3);
    shape->q_is_shared = test_random_chance(random, 5);
    shape->without_statistics = test_random_chance(random, 10);
    shape->kv_bytes = shape->n_k % 2 ? 0 : FUSED_SHAPE_KV_FAR;
    shape->rows_are_followed = shape->n_k % 4 > 1;
}

void fused_shape_vary_visibility(fused_shape *shape, test_random *random)
{
    static const float caps[] = {0.5f, 2.0f, 30.0f, 50.0f};
    shape->causal = test_random_chance(random, 40);
    shape->causal_offset =
        test_random_below(random, shape->n_rows + shape->n_k + 3) - shape->n_rows - 1;
    shape->has_window = test_random_chance(random, 30);
    shape->window_left = test_random_below(random, shape->n_k + 2) - 1;
    shape->window_right = test_random_below(random, shape->n_k + 2) - 1;
    if (test_random_chance(random, 50)) /* few keys, where there are many */
        shape->window_left %= 40;
    if (test_random_chance(random, 50))
        shape->window_right %= 5;
    if (test_random_chance(random, 30))
        shape->slopes = (test_slopes)(1 + test_random_below(random, TEST_SLOPES_KINDS - 1));
    if (shape->slopes && !shape->has_window && test_random_chance(random, 10))
        shape->causal_offset = test_far_offsets[test_random_below(random, TEST_FAR_OFFSETS)];
    if (test_random_chance(random, 20))
        shape->softcap = caps[test_random_below(random, 4)];
    shape->mask = (problem_mask)(test_random_below(random, 4) % 3);
    shape->mask_by_group = test_random_chance(random, 50);
    shape->mask_by_row = test_random_chance(random, 50);
    shape->mask_by_key = test_random_chance(random, 80);
    shape->visible_percent = 10 + (int)test_random_below(random, 90);
}

void fused_shape_vary(fused_shape *shape, test_random *random)
{
    fused_shape_vary_layout(shape, random);
    fused_shape_vary_visibility(shape, random);
}

fused_keys fused_keys_of_row(const fused_shape *shape, int64_t i)
{
    const sattn_verify_limits limits = {.n_k = shape->n_k,
                                        .causal = shape->causal,
                                        .has_window = shape->has_window,
                                        .offset = shape->causal_offset,
                                        .window_left = shape->window_left,
                                        .window_right = shape->window_right};
    const sattn_verify_keys keys = sattn_verify_visible(&limits, i);
    const int64_t begin = keys.begin > shape->j0 ? keys.begin : shape->j0;
    const int64_t end = keys.end < shape->j1 ? keys.end : shape->j1;
    if (begin >= end)
        return (fused_keys){shape->j0, shape->j0};
    return (fused_keys){begin, end};
}

fused_keys fused_keys_of_call(const fused_shape *shape)
{
    fused_keys all = {shape->j1, shape->j0};
    for (int64_t i = shape->i0; i < shape->i1; ++i) {
        const fused_keys keys = fused_keys_of_row(shape, i);
        if (keys.begin == keys.end)
            continue;
        all.begin = keys.begin < all.begin ? keys.begin : all.begin;
        all.end = keys.end > all.end ? keys.end : all.end;
    }
    if (all.begin >= all.end)
        return (fused_keys){shape->j0, shape->j0};
    return all;
}

void fused_shape_print(const fused_shape *s, char *text, size_t size)
{
    static const char *const masks[] = {"no mask", "bool mask", "additive mask"};
    static const char *const data[] = {"normal", "equal keys", "stairs", "-0"};
    static const char *const slopes[] = {
        "", ", slopes 0", ", halving slopes", ", mixed slopes", ", tiny slopes", ", steep slopes"};
    char window[64] = "";
    if (s->has_window)
        snprintf(window, sizeof window, ", window %lld..%lld", (long long)s->window_left,
                 (long long)s->window_right);
    snprintf(
        text, size,
        "rows %lld..%lld of %lld, group %lld, keys %lld..%lld of %lld, d %lld, d_v %lld, scale "
        "%g, softcap %g, %s, offset %+lld%s%s, %s (%s%s%s)%s%s, %s, %s flush%s%s",
        (long long)s->i0, (long long)s->i1, (long long)s->n_rows, (long long)s->n_group,
        (long long)s->j0, (long long)s->j1, (long long)s->n_k, (long long)s->d, (long long)s->d_v,
        (double)s->scale, (double)s->softcap, s->causal ? "causal" : "not causal",
        (long long)s->causal_offset, window, slopes[s->slopes], masks[s->mask],
        s->mask_by_group ? "g" : "1", s->mask_by_row ? "i" : "1", s->mask_by_key ? "j" : "1",
        s->partial ? ", partial" : "", s->o_is_q ? ", o is q" : "", data[s->data],
        s->placement == TEST_END_FLUSH ? "end" : "start", s->kv_bytes ? ", from memory" : "",
        s->rows_are_followed ? ", followed" : "");
}
