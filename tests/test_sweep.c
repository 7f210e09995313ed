/* SPDX-License-Identifier: MIT
 *
 * test_sweep.c: the error of one exp, tanh or sigmoid kernel over floats by the million, as a
 * histogram in ULP, with the worst input, the share that is correctly rounded, and the count of
 * each kind of result. It fails where an error exceeds the one that the kernel's registry row
 * claims. Of an additive kernel it is the tanh within: with one feature, q = -0 and v = 1, a score
 * is tanh(k).
 *
 * reduced   the inputs that matter (below): every one of them with the widest ISA of a machine that
 *           is not emulated; else a sample. All others: a sample.
 * edges     both ends and the middle of every exponent, with every kernel
 * bits      a hash over a fixed sample: our own kernels give the same bits on every ISA
 * full      all 2^32 floats; runs only if asked for: --group=full
 *
 * Where a result is so near the middle between two floats that double cannot tell which is right,
 * MPFR decides; without it such results count as undecided. */
#include "tests/support/harness.h"
#include "tests/support/math_reference.h"

#include <stdio.h>
#if SATTN_TEST_MPFR
#include <mpfr.h>
#endif

enum { BLOCK = 4096, PER_ULP = 4, N_BINS = 8 * PER_ULP };

typedef struct sweep {
    const sattn_kernel *kernel;
    uint64_t bins[N_BINS + 1]; /* the last one: 8 ULP and more */
    uint64_t n_inputs, n_right, n_undecided, n_uneven;
    uint64_t n_normal, n_subnormal, n_zero, n_infinite, n_nan; /* results */
    double worst, worst_subnormal;
    float worst_at, worst_subnormal_at, uneven_at;
} sweep;

/* The function that the kernel computes, or has within. */
static sattn_op function_of(const sattn_kernel *kernel)
{
    return kernel->op == SATTN_OP_additive ? SATTN_OP_tanh : kernel->op;
}

static void call(const sattn_kernel *kernel, const float *x, float *y, int n)
{
    static _Alignas(64) float scratch[1 << 16];
    static const float minus_zero = -0.0f, one = 1.0f;
    if (kernel->op != SATTN_OP_additive) {
        math_call(kernel, x, y, n);
        return;
    }
    const sattn_additive_args args = {.q = &minus_zero,
                                      .k = x,
                                      .v = &one,
                                      .s = y,
                                      .k_stride = 1,
                                      .i1 = 1,
                                      .j1 = n,
                                      .d = 1,
                                      .scratch = scratch};
    kernel->fn.additive(&args);
    for (int i = 0; i < n; ++i)
        if (x[i] == 0 && y[i] == 0)
            y[i] = x[i]; /* sums start from +0, which takes the sign of a zero */
}

/* ---- one block */

#if SATTN_TEST_MPFR
/* The function's value, rounded to the precision of `value`; returns on which side it lies. */
static int round_function(sattn_op op, mpfr_t value, const mpfr_t argument)
{
    if (op == SATTN_OP_exp)
        return mpfr_exp(value, argument, MPFR_RNDN);
    if (op == SATTN_OP_tanh)
        return mpfr_tanh(value, argument, MPFR_RNDN);
    mpfr_t wide; /* so wide that its own roundings decide nothing */
    mpfr_init2(wide, 256);
    mpfr_neg(wide, argument, MPFR_RNDN);
    mpfr_exp(wide, wide, MPFR_RNDN);
    mpfr_add_ui(wide, wide, 1, MPFR_RNDN);
    mpfr_ui_div(wide, 1, wide, MPFR_RNDN);
    const int ternary = mpfr_set(value, wide, MPFR_RNDN);
    mpfr_clear(wide);
    return ternary;
}

