/* SPDX-License-Identifier: MIT
 *
 * tanh_pieces_avx512.h: tanh by pieces (tanh_pieces.h), 16 lanes at a time. A permutation looks up
 * one coefficient of 16 pieces, or of 32 with a table of two registers. Tables are loaded where
 * they are used, once for all vectors of a call: ahead of a loop they would take the registers of
 * the vectors. Hence each call hides their address. */
#ifndef SATTN_KERNELS_VEC_TANH_PIECES_AVX512_H
#define SATTN_KERNELS_VEC_TANH_PIECES_AVX512_H

#include "kernels/vec/tanh_pieces.h"
#include "kernels/vec/vec_avx512.h"

/* Where `count` vectors lie: |x| up to the limit, and in the low bits the piece of each lane, of
 * 2^bits. The two low bits of an exponent end with bit 24. */
SATTN_INLINE void vec_pieces_find_f32x16(__m512 a[], __m512i piece[], const __m512 x[],
                                         const int bits, const int count)
{
    SATTN_UNROLL(4)
    for (int u = 0; u < count; ++u) {
        a[u] = _mm512_min_ps(_mm512_set1_ps(SATTN_PIECES_LIMIT), _mm512_abs_ps(x[u]));
        const __m512 b = _mm512_fmadd_ps(a[u], _mm512_set1_ps(SATTN_PIECES_SLOPE),
                                         _mm512_set1_ps(SATTN_PIECES_OFFSET));
        piece[u] = _mm512_srli_epi32(_mm512_castps_si512(b), (unsigned)(25 - bits));
    }
}

/* size with the sign of x */
SATTN_INLINE __m512 vec_pieces_sign_f32x16(__m512 size, __m512 x)
{
    return _mm512_or_ps(size, _mm512_and_ps(x, _mm512_set1_ps(-0.0f)));
}

typedef struct vec_pieces16 {
    float centre[16], base[16], c1[16], c2[16], c3[16], c4[16], c5[16];
} vec_pieces16;

SATTN_INLINE __m512 vec_pieces16_f32x16(const float *table, __m512i piece)
{
    return _mm512_permutexvar_ps(piece, _mm512_load_ps(table));
}

/* p[u] = p[u] t[u] + c of the lane's piece */
SATTN_INLINE void vec_pieces16_step_f32x16(__m512 p[], const __m512 t[], const float *c,
                                           const __m512i piece[], const int count)
{
    SATTN_UNROLL(4)
    for (int u = 0; u < count; ++u)
        p[u] = _mm512_fmadd_ps(p[u], t[u], vec_pieces16_f32x16(c, piece[u]));
}

