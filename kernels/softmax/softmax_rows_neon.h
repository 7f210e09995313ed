/* SPDX-License-Identifier: MIT
 *
 * softmax_rows_neon.h: the steps of softmax_rows.h that take one row, in NEON.
 *
 * Lanes    lane l of a sum holds the keys j with j % 4 == l, so a vector that had to be moved to
 *          end with its row is turned back before it is added.
 * Tail     a row of 4 columns or more ends in a whole vector that overlaps the one before. */
#ifndef SATTN_KERNELS_SOFTMAX_ROWS_NEON_H
#define SATTN_KERNELS_SOFTMAX_ROWS_NEON_H

#include "kernels/softmax/softmax_rows.h"
#include "kernels/vec/vec_neon.h"

enum {
    LANES = 4,
    ROWS = LANES, /* of a flat run */
    MAXIMA = 4,   /* vectors of maxima */
    STEP = 4,     /* vectors per turn of the loops that store */
};

/* Scores with their bias, -inf where it hides. */
SATTN_INLINE float32x4_t biased(float32x4_t s, float32x4_t bias)
{
    const float32x4_t lowest = vdupq_n_f32(-INFINITY);
    return vbslq_f32(vceqq_f32(bias, lowest), lowest, vaddq_f32(s, bias));
}

/* Scores of keys j .. j + 3, all in [begin, end), which begin at `scores`, with bias and mask, -inf
 * where hidden. */
SATTN_INLINE float32x4_t load_whole(softmax_row row, const float *scores, int64_t j,
                                    const softmax_mask mask)
{
    const float32x4_t s = vld1q_f32(scores);
    if (mask == SOFTMAX_UNMASKED)
        return s;
    if (mask == SOFTMAX_SHIFT)
        return vaddq_f32(s, vdupq_n_f32(row.mask_add[0]));
    if (mask == SOFTMAX_BIAS)
        return biased(s, vld1q_f32(row.mask_add + j));
    uint32_t bytes;
    memcpy(&bytes, row.mask_bool + j, sizeof bytes);
    const uint32x4_t lanes = vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(bytes))));
    return vbslq_f32(vceqzq_u32(lanes), vdupq_n_f32(-INFINITY), s);
}

/* The same for those of the keys that are in [begin, end), and -inf in all other lanes. */
SATTN_INLINE float32x4_t load_lanes(softmax_row row, softmax_cut cut, const float *scores,
                                    int64_t j, const softmax_mask mask)
{
    if (j >= cut.begin && j + LANES <= cut.end)
        return load_whole(row, scores, j, mask);
    float s[LANES];
    for (int lane = 0; lane < LANES; ++lane) {
        const int64_t key = j + lane;
        const bool exists = key >= cut.begin && key < cut.end;
        s[lane] = exists && softmax_is_visible(&row, key) ? scores[lane] : -INFINITY;
        if (exists && mask == SOFTMAX_BIAS && row.mask_add[key] != -INFINITY)
            s[lane] += row.mask_add[key];
        if (exists && mask == SOFTMAX_SHIFT)
            s[lane] += row.mask_add[0];
    }
    return vld1q_f32(s);
}

/* A NaN score leaves top as it is. */
SATTN_INLINE float32x4_t raise(float32x4_t top, float32x4_t s)
{
    return vbslq_f32(vcgtq_f32(s, top), s, top);
}

SATTN_INLINE float maximum_of(softmax_row row, softmax_cut cut, const softmax_mask mask,
                              const bool has_alibi)
{
    row.has_alibi = has_alibi; /* a constant from here on */
    float32x4_t top[MAXIMA];
    SATTN_UNROLL(4)
    for (int u = 0; u < MAXIMA; ++u)
        top[u] = vdupq_n_f32(-INFINITY);
    if (cut.has_head)
        top[0] =
            raise(top[0], load_lanes(row, cut, softmax_scores(row, cut.first), cut.first, mask));
    if (cut.has_tail)
        top[1] = raise(top[1], load_lanes(row, cut, softmax_tail_scores(row, cut), cut.tail, mask));
    int64_t j = cut.body;
    for (; j + MAXIMA * LANES <= cut.body_end; j += MAXIMA * LANES) {
        SATTN_UNROLL(4)
        for (int u = 0; u < MAXIMA; ++u)
            top[u] = raise(
                top[u], load_whole(row, softmax_scores(row, j + u * LANES), j + u * LANES, mask));
    }
    for (; j < cut.body_end; j += LANES)
        top[0] = raise(top[0], load_whole(row, softmax_scores(row, j), j, mask));
    top[0] = vmaxnmq_f32(top[0], top[1]);
    return vmaxnmvq_f32(vmaxnmq_f32(top[0], vmaxnmq_f32(top[2], top[3])));
}