static bool is_right(sattn_op op, float x, float got)
{
    mpfr_t argument, value;
    mpfr_init2(argument, 24);
    mpfr_init2(value, 24);
    mpfr_set_flt(argument, x, MPFR_RNDN);
    int ternary = round_function(op, value, argument);
    /* The exponent range becomes that of float, and mpfr_subnormalize rounds once, knowing what the
     * rounding to 24 bits has done. */
    const mpfr_exp_t low = mpfr_get_emin(), high = mpfr_get_emax();
    mpfr_set_emin(-148);
    mpfr_set_emax(128);
    ternary = mpfr_check_range(value, ternary, MPFR_RNDN);
    mpfr_subnormalize(value, ternary, MPFR_RNDN);
    const bool right = mpfr_get_flt(value, MPFR_RNDN) == got;
    mpfr_clears(argument, value, (mpfr_ptr)0);
    mpfr_set_emin(low);
    mpfr_set_emax(high);
    return right;
}
#endif

static void count_rounding(sweep *s, float x, float got, double error)
{
    static const double band = 0x1p-20;
    if (error < 0.5 - band) {
        ++s->n_right;
    } else if (error <= 0.5 + band) {
#if SATTN_TEST_MPFR
        s->n_right += is_right(function_of(s->kernel), x, got);
#else
        (void)x;
        (void)got;
        ++s->n_undecided;
#endif
    }
}

static void count_result(sweep *s, float got)
{
    const uint32_t size = math_bits(got) & 0x7fffffffu;
    if (size - 0x00800000u < 0x7f000000u)
        ++s->n_normal;
    else if (size == 0)
        ++s->n_zero;
    else if (size < 0x00800000u)
        ++s->n_subnormal;
    else if (size == 0x7f800000u)
        ++s->n_infinite;
    else
        ++s->n_nan;
}

static void measure(sweep *s, const float *x, const double *want, const float *got, int n)
{
    const sattn_op op = function_of(s->kernel);
    for (int i = 0; i < n; ++i) {
        const double error = math_error(op, x[i], want[i], got[i]);
        ++s->bins[error < 8 ? (int)(error * (double)PER_ULP) : N_BINS];
        count_rounding(s, x[i], got[i], error);
        count_result(s, got[i]);
        if (fabs(want[i]) < (double)FLT_MIN) {
            if (error > s->worst_subnormal) {
                s->worst_subnormal = error;
                s->worst_subnormal_at = x[i];
            }
        } else if (error > s->worst) {
            s->worst = error;
            s->worst_at = x[i];
        }
    }
    s->n_inputs += (uint64_t)n;
}

/* Bit by bit, tanh(-x) = -tanh(x). */
static void check_odd(sweep *s, const float *x, const float *got, int n)
{
    static float mirrored[BLOCK];
    static float there[BLOCK];
    for (int i = 0; i < n; ++i)
        mirrored[i] = -x[i];
    call(s->kernel, mirrored, there, n);
    for (int i = 0; i < n; ++i) {
        const bool is_mirrored = (math_bits(got[i]) ^ math_bits(there[i])) == 0x80000000u;
        if (!is_mirrored && !math_is_nan(x[i])) {
            ++s->n_uneven;
            s->uneven_at = x[i];
        }
    }
}

static void sweep_block(sweep *s, const float *x, int n)
{
    static float got[BLOCK];
    static double want[BLOCK];
    const sattn_op op = function_of(s->kernel);
    call(s->kernel, x, got, n);
    for (int i = 0; i < n; ++i)
        want[i] = math_reference(op, x[i]);
    measure(s, x, want, got, n);
    if (op == SATTN_OP_tanh)
        check_odd(s, x, got, n);
}

/* Every stride-th float whose bits are in [first, end). */
static void sweep_bits(sweep *s, uint64_t first, uint64_t end, uint64_t stride)
{
    static float x[BLOCK];
    for (uint64_t at = first; at < end;) {
        int n = 0;
        for (; n < BLOCK && at < end; ++n, at += stride)
            x[n] = math_float((uint32_t)at);
        sweep_block(s, x, n);
    }
}

/* ---- report */

static double share(uint64_t part, uint64_t whole)
{
    return 100.0 * (double)part / (double)whole;
}

