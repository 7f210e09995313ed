/* SPDX-License-Identifier: MIT
 *
 * fused_shape.c: plain, varied and printed shapes (fused_shape.h). */
#include "tests/support/fused_shape.h"

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

void fused_shape_vary(fused_shape *shape, test_random *random)
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
    shape->causal = test_random_chance(random, 40);
    shape->causal_offset =
        test_random_below(random, shape->n_rows + shape->n_k + 3) - shape->n_rows - 1;
    shape->mask = (problem_mask)(test_random_below(random, 4) % 3);
    shape->mask_by_group = test_random_chance(random, 50);
    shape->mask_by_row = test_random_chance(random, 50);
    shape->mask_by_key = test_random_chance(random, 80);
    shape->visible_percent = 10 + (int)test_random_below(random, 90);
    shape->without_statistics = test_random_chance(random, 10);
}

int64_t fused_key_limit(const fused_shape *shape, int64_t i)
{
    const int64_t far = (int64_t)1 << 40; /* beyond every row and key */
    if (!shape->causal)
        return shape->j1;
    const int64_t offset = shape->causal_offset > far    ? far
                           : shape->causal_offset < -far ? -far
                                                         : shape->causal_offset;
    const int64_t limit = i + offset + 1;
    return limit > shape->j1 ? shape->j1 : limit < shape->j0 ? shape->j0 : limit;
}

void fused_shape_print(const fused_shape *s, char *text, size_t size)
{
    static const char *const masks[] = {"no mask", "bool mask", "additive mask"};
    static const char *const data[] = {"normal", "equal keys", "stairs", "-0"};
    char causal[48] = "not causal";
    if (s->causal)
        snprintf(causal, sizeof causal, "causal %+lld", (long long)s->causal_offset);
    snprintf(text, size,
             "rows %lld..%lld of %lld, group %lld, keys %lld..%lld of %lld, d %lld, d_v %lld, %s, "
             "%s (%s%s%s)%s%s, %s, %s flush",
             (long long)s->i0, (long long)s->i1, (long long)s->n_rows, (long long)s->n_group,
             (long long)s->j0, (long long)s->j1, (long long)s->n_k, (long long)s->d,
             (long long)s->d_v, causal, masks[s->mask], s->mask_by_group ? "g" : "1",
             s->mask_by_row ? "i" : "1", s->mask_by_key ? "j" : "1", s->partial ? ", partial" : "",
             s->o_is_q ? ", o is q" : "", data[s->data],
             s->placement == TEST_END_FLUSH ? "end" : "start");
}
