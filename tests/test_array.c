/* SPDX-License-Identifier: MIT
 *
 * test_array.c: one exp, tanh or sigmoid kernel against the kernel contract (kernels/contract.h):
 * every length, between guard pages and at any alignment, in place, special values, and an
 * element's bits wherever it stands. How exact they are over all floats is test_sweep.c's question.
 */
#include "tests/support/buffers.h"
#include "tests/support/claim.h"
#include "tests/support/math_reference.h"

#include <stdio.h>
#include <stdlib.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { MOST = 1 << 17 };

/* Arguments of every kind: of a size where the function is neither 1 nor at an end, and any bits.
 */
static float random_argument(test_random *random)
{
    const uint32_t bits = (uint32_t)test_random_below(random, (int64_t)1 << 32);
    if (bits % 4 == 0)
        return math_float(bits * 2654435761u);
    const uint32_t exponent = 127 - 14 + bits / 8 % 21;
    return math_float((bits & 4) << 29 | exponent << 23 | bits >> 9);
}

static void check_element(test_run *run, float x, float got, const char *what, int64_t i)
{
    const double want = math_reference(run->kernel->op, x);
    const double error = math_error(run->kernel->op, x, want, got);
    if (!(error <= sattn_kernel_stated_ulp(run->kernel)))
        test_fail(run, "%s, element %lld: of %a (%.9g) %.9g instead of %.9g, %g ULP off", what,
                  (long long)i, (double)x, (double)x, (double)got, want, error);
}

/* The bits that the kernel gives this argument alone; 1 for a NaN. */
static uint32_t bits_alone(const sattn_kernel *kernel, float x)
{
    float y = -1;
    math_call(kernel, &x, &y, 1);
    return math_is_nan(y) ? 1 : math_bits(y);
}

static void check_alone(test_run *run, const float *x, const float *y, int64_t n, const char *what)
{
    for (int64_t i = 0; i < n; ++i) {
        const uint32_t got = math_is_nan(y[i]) ? 1 : math_bits(y[i]);
        const uint32_t alone = bits_alone(run->kernel, x[i]);
        if (got != alone)
            test_fail(run, "%s: element %lld of %lld, %a, has bits %08x; alone %08x", what,
                      (long long)i, (long long)n, (double)x[i], (unsigned)got, (unsigned)alone);
    }
}

/* n numbers between guard pages, out of place and in place. */
static void check_array(test_run *run, int64_t n, test_placement placement, size_t x_off,
                        size_t y_off)
{
    const test_extents extents = {.n_groups = 1,
                                  .n_rows = 1,
                                  .n_columns = n,
                                  .group_stride = n,
                                  .row_stride = n,
                                  .element_size = sizeof(float)};
    test_operand x = test_operand_make(&extents, placement, x_off);
    test_operand y = test_operand_make(&extents, placement, y_off);
    test_random random = {.seed = test_step_seed(run)};
    for (int64_t i = 0; i < n; ++i)
        test_operand_f32(&x, 0, 0)[i] = random_argument(&random);
    test_operand_seal(&x);
    test_operand_seal(&y);
    math_call(run->kernel, test_operand_f32(&x, 0, 0), test_operand_f32(&y, 0, 0), n);
    int64_t at;
    if (!test_operand_is_unchanged(&x, &at))
        test_fail(run, "wrote to its input or beside it, at byte %lld of it", (long long)at);
    for (int64_t i = 0; i < n; ++i)
        check_element(run, test_operand_f32(&x, 0, 0)[i], test_operand_f32(&y, 0, 0)[i], "array",
                      i);
    check_alone(run, test_operand_f32(&x, 0, 0), test_operand_f32(&y, 0, 0), n, "array");
    test_operand_accept(&y, 0, 1);
    if (!test_operand_is_unchanged(&y, &at))
        test_fail(run, "wrote outside its output, at byte %lld of it", (long long)at);

    math_call(run->kernel, test_operand_f32(&x, 0, 0), test_operand_f32(&x, 0, 0), n);
    if (n > 0 && memcmp(test_operand_f32(&x, 0, 0), test_operand_f32(&y, 0, 0),
                        (size_t)n * sizeof(float)) != 0)
        test_fail(run, "%lld numbers in place give other bits", (long long)n);
    test_operand_accept(&x, 0, 1);
    if (!test_operand_is_unchanged(&x, &at))
        test_fail(run, "in place, wrote outside, at byte %lld of it", (long long)at);
    test_operand_free(&x);
    test_operand_free(&y);
}

static void test_lengths(test_run *run)
{
    const int64_t most = 3 * (run->kernel->tile_d > 16 ? run->kernel->tile_d : 16) + 3;
    for (int64_t n = 0; n <= most; ++n)
        for (int side = 0; side < 2; ++side)
            if (test_step(run, TEST_SAMPLED))
                check_array(run, n, side ? TEST_START_FLUSH : TEST_END_FLUSH, 0, 0);
}

