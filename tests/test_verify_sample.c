/* SPDX-License-Identifier: MIT
 *
 * test_verify_sample.c: which rows a sampled verification looks at, and that the rest of the output
 * is at least checked for being finite. Every value of V is 1, so every output is. */
#include "bench/verify/answers.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { B = 2, HQ = 3, N_Q_MAX = 1000, N_K = 2 };

typedef struct problem {
    float q[B * HQ * N_Q_MAX], k[B * HQ * N_K], v[B * HQ * N_K], o[B * HQ * N_Q_MAX];
    sattn_attention_args args;
} problem;

static problem p; /* large, and each test makes it anew */

static void make_problem(int64_t n_q)
{
    memset(&p, 0, sizeof p);
    for (int i = 0; i < B * HQ * N_Q_MAX; ++i)
        p.o[i] = 1;
    for (int j = 0; j < B * HQ * N_K; ++j)
        p.v[j] = 1;
    p.args = (sattn_attention_args){
        .batch = B,
        .n_q_heads = HQ,
        .n_kv_heads = HQ,
        .n_q = n_q,
        .n_k = N_K,
        .d = 1,
        .d_v = 1,
        .q = {p.q, SATTN_F32, HQ * n_q, n_q, 1},
        .k = {p.k, SATTN_F32, (int64_t)HQ * N_K, N_K, 1},
        .v = {p.v, SATTN_F32, (int64_t)HQ * N_K, N_K, 1},
        .o = {p.o, SATTN_F32, HQ * n_q, n_q, 1},
    };
}

static float *output(int pair, int64_t row)
{
    return &p.o[pair * p.args.n_q + row];
}

static sattn_verify_result verify(const sattn_verify_selection *selection)
{
    sattn_verify_result result;
    sattn_verify_result_init(&result);
    assert_int_equal(sattn_verify_attention(&p.args, selection, NULL, &result, NULL), SATTN_OK);
    return result;
}

/* A finite wrong value, so only a comparison can find it. */
static bool finds(const sattn_verify_selection *selection, int pair, int64_t row)
{
    *output(pair, row) = 3;
    const sattn_verify_result result = verify(selection);
    *output(pair, row) = 1;
    assert_in_range(result.n_failed, 0, 1);
    if (result.n_failed == 1) {
        assert_int_equal(result.failed_at.batch, pair / HQ);
        assert_int_equal(result.failed_at.head, pair % HQ);
        assert_int_equal(result.failed_at.row, row);
    }
    return result.n_failed == 1;
}

static void test_first_last_and_edges(void **state)
{
    (void)state;
    const sattn_verify_selection selection = {.tile_queries = 8, .n_random = 1};
    static const int64_t rows[] = {0, 7, 8, 9, 15, 16, 17, 23, 24, 25, 31, 32, 33, 39};
    make_problem(40);
    const sattn_verify_result result = verify(&selection);
    assert_true(sattn_verify_passed(&result));
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; ++r) {
        assert_true(finds(&selection, 0, rows[r]));
        assert_true(finds(&selection, B * HQ - 1, rows[r]));
    }
    /* Most others are not looked at: what was found above is due to these rows being chosen. */
    int found = 0;
    for (int64_t row = 0; row < 40; ++row)
        found += finds(&selection, 0, row);
    assert_in_range(found, 14, 15);
}

static void test_more_edges_than_are_sampled(void **state)
{
    (void)state;
    const sattn_verify_selection selection = {.tile_queries = 8, .n_random = 1, .seed = 5};
    static const int64_t rows[] = {0, 7, 8, 9, 15, 16, 17, 991, 992, 993, 999};
    make_problem(1000);
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; ++r)
        assert_true(finds(&selection, 0, rows[r]));
    /* The last row may be the first of a tile, or its only one. */
    make_problem(993);
    assert_true(finds(&selection, 0, 991) && finds(&selection, 0, 992));
    make_problem(8);
    assert_true(finds(&selection, 0, 0) && finds(&selection, 0, 7));
}

static void test_each_row_once(void **state)
{
    (void)state;
    const sattn_verify_selection selection = {.tile_queries = 1, .n_random = 500};
    for (int64_t n_q = 1; n_q <= 9; ++n_q) {
        make_problem(n_q);
        const sattn_verify_result result = verify(&selection);
        assert_int_equal(result.n_rows, 4 * n_q); /* 500 draws miss none of so few */
        assert_int_equal(result.n_scanned, B * HQ * n_q);
    }
    const sattn_verify_selection defaults = {0};
    make_problem(1000);
    const sattn_verify_result result = verify(&defaults);
    assert_in_range(result.n_rows, 4 * 20, 4 * (32 + 2));
}

