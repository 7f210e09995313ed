/* SPDX-License-Identifier: MIT
 *
 * piece_shape.c: plain, varied and printed shapes (piece_shape.h). */
#include "tests/support/piece_shape.h"

#include <math.h>
#include <stdio.h>

piece_shape piece_shape_plain(sattn_op op, int64_t n_rows, int64_t n_keys, int64_t n_features)
{
    const piece_shape shape = {.op = op,
                               .n_group = 1,
                               .n_rows = n_rows,
                               .n_keys = n_keys,
                               .n_columns = n_keys,
                               .n_features = op == SATTN_OP_softmax ? 0 : n_features,
                               .i1 = n_rows,
                               .j1 = n_keys,
                               .scale = (float)(1.0 / sqrt((double)n_features)),
                               .spread = 1.0f,
                               .visible_percent = 70};
    return shape;
}

void piece_shape_vary_layout(piece_shape *shape, test_random *random)
{
    shape->placement = test_random_chance(random, 50) ? TEST_END_FLUSH : TEST_START_FLUSH;
    shape->heads_in_rows = test_random_chance(random, 30);
    for (int operand = 0; operand < PIECE_OPERANDS; ++operand) {
        shape->row_gap[operand] = test_random_chance(random, 50) ? 0 : test_random_below(random, 9);
        if (test_random_chance(random, 30))
            shape->distance[operand] = 4 * (size_t)test_random_below(random, 16);
    }
    shape->shared_repeats = test_random_chance(random, 3);
    shape->in_repeats = shape->op == SATTN_OP_qk && test_random_chance(random, 3);
    shape->without_statistics = test_random_chance(random, 30);
}

void piece_shape_vary_visibility(piece_shape *shape, test_random *random)
{
    const int64_t places = shape->n_rows + shape->n_keys + 3;
    shape->causal = test_random_chance(random, 40);
    shape->has_window = test_random_chance(random, 30);
    shape->causal_offset = test_random_below(random, places) - shape->n_rows - 1;
    shape->window_left = test_random_below(random, shape->n_keys + 2) - 1;
    shape->window_right = test_random_below(random, shape->n_keys + 2) - 1;
    shape->mask = (piece_mask)(test_random_below(random, 4) % 3);
    shape->mask_by_group = test_random_chance(random, 50);
    shape->mask_by_row = test_random_chance(random, 50);
    shape->mask_by_key = test_random_chance(random, 80);
    shape->visible_percent = 10 + (int)test_random_below(random, 90);
    if (test_random_chance(random, 30))
        shape->slopes = (test_slopes)(1 + test_random_below(random, TEST_SLOPES_KINDS - 1));
    if (shape->slopes && !shape->has_window && test_random_chance(random, 10))
        shape->causal_offset = test_far_offsets[test_random_below(random, TEST_FAR_OFFSETS)];
    if (shape->op == SATTN_OP_softmax && test_random_chance(random, 30))
        shape->n_columns = shape->n_keys + test_random_below(random, 40);
}

void piece_shape_vary(piece_shape *shape, test_random *random)
{
    static const float caps[] = {0.5f, 2.0f, 30.0f};
    piece_shape_vary_layout(shape, random);
    if (shape->op != SATTN_OP_qk)
        piece_shape_vary_visibility(shape, random);
    else if (test_random_chance(random, 25))
        shape->softcap = caps[test_random_below(random, 3)];
}

int64_t piece_in_width(const piece_shape *shape)
{
    return shape->op == SATTN_OP_qk ? shape->n_features : shape->n_keys;
}

int64_t piece_out_width(const piece_shape *shape)
{
    return shape->op == SATTN_OP_qk        ? shape->n_keys
           : shape->op == SATTN_OP_softmax ? shape->n_columns
                                           : shape->n_features;
}

/* Whether distance <= a + b, for b >= 0 and a distance that is far from the ends of int64_t. */
static bool is_at_most_sum(int64_t distance, int64_t a, int64_t b)
{
    return a > INT64_MAX - b || distance <= a + b;
}

bool piece_is_in_range(const piece_shape *shape, int64_t i, int64_t j)
{
    const int64_t distance = j - i;
    const int64_t offset = shape->causal_offset;
    if (j >= shape->n_keys || (shape->causal && distance > offset))
        return false;
    if (!shape->has_window)
        return true;
    if (shape->window_right >= 0 && !is_at_most_sum(distance, offset, shape->window_right))
        return false;
    /* offset - left <= distance, turned around: -1 - distance <= left + (-1 - offset) */
    return shape->window_left < 0 || is_at_most_sum(-1 - distance, -1 - offset, shape->window_left);
}

piece_keys piece_keys_of_call(const piece_shape *shape)
{
    if (shape->op == SATTN_OP_qk)
        return (piece_keys){shape->j0, shape->j1};
    if (!shape->causal && !shape->has_window)
        return (piece_keys){0, shape->i0 < shape->i1 ? shape->n_keys : 0};
    piece_keys all = {shape->n_keys, 0};
    for (int64_t i = shape->i0; i < shape->i1; ++i) {
        for (int64_t j = 0; j < all.begin; ++j)
            if (piece_is_in_range(shape, i, j))
                all.begin = j;
        for (int64_t j = shape->n_keys - 1; j >= all.end; --j)
            if (piece_is_in_range(shape, i, j))
                all.end = j + 1;
    }
    return all.begin < all.end ? all : (piece_keys){0, 0};
}

static void print_visibility(const piece_shape *s, char *text, size_t size)
{
    static const char *const masks[] = {"no mask", "bool mask", "additive mask"};
    static const char *const slopes[] = {"no slopes",    "slopes 0",    "halving slopes",
                                         "mixed slopes", "tiny slopes", "steep slopes"};
    char window[64] = "no window";
    if (s->has_window)
        snprintf(window, sizeof window, "window %lld..%lld", (long long)s->window_left,
                 (long long)s->window_right);
    snprintf(text, size, "%s, %s, offset %+lld, %s, %s (%s%s%s, %d %%)",
             s->causal ? "causal" : "not causal", window, (long long)s->causal_offset,
             slopes[s->slopes], masks[s->mask], s->mask_by_group ? "g" : "1",
             s->mask_by_row ? "i" : "1", s->mask_by_key ? "j" : "1", s->visible_percent);
}

void piece_shape_print(const piece_shape *s, char *text, size_t size)
{
    static const char *const data[] = {"normal", "equal keys", "rising", "both signs", "-0", "+-0"};
    char visibility[256];
    if (s->op == SATTN_OP_qk)
        snprintf(visibility, sizeof visibility, "scale %g, softcap %g", (double)s->scale,
                 (double)s->softcap);
    else
        print_visibility(s, visibility, sizeof visibility);
    snprintf(text, size,
             "rows %lld..%lld of %lld, group %lld%s, keys %lld..%lld of %lld, %lld columns, %lld "
             "features, %s, %s times %g%s, %s flush",
             (long long)s->i0, (long long)s->i1, (long long)s->n_rows, (long long)s->n_group,
             s->heads_in_rows ? " in rows" : "", (long long)s->j0, (long long)s->j1,
             (long long)s->n_keys, (long long)s->n_columns, (long long)s->n_features, visibility,
             data[s->data], (double)s->spread, s->in_place ? ", in place" : "",
             s->placement == TEST_END_FLUSH ? "end" : "start");
}
