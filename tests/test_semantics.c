/* SPDX-License-Identifier: MIT
 *
 * test_semantics.c: every field of sattn_attention together with every other, with one kernel
 * forced. A list of combinations in which every two values of two fields meet (support/pairs.h) is
 * run against the oracle: output, log-sum-exp and the scores of the stage asked for, in memory of
 * any legal layout between guard pages, with NaN and infinities where nobody may look. Values that
 * make whole rows empty or NaN would hide what they are combined with, so they come in a list of
 * their own. Exact cases worked out by hand are in test_semantics_exact.c. */
#include "tests/test_semantics.h"

#include "tests/support/call.h"
#include "tests/support/one_kernel.h"
#include "tests/support/pairs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    D, /* first, since these two have most values */
    D_V,
    HEADS,
    BATCH,
    N_Q,
    N_K,
    LAYOUT,
    IN_PLACE,
    SCALE,
    SOFTCAP,
    MASK,
    AXES,
    MASK_GAPS,
    ALIBI,
    SINKS,
    CAUSAL,
    OFFSET,
    LEFT,
    RIGHT,
    VALID,
    LSE,
    SCORES,
    SPLITS,
    WORKSPACE,
    DATA,
    POISON,
    PLACEMENT,
    FIELDS
};

static const int64_t widths[] = {1,  3,  7,  9,  15, 16,  17,  33,  40,  48,  63,
                                 64, 65, 72, 80, 96, 100, 128, 160, 192, 256, 576};
static const int64_t value_widths[] = {1,  3,  7,  9,  15, 16, 17,  32,  33,  40,  48,
                                       63, 64, 65, 72, 80, 96, 100, 128, 160, 256, 512};
static const int64_t heads[][2] = {{1, 1},  {2, 2},  {4, 2}, {3, 1}, {6, 2},
                                   {14, 2}, {16, 2}, {8, 1}, {6, 6}, {128, 1}};
static const int64_t queries[] = {1, 2, 4, 9, 17, 33, 70};
static const int64_t keys[] = {1, 2, 5, 31, 64, 129, 200, 300, 0};
static const int64_t lefts[] = {-2, -1, 0, 5, INT64_MAX}; /* -2: no window */
static const int64_t rights[] = {-1, 0, 3, INT64_MAX};
static const float caps[] = {0.0f, 1.5f, 30.0f};
static const int splits[] = {0, 1, 2, 3, 8};

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

/* Values of a field in the list of pairs; those behind are for the other list. */
typedef struct sweep {
    int n_levels[FIELDS], n_all[FIELDS];
} sweep;

static sweep sweep_of(const test_run *run)
{
    const bool is_chain = one_kernel_is_chain(run);
    sweep s;
    const int levels[FIELDS] = {[D] = COUNT(widths),
                                [D_V] = COUNT(value_widths),
                                [HEADS] = COUNT(heads),
                                [BATCH] = 3,
                                [N_Q] = COUNT(queries),
                                [N_K] = COUNT(keys) - 1,
                                [LAYOUT] = CALL_ONE_ROW + 1,
                                [IN_PLACE] = 2,
                                [SCALE] = CALL_SCALE_ZERO + 1,
                                [SOFTCAP] = COUNT(caps),
                                [MASK] = CALL_MASK_ADDITIVE + 1,
                                [AXES] = 16,
                                [MASK_GAPS] = 2,
                                [ALIBI] = 2,
                                [SINKS] = CALL_SINKS_LARGE + 1,
                                [CAUSAL] = 2,
                                [OFFSET] = CALL_OFFSET_MOST + 1,
                                [LEFT] = COUNT(lefts),
                                [RIGHT] = COUNT(rights),
                                [VALID] = CALL_VALID_MIXED + 1,
                                [LSE] = 2,
                                [SCORES] = is_chain ? 5 : 1,
                                [SPLITS] = is_chain ? 2 : COUNT(splits),
                                [WORKSPACE] = 2,
                                [DATA] = CALL_LARGE + 1,
                                [POISON] = CALL_POISON_VISIBLE + 1,
                                [PLACEMENT] = 2};
    memcpy(s.n_levels, levels, sizeof levels);
    memcpy(s.n_all, levels, sizeof levels);
    s.n_all[N_K] = COUNT(keys);
    s.n_all[MASK] = CALL_MASK_SPECIAL + 1;
    s.n_all[SINKS] = CALL_SINKS_SPECIAL + 1;
    s.n_all[OFFSET] = CALL_OFFSET_LEAST + 1;
    s.n_all[VALID] = CALL_VALID_ZERO + 1;
    s.n_all[DATA] = CALL_NAN_QUERY + 1;
    return s;
}