static void report(test_run *run, const sweep *s)
{
    const double claim = sattn_kernel_stated_ulp(s->kernel);
    printf("%s, %s: %llu floats", s->kernel->name, run->group, (unsigned long long)s->n_inputs);
    printf(": %llu results normal, %llu subnormal, %llu zero, %llu infinite, %llu NaN\n",
           (unsigned long long)s->n_normal, (unsigned long long)s->n_subnormal,
           (unsigned long long)s->n_zero, (unsigned long long)s->n_infinite,
           (unsigned long long)s->n_nan);
    printf("  worst %.8g ULP at %a (%.9g); row claims %.2f\n", s->worst, (double)s->worst_at,
           (double)s->worst_at, claim);
    if (s->worst_subnormal > 0)
        printf("  worst with a subnormal result %.8g ULP at %a (%.9g)\n", s->worst_subnormal,
               (double)s->worst_subnormal_at, (double)s->worst_subnormal_at);
    printf("  correctly rounded %.5f %%, undecided %llu\n", share(s->n_right, s->n_inputs),
           (unsigned long long)s->n_undecided);
    for (int bin = 0; bin <= N_BINS; ++bin)
        if (s->bins[bin])
            printf("  %5.2f%s ULP %12llu  %9.5f %%\n", bin / (double)PER_ULP,
                   bin == N_BINS ? " up  " : " to +", (unsigned long long)s->bins[bin],
                   share(s->bins[bin], s->n_inputs));
    if (!(s->worst <= claim))
        test_fail(run, "%g ULP at %a; the row claims %.2f", s->worst, (double)s->worst_at, claim);
    if (!(s->worst_subnormal <= claim))
        test_fail(run, "%g ULP at %a (subnormal result); the row claims %.2f", s->worst_subnormal,
                  (double)s->worst_subnormal_at, claim);
    if (s->n_uneven)
        test_fail(run, "tanh(-x) is not -tanh(x) for %llu x, one is %a",
                  (unsigned long long)s->n_uneven, (double)s->uneven_at);
}

/* ---- groups */

/* Whether nothing that runs here needs more than this kernel, and it is no compiler's. */
static bool is_widest(const sattn_kernel *kernel)
{
    size_t count;
    const sattn_kernel *const rows = sattn_registry(&count);
    const sattn_features usable = sattn_cpu_this()->usable;
    for (size_t i = 0; i < count; ++i)
        if (rows[i].op == kernel->op && !(rows[i].needs & ~usable) &&
            (rows[i].needs & ~kernel->needs))
            return false;
    return !strstr(kernel->name, "_autovec");
}

/* Size of the smallest and of the largest input whose result is neither that of 0 nor x to half a
 * unit, nor at the end of the range. */
typedef struct bit_range {
    uint32_t first, end;
} bit_range;

static bit_range hard_inputs(sattn_op op, bool is_negative)
{
    if (op == SATTN_OP_tanh)
        return (bit_range){0x2f800000u, 0x41200000u}; /* 2^-32 to 10 */
    if (is_negative)
        return (bit_range){0x32800000u, 0x42d00000u}; /* 2^-26 to 104 */
    return (bit_range){0x32800000u, op == SATTN_OP_exp ? 0x42b20000u : 0x41900000u}; /* to 89, 18 */
}

static void test_reduced(test_run *run)
{
    if (!test_step(run, TEST_ALWAYS))
        return;
    const bool every = run->divisor <= 1 && is_widest(run->kernel);
    const uint64_t divisor = (uint64_t)(run->divisor > 1 ? run->divisor : 1);
    const uint64_t stride = every ? 1 : 61 * divisor;
    const uint64_t stride_outside = every ? 61 : 509 * divisor;
    sweep s = {.kernel = run->kernel};
    const sattn_op op = function_of(run->kernel);
    for (uint64_t sign = 0; sign < (op == SATTN_OP_tanh ? 1 : 2); ++sign) {
        const bit_range hard = hard_inputs(op, sign > 0);
        const uint64_t at = sign << 31;
        sweep_bits(&s, at, at + hard.first, stride_outside);
        sweep_bits(&s, at + hard.first, at + hard.end, stride);
        sweep_bits(&s, at + hard.end, at + 0x80000000u, stride_outside);
    }
    printf("%s\n", every ? "every float of the range that matters, one in 61 of the others"
                         : "a sample of the floats");
    report(run, &s);
}

