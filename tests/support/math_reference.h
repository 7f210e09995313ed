/* SPDX-License-Identifier: MIT
 *
 * math_reference.h: what exp, tanh and sigmoid of a float are, and how far a result is from it.
 *
 * The reference is the C library's double function (of tanh below 2^-9, and of exp below 2^-20, the
 * series, whose next term is below 2^-60 of the result): it may be off by about 2^-28 of a float's
 * ULP, so it tells every error, but not on which side of the middle between two floats a result
 * belongs that lies that close to it. */
#ifndef SATTN_TESTS_SUPPORT_MATH_REFERENCE_H
#define SATTN_TESTS_SUPPORT_MATH_REFERENCE_H

#include "dispatch/registry.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Beyond these, exp must be exactly 0 and +inf: ln 2^-150 and ln FLT_MAX. Sigmoid, where it is so
 * small, is exp. */
#define MATH_EXP_LOWEST  (-103.97207708399179)
#define MATH_EXP_HIGHEST 88.722839052068353

static inline float math_float(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t math_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* By bits, so that no compiler flag can make it disappear. */
static inline bool math_is_nan(float value)
{
    return (math_bits(value) & 0x7fffffffu) > 0x7f800000u;
}

static inline double math_reference(sattn_op op, float x)
{
    const double z = (double)x;
    if (op == SATTN_OP_tanh) {
        const double s = z * z;
        if (s < 0x1p-18)
            return z + z * s * (-1.0 / 3 + s * (2.0 / 15 + s * (-17.0 / 315 + s * (62.0 / 2835))));
        return tanh(z);
    }
    if (z < MATH_EXP_LOWEST)
        return 0;
    if (op == SATTN_OP_sigmoid)
        return 1 / (1 + exp(-z));
    if (z > MATH_EXP_HIGHEST)
        return INFINITY;
    if (fabs(z) < 0x1p-20)
        return 1 + z * (1 + z * (1.0 / 2 + z * (1.0 / 6)));
    return exp(z);
}

/* The distance of two floats of the size of `want`; of subnormal size, that of subnormals. A tanh
 * or sigmoid that double rounds to 1 is below 1. */
static inline double math_ulp(double want)
{
    uint64_t bits;
    const double size = fmin(fmax(fabs(want), (double)FLT_MIN), (double)FLT_MAX);
    memcpy(&bits, &size, sizeof bits);
    bits = (bits & 0x7ff0000000000000u) - ((uint64_t)23 << 52);
    double ulp;
    memcpy(&ulp, &bits, sizeof ulp);
    return ulp;
}

/* Error of `got` in ULP of `want`; infinite where one is a NaN or an infinity and the other is not,
 * and where exact values are due: exp of 0, below its range. */
static inline double math_error(sattn_op op, float x, double want, float got)
{
    if (math_is_nan(x) || math_is_nan(got))
        return math_is_nan(x) && math_is_nan(got) ? 0 : INFINITY;
    if (isinf(want) || isinf(got))
        return want == (double)got ? 0 : INFINITY;
    if (want == 0)
        return got == 0 && !signbit(got) == (op != SATTN_OP_tanh || !signbit(x)) ? 0 : INFINITY;
    const double ulp = op != SATTN_OP_exp && fabs(want) >= 1 ? 0x1p-24 : math_ulp(want);
    return fabs((double)got - want) / ulp;
}

static inline void math_call(const sattn_kernel *kernel, const float *x, float *y, int64_t n)
{
    const sattn_array_args args = {.x = x, .y = y, .n = n};
    if (kernel->op == SATTN_OP_exp)
        kernel->fn.exp(&args);
    else if (kernel->op == SATTN_OP_tanh)
        kernel->fn.tanh(&args);
    else
        kernel->fn.sigmoid(&args);
}

/* The op of the kernels that a command line names. */
static inline sattn_op math_op_of(int argc, char **argv)
{
    for (int i = 1; i < argc; ++i) {
        if (strstr(argv[i], "sattn_tanh_"))
            return SATTN_OP_tanh;
        if (strstr(argv[i], "sattn_sigmoid_"))
            return SATTN_OP_sigmoid;
        if (strstr(argv[i], "sattn_additive_"))
            return SATTN_OP_additive;
    }
    return SATTN_OP_exp;
}

#endif