static void test_alignment(test_run *run)
{
    for (size_t x_off = 0; x_off < 64; x_off += 4)
        for (size_t y_off = 0; y_off < 64; y_off += 12)
            if (test_step(run, TEST_SAMPLED))
                check_array(run, 77 + run->kernel->tile_d, TEST_END_FLUSH, x_off, y_off);
}

static void test_long(test_run *run)
{
    if (!test_step(run, TEST_ALWAYS))
        return;
    const int64_t n = run->divisor >= 10 ? MOST / 16 + 5 : MOST + 5;
    float *const x = test_allocate((size_t)n * sizeof(float));
    float *const y = test_allocate((size_t)n * sizeof(float));
    test_random random = {.seed = test_step_seed(run)};
    for (int64_t i = 0; i < n; ++i)
        x[i] = random_argument(&random);
    math_call(run->kernel, x, y, n);
    for (int64_t i = 0; i < n; ++i)
        check_element(run, x[i], y[i], "long array", i);
    check_alone(run, x, y, n, "long array");
    free(x);
    free(y);
}

/* ---- special values */

typedef struct special {
    float x, y; /* y NaN: any NaN */
} special;

/* What these give is exact, whatever rounding the kernel allows itself. 0x42b17218 is the first
 * float above ln FLT_MAX, 0xc2cff1b5 the first below ln 2^-150. */
static size_t special_values(sattn_op op, special list[32])
{
    static const special of_exp[] = {
        {0.0f, 1.0f},
        {-0.0f, 1.0f},
        {0x1p-149f, 1.0f},
        {-0x1p-149f, 1.0f},
        {0x1p-26f, 1.0f},
        {0x1.62e43p+6f, INFINITY},
        {88.73f, INFINITY},
        {89.0f, INFINITY},
        {128.0f, INFINITY},
        {1e4f, INFINITY},
        {FLT_MAX, INFINITY},
        {INFINITY, INFINITY},
        {-0x1.9fe36ap+6f, 0.0f},
        {-104.0f, 0.0f},
        {-105.0f, 0.0f},
        {-150.0f, 0.0f},
        {-1e4f, 0.0f},
        {-1e30f, 0.0f},
        {-FLT_MAX, 0.0f},
        {-INFINITY, 0.0f},
    };
    static const special of_tanh[] = {
        {0.0f, 0.0f},       {-0.0f, -0.0f},       {0x1p-149f, 0x1p-149f}, {-0x1p-149f, -0x1p-149f},
        {FLT_MIN, FLT_MIN}, {-FLT_MIN, -FLT_MIN}, {9.1f, 1.0f},           {-9.1f, -1.0f},
        {20.0f, 1.0f},      {-89.0f, -1.0f},      {1e30f, 1.0f},          {FLT_MAX, 1.0f},
        {-FLT_MAX, -1.0f},  {INFINITY, 1.0f},     {-INFINITY, -1.0f},
    };
    static const special of_sigmoid[] = {
        {0.0f, 0.5f},     {-0.0f, 0.5f},     {0x1p-149f, 0.5f},       {-0x1p-149f, 0.5f},
        {0x1p-26f, 0.5f}, {-0x1p-26f, 0.5f}, {20.0f, 1.0f},           {89.0f, 1.0f},
        {104.0f, 1.0f},   {1e30f, 1.0f},     {FLT_MAX, 1.0f},         {INFINITY, 1.0f},
        {-104.0f, 0.0f},  {-105.0f, 0.0f},   {-0x1.9fe36ap+6f, 0.0f}, {-150.0f, 0.0f},
        {-1e30f, 0.0f},   {-FLT_MAX, 0.0f},  {-INFINITY, 0.0f},
    };
    static const struct {
        const special *values;
        size_t n;
    } of[SATTN_OP_COUNT] = {[SATTN_OP_exp] = {of_exp, COUNT(of_exp)},
                            [SATTN_OP_tanh] = {of_tanh, COUNT(of_tanh)},
                            [SATTN_OP_sigmoid] = {of_sigmoid, COUNT(of_sigmoid)}};
    if (of[op].values)
        memcpy(list, of[op].values, of[op].n * sizeof list[0]);
    return of[op].n;
}

/* Each in every place of an array of ones. */
static void check_special(test_run *run, float x, float want)
{
    enum { N = 2 * 64 + 5 };
    float in[N], out[N];
    for (int64_t place = 0; place < N; ++place) {
        for (int64_t i = 0; i < N; ++i)
            in[i] = 1.0f;
        in[place] = x;
        math_call(run->kernel, in, out, N);
        const bool is_right =
            math_is_nan(want) ? math_is_nan(out[place]) : math_bits(out[place]) == math_bits(want);
        if (!is_right)
            test_fail(run, "of %a, in place %lld: %a instead of %a", (double)x, (long long)place,
                      (double)out[place], (double)want);
        for (int64_t i = 0; i < N; ++i)
            if (i != place)
                check_element(run, in[i], out[i], "beside a special value", i);
    }
}

