/* SPDX-License-Identifier: MIT
 *
 * test_verify_layers.c: the judges of linear maps and of gated units. Plain f32 loops must pass,
 * each wrong element must be found, and what is not finite be told apart. */
#include "bench/verify/inputs.h"
#include "bench/verify/record.h"
#include "bench/verify/steps.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const sattn_verify_place here = {.batch = 1, .head = 2, .row = 3};
static const float spoilers[] = {NAN, INFINITY, -INFINITY, FLT_MAX};

static void expect_failure_at(const sattn_verify_result *result, int column)
{
    assert_int_equal(result->n_failed, 1);
    assert_int_equal(result->failed_at.column, column);
    assert_int_equal(result->failed_at.row, here.row);
}

static void fill_with(float *x, int n, uint64_t seed, uint64_t stream, float spread)
{
    for (int i = 0; i < n; ++i)
        x[i] = spread * sattn_random_normal(seed, stream, (uint64_t)i);
}

/* ---- linear maps */

enum { N_IN = 40, W_STRIDE = N_IN + 3, N_OUT = 50 };

static float x[N_IN], w[N_OUT * W_STRIDE], bias[N_OUT], before[N_OUT], y[N_OUT];

/* Of four kinds of calls: with a bias or without, adding or not. */
typedef struct map_kind {
    bool has_bias, adds;
} map_kind;

static const map_kind map_kinds[] = {{false, false}, {true, false}, {false, true}, {true, true}};

static void fill_map(uint64_t seed, float spread)
{
    fill_with(x, N_IN, seed, 1, spread);
    fill_with(w, N_OUT * W_STRIDE, seed, 2, 1);
    fill_with(bias, N_OUT, seed, 3, spread);
    fill_with(before, N_OUT, seed, 4, spread);
}

static void plain_map(map_kind kind)
{
    for (int o = 0; o < N_OUT; ++o) {
        y[o] = 0;
        for (int k = 0; k < N_IN; ++k)
            y[o] += x[k] * w[o * W_STRIDE + k];
        if (kind.has_bias)
            y[o] += bias[o];
        if (kind.adds)
            y[o] += before[o];
    }
}

static sattn_verify_result judge_map(map_kind kind)
{
    const sattn_verify_map row = {.x = x,
                                  .w = w,
                                  .bias = kind.has_bias ? bias : NULL,
                                  .added_to = kind.adds ? before : NULL,
                                  .w_stride = W_STRIDE,
                                  .n_in = N_IN,
                                  .n_out = N_OUT};
    sattn_verify_result result;
    sattn_verify_result_init(&result);
    sattn_verify_map_row(&row, y, here, &result);
    assert_int_equal(result.n_elements, N_OUT);
    return result;
}

static void test_plain_maps(void **state)
{
    (void)state;
    static const float spreads[] = {1e-42f, 1e-38f, 1e-20f, 1.0f, 1e30f};
    for (int at = 0; at < 20; ++at) {
        fill_map((uint64_t)at, spreads[at / 4]);
        plain_map(map_kinds[at % 4]);
        const sattn_verify_result result = judge_map(map_kinds[at % 4]);
        assert_true(sattn_verify_passed(&result));
    }
}

static void test_wrong_outputs(void **state)
{
    (void)state;
    for (int o = 0; o < N_OUT; o += 7)
        for (int wrong = 0; wrong < 6; ++wrong) {
            const map_kind kind = map_kinds[wrong % 4];
            fill_map(7, 1);
            plain_map(kind);
            y[o] = wrong < 4 ? spoilers[wrong] : y[o] + (wrong == 4 ? 3e-4f : -3e-4f);
            const sattn_verify_result result = judge_map(kind);
            expect_failure_at(&result, o);
        }
}

