/* SPDX-License-Identifier: MIT
 *
 * tanh_pieces_avx2.h: tanh by pieces (tanh_pieces.h), 8 lanes at a time. A permutation looks up one
 * coefficient of 8 pieces. Tables and constants are operands in memory, since there are not
 * registers enough; each call hides their address, or compilers would load them ahead of a loop. */
#ifndef SATTN_KERNELS_VEC_TANH_PIECES_AVX2_H
#define SATTN_KERNELS_VEC_TANH_PIECES_AVX2_H

#include "kernels/vec/tanh_pieces.h"
#include "kernels/vec/vec_avx2.h"

typedef struct vec_pieces8 {
    float limit[8], slope[8], offset[8];
    float centre[8], base[8], c1[8], c2[8], c3[8], c4[8], c5[8], c6[8], c7[8];
} vec_pieces8;

#define VEC_PIECES_RANGE                                                                           \
    .limit = {VEC_LANES(SATTN_PIECES_LIMIT)}, .slope = {VEC_LANES(SATTN_PIECES_SLOPE)},            \
    .offset = {VEC_LANES(SATTN_PIECES_OFFSET)}

SATTN_INLINE __m256 vec_pieces8_f32x8(const float *table, __m256i piece)
{
    return _mm256_permutevar8x32_ps(_mm256_load_ps(table), piece);
}

/* The piece of each lane of a in the low bits. */
SATTN_INLINE __m256i vec_pieces_find_f32x8(const vec_pieces8 *table, __m256 a)
{
    const __m256 b =
        _mm256_fmadd_ps(a, _mm256_load_ps(table->slope), _mm256_load_ps(table->offset));
    return _mm256_srli_epi32(_mm256_castps_si256(b), 22);
}

/* p t + c of the lane's piece */
SATTN_INLINE __m256 vec_pieces_step_f32x8(__m256 p, __m256 t, const float *c, __m256i piece)
{
    return _mm256_fmadd_ps(p, t, vec_pieces8_f32x8(c, piece));
}

/* tanh(x) over all of f32, by the exact table. */
SATTN_INLINE __m256 vec_tanh_pieces_f32x8(__m256 x)
{
    static const _Alignas(32) vec_pieces8 constants = {
        VEC_PIECES_RANGE,
        .centre = {0.0f, 0x1.459caap-2f, 0x1.6f616ap-1f, 0x1.89d826p+0f, 0x1.3b17fcp+1f,
                   0x1.d89e8cp+1f, 0x1.6291f8p+2f, 0x1.fe29dp+2f},
        .base = {INFINITY, 0x1.3b1062p-2f, 0x1.3b1384p-1f, 0x1.d2df5ap-1f, 0x1.f89abap-1f,
                 0x1.ff5d64p-1f, 0x1.fffbf6p-1f, 0x1.fffff8p-1f},
        .c1 = {0.0f, 0x1.cf87d6p-1f, 0x1.3e1b7ap-1f, 0x1.591c32p-3f, 0x1.d5e684p-6f, 0x1.45047p-9f,
               0x1.028132p-14f, 0x1.ffd93ap-22f},
        .c2 = {-0x1.2f78b2p-23f, -0x1.1d3cf4p-2f, -0x1.8784c6p-2f, -0x1.3ab11ap-3f, -0x1.cf1932p-6f,
               -0x1.44a08p-9f, -0x1.0361a8p-14f, -0x1.004d88p-21f},
        .c3 = {-0x1.55530cp-2f, -0x1.ba82acp-3f, 0x1.ce36e4p-6f, 0x1.57d6dp-4f, 0x1.2bc3c6p-6f,
               0x1.afbee8p-10f, 0x1.59c016p-15f, 0x1.55b97p-22f},
        .c4 = {-0x1.764b96p-13f, 0x1.4628b8p-3f, 0x1.c383cep-4f, -0x1.9f21p-6f, -0x1.1a885p-7f,
               -0x1.acf0c6p-11f, -0x1.4e147ap-16f, -0x1.4d7f9ap-23f},
        .c5 = {0x1.1470fcp-3f, 0x1.6963fcp-5f, -0x1.0ca9fcp-4f, -0x1.2de10cp-10f, 0x1.8e1bd2p-9f,
               0x1.541e72p-12f, 0x1.0b85e2p-17f, 0x1.0c1556p-24f},
        .c6 = {-0x1.dff538p-8f, -0x1.439d8ap-4f, 0x1.97352ep-9f, 0x1.9a5448p-8f, -0x1.6c7968p-11f,
               -0x1.d2401ep-14f, -0x1.c6735ap-19f, -0x1.b9014ep-26f},
        .c7 = {-0x1.4abdc8p-5f, 0x1.61d894p-6f, 0x1.07dac4p-7f, -0x1.d6072ep-9f, 0x1.e1cb62p-16f,
               0x1.f42794p-16f, 0x1.02861p-20f, 0x1.eb700cp-28f},
    };
    const vec_pieces8 *table = &constants;
    __asm__ volatile("" : "+r"(table));
    const __m256 sign = _mm256_set1_ps(-0.0f);
    const __m256 a = _mm256_min_ps(_mm256_load_ps(table->limit), _mm256_andnot_ps(sign, x));
    const __m256i piece = vec_pieces_find_f32x8(table, a);
    const __m256 t = _mm256_sub_ps(a, vec_pieces8_f32x8(table->centre, piece));
    __m256 p = vec_pieces8_f32x8(table->c7, piece);
    p = vec_pieces_step_f32x8(p, t, table->c6, piece);
    p = vec_pieces_step_f32x8(p, t, table->c5, piece);
    p = vec_pieces_step_f32x8(p, t, table->c4, piece);
    p = vec_pieces_step_f32x8(p, t, table->c3, piece);
    p = vec_pieces_step_f32x8(p, t, table->c2, piece);
    p = vec_pieces_step_f32x8(p, t, table->c1, piece);
    const __m256 base = _mm256_min_ps(vec_pieces8_f32x8(table->base, piece), a);
    return _mm256_or_ps(_mm256_fmadd_ps(p, t, base), _mm256_and_ps(x, sign));
}

