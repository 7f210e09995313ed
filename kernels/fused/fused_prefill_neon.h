/* SPDX-License-Identifier: MIT
 *
 * fused_prefill_neon.h: the steps of fused_prefill.h that touch neither K nor V, in NEON:
 * packing Q, masks, softmax weights, storing O. They do not depend on how K and V are stored.
 *
 * A strip has 16 rows; half of it, two registers, is what fused_prefill.h calls a vector. Scores
 * are hidden by selecting -inf, never by adding it, since a hidden score may be NaN. */
#ifndef SATTN_KERNELS_FUSED_PREFILL_NEON_H
#define SATTN_KERNELS_FUSED_PREFILL_NEON_H

#include "kernels/fused/fused_prefill.h"
#include "kernels/vec/softcap_neon.h"
#include "kernels/vec/vec_neon.h"

#include <string.h>

enum {
    VEC = 4,           /* floats in a register */
    LANES = 2 * VEC,   /* rows in half a strip */
    WIDTH = 2 * LANES, /* rows in a strip */
};

static inline void prefill_pack(const fused_prefill_state *st, float scale)
{
    const float32x4_t scales = vdupq_n_f32(scale);
    for (int r = 0; r < st->n_vec * LANES; r += VEC)
        for (int64_t x = 0; x < st->d; x += VEC) {
            float *const q_t = st->q_t + x * WIDTH + r;
            const int64_t n = st->d - x < VEC ? st->d - x : VEC;
            float32x4_t columns[4];
            vec_load_columns_f32x4(columns, &st->strip->q[r], x, n);
            for (int64_t u = 0; u < n; ++u)
                vst1q_f32(q_t + u * WIDTH, vmulq_f32(columns[u], scales));
        }
}

static inline void prefill_slope(const fused_prefill_state *st, const fused_span *span)
{
    for (int r = span->vec * LANES; r < (span->vec + 1) * LANES; r += VEC) {
        const float32x4_t slope = vld1q_f32(st->strip->slope + r);
        const float32x4_t position = vld1q_f32(st->position + r);
        for (int j = span->begin; j < span->end; ++j) {
            float *const s = st->s_t + j * WIDTH + r;
            const float32x4_t key = vdupq_n_f32((float)j);
            vst1q_f32(s, vfmaq_f32(vld1q_f32(s), slope, vabdq_f32(position, key)));
        }
    }
}

static inline void prefill_hide(const fused_prefill_state *st, const fused_block *block,
                                const fused_span *span)
{
    const float32x4_t hidden = vdupq_n_f32(-INFINITY);
    for (int r = span->vec * LANES; r < (span->vec + 1) * LANES; r += VEC) {
        const int32x4_t steps = vld1q_s32(st->strip->step + r);
        const int32x4_t begin = vaddq_s32(steps, vdupq_n_s32(block->limit_begin));
        const int32x4_t end = vaddq_s32(steps, vdupq_n_s32(block->limit_end));
        float32x4_t max = vld1q_f32(st->block_max + r);
        for (int j = span->begin; j < span->end; ++j) {
            float *const s = st->s_t + j * WIDTH + r;
            const int32x4_t key = vdupq_n_s32(j);
            const uint32x4_t is_inside = vandq_u32(vcleq_s32(begin, key), vcgtq_s32(end, key));
            const float32x4_t score = vbslq_f32(is_inside, vld1q_f32(s), hidden);
            vst1q_f32(s, score);
            max = vmaxnmq_f32(max, score);
        }
        vst1q_f32(st->block_max + r, max);
    }
}

/* As vec_load_columns_f32x4 for a mask of bytes: 0 where it is nonzero, -inf elsewhere. */
SATTN_INLINE void load_mask_columns(float32x4_t columns[4], const uint8_t *const rows[4],
                                    int64_t at, int n)
{
    uint32_t words[4] = {0};
    for (int i = 0; i < 4; ++i) {
        if (n == 4)
            memcpy(&words[i], rows[i] + at, 4);
        else
            memcpy(&words[i], rows[i] + at, (size_t)n);
    }
    const uint32x4_t bytes = vld1q_u32(words);
    for (int u = 0; u < 4; ++u) {
        const uint32x4_t is_shown = vtstq_u32(bytes, vdupq_n_u32(0xffu << 8 * u));
        columns[u] = vbslq_f32(is_shown, vdupq_n_f32(0.0f), vdupq_n_f32(-INFINITY));
    }
}

/* bias[u] = what the mask adds at elements at .. at + n - 1 of its rows r .. r + 3. */
static inline void load_bias(float32x4_t bias[4], const fused_strip *strip, int r, int64_t at,
                             int n)
{
    const uint8_t *const shown = strip->mask_bool[r];
    if (!strip->mask_is_shared && shown)
        load_mask_columns(bias, &strip->mask_bool[r], at, n);
    else if (!strip->mask_is_shared)
        vec_load_columns_f32x4(bias, &strip->mask_add[r], at, n);
    else
        for (int u = 0; u < n; ++u)
            bias[u] = shown ? vdupq_n_f32(shown[at + u] ? 0.0f : -INFINITY)
                            : vld1q_dup_f32(strip->mask_add[r] + at + u);
}