static inline float maximum(const softmax_row *row, const softmax_cut *cut)
{
    return softmax_maximum_by_mask(maximum_of, row, cut, false);
}

static inline float alibi_maximum(const softmax_row *row, const softmax_cut *cut)
{
    return softmax_maximum_by_mask(maximum_of, row, cut, true);
}

/* The weights at columns j .. j + 3, as far as the row reaches. */
SATTN_INLINE float32x4_t load_columns(softmax_row row, int64_t j)
{
    return vec_load_tail_f32x4(row.p + j, row.n_columns - j);
}

SATTN_INLINE void store_columns(softmax_row row, int64_t j, float32x4_t p)
{
    vec_store_tail_f32x4(row.p + j, p, row.n_columns - j);
}

/* The vector `by` lanes further up, 0 behind its end. */
SATTN_INLINE float32x4_t turned_back(float32x4_t p, int64_t by)
{
    static const uint8_t bytes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const uint8x16_t from = vaddq_u8(vld1q_u8(bytes), vdupq_n_u8((uint8_t)(by * 4)));
    return vreinterpretq_f32_u8(vqtbl1q_u8(vreinterpretq_u8_f32(p), from));
}

/* Weights of n whole vectors, at most STEP, added to `part` one after the other. */
SATTN_INLINE float32x4_t weigh_vectors(softmax_row row, int64_t j, float32x4_t base,
                                       float32x4_t part, int n, const softmax_mask mask)
{
    float32x4_t p[STEP];
    SATTN_UNROLL(4)
    for (int u = 0; u < n; ++u)
        p[u] = vec_exp_f32x4(vsubq_f32(
            load_whole(row, softmax_scores(row, j + u * LANES), j + u * LANES, mask), base));
    SATTN_UNROLL(4)
    for (int u = 0; u < n; ++u) {
        vst1q_f32(row.p + j + u * LANES, p[u]);
        part = vaddq_f32(part, p[u]);
    }
    return part;
}

SATTN_INLINE float weigh_of(softmax_row row, softmax_cut cut, float base_value,
                            const softmax_mask mask, const bool has_alibi)
{
    row.has_alibi = has_alibi; /* a constant from here on */
    const float32x4_t base = vdupq_n_f32(base_value);
    float32x4_t sum = vdupq_n_f32(0.0f);
    float32x4_t part = vdupq_n_f32(0.0f); /* of one key block */
    float32x4_t tail = vdupq_n_f32(0.0f);
    if (cut.has_tail)
        tail = load_lanes(row, cut, softmax_tail_scores(row, cut), cut.tail, mask);
    if (cut.has_head) {
        const float32x4_t s = load_lanes(row, cut, softmax_scores(row, cut.first), cut.first, mask);
        part = vec_exp_f32x4(vsubq_f32(s, base));
        store_columns(row, cut.first, part);
    }
    for (int64_t j = cut.body; j < cut.body_end;) {
        if (j % SATTN_KEY_BLOCK == 0) {
            sum = vaddq_f32(sum, part);
            part = vdupq_n_f32(0.0f);
        }
        const int64_t next = j - j % SATTN_KEY_BLOCK + SATTN_KEY_BLOCK;
        const int64_t stop = next < cut.body_end ? next : cut.body_end;
        for (; j + STEP * LANES <= stop; j += STEP * LANES)
            part = weigh_vectors(row, j, base, part, STEP, mask);
        for (; j < stop; j += LANES)
            part = weigh_vectors(row, j, base, part, 1, mask);
    }
    if (cut.has_tail) {
        const float32x4_t p = vec_exp_f32x4(vsubq_f32(tail, base));
        store_columns(row, cut.tail, p);
        if (cut.body_end % SATTN_KEY_BLOCK == 0) {
            sum = vaddq_f32(sum, part);
            part = vdupq_n_f32(0.0f);
        }
        part = vaddq_f32(part, turned_back(p, cut.body_end - cut.tail));
    }
    return vaddvq_f32(vaddq_f32(sum, part));
}

