/* SPDX-License-Identifier: MIT
 *
 * loops.c: small loops of the kinds that the tests of asm-report read. The text files beside it are
 * what objdump prints of this file (-d -r --no-show-raw-insn), with the flags of a kernel's level:
 *
 *   x86_gcc.txt        gcc 12.2, -O3 and AVX-512; objdump of binutils 2.40
 *   x86_clang.txt      clang 14, -O3 and AVX2; objdump of LLVM 14
 *   aarch64_gcc.txt    gcc 12.2, -O3; objdump of binutils 2.40
 *   aarch64_clang.txt  clang 14, -O3; objdump of LLVM 14 */
#include <stdint.h>

#if defined(__AVX512F__)
#include <immintrin.h>
typedef __m512 vector;
#define LANES        16
#define LOAD         _mm512_loadu_ps
#define STORE        _mm512_storeu_ps
#define SET          _mm512_set1_ps
#define FMA(a, b, c) _mm512_fmadd_ps(a, b, c)
#elif defined(__AVX2__)
#include <immintrin.h>
typedef __m256 vector;
#define LANES        8
#define LOAD         _mm256_loadu_ps
#define STORE        _mm256_storeu_ps
#define SET          _mm256_set1_ps
#define FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#else
#include <arm_neon.h>
typedef float32x4_t vector;
#define LANES        4
#define LOAD         vld1q_f32
#define STORE        vst1q_f32
#define SET          vdupq_n_f32
#define FMA(a, b, c) vfmaq_f32(c, a, b)
#endif
#ifdef __clang__
#define UNROLL    _Pragma("clang loop unroll(full)")
#define KEEP_LOOP _Pragma("clang loop unroll(disable)")
#else
#define UNROLL    _Pragma("GCC unroll 8")
#define KEEP_LOOP _Pragma("GCC unroll 1")
#endif

void product(const float *a, const float *b, float *c, int64_t n);
void product_in_memory(const float *a, const float *b, float *c, int64_t n, int rows);
void polynomial(float *x, int64_t n);
void product_with_call(const float *a, const float *b, float *c, int64_t n, void (*note)(int64_t));

/* Two nested loops: the inner one multiplies four rows by two vectors. */
void product(const float *a, const float *b, float *c, int64_t n)
{
    KEEP_LOOP
    for (int64_t strip = 0; strip < n; ++strip, c += 8 * LANES) {
        vector sums[8];
        UNROLL
        for (int i = 0; i < 8; ++i)
            sums[i] = SET(0.0f);
        KEEP_LOOP
        for (int64_t k = 0; k < n; ++k) {
            const vector b0 = LOAD(b + k * 2 * LANES);
            const vector b1 = LOAD(b + k * 2 * LANES + LANES);
            UNROLL
            for (int row = 0; row < 4; ++row) {
                const vector factor = SET(a[row * n + k]);
                sums[2 * row] = FMA(factor, b0, sums[2 * row]);
                sums[2 * row + 1] = FMA(factor, b1, sums[2 * row + 1]);
            }
        }
        UNROLL
        for (int i = 0; i < 8; ++i)
            STORE(c + i * LANES, sums[i]);
    }
}

/* The sums of a number of rows that is not constant stay in an array. */
void product_in_memory(const float *a, const float *b, float *c, int64_t n, int rows)
{
    vector sums[8];
    for (int row = 0; row < rows; ++row)
        sums[row] = SET(0.0f);
    for (int64_t k = 0; k < n; ++k) {
        const vector b0 = LOAD(b + k * LANES);
        KEEP_LOOP
        for (int row = 0; row < rows; ++row)
            sums[row] = FMA(SET(a[row * n + k]), b0, sums[row]);
    }
    for (int row = 0; row < rows; ++row)
        STORE(c + row * LANES, sums[row]);
}

/* Eight FMAs, and no sum. */
void polynomial(float *x, int64_t n)
{
    KEEP_LOOP
    for (int64_t i = 0; i < n; i += LANES) {
        const vector t = LOAD(x + i);
        vector p = SET(1.0f / 40320.0f);
        p = FMA(p, t, SET(1.0f / 5040.0f));
        p = FMA(p, t, SET(1.0f / 720.0f));
        p = FMA(p, t, SET(1.0f / 120.0f));
        p = FMA(p, t, SET(1.0f / 24.0f));
        p = FMA(p, t, SET(1.0f / 6.0f));
        p = FMA(p, t, SET(0.5f));
        p = FMA(p, t, SET(1.0f));
        p = FMA(p, t, SET(1.0f));
        STORE(x + i, p);
    }
}

/* The call is rare, and compilers put its block behind the function. */
void product_with_call(const float *a, const float *b, float *c, int64_t n, void (*note)(int64_t))
{
    vector sum = SET(0.0f);
    KEEP_LOOP
    for (int64_t k = 0; k < n; ++k) {
        if (__builtin_expect(a[k] != a[k], 0))
            note(k);
        sum = FMA(SET(a[k]), LOAD(b + k * LANES), sum);
    }
    STORE(c, sum);
}