static call_shape shape_of(const int *levels)
{
    return (call_shape){.batch = 1 + levels[BATCH],
                        .n_q_heads = heads[levels[HEADS]][0],
                        .n_kv_heads = heads[levels[HEADS]][1],
                        .n_q = queries[levels[N_Q]],
                        .n_k = keys[levels[N_K]],
                        .d = widths[levels[D]],
                        .d_v = value_widths[levels[D_V]],
                        .layout = (call_layout)levels[LAYOUT],
                        .in_place = levels[IN_PLACE] == 1,
                        .scale = (call_scale)levels[SCALE],
                        .softcap = caps[levels[SOFTCAP]],
                        .mask = (call_mask)levels[MASK],
                        .mask_axes = (unsigned)levels[AXES],
                        .mask_gaps = levels[MASK_GAPS] == 1,
                        .alibi = levels[ALIBI] == 1,
                        .sinks = (call_sinks)levels[SINKS],
                        .causal = levels[CAUSAL] == 1,
                        .offset = (call_offset)levels[OFFSET],
                        .has_window = lefts[levels[LEFT]] >= -1,
                        .window_left = lefts[levels[LEFT]],
                        .window_right = rights[levels[RIGHT]],
                        .valid = (call_valid)levels[VALID],
                        .lse = levels[LSE] == 1,
                        .scores = levels[SCORES] > 0,
                        .stage = (sattn_scores_stage)(levels[SCORES] > 0 ? levels[SCORES] - 1 : 0),
                        .data = (call_data)levels[DATA],
                        .poison = (call_poison)levels[POISON],
                        .placement = levels[PLACEMENT] ? TEST_START_FLUSH : TEST_END_FLUSH};
}

/* The oracle's work, in products. */
static int64_t work_of(const call_shape *s)
{
    return s->batch * s->n_q_heads * s->n_q * (s->n_k + 1) * (s->d + s->d_v + 16);
}

static int index_of(const int64_t *values, int n, int64_t value)
{
    for (int at = 0; at < n; ++at)
        if (values[at] == value)
            return at;
    return -1;
}

/* An output in place of the queries has their width and no rows in common. */
static bool make_in_place(int *levels, const bool *fixed)
{
    const int d_v = index_of(value_widths, COUNT(value_widths), widths[levels[D]]);
    const int d = index_of(widths, COUNT(widths), value_widths[levels[D_V]]);
    if (levels[IN_PLACE] == 0)
        return true;
    if (levels[LAYOUT] == CALL_ONE_ROW && !fixed[LAYOUT])
        levels[LAYOUT] = CALL_DENSE;
    if (levels[LAYOUT] != CALL_ONE_ROW) {
        if (d_v == levels[D_V])
            return true;
        if (!fixed[D_V] && d_v >= 0) {
            levels[D_V] = d_v;
            return true;
        }
        if (!fixed[D] && d >= 0) {
            levels[D] = d;
            return true;
        }
    }
    if (fixed[IN_PLACE])
        return false;
    levels[IN_PLACE] = 0;
    return true;
}