static void test_specials(test_run *run)
{
    special list[32];
    const size_t n = special_values(run->kernel->op, list);
    for (size_t i = 0; i < n; ++i)
        if (test_step(run, TEST_ALWAYS))
            check_special(run, list[i].x, list[i].y);
    static const uint32_t nans[] = {0x7fc00000u, 0xffc00000u, 0x7fc00001u, 0x7f800001u,
                                    0xff812345u, 0x7fffffffu, 0xffffffffu, 0x7fc001ffu};
    for (size_t i = 0; i < COUNT(nans); ++i)
        if (test_step(run, TEST_ALWAYS))
            check_special(run, math_float(nans[i]), NAN);
}

/* Floats of which the bits are in [first, end), their results in [0, 1]. */
static void check_between(test_run *run, uint32_t first, uint32_t end)
{
    static float x[4096], y[4096];
    const uint32_t step = run->divisor >= 10 ? 97 : 1;
    for (uint32_t bits = first; bits < end;) {
        int n = 0;
        for (; n < 4096 && bits < end; bits += step)
            x[n++] = math_float(bits);
        math_call(run->kernel, x, y, n);
        for (int i = 0; i < n; ++i) {
            check_element(run, x[i], y[i], "at the end of the range", i);
            if (!(fabsf(y[i]) <= 1) || signbit(y[i]))
                test_fail(run, "of %a: %a", (double)x[i], (double)y[i]);
        }
    }
}

/* Around the ends of exp's range and across its subnormal results, which are those of sigmoid too,
 * and where tanh and sigmoid become 1: the error is as claimed, results do not leave [0, inf] and
 * [-1, 1], and exp's last results are the ones that are due. */
static void test_ends(test_run *run)
{
    static const struct {
        float x, exp;
    } last[] = {{-87.33654f, 0x1.00004cp-126f},
                {-100.0f, 0x1.bp-145f},
                {-103.97f, 0x1p-149f},
                {88.72283f, 0x1.ffff08p+127f}};
    const sattn_op op = run->kernel->op;
    if (!test_step(run, TEST_ALWAYS))
        return;
    if (op != SATTN_OP_tanh)
        check_between(run, 0xc2ae0000u, 0xc2d20000u); /* -87 to -105 */
    if (op == SATTN_OP_tanh)
        check_between(run, 0x41080000u, 0x41180000u); /* 8.5 to 9.5 */
    if (op == SATTN_OP_sigmoid)
        check_between(run, 0x41800000u, 0x41900000u); /* 16 to 18 */
    const size_t n = op == SATTN_OP_exp ? COUNT(last) : op == SATTN_OP_sigmoid ? 3 : 0;
    for (size_t i = 0; i < n; ++i) {
        float got = -1;
        math_call(run->kernel, &last[i].x, &got, 1);
        if (!(fabs((double)got - (double)last[i].exp) <= math_ulp((double)last[i].exp)))
            test_fail(run, "of %.9g: %a, not about %a", (double)last[i].x, (double)got,
                      (double)last[i].exp);
    }
}

/* ---- floating-point control */

/* With flushing on, numbers below FLT_MIN may count as 0, as arguments and as results; nothing else
 * may change, and the control word is as before. */
static void test_fp_state(test_run *run)
{
    enum { N = 4096 };
    static float x[N], plain[N], flushed[N];
    const uint64_t before = test_fp_control();
    if (!test_step(run, TEST_ALWAYS))
        return;
    test_random random = {.seed = test_step_seed(run)};
    for (int i = 0; i < N; ++i)
        x[i] = i % 4 ? random_argument(&random)
                     : (float)(-105 + 20 * (double)i / (double)N); /* subnormal results */
    math_call(run->kernel, x, plain, N);
    const uint64_t after = test_fp_control();
    test_fp_control_set(test_fp_control_flushing());
    const uint64_t flushing = test_fp_control(); /* an emulated CPU may not hold all of it */
    math_call(run->kernel, x, flushed, N);
    const uint64_t after_flushing = test_fp_control();
    test_fp_control_set(before);
    if (after != before || after_flushing != flushing)
        test_fail(run, "the floating-point control word was changed");
    for (int i = 0; i < N; ++i) {
        const bool same = math_bits(plain[i]) == math_bits(flushed[i]) ||
                          (math_is_nan(plain[i]) && math_is_nan(flushed[i]));
        const double off = fabs((double)plain[i] - (double)flushed[i]);
        if (!same && !(off <= (double)FLT_MIN))
            test_fail(run, "with flushing on, %a gives %a instead of %a", (double)x[i],
                      (double)flushed[i], (double)plain[i]);
    }
}

int main(int argc, char **argv)
{
    static const test_group groups[] = {
        {"claim", test_claim},       {"lengths", test_lengths},   {"alignment", test_alignment},
        {"long", test_long},         {"specials", test_specials}, {"ends", test_ends},
        {"fp-state", test_fp_state},
    };
    return test_main_of(argc, argv, math_op_of(argc, argv), groups,
                        sizeof groups / sizeof groups[0]);
}