static inline void prefill_bias(const fused_prefill_state *st, const fused_block *block,
                                const fused_span *span)
{
    const fused_strip *const strip = st->strip;
    const float32x4_t hidden = vdupq_n_f32(-INFINITY);
    const int64_t key_stride = block->mask_key_stride;
    for (int r = span->vec * LANES; r < (span->vec + 1) * LANES; r += VEC) {
        for (int j = span->begin; j < span->end; j += 4) {
            const int n = span->end - j < 4 ? span->end - j : 4;
            float32x4_t bias[4];
            load_bias(bias, strip, r, (block->first + j) * key_stride, key_stride ? n : 1);
            for (int u = 0; u < n; ++u) {
                float *const s = st->s_t + (j + u) * WIDTH + r;
                const float32x4_t added = bias[key_stride ? u : 0];
                const uint32x4_t is_hidden = vceqq_f32(added, hidden);
                vst1q_f32(s, vbslq_f32(is_hidden, hidden, vaddq_f32(vld1q_f32(s), added)));
            }
        }
    }
}

static inline void prefill_maximum(const fused_prefill_state *st, const fused_span *span)
{
    const int r = span->vec * LANES;
    float32x4_t max0 = vdupq_n_f32(-INFINITY);
    float32x4_t max1 = max0;
    for (int j = span->begin; j < span->end; ++j) {
        max0 = vmaxnmq_f32(max0, vld1q_f32(st->s_t + j * WIDTH + r));
        max1 = vmaxnmq_f32(max1, vld1q_f32(st->s_t + j * WIDTH + r + VEC));
    }
    vst1q_f32(st->block_max + r, max0);
    vst1q_f32(st->block_max + r + VEC, max1);
}

/* Raises m of rows r .. r + 3 where the block exceeds it by the threshold. */
static inline void raise_reference(const fused_prefill_state *st, int r)
{
    const float32x4_t old = vld1q_f32(st->row_max + r);
    const float32x4_t block = vld1q_f32(st->block_max + r);
    const uint32x4_t is_due = vcgtq_f32(vsubq_f32(block, old), vdupq_n_f32(SATTN_LAZY_THRESHOLD));
    if (vmaxvq_u32(is_due) == 0)
        return;
    const float32x4_t factor =
        vbslq_f32(is_due, vec_exp_f32x4(vsubq_f32(old, block)), vdupq_n_f32(1.0f));
    vst1q_f32(st->row_max + r, vbslq_f32(is_due, block, old));
    vst1q_f32(st->row_sum + r, vmulq_f32(vld1q_f32(st->row_sum + r), factor));
    for (int64_t y = 0; y < st->d_v; ++y) {
        float *const o = st->o_t + y * WIDTH + r;
        const float32x4_t product = vmulq_f32(vld1q_f32(o), factor);
        vst1q_f32(o, vaddq_f32(product, vdupq_n_f32(0.0f))); /* no -0 */
    }
}

SATTN_INLINE float32x4_t weigh_one(float *s, float32x4_t m)
{
    const float32x4_t p = vec_fused_exp_f32x4(vsubq_f32(vld1q_f32(s), m));
    vst1q_f32(s, p);
    return p;
}

static inline void prefill_weigh(const fused_prefill_state *st, const fused_span *span)
{
    const int r = span->vec * LANES;
    float32x4_t m[2];
    float32x4_t sum[2];
    SATTN_UNROLL(2)
    for (int c = 0; c < 2; ++c) {
        raise_reference(st, r + c * VEC);
        /* Where nothing but -inf was seen yet, exp(-inf - 0) is the 0 that is wanted. */
        m[c] = vld1q_f32(st->row_max + r + c * VEC);
        m[c] = vbslq_f32(vceqq_f32(m[c], vdupq_n_f32(-INFINITY)), vdupq_n_f32(0.0f), m[c]);
        sum[c] = vdupq_n_f32(0.0f);
    }
    float *s = st->s_t + span->begin * WIDTH + r;
    int left = span->end - span->begin;
    SATTN_NO_UNROLL
    for (; left >= 2; left -= 2, s += 2 * WIDTH) {
        const float32x4_t p0 = weigh_one(s, m[0]);
        const float32x4_t p1 = weigh_one(s + VEC, m[1]);
        SATTN_KEEP_ORDER(); /* four at once would leave constants no registers */
        sum[0] = vaddq_f32(vaddq_f32(sum[0], p0), weigh_one(s + WIDTH, m[0]));
        sum[1] = vaddq_f32(vaddq_f32(sum[1], p1), weigh_one(s + WIDTH + VEC, m[1]));
    }
    SATTN_UNROLL(2)
    for (int c = 0; c < 2; ++c) {
        if (left > 0)
            sum[c] = vaddq_f32(sum[c], weigh_one(s + c * VEC, m[c]));
        float *const row_sum = st->row_sum + r + c * VEC;
        vst1q_f32(row_sum, vaddq_f32(vld1q_f32(row_sum), sum[c]));
    }
}

static inline void prefill_store(const fused_prefill_state *st)
{
    const fused_strip *const strip = st->strip;
    for (int r = 0; r < strip->n_rows; r += VEC) {
        const int n = strip->n_rows - r < VEC ? strip->n_rows - r : VEC;
        const float32x4_t factor = vld1q_f32(st->factor + r);
        int64_t y = 0;
        for (; y + VEC <= st->d_v; y += VEC) {
            float32x4_t m[4];
            SATTN_UNROLL(4)
            for (int u = 0; u < 4; ++u)
                m[u] = vmulq_f32(vld1q_f32(st->o_t + (y + u) * WIDTH + r), factor);
            vec_transpose_f32x4(m);
            SATTN_UNROLL(4)
            for (int u = 0; u < 4; ++u)
                if (u < n)
                    vst1q_f32(strip->o[r + u] + y, m[u]);
        }
        for (; y < st->d_v; ++y)
            for (int u = 0; u < n; ++u)
                strip->o[r + u][y] = st->o_t[y * WIDTH + r + u] * st->factor[r + u];
    }
}

#endif
