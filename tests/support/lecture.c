/* SPDX-License-Identifier: MIT
 *
 * lecture.c: see lecture.h. */
#include "tests/support/lecture.h"

#include "bench/verify/npy.h"
#include "tests/support/harness.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- arrays */

enum { ARRAYS_MAX = 4096 };
static sattn_npy arrays[ARRAYS_MAX];
static int n_arrays;

static const sattn_npy *read_array(const lecture_case *c, const char *array, sattn_npy_type type,
                                   int64_t *shape)
{
    char path[512], error[512];
    snprintf(path, sizeof path, "%s/%s/%s/%s.npy", SATTN_LECTURE_DIR, c->system, c->name, array);
    sattn_npy *const npy = &arrays[n_arrays];
    if (n_arrays == ARRAYS_MAX || !sattn_npy_read(path, type, -1, npy, error, sizeof error)) {
        fprintf(stderr, "FAIL: %s\n", n_arrays == ARRAYS_MAX ? "too many arrays" : error);
        exit(1);
    }
    ++n_arrays;
    for (int axis = 0; shape && axis < npy->rank; ++axis)
        shape[axis] = npy->shape[axis];
    return npy;
}

const float *lecture_floats(const lecture_case *c, const char *array, int64_t *shape)
{
    return read_array(c, array, SATTN_NPY_F4, shape)->data;
}

const double *lecture_doubles(const lecture_case *c, const char *array, int64_t *shape)
{
    return read_array(c, array, SATTN_NPY_F8, shape)->data;
}

const int64_t *lecture_integers(const lecture_case *c, const char *array, int64_t *shape)
{
    return read_array(c, array, SATTN_NPY_I8, shape)->data;
}

static void free_arrays_to(int mark)
{
    while (n_arrays > mark)
        sattn_npy_free(&arrays[--n_arrays]);
}

/* ---- verdicts */

void lecture_fail(lecture_test *test, const lecture_case *c, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    ++test->n_failures;
    fprintf(stderr, "FAIL: isa %s, kernels %s, %s/%s: ", test->isa,
            test->kernels ? test->kernels : "chosen", c->system, c->name);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    va_end(list);
}

bool lecture_succeeds(lecture_test *test, const lecture_case *c, sattn_status status)
{
    if (status == SATTN_OK)
        return true;
    lecture_fail(test, c, "%s: %s", sattn_status_string(status), sattn_last_error());
    return false;
}

void lecture_compare(lecture_test *test, const lecture_case *c, const char *array,
                     const bounded *want, const float *got)
{
    const int64_t n = want->rows * want->columns;
    int64_t shape[SATTN_NPY_RANK_MAX] = {0};
    const double *const golden = lecture_doubles(c, array, shape);
    for (int64_t i = 0; i < n; ++i)
        if (!(fabs(golden[i] - want->value[i]) <= 1e-11 * (1 + fabs(golden[i])))) {
            lecture_fail(test, c, "%s[%lld]: the equations give %.17g, the golden value is %.17g",
                         array, (long long)i, want->value[i], golden[i]);
            return;
        }
    const int64_t at = bounded_compare(want, got, &test->worst);
    test->n_compared += n;
    if (at >= 0)
        lecture_fail(test, c, "%s[%lld] is %.9g instead of %.17g: %g off, at most %g is explained",
                     array, (long long)at, (double)got[at], want->value[at],
                     fabs((double)got[at] - want->value[at]), want->error[at]);
}

/* ---- the program */

static bool is_of_layers(const char *op)
{
    static const char *const ops[] = {"linear", "additive", "gru",     "tanh",
                                      "fused",  "qk",       "softmax", "av"};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; ++i)
        if (strcmp(op, ops[i]) == 0)
            return true;
    return false;
}

static bool run_variant(const char *isa, const char *kernels, void (*run)(lecture_test *test))
{
    lecture_test test = {
        .isa = isa, .kernels = kernels, .options = {.isa = isa, .kernels = kernels}};
    const void *const mark = bounded_mark();
    const int array_mark = n_arrays;
    run(&test);
    bounded_free_to(mark);
    free_arrays_to(array_mark);
    printf("isa %s, %s: %lld numbers compared, at most %.2g of a bound used, %lld failures\n", isa,
           kernels ? kernels : "kernels as chosen", (long long)test.n_compared, test.worst,
           (long long)test.n_failures);
    if (test.n_compared == 0)
        fprintf(stderr, "FAIL: nothing was compared\n");
    return test.n_failures == 0 && test.n_compared > 0;
}

int lecture_main(int argc, char **argv, void (*prepare)(void), void (*run)(lecture_test *test))
{
    size_t count;
    const sattn_kernel_info *const kernels = sattn_kernels(&count);
    if (argc != 2 || strncmp(argv[1], "--isa=", 6) != 0) {
        fprintf(stderr, "usage: %s --isa=NAME\n", argv[0]);
        return 2;
    }
    const char *const isa = argv[1] + 6;
    bool is_usable = false, all_well = true;
    for (size_t i = 0; i < count; ++i)
        is_usable = is_usable || (kernels[i].usable && strcmp(kernels[i].isa, isa) == 0);
    if (!is_usable) {
        printf("skipped: this CPU cannot run %s\n", isa);
        return 77;
    }
    if (prepare)
        prepare();
    all_well = run_variant(isa, NULL, run);
    for (size_t i = 0; i < count; ++i)
        if (strcmp(kernels[i].isa, isa) == 0 && is_of_layers(kernels[i].op))
            all_well = run_variant(isa, kernels[i].name, run) && all_well;
    bounded_free_to(NULL);
    free_arrays_to(0);
    return all_well ? 0 : 1;
}

/* ---- weights */

sattn_linear_weights lecture_weights(const float *w, int64_t n_out, int64_t n_in, const float *bias)
{
    return (sattn_linear_weights){
        .n_in = n_in, .n_out = n_out, .w = {.data = w, .stride_t = n_in}, .bias = bias};
}

bounded_map lecture_map(const sattn_linear_weights *weights)
{
    return (bounded_map){.w = weights->w.data,
                         .bias = weights->bias,
                         .n_in = weights->n_in,
                         .n_out = weights->n_out,
                         .stride = weights->w.stride_t};
}
