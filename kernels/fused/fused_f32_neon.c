/* SPDX-License-Identifier: MIT
 *
 * fused_f32_neon.c: fused attention for many query rows with NEON, 16 rows to a strip.
 *
 * Method   fused_prefill.h, with two registers for each of its "vectors": half a strip is 8 rows.
 *          Both products use a tile of 8 x 2 registers, 16 sums, which hides the latency of four
 *          multiply-adds a cycle. The multiplier is a lane of a vector of K or V (fmla by element),
 *          so those are loaded four or eight elements at a time and nothing is broadcast but the
 *          last d % 4 features.
 * Tails    A last group of fewer than 8 keys repeats the last key: its scores land in rows of S^T
 *          that nobody reads, and a repeated score does not change a maximum. A last group of fewer
 *          than 8 columns of V is moved back to overlap the one before, and only the new columns
 *          are added; V narrower than 8 is loaded lane by lane.
 * Sums     each score is summed in the order of the features, each output in the order of the keys,
 *          whatever the tile: a row's bits depend on nothing else. */
#include "kernels/fused/fused_prefill.h"
#include "kernels/vec/vec_neon.h"

#include <string.h>

enum {
    VEC = 4,           /* floats in a register */
    LANES = 2 * VEC,   /* rows in half a strip */
    WIDTH = 2 * LANES, /* rows in a strip */
    TILE = 8,          /* keys in a score tile, columns of V in an output tile */
};

sattn_fused_fn sattn_fused_f32_neon;

static void pack(const fused_prefill_state *st, const fused_strip *strip, float scale)
{
    const float32x4_t scales = vdupq_n_f32(scale);
    for (int r = 0; r < st->n_vec * LANES; r += VEC)
        for (int64_t x = 0; x < st->d; x += VEC) {
            float *const q_t = st->q_t + x * WIDTH + r;
            const int64_t n = st->d - x < VEC ? st->d - x : VEC;
            float32x4_t columns[4];
            vec_load_columns_f32x4(columns, &strip->q[r], x, n);
            for (int64_t u = 0; u < n; ++u)
                vst1q_f32(q_t + u * WIDTH, vmulq_f32(columns[u], scales));
        }
}

/* Scores of 8 keys and 8 rows. */
SATTN_INLINE void score_tile(const float *q_t, int64_t d, const float *const rows[TILE], float *s_t,
                             float *block_max)
{
    const float *k[TILE]; /* of its own, to stay in registers */
    float32x4_t sum[TILE][2];
    SATTN_UNROLL(8)
    for (int u = 0; u < TILE; ++u) {
        k[u] = rows[u];
        sum[u][0] = sum[u][1] = vdupq_n_f32(0.0f);
    }
    const int64_t whole = d - d % VEC;
    int64_t x = 0;
    SATTN_NO_UNROLL
    for (; x < whole; x += VEC) {
        float32x4_t k_vec[TILE];
        SATTN_UNROLL(8)
        for (int u = 0; u < TILE; ++u)
            k_vec[u] = vld1q_f32(k[u] + x);
        SATTN_UNROLL(4)
        for (int lane = 0; lane < VEC; ++lane) {
            const float32x4_t q0 = vld1q_f32(q_t + (x + lane) * WIDTH);
            const float32x4_t q1 = vld1q_f32(q_t + (x + lane) * WIDTH + VEC);
            SATTN_UNROLL(8)
            for (int u = 0; u < TILE; ++u) {
                sum[u][0] = vec_fma_lane_f32x4(sum[u][0], q0, k_vec[u], lane);
                sum[u][1] = vec_fma_lane_f32x4(sum[u][1], q1, k_vec[u], lane);
            }
        }
    }
    SATTN_NO_UNROLL
    for (; x < d; ++x) {
        const float32x4_t q0 = vld1q_f32(q_t + x * WIDTH);
        const float32x4_t q1 = vld1q_f32(q_t + x * WIDTH + VEC);
        SATTN_UNROLL(8)
        for (int u = 0; u < TILE; ++u) {
            const float32x4_t k_all = vld1q_dup_f32(k[u] + x);
            sum[u][0] = vfmaq_f32(sum[u][0], q0, k_all);
            sum[u][1] = vfmaq_f32(sum[u][1], q1, k_all);
        }
    }
    SATTN_UNROLL(2)
    for (int c = 0; c < 2; ++c) {
        float32x4_t max = vld1q_f32(block_max + c * VEC);
        SATTN_UNROLL(8)
        for (int u = 0; u < TILE; ++u) {
            vst1q_f32(s_t + u * WIDTH + c * VEC, sum[u][c]);
            max = vmaxnmq_f32(max, sum[u][c]);
        }
        vst1q_f32(block_max + c * VEC, max);
    }
}

