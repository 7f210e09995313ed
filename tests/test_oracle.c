/* SPDX-License-Identifier: MIT
 *
 * test_oracle.c: the double-precision row against values that can be worked out by hand. */
#include "kernels/ref/ref.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { D_MAX = 576, N_K_MAX = 8, D_V_MAX = 576 };

static double o[D_V_MAX], magnitude[D_V_MAX], weights[N_K_MAX], logits[N_K_MAX], sizes[N_K_MAX];

static sattn_ref_row_result run(const sattn_ref_row_args *args)
{
    sattn_ref_row_result result = {
        .o = o, .magnitude = magnitude, .weights = weights, .logits = logits, .dot_sizes = sizes};
    for (int y = 0; y < D_V_MAX; ++y)
        o[y] = magnitude[y] = 1e300; /* must be overwritten */
    sattn_ref_row(args, &result);
    return result;
}

/* d = d_v = 1, dense keys. */
static sattn_ref_row_args narrow(const float *q, const float *k, const float *v, int64_t n_k)
{
    return (sattn_ref_row_args){.q = q,
                                .k = k,
                                .v = v,
                                .k_stride = 1,
                                .v_stride = 1,
                                .d = 1,
                                .d_v = 1,
                                .key_end = n_k,
                                .scale = 1};
}

static bool near(double a, double b, double tolerance)
{
    return fabs(a - b) <= tolerance * fmax(1, fabs(b));
}

static const float one[] = {1}, zero[] = {0};

/* ---- exact values */

static void test_uniform_weights(void **state)
{
    (void)state;
    const float k[5] = {1, 2, 3, 4, 5}, v[5] = {1, 10, 100, 1000, 10000};
    static const struct {
        int64_t begin, end;
        double want;
    } cases[] = {{0, 1, 1},      {0, 2, 5.5}, {0, 3, 37},    {0, 4, 277.75},
                 {0, 5, 2222.2}, {1, 3, 55},  {4, 5, 10000}, {2, 2, 0}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; ++c) {
        sattn_ref_row_args args = narrow(zero, k, v, cases[c].end);
        args.key_begin = cases[c].begin;
        const int64_t n = cases[c].end - cases[c].begin;
        const sattn_ref_row_result result = run(&args);
        assert_true(near(o[0], cases[c].want, 1e-15) && magnitude[0] == o[0]);
        assert_int_equal(result.n_visible, n);
        assert_true(n == 0 ? result.lse == -INFINITY : near(result.lse, log((double)n), 1e-15));
    }
}

static void test_scales(void **state)
{
    (void)state;
    const float k[2] = {0, 1}, v[2] = {0, 1};
    static const struct {
        double scale, want;
    } cases[] = {{-1, 0.26894142136999512}, {0, 0.5}, {1, 0.73105857863000488}};
    for (size_t c = 0; c < 3; ++c) {
        sattn_ref_row_args args = narrow(one, k, v, 2);
        args.scale = cases[c].scale;
        run(&args);
        assert_true(near(o[0], cases[c].want, 1e-15));
    }
    const float k3[3] = {5, 6, 7}, v3[3] = {1, 3, 9};
    const uint8_t mask[3] = {1, 1, 0};
    sattn_ref_row_args args = narrow(one, k3, v3, 3);
    args.mask_bool = mask;
    args.mask_key_stride = 1;
    args.scale = 0;
    run(&args);
    assert_true(o[0] == 2);
    args.scale = -1;
    run(&args);
    assert_true(near(o[0], 1.5378828427399902, 1e-15) && weights[2] == 0);
    assert_true(logits[0] == -5 && logits[1] == -6 && logits[2] == -INFINITY && sizes[2] == 0);
}