/* A feature left out or of another output, a bias or an old value that counts or does not. */
static void test_wrong_terms(void **state)
{
    (void)state;
    fill_map(9, 1);
    for (int k = 0; k < N_IN; k += 3)
        for (int variant = 0; variant < 2; ++variant) {
            plain_map(map_kinds[3]);
            y[5] -= x[k] * w[5 * W_STRIDE + k];
            if (variant == 1)
                y[5] += x[k] * w[6 * W_STRIDE + k];
            const sattn_verify_result result = judge_map(map_kinds[3]);
            expect_failure_at(&result, 5);
        }
    for (int made = 0; made < 4; ++made)
        for (int asked = 0; asked < 4; ++asked) {
            plain_map(map_kinds[made]);
            const sattn_verify_result result = judge_map(map_kinds[asked]);
            assert_true(made == asked ? result.n_failed == 0 : result.n_failed > N_OUT / 2);
        }
}

static void test_maps_not_finite(void **state)
{
    (void)state;
    fill_map(11, 1);
    w[3 * W_STRIDE + 2] = NAN;
    w[4 * W_STRIDE + 2] = INFINITY;
    bias[6] = -INFINITY;
    before[7] = NAN;
    plain_map(map_kinds[3]);
    assert_true(isnan(y[3]) && isinf(y[4]) && isinf(y[6]) && isnan(y[7]));
    sattn_verify_result result = judge_map(map_kinds[3]);
    assert_true(sattn_verify_passed(&result));
    for (int o = 3; o < 8; ++o) {
        const float good = y[o];
        y[o] = o == 5 ? NAN : 1;
        result = judge_map(map_kinds[3]);
        expect_failure_at(&result, o);
        y[o] = isinf(good) ? -good : good;
        result = judge_map(map_kinds[3]);
        if (isinf(good))
            expect_failure_at(&result, o);
        y[o] = good;
    }
}

/* ---- gated units */

enum { N_HIDDEN = 60 };

static float gates_x[3 * N_HIDDEN], gates_h[3 * N_HIDDEN], h[N_HIDDEN], next[N_HIDDEN];

typedef enum mistake {
    NO_MISTAKE,
    GATES_SWAPPED,
    GATES_OF_THE_INPUT_ALONE,
    RESET_OF_THE_INPUT,
    RESET_LEFT_OUT,
    STATE_LEFT_OUT,
    WAY_REVERSED,
    N_MISTAKES,
} mistake;

static void fill_gates(uint64_t seed, float spread)
{
    fill_with(gates_x, 3 * N_HIDDEN, seed, 1, spread);
    fill_with(gates_h, 3 * N_HIDDEN, seed, 2, spread);
    fill_with(h, N_HIDDEN, seed, 3, 1);
}

static float sigmoid(float of)
{
    return (float)(1 / (1 + exp(-(double)of)));
}

static float plain_unit(int j, mistake made)
{
    const float input = gates_x[2 * N_HIDDEN + j], state = gates_h[2 * N_HIDDEN + j];
    const float none = made == GATES_OF_THE_INPUT_ALONE ? 0.0f : 1.0f;
    float reset = sigmoid(gates_x[j] + none * gates_h[j]);
    float update = sigmoid(gates_x[N_HIDDEN + j] + none * gates_h[N_HIDDEN + j]);
    if (made == GATES_SWAPPED) {
        const float other = reset;
        reset = update;
        update = other;
    }
    const float sum = made == RESET_OF_THE_INPUT ? fmaf(reset, input, state)
                      : made == RESET_LEFT_OUT   ? input + state
                                                 : fmaf(reset, state, input);
    const float candidate = (float)tanh((double)sum);
    if (made == STATE_LEFT_OUT)
        return candidate - update * candidate;
    return made == WAY_REVERSED ? fmaf(update, candidate - h[j], h[j])
                                : fmaf(update, h[j] - candidate, candidate);
}

static void plain_gates(void)
{
    for (int j = 0; j < N_HIDDEN; ++j)
        next[j] = plain_unit(j, NO_MISTAKE);
}

static sattn_verify_result judge_gates(void)
{
    const sattn_verify_gates row = {.gates_x = gates_x,
                                    .gates_h = gates_h,
                                    .h = h,
                                    .n_hidden = N_HIDDEN,
                                    .sigmoid_ulp = 0.5,
                                    .tanh_ulp = 0.5};
    sattn_verify_result result;
    sattn_verify_result_init(&result);
    sattn_verify_gates_row(&row, next, here, &result);
    assert_int_equal(result.n_elements, N_HIDDEN);
    return result;
}