/* Asking for as many heads as there are, or more, takes each of them. */
static void test_heads(void **state)
{
    (void)state;
    make_problem(3);
    for (int64_t n_heads = B * HQ; n_heads <= B * HQ + 3; ++n_heads) {
        const sattn_verify_selection selection = {.n_heads = n_heads, .n_random = 100};
        const sattn_verify_result result = verify(&selection);
        assert_int_equal(result.n_rows, B * HQ * 3);
        for (int pair = 0; pair < B * HQ; ++pair)
            assert_true(finds(&selection, pair, 1));
    }
    for (int64_t n_heads = 2; n_heads <= 4; ++n_heads)
        for (uint64_t seed = 0; seed < 5; ++seed) {
            const sattn_verify_selection selection = {
                .n_heads = n_heads, .n_random = 100, .seed = seed};
            int64_t found = 0;
            for (int pair = 0; pair < B * HQ; ++pair)
                found += finds(&selection, pair, 1);
            assert_int_equal(found, n_heads);
            assert_true(finds(&selection, 0, 1) && finds(&selection, B * HQ - 1, 1));
        }
}

static void test_seed(void **state)
{
    (void)state;
    bool differs = false;
    make_problem(1000);
    for (int64_t row = 0; row < 1000; ++row) {
        const sattn_verify_selection one = {.n_random = 200, .seed = 1};
        const sattn_verify_selection two = {.n_random = 200, .seed = 2};
        if (row % 10 != 0)
            continue;
        const bool found = finds(&one, 0, row);
        assert_true(finds(&one, 0, row) == found);
        differs = differs || finds(&two, 0, row) != found;
    }
    assert_true(differs);
}

/* ---- whole tiles, and answers that are kept */

/* Row r of the unit of batch entry b and KV head kv, the heads of a group in turn. */
static bool finds_of_unit(const sattn_verify_selection *selection, int b, int kv, int64_t r)
{
    const int n_group = (int)(HQ / p.args.n_kv_heads);
    return finds(selection, b * HQ + kv * n_group + (int)(r % n_group), r / n_group);
}

/* Tiles hold rows of all heads of a group: every one of the first is compared in the first unit, of
 * the last two in the last, and so are the edges of some others. */
static void test_whole_tiles(void **state)
{
    (void)state;
    enum { TILE = 8, N_Q = 40 };
    const sattn_verify_selection selection = {
        .whole_tiles = true, .tile_queries = TILE, .n_random = 1, .seed = 3};
    for (int n_kv_heads = 1; n_kv_heads <= HQ; n_kv_heads += HQ - 1) {
        const int64_t n_rows = N_Q * HQ / n_kv_heads;
        int64_t found = 0;
        make_problem(N_Q);
        p.args.n_kv_heads = n_kv_heads;
        for (int64_t r = 0; r < TILE; ++r)
            assert_true(finds_of_unit(&selection, 0, 0, r));
        for (int64_t r = n_rows - 2 * TILE; r < n_rows; ++r)
            assert_true(finds_of_unit(&selection, B - 1, n_kv_heads - 1, r));
        assert_true(finds_of_unit(&selection, 0, 0, 2 * TILE - 1) &&
                    finds_of_unit(&selection, 0, 0, 2 * TILE) &&
                    finds_of_unit(&selection, 0, 0, 2 * TILE + 1));
        for (int64_t r = 0; r < n_rows; ++r)
            found += finds_of_unit(&selection, 0, 0, r);
        assert_true(found < n_rows); /* it is a sample all the same */
    }
    make_problem(5); /* less than a tile */
    const sattn_verify_result all = verify(&selection);
    assert_int_equal(all.n_rows, 2 * 5);
    make_problem(N_Q); /* a single unit has all of these tiles */
    p.args.batch = p.args.n_kv_heads = 1;
    for (int64_t r = 0; r < 3 * TILE; ++r)
        assert_true(finds_of_unit(&selection, 0, 0, r < TILE ? r : N_Q * HQ - 3 * TILE + r));
}

static void check_same(const sattn_verify_result *a, const sattn_verify_result *b)
{
    assert_true(a->n_rows == b->n_rows && a->n_elements == b->n_elements &&
                a->n_scanned == b->n_scanned && a->n_failed == b->n_failed);
    assert_true(a->worst_error == b->worst_error && a->mean_error == b->mean_error &&
                a->worst_ratio == b->worst_ratio && a->worst_bound == b->worst_bound &&
                a->worst_error_bound == b->worst_error_bound && a->worst_ulp == b->worst_ulp);
}

/* What the oracle said of a call is taken for each output of it, bounded as that is to be, and not
 * asked for again. */
