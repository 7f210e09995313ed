/* SPDX-License-Identifier: MIT
 *
 * fused_f32_neon.c: fused attention for many query rows with NEON, 16 rows to a strip.
 *
 * Method   fused_prefill.h, with two registers for each of its "vectors": half a strip is 8 rows.
 *          Both products use a tile of 8 x 2 registers, 16 sums, which hides the latency of four
 *          multiply-adds a cycle. The multiplier is a lane of a vector of K or V (fmla by element),
 *          so those are loaded four or eight elements at a time and nothing is broadcast but the
 *          last d % 4 features.
 * Tails    A last group of fewer than 8 keys repeats the last key: its further scores are not
 *          stored, and a repeated score does not change a maximum. A last group of fewer than 8
 *          columns of V is moved back to overlap the one before, and only the new columns are
 *          added; V narrower than 8 is loaded lane by lane.
 * Sums     each score is summed in the order of the features, each output in the order of the keys,
 *          whatever the tile: a row's bits depend on nothing else. */
#include "kernels/fused/fused_prefill_neon.h"

enum {
    TILE = 8, /* keys in a score tile, columns of V in an output tile */
};

sattn_fused_fn sattn_fused_f32_neon;

/* Scores of 8 keys from key j on, the first n_keys of which exist, and of rows r .. r + 7. */
SATTN_INLINE void score_tile(const fused_prefill_state *st, const fused_block *block,
                             const float *const rows[TILE], int r, int j, int n_keys)
{
    const int64_t d = st->d;
    const float *const q_t = st->q_t + r;
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
            SATTN_KEEP_ORDER(); /* loads of the next lanes would take registers from the sums */
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
    float *const s_t = st->s_t + j * WIDTH + r;
    SATTN_UNROLL(8)
    for (int u = 0; u < TILE; ++u)
        if (u < n_keys) {
            vst1q_f32(s_t + u * WIDTH, sum[u][0]);
            vst1q_f32(s_t + u * WIDTH + VEC, sum[u][1]);
        }
    const fused_span span = {r / LANES, 1, j, j + n_keys};
    if (fused_keys_are_cut(block, &span, j, n_keys)) {
        prefill_hide(st, block, &span);
        return;
    }
    SATTN_UNROLL(2)
    for (int c = 0; c < 2; ++c) {
        float *const block_max = st->block_max + r + c * VEC;
        float32x4_t max = vld1q_f32(block_max);
        SATTN_UNROLL(8)
        for (int u = 0; u < TILE; ++u)
            max = vmaxnmq_f32(max, sum[u][c]);
        vst1q_f32(block_max, max);
    }
}

/* K is read along its rows, which every hardware prefetcher follows; V will be read in columns of
 * 8, a jump at every key, so its rows are called for while their scores are computed. */
static void score(const fused_prefill_state *st, const fused_block *block, const fused_span *span)
{
    for (int j = span->begin; j < span->end; j += TILE) {
        const int n_keys = span->end - j < TILE ? span->end - j : TILE;
        const float *k[TILE];
        for (int u = 0; u < TILE; ++u) {
            const int key = j + (u < n_keys ? u : n_keys - 1);
            k[u] = block->k + key * block->k_stride;
            for (int64_t y = 0; y < st->d_v; y += 16)
                __builtin_prefetch(block->v + key * block->v_stride + y);
        }
        for (int r = span->vec * LANES; r < (span->vec + span->n_vec) * LANES; r += LANES)
            score_tile(st, block, k, r, j, n_keys);
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

/* Adds sum over n_keys keys of p * v to columns `first` .. n - 1 of the 8 that begin at `v` and
 * `o_t`, or puts it there if they are fresh. */
SATTN_INLINE void accumulate_tile(const float *v, int64_t v_stride, const float *p_t, int n_keys,
                                  float *o_t, int64_t first, int64_t n, bool is_fresh)
{
    float32x4_t sum[TILE][2];
    SATTN_UNROLL(8)
    for (int u = 0; u < TILE; ++u)
        sum[u][0] = sum[u][1] = vdupq_n_f32(0.0f);
    int left = n_keys;
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
            const float32x4_t old0 = is_fresh ? vdupq_n_f32(0.0f) : vld1q_f32(o);
            const float32x4_t old1 = is_fresh ? vdupq_n_f32(0.0f) : vld1q_f32(o + VEC);
            vst1q_f32(o, vaddq_f32(old0, sum[u][0]));
            vst1q_f32(o + VEC, vaddq_f32(old1, sum[u][1]));
        }
}

static void accumulate(const fused_prefill_state *st, const fused_block *block)
{
    const int64_t d_v = st->d_v;
    const int64_t v_stride = block->v_stride;
    for (int64_t y = 0; y < d_v; y += TILE) {
        const int64_t at = y + TILE <= d_v ? y : d_v < TILE ? 0 : d_v - TILE;
        for (int vec = 0; vec < st->n_vec; ++vec) {
            const fused_span span = fused_block_span(block, vec);
            const int n_keys = span.end - span.begin;
            const float *const v = block->v + span.begin * v_stride + at;
            const float *const p_t = st->s_t + span.begin * WIDTH + vec * LANES;
            float *const o_t = st->o_t + at * WIDTH + vec * LANES;
            if (n_keys > 0 && d_v >= TILE)
                accumulate_tile(v, v_stride, p_t, n_keys, o_t, y - at, TILE, st->is_fresh[vec]);
            else if (n_keys > 0)
                accumulate_tile(v, v_stride, p_t, n_keys, o_t, 0, d_v, st->is_fresh[vec]);
        }
    }
}

void sattn_fused_f32_neon(const sattn_fused_args *args)
{
    static const fused_prefill_ops ops = {.lanes = LANES,
                                          .pack = prefill_pack,
                                          .score = score,
                                          .cap = vec_softcap,
                                          .slope = prefill_slope,
                                          .hide = prefill_hide,
                                          .bias = prefill_bias,
                                          .maximum = prefill_maximum,
                                          .weigh = prefill_weigh,
                                          .accumulate = accumulate,
                                          .store = prefill_store};
    fused_prefill(args, &ops);
}
