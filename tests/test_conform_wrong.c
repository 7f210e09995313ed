/* SPDX-License-Identifier: MIT
 *
 * test_conform_wrong.c: what the conformance suites of Attention are worth. Each of many wrong
 * calls and wrong computations has to be caught by at least one test of our own suite; how many
 * tests of ONNX's catch it is told beside. Nothing right may be caught. */
#include "tests/support/wrong_attention.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static sattn_conform_suite onnx, own;

static void open_problem(sattn_conform_problem *problem, const sattn_conform_test *test)
{
    char why[SATTN_CONFORM_TEXT_SIZE];
    if (!sattn_conform_problem_open(problem, test, why, sizeof why))
        fail_msg("%s: %s", test->name, why);
}

/* Tests of the suite that the wrong call fails. */
static int count_call(const sattn_conform_suite *suite, const wrong_call *call)
{
    int caught = 0;
    for (size_t t = 0; t < suite->n_tests; ++t) {
        sattn_conform_problem problem;
        open_problem(&problem, &suite->tests[t]);
        const sattn_options options = {.plan = problem.has_qk ? "chain" : NULL};
        if (!call || call->spoil(&problem)) {
            if (sattn_conform_problem_run(&problem, true, &options) != SATTN_OK)
                fail_msg("%s: %s: %s", suite->tests[t].name, call ? call->name : "",
                         sattn_last_error());
            const sattn_conform_result result = sattn_conform_compare(&problem, true);
            caught += !sattn_conform_passed(&result);
        }
        sattn_conform_problem_close(&problem);
    }
    return caught;
}

static int count_step(const sattn_conform_suite *suite, wrong_step step)
{
    int caught = 0;
    for (size_t t = 0; t < suite->n_tests; ++t) {
        sattn_conform_problem problem;
        open_problem(&problem, &suite->tests[t]);
        assert_true(wrong_attention(&problem, step));
        const sattn_conform_result result = sattn_conform_compare(&problem, true);
        if (!sattn_conform_passed(&result)) {
            ++caught;
            if (step == RIGHT)
                print_error("%s: output %d, got %g, want %g\n", suite->tests[t].name,
                            result.at.output, result.at.got, result.at.want);
        }
        sattn_conform_problem_close(&problem);
    }
    return caught;
}

static int n_wrong, n_missed_by_onnx, n_missed_by_own;

static void tell(const char *name, int by_onnx, int by_own)
{
    printf("  %-56s %4d %4d%s\n", name, by_onnx, by_own, by_onnx ? "" : "  not by ONNX's");
    ++n_wrong;
    n_missed_by_onnx += by_onnx == 0;
    n_missed_by_own += by_own == 0;
}

static void test_right(void **state)
{
    (void)state;
    assert_int_equal(count_call(&onnx, NULL), 0);
    assert_int_equal(count_call(&own, NULL), 0);
    assert_int_equal(count_step(&onnx, RIGHT), 0);
    assert_int_equal(count_step(&own, RIGHT), 0);
}

static void test_wrong(void **state)
{
    (void)state;
    printf("  %-56s ONNX  own\n", "wrong on purpose: caught by so many tests of");
    for (int c = 0; c < n_wrong_calls; ++c)
        tell(wrong_calls[c].name, count_call(&onnx, &wrong_calls[c]),
             count_call(&own, &wrong_calls[c]));
    for (int step = RIGHT + 1; step < WRONG_STEPS; ++step)
        tell(wrong_step_names[step], count_step(&onnx, (wrong_step)step),
             count_step(&own, (wrong_step)step));
    printf("  %d wrong variants; ONNX's tests miss %d, our own %d\n", n_wrong, n_missed_by_onnx,
           n_missed_by_own);
    assert_int_equal(n_missed_by_own, 0);
}

static int read_suite(const char *directory, sattn_conform_suite *suite)
{
    char error[2 * SATTN_CONFORM_TEXT_SIZE];
    if (sattn_conform_suite_read(directory, suite, error, sizeof error))
        return 0;
    fprintf(stderr, "%s\n", error);
    return 1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_right), cmocka_unit_test(test_wrong)};
    const int bad = read_suite(SATTN_TEST_DATA "/onnx-attention", &onnx) |
                    read_suite(SATTN_TEST_DATA "/own-attention", &own);
    const int failed = bad ? bad : cmocka_run_group_tests(tests, NULL, NULL);
    sattn_conform_suite_free(&onnx);
    sattn_conform_suite_free(&own);
    return failed;
}