/* The default scale of 5 and of 80 features; the widths that they are padded to give another. */
static void test_true_width(void **state)
{
    (void)state;
    static const int64_t widths[] = {5, 80};
    static const float firsts[] = {2, 8};
    for (int w = 0; w < 2; ++w) {
        float q[80] = {1}, k[2 * 80] = {firsts[w]};
        const float v[2] = {1, 0};
        sattn_ref_row_args args = narrow(q, k, v, 2);
        args.d = args.k_stride = widths[w];
        args.scale = 1 / sqrt((double)widths[w]);
        run(&args);
        assert_true(near(o[0], 0.7098029, 1e-7));
    }
}

/* The only signal is in the last feature. */
static void test_tail_features(void **state)
{
    (void)state;
    static const int64_t widths[] = {1,  3,  7,  8,  9,  15,  16,  17,  31, 33,
                                     40, 63, 65, 80, 96, 100, 128, 256, 576};
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; ++w) {
        const int64_t d = widths[w];
        float q[D_MAX] = {0}, k[2 * D_MAX] = {0}, v[2 * D_V_MAX] = {0};
        q[d - 1] = 1;
        k[d - 1] = 10;
        k[2 * d - 1] = -10;
        for (int64_t y = 0; y < d; ++y)
            v[y] = (float)(y + 1);
        sattn_ref_row_args args = narrow(q, k, v, 2);
        args.d = args.d_v = args.k_stride = args.v_stride = d;
        run(&args);
        for (int64_t y = 0; y < d; ++y)
            assert_true(near(o[y], (double)(y + 1) / (1 + exp(-20)), 1e-15));
        assert_true(d == D_V_MAX || o[d] == 1e300); /* and no column more */
    }
}

/* The dot product before scaling does not fit a float; in double it does. */
static void test_large_products(void **state)
{
    (void)state;
    float q[128], k[2 * 128];
    const float v[2] = {2, 4};
    for (int x = 0; x < 128; ++x)
        q[x] = k[x] = k[128 + x] = 1.7e18f;
    sattn_ref_row_args args = narrow(q, k, v, 2);
    args.d = args.k_stride = 128;
    args.scale = 1 / sqrt(128.0);
    run(&args);
    assert_true(o[0] == 3 && near(logits[0], 3.27e37, 0.001) && logits[0] == logits[1]);
    const float big[3] = {1e4f, 9999, -1e4f}, values[3] = {1, 0, 0};
    args = narrow(one, big, values, 3);
    run(&args);
    assert_true(near(o[0], 0.73105857863000488, 1e-15) && weights[2] == 0);
}

static void test_softcap(void **state)
{
    (void)state;
    const float k[2] = {8, 0}, v[2] = {1, 3};
    const float hide[2] = {0, -INFINITY};
    sattn_ref_row_args args = narrow(one, k, v, 2);
    args.scale = 0.5;
    args.softcap = 2;
    run(&args);
    assert_true(near(logits[0], 1.9280551601516338, 1e-15) && logits[1] == 0);
    args.mask_add = hide;
    args.mask_key_stride = 1;
    run(&args);
    assert_true(weights[0] == 1 && weights[1] == 0 && o[0] == 1);
}

static void test_sink(void **state)
{
    (void)state;
    const float k[1] = {0}, v[1] = {8};
    sattn_ref_row_args args = narrow(one, k, v, 1);
    args.has_sink = true;
    args.sink = log(3);
    const sattn_ref_row_result result = run(&args);
    assert_true(near(o[0], 2, 1e-15) && near(result.lse, log(4), 1e-15));
    args.key_end = 0;
    const sattn_ref_row_result alone = run(&args);
    assert_true(o[0] == 0 && near(alone.lse, log(3), 1e-15) && !alone.is_nan);
    args.key_end = 1;
    args.sink = -INFINITY; /* none */
    const sattn_ref_row_result none = run(&args);
    assert_true(o[0] == 8 && none.lse == 0);
    static const double wrong[] = {NAN, INFINITY};
    for (int w = 0; w < 2; ++w) {
        args.sink = wrong[w];
        const sattn_ref_row_result result_of_wrong = run(&args);
        assert_true(result_of_wrong.is_nan && isnan(o[0]) && isnan(result_of_wrong.lse));
    }
}