/* The same by pieces of a lower degree. */
SATTN_INLINE __m256 vec_tanh_fast_f32x8(__m256 x)
{
    static const _Alignas(32) vec_pieces8 constants = {
        VEC_PIECES_RANGE,
        .centre = {0.0f, 0x1.d8a53p-2f, 0x1.d89df2p-1f, 0x1.89d6c2p+0f, 0x1.3b1866p+1f,
                   0x1.d89c2cp+1f, 0x1.627f88p+2f, 0x1.fe27ap+2f},
        .base = {0.0f, 0x1.b9b6b4p-2f, 0x1.746762p-1f, 0x1.d2dee2p-1f, 0x1.f89ac6p-1f,
                 0x1.ff5d5ep-1f, 0x1.fffbf4p-1f, 0x1.fffff8p-1f},
        .c1 = {0x1p+0f, 0x1.a0bb22p-1f, 0x1.e24392p-2f, 0x1.591f7p-3f, 0x1.d5e41ep-6f,
               0x1.45167p-9f, 0x1.049eecp-14f, 0x1.013f48p-21f},
        .c2 = {-0x1.4dac4p-19f, -0x1.6785e4p-2f, -0x1.5ec718p-2f, -0x1.3ab3d8p-3f, -0x1.cf152cp-6f,
               -0x1.44ae02p-9f, -0x1.04760cp-14f, -0x1.00ba52p-21f},
        .c3 = {-0x1.55358ap-2f, -0x1.eafff8p-4f, 0x1.79480ep-4f, 0x1.57f6d4p-4f, 0x1.2bb44p-6f,
               0x1.aed38p-10f, 0x1.4a4d4ep-15f, 0x1.478cf4p-22f},
        .c4 = {-0x1.f97686p-10f, 0x1.599072p-3f, 0x1.8340f4p-5f, -0x1.9f2ea4p-6f, -0x1.1a9812p-7f,
               -0x1.acd6fep-11f, -0x1.4b50fp-16f, -0x1.4ba61ep-23f},
        .c5 = {0x1.2c9286p-3f, -0x1.bf867p-7f, -0x1.b48082p-5f, -0x1.ca9c62p-10f, 0x1.907ebp-9f,
               0x1.68e49cp-12f, 0x1.61ea3ep-17f, 0x1.5ad8d6p-24f},
        .c6 = {-0x1.618148p-5f, -0x1.d4a5ccp-5f, 0x1.da0d06p-7f, 0x1.9bf2ccp-8f, -0x1.6a6de2p-11f,
               -0x1.d49a5ap-14f, -0x1.d3f26p-19f, -0x1.bde7ep-26f},
    };
    const vec_pieces8 *table = &constants;
    __asm__ volatile("" : "+r"(table));
    const __m256 sign = _mm256_set1_ps(-0.0f);
    const __m256 a = _mm256_min_ps(_mm256_load_ps(table->limit), _mm256_andnot_ps(sign, x));
    const __m256i piece = vec_pieces_find_f32x8(table, a);
    const __m256 t = _mm256_sub_ps(a, vec_pieces8_f32x8(table->centre, piece));
    __m256 p = vec_pieces8_f32x8(table->c6, piece);
    p = vec_pieces_step_f32x8(p, t, table->c5, piece);
    p = vec_pieces_step_f32x8(p, t, table->c4, piece);
    p = vec_pieces_step_f32x8(p, t, table->c3, piece);
    p = vec_pieces_step_f32x8(p, t, table->c2, piece);
    p = vec_pieces_step_f32x8(p, t, table->c1, piece);
    p = vec_pieces_step_f32x8(p, t, table->base, piece);
    return _mm256_or_ps(p, _mm256_and_ps(x, sign));
}

#endif
