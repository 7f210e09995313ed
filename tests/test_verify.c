/* SPDX-License-Identifier: MIT
 *
 * test_verify.c: the judge of one output row. It must find every wrong element, and must not be
 * satisfied by NaN, by an infinity, or by nothing at all. */
#include "bench/verify/compare.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static float f32_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double f64_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* ---- classes */

static void test_classes(void **state)
{
    (void)state;
    static const struct {
        uint32_t bits;
        sattn_float_class value_class;
    } cases[] = {
        {0x00000000, SATTN_CLASS_FINITE},    {0x80000000, SATTN_CLASS_FINITE},
        {0x00000001, SATTN_CLASS_FINITE},    {0x807fffff, SATTN_CLASS_FINITE},
        {0x00800000, SATTN_CLASS_FINITE},    {0x7f7fffff, SATTN_CLASS_FINITE},
        {0xff7fffff, SATTN_CLASS_FINITE},    {0x7f800000, SATTN_CLASS_PLUS_INF},
        {0xff800000, SATTN_CLASS_MINUS_INF}, {0x7fc00000, SATTN_CLASS_NAN},
        {0xffc00000, SATTN_CLASS_NAN},       {0x7f800001, SATTN_CLASS_NAN},
        {0xffffffff, SATTN_CLASS_NAN},       {0x7fbfffff, SATTN_CLASS_NAN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        assert_int_equal(sattn_classify_f32(f32_of(cases[i].bits)), cases[i].value_class);
        /* the same sign, exponent field and low fraction bits, in double */
        const uint32_t b = cases[i].bits;
        const uint64_t exponent = (b >> 23 & 0xff) == 0xff ? 0x7ff : b >> 23 & 0xff;
        const uint64_t wide = (uint64_t)(b >> 31) << 63 | exponent << 52 | (b & 0x7fffff);
        assert_int_equal(sattn_classify_f64(f64_of(wide)), cases[i].value_class);
    }
    assert_string_equal(sattn_float_class_name(SATTN_CLASS_NAN), "NaN");
    assert_string_equal(sattn_float_class_name(SATTN_CLASS_PLUS_INF), "+inf");
    assert_string_equal(sattn_float_class_name(SATTN_CLASS_MINUS_INF), "-inf");
    assert_string_equal(sattn_float_class_name(SATTN_CLASS_FINITE), "finite");
}

/* ---- one row of three keys */

enum { D = 2, D_V = 5, N_K = 3 };

typedef struct row_case {
    float q[D], k[N_K * D], v[N_K * D_V], o[D_V], lse;
    double want[D_V], magnitude[D_V], bound[D_V], weights[N_K], logits[N_K], dot_sizes[N_K];
    sattn_ref_row_args args;
    sattn_ref_row_result row;
    sattn_bound_params params;
} row_case;

/* Runs the oracle; o and lse become its answer, rounded. */
static void solve(row_case *c)
{
    c->row = (sattn_ref_row_result){.o = c->want,
                                    .magnitude = c->magnitude,
                                    .weights = c->weights,
                                    .logits = c->logits,
                                    .dot_sizes = c->dot_sizes};
    sattn_ref_row(&c->args, &c->row);
    for (int y = 0; y < D_V; ++y)
        c->o[y] = (float)c->want[y];
    c->lse = (float)c->row.lse;
}

static void make_case(row_case *c)
{
    *c = (row_case){.q = {1, -0.5f}, .params = sattn_bound_defaults()};
    for (int i = 0; i < N_K * D; ++i)
        c->k[i] = (float)(i % 4) - 1.25f;
    for (int i = 0; i < N_K * D_V; ++i)
        c->v[i] = 0.75f * (float)i - 5;
    c->args = (sattn_ref_row_args){.q = c->q,
                                   .k = c->k,
                                   .v = c->v,
                                   .k_stride = D,
                                   .v_stride = D_V,
                                   .d = D,
                                   .d_v = D_V,
                                   .key_end = N_K,
                                   .scale = 0.5};
    solve(c);
}

static const sattn_verify_place place = {.batch = 3, .head = 2, .row = 17};

static sattn_verify_result judge(row_case *c)
{
    sattn_verify_result result;
    sattn_verify_result_init(&result);
    sattn_verify_row(&c->args, &c->row, &c->params, c->o, &c->lse, place, c->bound, &result);
    assert_int_equal(result.n_rows, 1);
    assert_int_equal(result.n_elements, D_V + 1);
    assert_true(sattn_verify_passed(&result) == (result.n_failed == 0));
    return result;
}

static void expect_pass(row_case *c)
{
    const sattn_verify_result result = judge(c);
    assert_int_equal(result.n_failed, 0);
}

/* Column -1 is the log-sum-exp. */
static void expect_failure_at(row_case *c, int64_t column)
{
    const sattn_verify_result result = judge(c);
    assert_true(result.n_failed >= 1);
    assert_int_equal(result.failed_at.batch, place.batch);
    assert_int_equal(result.failed_at.head, place.head);
    assert_int_equal(result.failed_at.row, place.row);
    assert_int_equal(result.failed_at.column, column);
    assert_true(result.failed_why[0] != '\0');
}

static void test_wrong_elements(void **state)
{
    (void)state;
    row_case c;
    make_case(&c);
    expect_pass(&c);
    const float wrong[] = {NAN, -NAN, INFINITY, -INFINITY, 1e30f, 0x1p-149f};
    for (size_t w = 0; w < sizeof wrong / sizeof wrong[0]; ++w)
        for (int y = 0; y < D_V; ++y) {
            make_case(&c);
            c.o[y] = wrong[w];
            expect_failure_at(&c, y);
        }
    for (int y = 0; y < D_V; ++y) {
        make_case(&c);
        c.o[y] *= 1.001f;
        expect_failure_at(&c, y);
        make_case(&c);
        c.o[y] = -c.o[y];
        expect_failure_at(&c, y);
    }
}

/* The first failure is kept, all are counted. */
static void test_many_failures(void **state)
{
    (void)state;
    row_case c;
    make_case(&c);
    c.o[1] = c.o[4] = 99;
    c.lse += 1;
    const sattn_verify_result result = judge(&c);
    assert_int_equal(result.n_failed, 3);
    assert_int_equal(result.failed_at.column, 1);
    assert_true(result.failed_got == 99 && result.failed_want == c.want[1]);
    assert_true(result.failed_bound == c.bound[1]);
}

static void test_nan_row(void **state)
{
    (void)state;
    row_case c;
    for (int source = 0; source < 2; ++source) {
        const float wrong[] = {INFINITY, -INFINITY, 0, 1};
        make_case(&c);
        c.k[3] = source ? NAN : INFINITY;
        c.q[1] = 0.5f; /* a score of +inf, or NaN */
        solve(&c);
        assert_true(c.row.is_nan);
        expect_pass(&c);
        for (int y = 0; y < D_V; ++y)
            for (size_t w = 0; w < sizeof wrong / sizeof wrong[0]; ++w) {
                solve(&c);
                c.o[y] = wrong[w];
                expect_failure_at(&c, y);
            }
        for (size_t w = 0; w < sizeof wrong / sizeof wrong[0]; ++w) {
            solve(&c);
            c.lse = wrong[w];
            expect_failure_at(&c, -1);
        }
    }
}

/* All scores -inf: the output is NaN, the log-sum-exp -inf or NaN. */
static void test_row_of_minus_infinity(void **state)
{
    (void)state;
    row_case c;
    const float wrong[] = {INFINITY, 0, -3e38f};
    make_case(&c);
    for (int j = 0; j < N_K; ++j)
        c.k[j * D] = -INFINITY;
    solve(&c);
    assert_true(c.row.is_nan && c.row.lse == -INFINITY);
    expect_pass(&c);
    c.lse = NAN;
    expect_pass(&c);
    for (size_t w = 0; w < sizeof wrong / sizeof wrong[0]; ++w) {
        c.lse = wrong[w];
        expect_failure_at(&c, -1);
    }
    solve(&c);
    c.o[0] = 0;
    expect_failure_at(&c, 0);
}

static void test_row_without_keys(void **state)
{
    (void)state;
    row_case c;
    const float wrong[] = {-0.0f, 0x1p-149f, NAN, INFINITY, 1};
    const float wrong_lse[] = {INFINITY, NAN, 0, -3e38f};
    make_case(&c);
    c.args.key_end = 0;
    solve(&c);
    expect_pass(&c);
    for (int y = 0; y < D_V; ++y)
        for (size_t w = 0; w < sizeof wrong / sizeof wrong[0]; ++w) {
            solve(&c);
            c.o[y] = wrong[w];
            expect_failure_at(&c, y);
        }
    for (size_t w = 0; w < sizeof wrong_lse / sizeof wrong_lse[0]; ++w) {
        solve(&c);
        c.lse = wrong_lse[w];
        expect_failure_at(&c, -1);
    }
}

/* NaN in V must come out as NaN, an infinity as that one or, by a weight of 0, as NaN. */
static void test_special_values(void **state)
{
    (void)state;
    const struct {
        float v, o;
        bool is_right;
    } cases[] = {
        {NAN, NAN, true},       {NAN, INFINITY, false},       {NAN, -INFINITY, false},
        {NAN, 0, false},        {INFINITY, INFINITY, true},   {INFINITY, NAN, true},
        {INFINITY, 0, false},   {INFINITY, -INFINITY, false}, {-INFINITY, -INFINITY, true},
        {-INFINITY, NAN, true}, {-INFINITY, INFINITY, false}, {-INFINITY, 1e38f, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i)
        for (int y = 0; y < D_V; ++y) {
            row_case c;
            make_case(&c);
            c.v[D_V + y] = cases[i].v;
            solve(&c);
            c.o[y] = cases[i].o;
            if (cases[i].is_right)
                expect_pass(&c);
            else
                expect_failure_at(&c, y);
        }
}

/* An infinite V of weight 0 makes NaN here; of a weight that is not quite 0, an infinity. */
static void test_infinity_of_weight_zero(void **state)
{
    (void)state;
    for (int y = 0; y < D_V; ++y) {
        row_case c;
        make_case(&c);
        for (int x = 0; x < D; ++x)
            c.k[D + x] = c.q[x] < 0 ? 1e6f : -1e6f;
        c.v[D_V + y] = -INFINITY;
        solve(&c);
        assert_true(isnan(c.row.o[y]));
        c.o[y] = NAN;
        expect_pass(&c);
        c.o[y] = -INFINITY;
        expect_pass(&c);
        c.o[y] = 0;
        expect_failure_at(&c, y);
    }
}

/* ---- at the bound and just beyond */

/* With values of 0 nothing but underflow can err, by (6 n + 16) times its unit. */
static void test_exactly_at_the_bound(void **state)
{
    (void)state;
    row_case c;
    const float bound = (6 * N_K + 16) * 0x1p-20f;
    for (int y = 0; y < D_V; ++y)
        for (int sign = -1; sign <= 1; sign += 2) {
            make_case(&c);
            memset(c.v, 0, sizeof c.v);
            solve(&c);
            c.params.underflow = 0x1p-20;
            c.o[y] = (float)sign * bound;
            const sattn_verify_result result = judge(&c);
            assert_int_equal(result.n_failed, 0);
            assert_true(c.bound[y] == (double)bound && result.worst_ratio == 1);
            assert_int_equal(result.worst_ratio_at.column, y);
            c.o[y] = (float)sign * nextafterf(bound, 1);
            expect_failure_at(&c, y);
        }
}

/* The last float within the bound and the first beyond it, on both sides. */
static void test_around_the_bound(void **state)
{
    (void)state;
    row_case c;
    make_case(&c);
    expect_pass(&c);
    for (int column = -1; column < D_V; ++column)
        for (int side = -1; side <= 1; side += 2) {
            make_case(&c);
            const double lse_bound = sattn_bound_row(&c.args, &c.row, &c.params, c.bound);
            const double bound = column < 0 ? lse_bound : c.bound[column];
            const double want = column < 0 ? c.row.lse : c.want[column];
            float *const got = column < 0 ? &c.lse : &c.o[column];
            const float far = (float)side * INFINITY;
            assert_true(bound > 0 && bound < 1e-4);
            while (fabs((double)nextafterf(*got, far) - want) <= bound)
                *got = nextafterf(*got, far);
            const sattn_verify_result result = judge(&c);
            assert_int_equal(result.n_failed, 0);
            assert_true((column < 0 ? result.worst_lse_ratio : result.worst_ratio) > 0.5);
            *got = nextafterf(*got, far);
            expect_failure_at(&c, column);
        }
}

static void test_bound_grows(void **state)
{
    (void)state;
    row_case c;
    double before[D_V];
    make_case(&c);
    const double lse_before = sattn_bound_row(&c.args, &c.row, &c.params, before);
    const sattn_bound_params defaults = c.params;
    for (int what = 0; what < 4; ++what) {
        c.params = defaults;
        if (what == 0)
            c.params.exp_error = 100;
        else if (what == 1)
            c.params.n_splits = 8;
        else if (what == 2)
            c.params.scale_roundings = 50;
        else
            c.params.underflow = 0x1p-30;
        const double lse_bound = sattn_bound_row(&c.args, &c.row, &c.params, c.bound);
        for (int y = 0; y < D_V; ++y)
            assert_true(c.bound[y] > before[y] && isfinite(c.bound[y]));
        assert_true(lse_bound > lse_before || what == 3);
    }
}

/* ---- what is said */

static void test_metrics(void **state)
{
    (void)state;
    row_case c;
    make_case(&c);
    for (int i = 0; i < N_K * D_V; ++i)
        c.v[i] = 1;
    memset(c.q, 0, sizeof c.q);
    solve(&c);
    c.o[3] = 1 + 0x1p-23f; /* the other columns are exact */
    const sattn_verify_result result = judge(&c);
    assert_int_equal(result.n_failed, 0);
    assert_int_equal(result.n_measured, D_V);
    assert_true(fabs(result.worst_error - 2) < 1e-6 &&
                fabs(result.mean_error - 2.0 / (double)D_V) < 1e-6);
    assert_true(fabs(result.worst_ulp - 1) < 1e-6 && result.worst_error_at.column == 3);
    assert_true(fabs(result.worst_relative - 0x1p-23) < 1e-12);
    assert_true(result.worst_bound > result.worst_error && result.worst_ratio < 1);
}

static void test_nothing_compared(void **state)
{
    (void)state;
    sattn_verify_result result;
    char text[256];
    sattn_verify_result_init(&result);
    assert_false(sattn_verify_passed(&result));
    sattn_verify_describe(&result, text, sizeof text);
    assert_string_equal(text, "nothing was compared");
    result.n_scanned = 1000; /* finite is not the same as right */
    assert_false(sattn_verify_passed(&result));
}

static void test_descriptions(void **state)
{
    (void)state;
    row_case c;
    char text[256], cut[10];
    make_case(&c);
    sattn_verify_result result = judge(&c);
    sattn_verify_describe(&result, text, sizeof text);
    assert_non_null(strstr(text, "1 rows, 6 elements good"));
    c.o[2] = NAN;
    result = judge(&c);
    sattn_verify_describe(&result, text, sizeof text);
    assert_non_null(strstr(text, "1 failed; first at batch 3, head 2, row 17, column 2: "));
    sattn_verify_describe(&result, cut, sizeof cut);
    assert_int_equal(strlen(cut), sizeof cut - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_wrong_elements),
        cmocka_unit_test(test_many_failures),
        cmocka_unit_test(test_nan_row),
        cmocka_unit_test(test_row_without_keys),
        cmocka_unit_test(test_row_of_minus_infinity),
        cmocka_unit_test(test_special_values),
        cmocka_unit_test(test_infinity_of_weight_zero),
        cmocka_unit_test(test_exactly_at_the_bound),
        cmocka_unit_test(test_around_the_bound),
        cmocka_unit_test(test_bound_grows),
        cmocka_unit_test(test_metrics),
        cmocka_unit_test(test_nothing_compared),
        cmocka_unit_test(test_descriptions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