/* x[u] = tanh(x[u]) over all of f32, for `count` vectors, 1 .. VEC_EACH, by the exact table. */
SATTN_INLINE void vec_tanh_pieces_each_f32x16(__m512 x[], const int count)
{
    static const _Alignas(64) vec_pieces16 constants = {
        .centre = {0.0f, 0x1.3d9852p-3f, 0x1.459f78p-2f, 0x1.ff3ef4p-2f, 0x1.6f606cp-1f,
                   0x1.13b192p+0f, 0x1.6277bep+0f, 0x1.b13b0ap+0f, 0x1.13b148p+1f, 0x1.6276bap+1f,
                   0x1.b13af8p+1f, 0x1.00271p+2f, 0x1.3b5412p+2f, 0x1.89c21ep+2f, 0x1.d872bap+2f,
                   0x1.153ae4p+3f},
        .base = {INFINITY, 0x1.3b12c8p-3f, 0x1.3b12ecp-2f, 0x1.d89d5ep-2f, 0x1.3b12e6p-1f,
                 0x1.958886p-1f, 0x1.c393aap-1f, 0x1.de6efap-1f, 0x1.f2653ep-1f, 0x1.fbfd2cp-1f,
                 0x1.fed34p-1f, 0x1.ffa882p-1f, 0x1.fff23ap-1f, 0x1.fffedp-1f, 0x1.ffffe6p-1f,
                 0x1.fffffep-1f},
        .c1 = {0.0f, 0x1.f3e1c2p-1f, 0x1.cf870ep-1f, 0x1.92ef6ap-1f, 0x1.3e1c3ep-1f, 0x1.7d96cp-2f,
               0x1.c6dcc4p-3f, 0x1.03bac4p-3f, 0x1.ad8f7p-5f, 0x1.ff670cp-7f, 0x1.2c67a2p-8f,
               0x1.5ddap-10f, 0x1.b8bac4p-13f, 0x1.2ffd7ep-16f, 0x1.9fdfbp-20f, 0x1.00747ap-23f},
        .c2 = {0x1.902846p-21f, -0x1.3397e8p-3f, -0x1.1d3d72p-2f, -0x1.73f0b8p-2f, -0x1.878402p-2f,
               -0x1.2e3f1p-2f, -0x1.913064p-3f, -0x1.e56846p-4f, -0x1.a21f5cp-5f, -0x1.fb4eep-7f,
               -0x1.2ba6eap-8f, -0x1.5d8a6ap-10f, -0x1.b6f818p-13f, -0x1.2ed304p-16f,
               -0x1.9da4f4p-20f, -0x1.052fbep-23f},
        .c3 = {-0x1.556138p-2f, -0x1.35f026p-2f, -0x1.bafbd2p-3f, -0x1.83bf98p-4f, 0x1.cdbe82p-6f,
               0x1.c0c852p-4f, 0x1.947162p-4f, 0x1.186f3ep-4f, 0x1.07df38p-5f, 0x1.4ceb5cp-7f,
               0x1.8db73p-9f, 0x1.d16e6ep-11f, 0x1.24822p-13f, 0x1.93fc3ep-17f, 0x1.152deep-20f,
               0x1.50dc88p-24f},
        .c4 = {0x1.a917a8p-11f, 0x1.9dfc94p-4f, 0x1.4e643ap-3f, 0x1.520118p-3f, 0x1.c26564p-4f,
               0x1.92662ep-7f, -0x1.5ed47ep-6f, -0x1.8f4cbp-6f, -0x1.d8993p-7f, -0x1.475dbep-8f,
               -0x1.9136fep-10f, -0x1.d8f622p-12f, -0x1.3c700ep-14f, -0x1.b4d2fp-18f,
               -0x1.2f428ap-21f, -0x1.2c1114p-25f},
        .c5 = {0x1.0734b4p-3f, 0x1.4c2dfp-4f, 0x1.ee033p-7f, -0x1.25bb6ep-5f, -0x1.02849ap-4f,
               -0x1.32f4b8p-5f, -0x1.25dd3ap-7f, 0x1.689aa4p-9f, 0x1.1c343cp-8f, 0x1.e7b99ep-10f,
               0x1.3a6ccap-11f, 0x1.78f3e6p-13f, 0x1.fbedacp-16f, 0x1.5b48a4p-19f, 0x1.ccebe6p-23f,
               0x1.871778p-26f},
    };
    const vec_pieces16 *table = &constants;
    __asm__ volatile("" : "+r"(table));
    __m512 a[VEC_EACH], t[VEC_EACH], p[VEC_EACH];
    __m512i piece[VEC_EACH];
    vec_pieces_find_f32x16(a, piece, x, 4, count);
    SATTN_UNROLL(4)
    for (int u = 0; u < count; ++u) {
        t[u] = _mm512_sub_ps(a[u], vec_pieces16_f32x16(table->centre, piece[u]));
        p[u] = vec_pieces16_f32x16(table->c5, piece[u]);
    }
    vec_pieces16_step_f32x16(p, t, table->c4, piece, count);
    vec_pieces16_step_f32x16(p, t, table->c3, piece, count);
    vec_pieces16_step_f32x16(p, t, table->c2, piece, count);
    vec_pieces16_step_f32x16(p, t, table->c1, piece, count);
    SATTN_UNROLL(4)
    for (int u = 0; u < count; ++u) {
        const __m512 base = _mm512_min_ps(vec_pieces16_f32x16(table->base, piece[u]), a[u]);
        x[u] = vec_pieces_sign_f32x16(_mm512_fmadd_ps(p[u], t[u], base), x[u]);
    }
}

typedef struct vec_pieces32 {
    float centre[32], base[32], c1[32], c2[32], c3[32], c4[32];
} vec_pieces32;

SATTN_INLINE __m512 vec_pieces32_f32x16(const float *table, __m512i piece)
{
    return _mm512_permutex2var_ps(_mm512_load_ps(table), piece, _mm512_load_ps(table + 16));
}