static void test_plain_gates(void **state)
{
    (void)state;
    static const float spreads[] = {1e-42f, 1e-20f, 0.01f, 1.0f, 4.0f, 100.0f, 1e30f};
    for (int at = 0; at < 14; ++at) {
        fill_gates((uint64_t)at, spreads[at / 2]);
        plain_gates();
        const sattn_verify_result result = judge_gates();
        assert_true(sattn_verify_passed(&result));
    }
}

static void test_wrong_states(void **state)
{
    (void)state;
    fill_gates(7, 1);
    plain_gates();
    for (int j = 0; j < N_HIDDEN; j += 7)
        for (int wrong = 0; wrong < 6; ++wrong) {
            const float good = next[j];
            next[j] = wrong < 4 ? spoilers[wrong] : good + (wrong == 4 ? 2e-6f : -2e-6f);
            const sattn_verify_result result = judge_gates();
            expect_failure_at(&result, j);
            next[j] = good;
        }
}

static void test_wrong_units(void **state)
{
    (void)state;
    fill_gates(9, 1);
    plain_gates();
    for (int j = 0; j < N_HIDDEN; j += 3)
        for (int made = NO_MISTAKE + 1; made < N_MISTAKES; ++made) {
            const float good = next[j];
            next[j] = plain_unit(j, (mistake)made);
            const sattn_verify_result result = judge_gates();
            expect_failure_at(&result, j);
            next[j] = good;
        }
}

/* Functions that are less exact are allowed more, and no more than that. */
static void test_stated_errors(void **state)
{
    (void)state;
    fill_gates(13, 1);
    for (int j = 0; j < N_HIDDEN; ++j) {
        const float x_of[3] = {gates_x[j], gates_x[N_HIDDEN + j], gates_x[2 * N_HIDDEN + j]};
        const float h_of[3] = {gates_h[j], gates_h[N_HIDDEN + j], gates_h[2 * N_HIDDEN + j]};
        const sattn_ref_gru_element e = sattn_ref_gru(x_of, h_of, h[j]);
        const double at = (double)h[j], gate = (double)h_of[2];
        const double least = sattn_verify_gates_error(&e, gate, at, 0.5, 0.5);
        const double by_tanh = sattn_verify_gates_error(&e, gate, at, 0.5, 1.5) - least;
        const double by_sigmoid = sattn_verify_gates_error(&e, gate, at, 1.5, 0.5) - least;
        const double ulp = sattn_verify_ulp(e.candidate);
        assert_true(by_tanh > 0.9 * ulp * (1 - e.update) && by_tanh < 2.1 * ulp);
        assert_true(by_sigmoid > 0);
    }
}

static void test_gates_not_finite(void **state)
{
    (void)state;
    fill_gates(11, 1);
    gates_x[2] = NAN;
    gates_h[N_HIDDEN + 3] = NAN;
    gates_x[N_HIDDEN + 4] = -INFINITY; /* z = 0 */
    gates_x[2 * N_HIDDEN + 5] = INFINITY;
    h[6] = -INFINITY;
    plain_gates();
    assert_true(isnan(next[2]) && isnan(next[3]) && isfinite(next[4]) && isfinite(next[5]));
    assert_true(isinf(next[6]));
    sattn_verify_result result = judge_gates();
    assert_true(sattn_verify_passed(&result));
    for (int j = 2; j < 7; ++j) {
        const float good = next[j];
        next[j] = isfinite(good) ? NAN : 0.5f;
        result = judge_gates();
        expect_failure_at(&result, j);
        next[j] = good;
    }
    next[6] = INFINITY;
    result = judge_gates();
    expect_failure_at(&result, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_maps),       cmocka_unit_test(test_wrong_outputs),
        cmocka_unit_test(test_wrong_terms),      cmocka_unit_test(test_maps_not_finite),
        cmocka_unit_test(test_plain_gates),      cmocka_unit_test(test_wrong_states),
        cmocka_unit_test(test_wrong_units),      cmocka_unit_test(test_stated_errors),
        cmocka_unit_test(test_gates_not_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