static void test_answers(void **state)
{
    (void)state;
    const sattn_bound_params bounds[] = {sattn_bound_defaults(), sattn_bound_chain()};
    const sattn_verify_selection without = {.n_random = 3};
    make_problem(100);
    for (int i = 0; i < B * HQ * 100; ++i)
        p.o[i] = 1 + (float)(i % 3) * 0x1p-23f;
    for (int b = 0; b < 2; ++b) {
        sattn_verify_answers answers = {0};
        sattn_verify_selection with = without;
        sattn_verify_result results[4];
        with.answers = &answers;
        for (int time = 0; time < 4; ++time) { /* without, and three times with them */
            sattn_verify_result_init(&results[time]);
            assert_int_equal(sattn_verify_attention(&p.args, time ? &with : &without,
                                                    &bounds[time == 3 ? 1 - b : b], &results[time],
                                                    NULL),
                             SATTN_OK);
        }
        assert_int_equal(answers.count, 2 * results[0].n_rows); /* with either of the bounds */
        check_same(&results[0], &results[1]);
        check_same(&results[0], &results[2]);
        assert_true(results[3].worst_error == results[0].worst_error &&
                    results[3].worst_bound != results[0].worst_bound);
        p.v[0] = 2;
        const sattn_verify_result kept = verify(&with), asked = verify(&without);
        p.v[0] = 1;
        assert_true(sattn_verify_passed(&kept) && !sattn_verify_passed(&asked));
        sattn_answers_free(&answers);
    }
}

/* The weights of a row tell what a NaN comes from, and are not kept. */
static void test_answers_that_are_not_kept(void **state)
{
    (void)state;
    sattn_verify_answers answers = {0};
    const sattn_verify_selection selection = {.n_random = 1, .answers = &answers};
    make_problem(1);
    p.v[0] = INFINITY;
    *output(0, 0) = INFINITY;
    for (int time = 0; time < 2; ++time) {
        const sattn_verify_result result = verify(&selection);
        assert_true(sattn_verify_passed(&result));
        assert_int_equal(answers.count, result.n_rows - 1);
    }
    sattn_answers_free(&answers);
}

/* ---- the scan of everything */

static void test_scan(void **state)
{
    (void)state;
    const sattn_verify_selection selection = {.n_random = 1, .n_heads = 1};
    const float wrong[] = {NAN, INFINITY, -INFINITY};
    make_problem(40);
    const sattn_verify_result clean = verify(&selection);
    assert_int_equal(clean.n_scanned, B * HQ * 40);
    assert_in_range(clean.n_rows, 2, 3);
    for (int pair = 0; pair < B * HQ; ++pair)
        for (int64_t row = 0; row < 40; ++row)
            for (int w = 0; w < 3; ++w) {
                *output(pair, row) = wrong[w];
                const sattn_verify_result result = verify(&selection);
                *output(pair, row) = 1;
                assert_true(result.n_failed >= 1 && !sattn_verify_passed(&result));
                assert_int_equal(result.failed_at.batch * HQ + result.failed_at.head, pair);
                assert_int_equal(result.failed_at.row, row);
            }
}

/* Outputs may be non-finite where inputs are; the heads of other inputs still may not. */
static void test_scan_of_wrong_inputs(void **state)
{
    (void)state;
    const sattn_verify_selection selection = {.n_random = 1, .n_heads = 1};
    make_problem(40);
    p.v[2 * N_K] = INFINITY; /* pair 2 */
    for (int64_t row = 0; row < 40; ++row)
        *output(2, row) = INFINITY;
    const sattn_verify_result result = verify(&selection);
    assert_true(sattn_verify_passed(&result));
    assert_int_equal(result.n_scanned, (B * HQ - 1) * 40);
    *output(3, 20) = NAN;
    const sattn_verify_result wrong = verify(&selection);
    assert_false(sattn_verify_passed(&wrong));

    make_problem(40);
    const float bias[N_K] = {NAN, 0};
    p.args.mask = (sattn_mask){SATTN_MASK_ADDITIVE, bias, {1, 1, 1, N_K}, {0, 0, 0, 1}};
    for (int i = 0; i < B * HQ * 40; ++i)
        p.o[i] = NAN;
    const sattn_verify_result nan_rows = verify(&selection);
    assert_true(sattn_verify_passed(&nan_rows));
    assert_int_equal(nan_rows.n_scanned, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_last_and_edges),
        cmocka_unit_test(test_more_edges_than_are_sampled),
        cmocka_unit_test(test_each_row_once),
        cmocka_unit_test(test_heads),
        cmocka_unit_test(test_seed),
        cmocka_unit_test(test_whole_tiles),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_answers_that_are_not_kept),
        cmocka_unit_test(test_scan),
        cmocka_unit_test(test_scan_of_wrong_inputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