SATTN_INLINE void vec_pieces32_step_f32x16(__m512 p[], const __m512 t[], const float *c,
                                           const __m512i piece[], const int count)
{
    SATTN_UNROLL(4)
    for (int u = 0; u < count; ++u)
        p[u] = _mm512_fmadd_ps(p[u], t[u], vec_pieces32_f32x16(c, piece[u]));
}

/* The same by twice as many pieces of a lower degree. */
SATTN_INLINE void vec_tanh_fast_each_f32x16(__m512 x[], const int count)
{
    static const _Alignas(64) vec_pieces32 constants = {
        .centre = {0.0f,           0x1.d89daep-4f, 0x1.89d99ep-3f, 0x1.13b0e2p-2f, 0x1.627474p-2f,
                   0x1.b13aecp-2f, 0x1.ffffd8p-2f, 0x1.276596p-1f, 0x1.6274cp-1f,  0x1.b13b44p-1f,
                   0x1.00026p+0f,  0x1.276266p+0f, 0x1.4ec432p+0f, 0x1.76263ep+0f, 0x1.9d8a84p+0f,
                   0x1.c4e7c4p+0f, 0x1.000146p+1f, 0x1.276304p+1f, 0x1.4ec4c4p+1f, 0x1.76258ap+1f,
                   0x1.9d8a44p+1f, 0x1.c4ebfp+1f,  0x1.ec4e74p+1f, 0x1.0a798ep+2f, 0x1.27bd66p+2f,
                   0x1.4eacdcp+2f, 0x1.761722p+2f, 0x1.9d80c8p+2f, 0x1.c4d25ep+2f, 0x1.ec41f4p+2f,
                   0x1.0a275ep+3f, 0x1.154a3p+3f},
        .base = {0.0f,           0x1.d68796p-4f, 0x1.8510cap-3f, 0x1.0d37acp-2f, 0x1.54f2p-2f,
                 0x1.991b7cp-2f, 0x1.d9351ep-2f, 0x1.0a777cp-1f, 0x1.32ebd8p-1f, 0x1.60cbe4p-1f,
                 0x1.85f1aap-1f, 0x1.a3571ap-1f, 0x1.ba354p-1f,  0x1.cbbfcap-1f, 0x1.d91068p-1f,
                 0x1.e314b8p-1f, 0x1.ed9562p-1f, 0x1.f5f6b8p-1f, 0x1.fa8d22p-1f, 0x1.fd0c3ep-1f,
                 0x1.fe6714p-1f, 0x1.ff22d6p-1f, 0x1.ff886ep-1f, 0x1.ffc0ap-1f,  0x1.ffe69ap-1f,
                 0x1.fff87ap-1f, 0x1.fffdcep-1f, 0x1.ffff5cp-1f, 0x1.ffffdp-1f,  0x1.fffff2p-1f,
                 0x1.fffffcp-1f, 0x1.fffffep-1f},
        .c1 = {0x1.fffffep-1f,  0x1.f93e52p-1f,  0x1.ed859ep-1f,  0x1.dc9c3ep-1f,  0x1.c73d88p-1f,
               0x1.ae46e6p-1f,  0x1.92a956p-1f,  0x1.7551bep-1f,  0x1.4803c2p-1f,  0x1.0ce76cp-1f,
               0x1.ae07dp-2f,   0x1.5119d8p-2f,  0x1.04241ep-2f,  0x1.8cad6ap-3f,  0x1.2ba4bcp-3f,
               0x1.c1a336p-4f,  0x1.215c56p-4f,  0x1.3e01d2p-5f,  0x1.5adabcp-6f,  0x1.78c80cp-7f,
               0x1.98465cp-8f,  0x1.b9f1e4p-9f,  0x1.de0d66p-10f, 0x1.faddep-11f,  0x1.962f3p-12f,
               0x1.e14d7ep-14f, 0x1.18e45ep-15f, 0x1.47e11p-17f,  0x1.7fe5f6p-19f, 0x1.bfddep-21f,
               0x1.003554p-22f, 0x1.fec242p-24f},
        .c2 = {0x1.7eb31ep-16f,  -0x1.d05082p-4f,  -0x1.770624p-3f,  -0x1.f5372cp-3f,
               -0x1.2f2602p-2f,  -0x1.57cebcp-2f,  -0x1.74273p-2f,   -0x1.84953ep-2f,
               -0x1.894276p-2f,  -0x1.72945ep-2f,  -0x1.4783fp-2f,   -0x1.14180ep-2f,
               -0x1.c15c98p-3f,  -0x1.64322ep-3f,  -0x1.14db58p-3f,  -0x1.a83db8p-4f,
               -0x1.16f496p-4f,  -0x1.37c6a4p-5f,  -0x1.572a4p-6f,   -0x1.769c4ap-7f,
               -0x1.9700a8p-8f,  -0x1.b9338p-9f,   -0x1.dd9ed6p-10f, -0x1.fa9288p-11f,
               -0x1.9608cep-12f, -0x1.e1557ap-14f, -0x1.18e672p-15f, -0x1.47dc22p-17f,
               -0x1.7f9c1ep-19f, -0x1.bb7168p-21f, -0x1.09116cp-22f, -0x1.a9c8fcp-24f},
        .c3 = {-0x1.56afbcp-2f, -0x1.434b52p-2f, -0x1.2538eap-2f, -0x1.f78262p-3f, -0x1.94f3fep-3f,
               -0x1.2b0656p-3f, -0x1.820b1cp-4f, -0x1.75cb8p-5f,  0x1.09873p-6f,   0x1.2e76b6p-4f,
               0x1.a6f656p-4f,  0x1.c62c5ep-4f,  0x1.aceecp-4f,   0x1.771b42p-4f,  0x1.37e064p-4f,
               0x1.f506cep-5f,  0x1.5a16b6p-5f,  0x1.9121bep-6f,  0x1.c21b48p-7f,  0x1.f070dcp-8f,
               0x1.0f2f88p-8f,  0x1.26d8dep-9f,  0x1.3fb01ap-10f, 0x1.5352ep-11f,  0x1.15206cp-12f,
               0x1.4897e6p-14f, 0x1.7f85d4p-16f, 0x1.bf90ecp-18f, 0x1.05478cp-19f, 0x1.2e444cp-21f,
               0x1.5a5998p-23f, -0x1.976238p-27f},
        .c4 = {0x1.876cccp-6f,   0x1.2af3fp-4f,    0x1.d84d16p-4f,   0x1.299f2cp-3f,
               0x1.50a2f8p-3f,   0x1.5c77dap-3f,   0x1.50ff62p-3f,   0x1.340808p-3f,
               0x1.e2dc6ep-4f,   0x1.1cfda6p-4f,   0x1.c8f38cp-6f,   -0x1.e8c884p-11f,
               -0x1.1ad34cp-6f,  -0x1.8c7446p-6f,  -0x1.9d8cbcp-6f,  -0x1.7b1de8p-6f,
               -0x1.253a8ap-6f,  -0x1.70537ap-7f,  -0x1.ae4242p-8f,  -0x1.e4888p-9f,
               -0x1.0ba562p-9f,  -0x1.24ae4cp-10f, -0x1.3e3c76p-11f, -0x1.58e304p-12f,
               -0x1.175606p-13f, -0x1.470942p-15f, -0x1.7e81aap-17f, -0x1.bf6f84p-19f,
               -0x1.085c46p-20f, -0x1.7dbc94p-22f, -0x1.a0ad02p-29f, 0x1.347eap-24f},
    };
    const vec_pieces32 *table = &constants;
    __asm__ volatile("" : "+r"(table));
    __m512 a[VEC_EACH], t[VEC_EACH], p[VEC_EACH];
    __m512i piece[VEC_EACH];
    vec_pieces_find_f32x16(a, piece, x, 5, count);
    SATTN_UNROLL(4)
    for (int u = 0; u < count; ++u) {
        t[u] = _mm512_sub_ps(a[u], vec_pieces32_f32x16(table->centre, piece[u]));
        p[u] = vec_pieces32_f32x16(table->c4, piece[u]);
    }
    vec_pieces32_step_f32x16(p, t, table->c3, piece, count);
    vec_pieces32_step_f32x16(p, t, table->c2, piece, count);
    vec_pieces32_step_f32x16(p, t, table->c1, piece, count);
    vec_pieces32_step_f32x16(p, t, table->base, piece, count);
    SATTN_UNROLL(4)
    for (int u = 0; u < count; ++u)
        x[u] = vec_pieces_sign_f32x16(p[u], x[u]);
}

#endif