/* K is read along its rows, which every hardware prefetcher follows; V will be read in columns of
 * 8, a jump at every key, so its rows are called for while their scores are computed. */
static void score(const fused_prefill_state *st, const fused_block *block)
{
    for (int r = 0; r < WIDTH; ++r)
        st->block_max[r] = -INFINITY;
    for (int j = 0; j < block->n_keys; j += TILE) {
        const float *k[TILE];
        for (int u = 0; u < TILE; ++u) {
            const int key = j + u < block->n_keys ? j + u : block->n_keys - 1;
            k[u] = block->k + key * block->k_stride;
            for (int64_t y = 0; y < st->d_v; y += 16)
                __builtin_prefetch(block->v + key * block->v_stride + y);
        }
        for (int r = 0; r < st->n_vec * LANES; r += LANES)
            score_tile(st->q_t + r, st->d, k, st->s_t + j * WIDTH + r, st->block_max + r);
    }
}

static void hide(const fused_prefill_state *st, int n_keys)
{
    const float32x4_t hidden = vdupq_n_f32(-INFINITY);
    for (int r = 0; r < st->n_vec * LANES; r += VEC) {
        const int32x4_t end = vld1q_s32(st->block_end + r);
        for (int j = vminvq_s32(end); j < n_keys; ++j) {
            float *const s = st->s_t + j * WIDTH + r;
            vst1q_f32(s, vbslq_f32(vcgtq_s32(end, vdupq_n_s32(j)), vld1q_f32(s), hidden));
        }
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
static void load_bias(float32x4_t bias[4], const fused_strip *strip, int r, int64_t at, int n)
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

static void add_bias(const fused_prefill_state *st, const fused_strip *strip,
                     const fused_block *block)
{
    const float32x4_t hidden = vdupq_n_f32(-INFINITY);
    const int64_t key_stride = block->mask_key_stride;
    for (int r = 0; r < st->n_vec * LANES; r += VEC) {
        const int32x4_t end = vld1q_s32(st->block_end + r);
        uint32x4_t seen = vreinterpretq_u32_s32(vld1q_s32(st->seen + r));
        for (int j = 0; j < block->n_keys; j += 4) {
            const int n = block->n_keys - j < 4 ? block->n_keys - j : 4;
            float32x4_t bias[4];
            load_bias(bias, strip, r, (block->first + j) * key_stride, key_stride ? n : 1);
            for (int u = 0; u < n; ++u) {
                float *const s = st->s_t + (j + u) * WIDTH + r;
                const float32x4_t added = bias[key_stride ? u : 0];
                const uint32x4_t is_hidden = vceqq_f32(added, hidden);
                vst1q_f32(s, vbslq_f32(is_hidden, hidden, vaddq_f32(vld1q_f32(s), added)));
                seen = vorrq_u32(seen, vbicq_u32(vcgtq_s32(end, vdupq_n_s32(j + u)), is_hidden));
            }
        }
        vst1q_s32(st->seen + r, vreinterpretq_s32_u32(seen));
    }
}

static void maximum(const fused_prefill_state *st, int n_keys)
{
    for (int r = 0; r < st->n_vec * LANES; r += LANES) {
        float32x4_t max0 = vdupq_n_f32(-INFINITY);
        float32x4_t max1 = max0;
        for (int j = 0; j < n_keys; ++j) {
            max0 = vmaxnmq_f32(max0, vld1q_f32(st->s_t + j * WIDTH + r));
            max1 = vmaxnmq_f32(max1, vld1q_f32(st->s_t + j * WIDTH + r + VEC));
        }
        vst1q_f32(st->block_max + r, max0);
        vst1q_f32(st->block_max + r + VEC, max1);
    }
}

/* Raises m of rows r .. r + 3 where the block exceeds it by the threshold. */
static void raise_reference(const fused_prefill_state *st, int r)
{
    const float32x4_t old = vld1q_f32(st->row_max + r);
    const float32x4_t block = vld1q_f32(st->block_max + r);
    const uint32x4_t is_due = vcgtq_f32(block, vaddq_f32(old, vdupq_n_f32(SATTN_LAZY_THRESHOLD)));
    if (vmaxvq_u32(is_due) == 0)
        return;
    const float32x4_t factor =
        vbslq_f32(is_due, vec_exp_f32x4(vsubq_f32(old, block)), vdupq_n_f32(1.0f));
    vst1q_f32(st->row_max + r, vbslq_f32(is_due, block, old));
    vst1q_f32(st->row_sum + r, vmulq_f32(vld1q_f32(st->row_sum + r), factor));
    for (int64_t y = 0; y < st->d_v; ++y) {
        float *const o = st->o_t + y * WIDTH + r;
        vst1q_f32(o, vmulq_f32(vld1q_f32(o), factor));
    }
}

SATTN_INLINE float32x4_t weigh_one(float *s, float32x4_t m)
{
    const float32x4_t p = vec_exp_f32x4(vsubq_f32(vld1q_f32(s), m));
    vst1q_f32(s, p);
    return p;
}

static void weigh(const fused_prefill_state *st, int n_keys)
{
    for (int r = 0; r < st->n_vec * LANES; r += LANES) {
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
        float *s = st->s_t + r;
        int left = n_keys;
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
}

/* One key of an output tile: 8 columns of its V row, of which `n` exist, times its 8 weights. */
SATTN_INLINE void accumulate_key(float32x4_t sum[TILE][2], const float *v, int64_t n,
                                 const float *p_t)
{
    SATTN_KEEP_ORDER(); /* a load hoisted over many keys costs registers, then moves */
    const float32x4_t v_lo = vec_load_tail_f32x4(v, n);
    const float32x4_t v_hi = vec_load_tail_f32x4(v + VEC, n - VEC);
    const float32x4_t p0 = vld1q_f32(p_t);
    const float32x4_t p1 = vld1q_f32(p_t + VEC);
    SATTN_UNROLL(4)
    for (int u = 0; u < 4; ++u) {
        sum[u][0] = vec_fma_lane_f32x4(sum[u][0], p0, v_lo, u);
        sum[u][1] = vec_fma_lane_f32x4(sum[u][1], p1, v_lo, u);
        sum[u + 4][0] = vec_fma_lane_f32x4(sum[u + 4][0], p0, v_hi, u);
        sum[u + 4][1] = vec_fma_lane_f32x4(sum[u + 4][1], p1, v_hi, u);
    }
}

/* Adds sum over the keys of p * v to columns `first` .. n - 1 of the 8 that begin at `v` and `o_t`.
 */
SATTN_INLINE void accumulate_tile(const fused_block *block, const float *v, const float *p_t,
                                  float *o_t, int64_t first, int64_t n)
{
    const int64_t v_stride = block->v_stride;
    float32x4_t sum[TILE][2];
    SATTN_UNROLL(8)
    for (int u = 0; u < TILE; ++u)
        sum[u][0] = sum[u][1] = vdupq_n_f32(0.0f);
    int left = block->n_keys;
    SATTN_NO_UNROLL
    for (; left >= 4; left -= 4) {
        SATTN_UNROLL(4)
        for (int u = 0; u < 4; ++u) {
            accumulate_key(sum, v, n, p_t + u * WIDTH);
            v += v_stride;
        }
        p_t += 4 * WIDTH;
    }
    SATTN_NO_UNROLL
    for (; left > 0; --left) {
        accumulate_key(sum, v, n, p_t);
        v += v_stride;
        p_t += WIDTH;
    }
    SATTN_UNROLL(8)
    for (int u = 0; u < TILE; ++u)
        if (u >= first && u < n) {
            float *const o = o_t + u * WIDTH;
            vst1q_f32(o, vaddq_f32(vld1q_f32(o), sum[u][0]));
            vst1q_f32(o + VEC, vaddq_f32(vld1q_f32(o + VEC), sum[u][1]));
        }
}

static void accumulate(const fused_prefill_state *st, const fused_block *block)
{
    const int64_t d_v = st->d_v;
    for (int64_t y = 0; d_v >= TILE && y < d_v; y += TILE) {
        const int64_t at = y + TILE <= d_v ? y : d_v - TILE;
        for (int r = 0; r < st->n_vec * LANES; r += LANES)
            accumulate_tile(block, block->v + at, st->s_t + r, st->o_t + at * WIDTH + r, y - at,
                            TILE);
    }
    if (d_v < TILE)
        for (int r = 0; r < st->n_vec * LANES; r += LANES)
            accumulate_tile(block, block->v, st->s_t + r, st->o_t + r, 0, d_v);
}

static void store(const fused_prefill_state *st, const fused_strip *strip)
{
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

void sattn_fused_f32_neon(const sattn_fused_args *args)
{
    static const fused_prefill_ops ops = {.lanes = LANES,
                                          .pack = pack,
                                          .score = score,
                                          .hide = hide,
                                          .bias = add_bias,
                                          .maximum = maximum,
                                          .weigh = weigh,
                                          .accumulate = accumulate,
                                          .store = store};
    fused_prefill(args, &ops);
}
