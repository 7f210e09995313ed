/* SPDX-License-Identifier: MIT
 *
 * test_conform.c: what `simdattn conform` stands on: half precision, the comparison, and a call
 * made from a test. tests/conform_program.cmake has the manifests. */
#include "bench/conform/conform.h"
#include "bench/half.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- half precision */

/* By definition: sign, exponent and fraction of binary16. */
static double half_value(unsigned bits)
{
    const double sign = bits & 0x8000 ? -1 : 1;
    const int exponent = (int)(bits >> 10 & 0x1f), fraction = (int)(bits & 0x3ff);
    if (exponent == 0x1f)
        return fraction ? (double)NAN : sign * (double)INFINITY;
    return exponent ? sign * ldexp(1024 + fraction, exponent - 25) : sign * ldexp(fraction, -24);
}

static void test_half_widen(void **state)
{
    (void)state;
    for (unsigned bits = 0; bits < 0x10000; ++bits) {
        const float got = sattn_half_widen((uint16_t)bits);
        const double want = half_value(bits);
        if (isnan(want)) {
            assert_true(isnan(got) && isnan(sattn_half_widen(sattn_half_round(got))));
            continue;
        }
        assert_true((double)got == want && !signbit(got) == !(bits & 0x8000));
        assert_int_equal(sattn_half_round(got), bits);
    }
}

/* Between two neighbours: at the middle to the even one, beside it to the nearer. */
static void test_half_round(void **state)
{
    (void)state;
    for (unsigned bits = 0; bits < 0x7c00; ++bits) {
        const double low = half_value(bits);
        const double high = bits == 0x7bff ? 65536 : half_value(bits + 1);
        const float middle = (float)((low + high) / 2);
        const unsigned even = bits & 1 ? bits + 1 : bits;
        assert_int_equal(sattn_half_round(middle), even);
        assert_int_equal(sattn_half_round(-middle), even | 0x8000);
        assert_int_equal(sattn_half_round(nextafterf(middle, 0)), bits);
        assert_int_equal(sattn_half_round(nextafterf(middle, INFINITY)), bits + 1);
    }
    assert_int_equal(sattn_half_round(1e30f), 0x7c00);
    assert_int_equal(sattn_half_round(-INFINITY), 0xfc00);
    assert_int_equal(sattn_half_round(1e-30f), 0);
    assert_int_equal(sattn_half_round(-1e-45f), 0x8000);
}

/* ---- the comparison */

/* One number that is expected, one that is got. */
static sattn_conform_result compare(sattn_conform_test *test, float want, float got)
{
    sattn_conform_problem problem = {.test = test, .y = &got, .n_y = 1};
    sattn_conform_tensor *const y = &test->outputs[SATTN_CONFORM_Y];
    const uint16_t half = sattn_half_round(want);
    uint16_t half_memory = half;
    y->rank = 1;
    y->shape[0] = y->n_elements = 1;
    y->data = y->type == SATTN_NPY_F2 ? (void *)&half_memory : (void *)&want;
    return sattn_conform_compare(&problem, true);
}

static void test_compare(void **state)
{
    (void)state;
    sattn_conform_test test = {.op = SATTN_CONFORM_ATTENTION, .rtol = 0.25, .atol = 0.5};
    test.outputs[SATTN_CONFORM_Y].type = SATTN_NPY_F4;
    sattn_conform_result result = compare(&test, 2, 3);
    assert_true(sattn_conform_passed(&result) && result.worst == 1);
    result = compare(&test, 2, 3.5f);
    assert_true(!sattn_conform_passed(&result) && result.worst == 1.5);
    assert_true(result.at.got == 3.5 && result.at.want == 2 && result.at.tolerance == 1);
    static const struct {
        float want, got;
        bool good;
    } cases[] = {{NAN, NAN, true},
                 {NAN, 0, false},
                 {0, NAN, false},
                 {INFINITY, 1e30f, false},
                 {1, INFINITY, false},
                 {INFINITY, INFINITY, true},
                 {INFINITY, -INFINITY, false},
                 {-INFINITY, -INFINITY, true},
                 {-INFINITY, NAN, false}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; ++c) {
        result = compare(&test, cases[c].want, cases[c].got);
        assert_int_equal(sattn_conform_passed(&result), cases[c].good);
    }
    test.rtol = test.atol = 0;
    result = compare(&test, 1, 1);
    assert_true(sattn_conform_passed(&result));
    result = compare(&test, 1, nextafterf(1, 2));
    assert_true(!sattn_conform_passed(&result) && isinf(result.worst));

    /* having compared nothing is no pass */
    const sattn_conform_result nothing = {0};
    assert_false(sattn_conform_passed(&nothing));
}