/* Extents shrink until the oracle has little to do; the first value of each is the smallest. */
static bool make_legal(int *levels, const bool *fixed, test_random *random, const void *user)
{
    static const int sizes[] = {D, D_V, HEADS, BATCH, N_Q, N_K};
    enum { MOST_WORK = 500000, ATTEMPTS = 200 };
    (void)user;
    for (int attempt = 0; attempt < ATTEMPTS; ++attempt) {
        if (!make_in_place(levels, fixed))
            return false;
        const call_shape shape = shape_of(levels);
        if (work_of(&shape) <= MOST_WORK)
            return true;
        const int field = sizes[test_random_below(random, COUNT(sizes))];
        if (!fixed[field] && levels[field] > 0)
            levels[field] = (int)test_random_below(random, levels[field]);
    }
    return false;
}

static void check(test_run *run, const int *levels)
{
    const call_shape shape = shape_of(levels);
    sattn_options options = one_kernel_options(run);
    options.key_splits = splits[levels[SPLITS]];
    call c;
    call_make(&c, &shape, test_step_seed(run));
    const bool ran =
        levels[WORKSPACE] == 1 ? call_run_in_workspace(&c, &options) : call_run(&c, &options);
    const int64_t parts = options.key_splits > 1 ? options.key_splits : 1;
    if (!ran || !call_verify(&c, one_kernel_is_chain(run) ? 0 : parts))
        test_fail(run, "%s; key_splits %d%s", c.failure, options.key_splits,
                  levels[WORKSPACE] ? ", own workspace" : "");
    call_free(&c);
}

static void test_pairs(test_run *run)
{
    const sweep s = sweep_of(run);
    const pairs_design design = {
        .n_fields = FIELDS, .n_levels = s.n_levels, .make_legal = make_legal};
    pairs_list list = pairs_make(&design, run->seed);
    int64_t n_run = 0;
    for (int64_t row = 0; row < list.n_rows; ++row)
        if (test_step(run, TEST_SAMPLED)) {
            check(run, list.levels + row * FIELDS);
            ++n_run;
        }
    printf("%lld combinations run of %lld, in which %lld pairs of values meet; %lld cannot\n",
           (long long)n_run, (long long)list.n_rows, (long long)list.n_pairs,
           (long long)list.n_illegal);
    if (list.n_illegal > 15) /* in place of the queries, with a width that only one of them has */
        test_fail(run, "%lld pairs of values do not meet", (long long)list.n_illegal);
    pairs_free(&list);
}

/* Each value that makes rows empty or NaN, in random company. */
static void test_edges(test_run *run)
{
    enum { TIMES = 8 };
    const sweep s = sweep_of(run);
    const pairs_design design = {
        .n_fields = FIELDS, .n_levels = s.n_levels, .make_legal = make_legal};
    int64_t n_run = 0;
    for (int field = 0; field < FIELDS; ++field)
        for (int level = s.n_levels[field]; level < s.n_all[field]; ++level)
            for (int time = 0; time < TIMES; ++time) {
                if (!test_step(run, TEST_SAMPLED))
                    continue;
                int levels[PAIRS_FIELDS_MAX] = {0};
                bool fixed[PAIRS_FIELDS_MAX] = {false};
                test_random random = {.seed = test_step_seed(run)};
                levels[field] = level;
                fixed[field] = true;
                if (!pairs_random(&design, levels, fixed, &random)) {
                    test_fail(run, "no legal combination");
                    continue;
                }
                check(run, levels);
                ++n_run;
            }
    printf("%lld combinations with a value that empties or spoils rows\n", (long long)n_run);
}

int main(int argc, char **argv)
{
    static const test_group groups[] = {
        {"alibi", exact_alibi},   {"softcap", exact_softcap},
        {"sinks", exact_sinks},   {"sink-values", exact_sink_values},
        {"limits", exact_limits}, {"pairs", test_pairs},
        {"edges", test_edges},
    };
    return test_main_of(argc, argv, test_op_asked_for(argc, argv), groups, COUNT(groups));
}
