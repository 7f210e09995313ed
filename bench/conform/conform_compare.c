/* SPDX-License-Identifier: MIT
 *
 * conform_compare.c: outputs against a suite's expectations.
 *
 * An infinity or NaN is right only where the same is expected. Errors are in units of the
 * tolerance, so that more than 1 is a failure whatever the type. */
#include "bench/conform/conform_problem.h"

#include "bench/half.h"
#include "bench/verify/compare.h"

#include <math.h>
#include <string.h>

bool sattn_conform_has_default_tolerance(const sattn_conform_test *test)
{
    return test->rtol == SATTN_CONFORM_ONNX_RTOL && test->atol == SATTN_CONFORM_ONNX_ATOL;
}

sattn_conform_tolerance sattn_conform_tolerance_of(const sattn_conform_test *test,
                                                   sattn_conform_output output)
{
    sattn_conform_tolerance tolerance = {.rtol = test->rtol, .atol = test->atol};
    if (output == SATTN_CONFORM_PRESENT_K || output == SATTN_CONFORM_PRESENT_V)
        return (sattn_conform_tolerance){0};
    if (sattn_conform_has_default_tolerance(test) && test->outputs[output].type != SATTN_NPY_F2)
        tolerance.rtol = SATTN_CONFORM_F32_RTOL;
    if (test->op == SATTN_CONFORM_LOG_SOFTMAX)
        tolerance.lse_tol = ldexp(1, -24); /* half a unit in the last place of an f32 */
    return tolerance;
}

static double ratio_of(double got, double want, double tolerance)
{
    const sattn_float_class of_got = sattn_classify_f64(got), of_want = sattn_classify_f64(want);
    if (of_got != SATTN_CLASS_FINITE || of_want != SATTN_CLASS_FINITE)
        return of_got == of_want ? 0 : INFINITY;
    const double error = fabs(got - want);
    if (error == 0)
        return 0;
    return tolerance > 0 ? error / tolerance : INFINITY;
}

static void record(sattn_conform_result *result, const sattn_conform_tensor *tensor, int64_t n,
                   const sattn_conform_place *place, double ratio)
{
    const bool is_first = result->n_elements == 0;
    ++result->n_elements;
    result->n_failed += !(ratio <= 1);
    if (!is_first && !(ratio > result->worst))
        return;
    result->worst = ratio;
    result->at = *place;
    for (int axis = tensor->rank; axis-- > 0; n /= tensor->shape[axis])
        result->at.index[axis] = n % tensor->shape[axis];
}

/* `got` are floats; they are rounded to the type that is expected. */
static void compare_floats(const sattn_conform_problem *problem, sattn_conform_output output,
                           const float *got, sattn_conform_result *result)
{
    const sattn_conform_tensor *const want = &problem->test->outputs[output];
    const sattn_conform_tensor *const x = &problem->test->inputs[SATTN_CONFORM_X];
    const sattn_conform_tolerance tolerance = sattn_conform_tolerance_of(problem->test, output);
    const bool is_half = want->type == SATTN_NPY_F2;
    for (int64_t n = 0; n < want->n_elements; ++n) {
        sattn_conform_place place = {.output = output};
        place.got = (double)(is_half ? sattn_half_widen(sattn_half_round(got[n])) : got[n]);
        place.want = sattn_conform_element(want, n);
        place.tolerance = tolerance.atol;
        if (isfinite(place.want))
            place.tolerance += tolerance.rtol * fabs(place.want);
        if (tolerance.lse_tol > 0)
            place.tolerance += tolerance.lse_tol * fabs(sattn_conform_element(x, n) - place.want);
        record(result, want, n, &place, ratio_of(place.got, place.want, place.tolerance));
    }
}

/* Bits are copied, so bits are compared. */
static void compare_bits(const sattn_conform_tensor *want, sattn_conform_output output,
                         const void *got, sattn_conform_result *result)
{
    const size_t size = sattn_npy_size(want->type);
    sattn_conform_tensor of_got = *want;
    of_got.data = (void *)(uintptr_t)got;
    for (int64_t n = 0; n < want->n_elements; ++n) {
        const bool same = memcmp((const char *)got + (size_t)n * size,
                                 (const char *)want->data + (size_t)n * size, size) == 0;
        sattn_conform_place place = {.output = output,
                                     .got = sattn_conform_element(&of_got, n),
                                     .want = sattn_conform_element(want, n)};
        record(result, want, n, &place, same ? 0 : (double)INFINITY);
    }
}

sattn_conform_result sattn_conform_compare(const sattn_conform_problem *problem, bool with_qk)
{
    sattn_conform_result result = {0};
    const sattn_conform_tensor *const outputs = problem->test->outputs;
    compare_floats(problem, SATTN_CONFORM_Y, problem->y, &result);
    if (with_qk && problem->has_qk)
        compare_floats(problem, SATTN_CONFORM_QK, problem->qk, &result);
    for (int which = 0; which < 2; ++which)
        if (problem->present[which])
            compare_bits(&outputs[SATTN_CONFORM_PRESENT_K + which],
                         (sattn_conform_output)(SATTN_CONFORM_PRESENT_K + which),
                         problem->present[which], &result);
    return result;
}

bool sattn_conform_passed(const sattn_conform_result *result)
{
    return result->n_elements > 0 && result->n_failed == 0;
}