/* The same of finished scores. */
static void test_softmax_sink(void **state)
{
    (void)state;
    const float s[2] = {0, (float)-INFINITY};
    sattn_ref_scores row = {.s = s, .key_end = 1, .has_sink = true, .sink = 2};
    sattn_ref_softmax result = sattn_ref_softmax_of(&row);
    assert_true(result.max == 2 && near(result.sum, 1 + exp(-2), 1e-15) && !result.is_nan);
    row.key_begin = 1;
    row.key_end = 2;
    result = sattn_ref_softmax_of(&row); /* -inf by value beside something finite */
    assert_true(result.max == 2 && result.sum == 1 && result.n_visible == 1 && !result.is_nan);
    row.sink = -INFINITY;
    result = sattn_ref_softmax_of(&row);
    assert_true(result.is_nan);
    row.key_end = 1;
    result = sattn_ref_softmax_of(&row);
    assert_true(!result.is_nan && result.n_visible == 0 && result.max == -INFINITY);
    row.key_begin = 0;
    row.sink = NAN;
    result = sattn_ref_softmax_of(&row);
    assert_true(result.is_nan);
}

/* Two keys of the same score, so that their weights follow from the bias alone. */
static void expect_alibi(double slope, int64_t position, double first, double second)
{
    const float k[2] = {0, 0}, v[2] = {1, 3};
    sattn_ref_row_args args = narrow(one, k, v, 2);
    args.alibi_slope = slope;
    args.position = position;
    const sattn_ref_row_result result = run(&args);
    assert_true(near(logits[0], first, 1e-15) && near(logits[1], second, 1e-15));
    const double weight = 1 / (1 + exp(first - second)); /* of the second key */
    assert_true(near(o[0], 1 + 2 * weight, 1e-15) && !result.is_nan);
    const float s[2] = {0, 0};
    const sattn_ref_scores row = {.s = s, .key_end = 2, .alibi_slope = slope, .position = position};
    assert_true(sattn_ref_logit(&row, 0) == logits[0] && sattn_ref_logit(&row, 1) == logits[1]);
}

/* Distance counts on both sides of the query, and has no end. */
static void test_alibi(void **state)
{
    (void)state;
    expect_alibi(0.5, 0, 0, -0.5);
    expect_alibi(0.5, 1, -0.5, 0);
    expect_alibi(0.5, 7, -3.5, -3);
    expect_alibi(0.5, -3, -1.5, -2);
    expect_alibi(-2, 1, 2, 0);
    expect_alibi(0, 1, 0, 0);
    expect_alibi(0x1p-60, INT64_MAX, -8, -8);
    expect_alibi(0x1p-60, INT64_MIN, -8, -8);
    const float k[3] = {6, 2, 4}, v[3] = {1, 3, 9}, bias[3] = {1, 2, -INFINITY};
    sattn_ref_row_args args = narrow(one, k, v, 3);
    args.alibi_slope = 1;
    args.position = 1;
    args.softcap = 4;
    args.mask_add = bias;
    args.mask_key_stride = 1;
    run(&args); /* the cap knows nothing of the bias, and a hidden key stays hidden */
    assert_true(near(logits[0], 4 * tanh(1.5) - 1 + 1, 1e-15));
    assert_true(near(logits[1], 4 * tanh(0.5) + 2, 1e-15) && logits[2] == -INFINITY);
}