/* ONNX's tolerance is kept for f16 and tightened for f32; a test's own is kept for both. */
static void test_tolerances(void **state)
{
    (void)state;
    sattn_conform_test test = {.op = SATTN_CONFORM_ATTENTION, .rtol = 1e-3, .atol = 1e-7};
    test.outputs[SATTN_CONFORM_Y].type = SATTN_NPY_F4;
    assert_true(sattn_conform_tolerance_of(&test, SATTN_CONFORM_Y).rtol == 2e-6);
    test.outputs[SATTN_CONFORM_Y].type = SATTN_NPY_F8;
    assert_true(sattn_conform_tolerance_of(&test, SATTN_CONFORM_Y).rtol == 2e-6);
    test.outputs[SATTN_CONFORM_Y].type = SATTN_NPY_F2;
    assert_true(sattn_conform_tolerance_of(&test, SATTN_CONFORM_Y).rtol == 1e-3);
    sattn_conform_result result = compare(&test, 1, 1.0004f); /* rounds to 1 */
    assert_true(result.worst == 0);
    result = compare(&test, 1, 1.0014f);
    assert_true(result.worst > 0.9 && sattn_conform_passed(&result)); /* 1 + 2^-10 */
    result = compare(&test, 1, 1.0016f);
    assert_false(sattn_conform_passed(&result)); /* 1 + 2^-9 */
    test.atol = 1e-6;
    test.outputs[SATTN_CONFORM_Y].type = SATTN_NPY_F4;
    assert_true(sattn_conform_tolerance_of(&test, SATTN_CONFORM_Y).rtol == 1e-3);
    assert_true(sattn_conform_tolerance_of(&test, SATTN_CONFORM_PRESENT_K).rtol == 0 &&
                sattn_conform_tolerance_of(&test, SATTN_CONFORM_PRESENT_K).atol == 0);
}

/* ---- a call made from a test */

static sattn_conform_suite onnx;

static sattn_conform_problem open_test(const char *name)
{
    sattn_conform_problem problem = {0};
    char why[SATTN_CONFORM_TEXT_SIZE] = "no such test";
    for (size_t t = 0; t < onnx.n_tests; ++t)
        if (strcmp(onnx.tests[t].name, name) == 0 &&
            sattn_conform_problem_open(&problem, &onnx.tests[t], why, sizeof why))
            return problem;
    fail_msg("%s: %s", name, why);
    abort(); /* not reached; cmocka does not say so */
}

static bool has(const sattn_conform_problem *problem, sattn_conform_adapter adapter)
{
    return problem->adapters >> adapter & 1;
}

/* What both interfaces have is handed on as it is, without a copy. */
static void test_native(void **state)
{
    (void)state;
    sattn_conform_problem problem = open_test("test_attention_3d_gqa_causal");
    const sattn_attention_args *const a = &problem.args;
    assert_ptr_equal(a->q.data, problem.test->inputs[SATTN_CONFORM_Q].data);
    assert_ptr_equal(a->k.data, problem.test->inputs[SATTN_CONFORM_K].data);
    assert_true(a->q.stride_b == 4 * 9 * 8 && a->q.stride_h == 8 && a->q.stride_t == 9 * 8);
    assert_true(a->k.stride_b == 6 * 3 * 8 && a->k.stride_h == 8 && a->k.stride_t == 3 * 8);
    assert_true(a->n_q_heads == 9 && a->n_kv_heads == 3 && a->causal && !a->has_scale);
    assert_true(a->causal_offset[0] == 0 && a->causal_offset[1] == 0 && !a->n_k_valid);
    assert_int_equal(problem.adapters, 1u << SATTN_CONFORM_HEADS_BY_STRIDES);
    sattn_conform_problem_close(&problem);

    problem = open_test("test_attention_local_window_ext_cache_rank2_mask");
    const int64_t *const nonpad = problem.test->inputs[SATTN_CONFORM_NONPAD].data;
    assert_ptr_equal(a->n_k_valid, nonpad);
    assert_true(a->causal_offset[0] == nonpad[0] - 4 && a->causal_offset[1] == nonpad[1] - 4);
    assert_true(a->has_window && a->window_left == 2 && a->window_right == -1);
    assert_ptr_equal(a->mask.data, problem.test->inputs[SATTN_CONFORM_MASK].data);
    assert_true(a->mask.extent[0] == 1 && a->mask.extent[1] == 1 && a->mask.extent[2] == 1 &&
                a->mask.extent[3] == 8);
    assert_int_equal(problem.adapters, 1u << SATTN_CONFORM_MASK_RANK);
    sattn_conform_problem_close(&problem);

    problem = open_test("test_attention_local_window_with_past");
    assert_true(a->causal_offset[0] == 8 && a->n_k == 10);
    assert_true(has(&problem, SATTN_CONFORM_PAST_JOINED));
    assert_ptr_equal(problem.present[0], a->k.data);
    sattn_conform_problem_close(&problem);
}

static int read_onnx(void **state)
{
    char error[2 * SATTN_CONFORM_TEXT_SIZE];
    (void)state;
    if (sattn_conform_suite_read(SATTN_TEST_DATA "/onnx-attention", &onnx, error, sizeof error))
        return 0;
    print_error("%s\n", error);
    return 1;
}

static int free_onnx(void **state)
{
    (void)state;
    sattn_conform_suite_free(&onnx);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_half_widen), cmocka_unit_test(test_half_round),
        cmocka_unit_test(test_compare),    cmocka_unit_test(test_tolerances),
        cmocka_unit_test(test_native),
    };
    return cmocka_run_group_tests(tests, read_onnx, free_onnx);
}