static inline float weigh(const softmax_row *row, const softmax_cut *cut, float base)
{
    return softmax_weigh_by_mask(weigh_of, row, cut, base, false);
}

static inline float alibi_weigh(const softmax_row *row, const softmax_cut *cut, float base)
{
    return softmax_weigh_by_mask(weigh_of, row, cut, base, true);
}

/* The four scores from j + u * LANES on, less slope times distance; one conversion serves all u. */
SATTN_INLINE float32x4_t sloped(float32x4_t s, softmax_row row, int64_t j, const int u)
{
    static const float lane[LANES] = {0, 1, 2, 3};
    const float32x4_t position = vdupq_n_f32((float)(int)(row.position - j));
    const float32x4_t key = vaddq_f32(vld1q_f32(lane), vdupq_n_f32((float)(u * LANES)));
    return vfmaq_n_f32(s, vabdq_f32(position, key), row.slope);
}

/* Raw scores of the keys in [begin, end) among j .. j + 3, 0 in all other lanes. */
SATTN_INLINE float32x4_t load_raw(softmax_row row, const softmax_cut *cut, int64_t j)
{
    float s[LANES] = {0};
    for (int lane = 0; lane < LANES; ++lane)
        if (j + lane >= cut->begin && j + lane < cut->end)
            s[lane] = row.raw[j + lane];
    return vld1q_f32(s);
}

SATTN_NOINLINE void slope(const softmax_row *of, const softmax_cut *cut)
{
    const softmax_row row = *of;
    if (cut->has_head)
        vst1q_f32(row.tile + (cut->first - row.origin),
                  sloped(load_raw(row, cut, cut->first), row, cut->first, 0));
    if (cut->has_tail)
        vst1q_f32(row.tile + (cut->body_end - row.origin),
                  sloped(load_raw(row, cut, cut->tail), row, cut->tail, 0));
    int64_t j = cut->body;
    float *to = row.tile + (j - row.origin);
    for (; j + STEP * LANES <= cut->body_end; j += STEP * LANES, to += STEP * LANES) {
        SATTN_UNROLL(4)
        for (int u = 0; u < STEP; ++u) {
            const float32x4_t s = vld1q_f32(row.raw + j + u * LANES);
            vst1q_f32(to + u * LANES, sloped(s, row, j, u));
        }
    }
    for (; j < cut->body_end; j += LANES, to += LANES)
        vst1q_f32(to, sloped(vld1q_f32(row.raw + j), row, j, 0));
}

SATTN_INLINE float32x4_t scaled(float32x4_t p, float32x4_t factor, float32x4_t least,
                                bool has_least)
{
    if (!has_least)
        return vmulq_f32(p, factor);
    const uint32x4_t kept = vandq_u32(vreinterpretq_u32_f32(p), vcgeq_f32(p, least));
    return vmulq_f32(vreinterpretq_f32_u32(kept), factor);
}

SATTN_INLINE void scale_of(softmax_row row, softmax_cut cut, float factor_value, float least_value,
                           bool has_least)
{
    const float32x4_t factor = vdupq_n_f32(factor_value);
    const float32x4_t least = vdupq_n_f32(least_value);
    float *const p = row.p;
    float32x4_t tail = vdupq_n_f32(0.0f);
    if (cut.has_tail)
        tail = load_columns(row, cut.tail);
    if (cut.has_head) {
        const float32x4_t head = load_columns(row, cut.first);
        store_columns(row, cut.first, scaled(head, factor, least, has_least));
    }
    int64_t j = cut.body;
    for (; j + STEP * LANES <= cut.body_end; j += STEP * LANES) {
        SATTN_UNROLL(4)
        for (int u = 0; u < STEP; ++u) {
            float *const at = p + j + u * LANES;
            vst1q_f32(at, scaled(vld1q_f32(at), factor, least, has_least));
        }
    }
    for (; j < cut.body_end; j += LANES)
        vst1q_f32(p + j, scaled(vld1q_f32(p + j), factor, least, has_least));
    if (cut.has_tail)
        store_columns(row, cut.tail, scaled(tail, factor, least, has_least));
}

static inline void scale(const softmax_row *row, const softmax_cut *cut, float factor, float least)
{
    if (least > 0.0f)
        scale_of(*row, *cut, factor, least, true);
    else
        scale_of(*row, *cut, factor, least, false);
}

#endif