/* The next sums in line meet what f32 made of the last one. */
static void test_overflow(void **state)
{
    (void)state;
    const float k[2] = {0, 1}, v[2] = {1, 3}, bias[2] = {FLT_MAX, FLT_MAX};
    sattn_ref_row_args args = narrow(one, k, v, 2);
    args.alibi_slope = (double)FLT_MAX;
    args.position = -2; /* -2 and -3 times the slope */
    sattn_ref_row_result result = run(&args);
    assert_true(result.is_nan && logits[0] == -INFINITY && result.n_visible == 2);
    args.mask_add = bias;
    args.mask_key_stride = 1;
    result = run(&args);
    assert_true(result.is_nan && logits[0] == -INFINITY);
    args.alibi_slope = -(double)FLT_MAX / 4; /* a half and three quarters */
    result = run(&args);
    assert_true(result.is_nan && logits[0] == INFINITY);
    args.mask_add = NULL;
    result = run(&args);
    assert_true(!result.is_nan && o[0] == 3);
    args.has_sink = true;
    args.alibi_slope = (double)FLT_MAX;
    result = run(&args);
    assert_true(!result.is_nan && o[0] == 0 && result.lse == 0);
}

/* ---- masks */

static void test_additive_masks(void **state)
{
    (void)state;
    const float k[3] = {3, -5, 0}, v[3] = {1, 2, 6}, huge = -FLT_MAX;
    const float all_huge[3] = {huge, huge, huge}, two_huge[3] = {0, huge, huge};
    sattn_ref_row_args args = narrow(one, k, v, 3);
    args.mask_key_stride = 1;
    args.mask_add = all_huge; /* a bias like any other: in double it still absorbs the scores */
    run(&args);
    assert_true(o[0] == 3);
    args.mask_add = two_huge;
    run(&args);
    assert_true(o[0] == 1);
    args.mask_add = &huge; /* one entry for all keys */
    args.mask_key_stride = 0;
    run(&args);
    assert_true(o[0] == 3);
    const float pair[2] = {0, 0}, values[2] = {1, 3}, bias[2] = {1, 0};
    args = narrow(one, pair, values, 2);
    args.mask_key_stride = 1;
    args.mask_add = bias;
    run(&args);
    assert_true(near(o[0], 1.5378828427399902, 1e-15));
}

static void test_boolean_masks(void **state)
{
    (void)state;
    const float k[3] = {0, 0, 0}, v[3] = {1, 3, 50};
    const uint8_t masks[][3] = {{1, 0, 0}, {2, 0, 0}, {255, 0, 0}, {0, 1, 0}, {1, 1, 0}};
    const double want[] = {1, 1, 1, 3, 2};
    for (size_t m = 0; m < sizeof masks / sizeof masks[0]; ++m) {
        sattn_ref_row_args args = narrow(one, k, v, 3);
        args.mask_bool = masks[m];
        args.mask_key_stride = 1;
        run(&args);
        assert_true(o[0] == want[m]);
    }
}

static void expect_zero_row(const sattn_ref_row_args *args)
{
    const sattn_ref_row_result result = run(args);
    assert_int_equal(result.n_visible, 0);
    assert_false(result.is_nan);
    assert_true(result.lse == -INFINITY && result.max_logit == -INFINITY);
    assert_true(o[0] == 0 && !signbit(o[0]) && magnitude[0] == 0);
}

/* Whatever the hidden keys hold. */
static void test_no_visible_key(void **state)
{
    (void)state;
    const float wrong[] = {0, NAN, INFINITY, -INFINITY};
    const uint8_t none[2] = {0, 0};
    const float minus_inf[2] = {-INFINITY, -INFINITY};
    for (int w = 0; w < 4; ++w) {
        const float k[2] = {wrong[w], 1}, v[2] = {wrong[w], wrong[w]};
        sattn_ref_row_args args = narrow(one, k, v, 0);
        expect_zero_row(&args);
        args = narrow(one, k, v, 2);
        args.mask_key_stride = 1;
        args.mask_bool = none;
        expect_zero_row(&args);
        args.mask_bool = NULL;
        args.mask_add = minus_inf;
        expect_zero_row(&args);
    }
    sattn_ref_row_args nothing = narrow(one, NULL, NULL, 0);
    expect_zero_row(&nothing);
}

/* ---- specials */