static void test_edges(test_run *run)
{
    static const uint32_t significands[] = {
        0, 1, 2, 3, 0x3fffff, 0x400000, 0x400001, 0x2aaaaa, 0x555555, 0x7ffffd, 0x7ffffe, 0x7fffff};
    enum { N = sizeof significands / sizeof significands[0] };
    if (!test_step(run, TEST_ALWAYS))
        return;
    static float x[2 * 256 * N];
    int n = 0;
    for (uint32_t top = 0; top < 2 * 256; ++top)
        for (int i = 0; i < N; ++i)
            x[n++] = math_float(top << 23 | significands[i]);
    sweep s = {.kernel = run->kernel};
    for (int at = 0; at < n; at += BLOCK)
        sweep_block(&s, x + at, n - at < BLOCK ? n - at : BLOCK);
    report(run, &s);
}

/* Plain C has fused multiply-add where the compiler's baseline has it. */
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
enum { SCALAR_IS_FUSED = 1 };
#else
enum { SCALAR_IS_FUSED = 0 };
#endif

static void test_bits(test_run *run)
{
    static const struct {
        uint64_t fused, unfused;
    } due[SATTN_OP_COUNT] = {
        [SATTN_OP_exp] = {0x1d9204d0e29f0040u, 0x4d1442c40f525821u},
        [SATTN_OP_tanh] = {0xa643f7ff29dabbabu, 0x12de2c1de4b88391u},
        [SATTN_OP_sigmoid] = {0x9adc672a78639800u, 0x59daa8f77749cb7au},
    };
    static float x[BLOCK], y[BLOCK];
    if (run->kernel->op == SATTN_OP_additive) {
        test_not_run(run, "the tanh of an additive kernel is its ISA's own");
        return;
    }
    if (!test_step(run, TEST_ALWAYS))
        return;
    uint64_t hash = 0;
    for (uint64_t at = 0; at <= UINT32_MAX;) {
        int n = 0;
        for (; n < BLOCK && at <= UINT32_MAX; ++n, at += 4099)
            x[n] = math_float((uint32_t)at);
        math_call(run->kernel, x, y, n);
        for (int i = 0; i < n; ++i) {
            hash = (hash ^ (math_is_nan(y[i]) ? 1u : math_bits(y[i]))) * 0x9e3779b97f4a7c15u;
            hash ^= hash >> 29;
        }
    }
    printf("%s: hash of the sample %016llx\n", run->kernel->name, (unsigned long long)hash);
    if (strstr(run->kernel->name, "_sleef"))
        return; /* another version may have other bits */
    if (FLT_EVAL_METHOD != 0) {
        test_not_run(run, "this compiler computes floats in double, and rounds less often");
        return;
    }
    const bool is_fused = SCALAR_IS_FUSED || run->kernel->needs != SATTN_ISA_SCALAR;
    const uint64_t want = is_fused ? due[run->kernel->op].fused : due[run->kernel->op].unfused;
    if (hash != want)
        test_fail(run, "hash of the sample is %016llx, on other ISAs %016llx",
                  (unsigned long long)hash, (unsigned long long)want);
}

static void test_full(test_run *run)
{
    if (!run->only_group) {
        test_not_run(run, "takes minutes; ask for it with --group=full");
        return;
    }
    if (!test_step(run, TEST_ALWAYS))
        return;
    sweep s = {.kernel = run->kernel};
    sweep_bits(&s, 0, (uint64_t)1 << 32, 1);
    report(run, &s);
}

int main(int argc, char **argv)
{
    static const test_group groups[] = {
        {"edges", test_edges},
        {"bits", test_bits},
        {"reduced", test_reduced},
        {"full", test_full},
    };
    return test_main_of(argc, argv, math_op_of(argc, argv), groups,
                        sizeof groups / sizeof groups[0]);
}