static void expect_nan_row(const sattn_ref_row_args *args)
{
    const sattn_ref_row_result result = run(args);
    assert_true(result.is_nan && isnan(result.lse) && isnan(o[0]));
}

/* NaN and +inf anywhere among the visible logits; NaN stays NaN beside an infinity. */
static void test_nan_rows(void **state)
{
    (void)state;
    const float wrong[] = {NAN, INFINITY};
    for (int w = 0; w < 2; ++w)
        for (int at = 0; at < N_K_MAX; ++at) {
            float k[N_K_MAX], v[N_K_MAX], bias[N_K_MAX] = {0};
            for (int j = 0; j < N_K_MAX; ++j)
                k[j] = v[j] = 0.1f * (float)j;
            bias[at] = wrong[w];
            sattn_ref_row_args args = narrow(one, k, v, N_K_MAX);
            args.mask_add = bias;
            args.mask_key_stride = 1;
            expect_nan_row(&args);
            args.mask_add = NULL;
            k[at] = wrong[w];
            expect_nan_row(&args);
            k[(at + 1) % N_K_MAX] = -INFINITY;
            expect_nan_row(&args);
            args.has_sink = true;
            expect_nan_row(&args);
            args.has_sink = false;
            args.softcap = 2; /* brings +inf back to 2, but no NaN */
            const sattn_ref_row_result result = run(&args);
            assert_true(result.is_nan == (w == 0));
        }
    const float q[1] = {NAN}, k[1] = {0}, v[1] = {1};
    const sattn_ref_row_args args = narrow(q, k, v, 1);
    expect_nan_row(&args);
}

/* Visible keys whose scores are all -inf are no hidden keys; the log of their sum is still -inf. */
static void test_all_minus_infinity(void **state)
{
    (void)state;
    const float k[2] = {-INFINITY, -INFINITY}, v[2] = {1, 2};
    sattn_ref_row_args args = narrow(one, k, v, 2);
    const sattn_ref_row_result alone = run(&args);
    assert_true(alone.is_nan && isnan(o[0]) && alone.lse == -INFINITY && alone.n_visible == 2);
    args.has_sink = true; /* something that is finite */
    const sattn_ref_row_result result = run(&args);
    assert_true(!result.is_nan && o[0] == 0 && result.lse == 0);
    const float one_finite[2] = {-INFINITY, 0};
    args = narrow(one, one_finite, v, 2);
    run(&args);
    assert_true(o[0] == 2 && weights[0] == 0);
}

/* Hidden keys do not matter, whatever they hold; visible values do, each in its own column. */
static void test_special_values(void **state)
{
    (void)state;
    const float k[3] = {0, NAN, INFINITY}, v[3] = {7, NAN, INFINITY};
    const uint8_t first[3] = {1, 0, 0};
    sattn_ref_row_args args = narrow(one, k, v, 3);
    args.mask_bool = first;
    args.mask_key_stride = 1;
    const sattn_ref_row_result result = run(&args);
    assert_true(o[0] == 7 && result.lse == 0 && result.n_visible == 1);
    const float same[2] = {0, 0}, values[2 * 3] = {INFINITY, NAN, 1, 1, 1, 3};
    args = narrow(one, same, values, 2);
    args.d_v = args.v_stride = 3;
    run(&args);
    assert_true(o[0] == INFINITY && isnan(o[1]) && o[2] == 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uniform_weights),
        cmocka_unit_test(test_scales),
        cmocka_unit_test(test_true_width),
        cmocka_unit_test(test_tail_features),
        cmocka_unit_test(test_large_products),
        cmocka_unit_test(test_softcap),
        cmocka_unit_test(test_sink),
        cmocka_unit_test(test_softmax_sink),
        cmocka_unit_test(test_alibi),
        cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_additive_masks),
        cmocka_unit_test(test_boolean_masks),
        cmocka_unit_test(test_no_visible_key),
        cmocka_unit_test(test_nan_rows),
        cmocka_unit_test(test_all_minus_infinity),
        cmocka_unit_test(test_special_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
