/* SPDX-License-Identifier: MIT
 *
 * av_f32_neon.c: O = P V with NEON, 4 columns of V per vector.
 *
 * The method is in av_tiles.h; here are its steps. Sums in registers: 8 rows x 2 vectors of
 * columns, or 4 x 4, 3 x 4, 2 x 8 and 1 x 16 for what is left of a strip. The weights of 4 keys of
 * a row are one vector, used by lane (fmla by element), so none is broadcast. Columns that do not
 * fill a vector are loaded and stored lane by lane. */
#include "kernels/av/av_tiles.h"
#include "kernels/vec/vec_neon.h"

#include <string.h>

enum {
    LANES = 4,
    VEC_BYTES = LANES * (int)sizeof(float),
    LINE_VECS = 4, /* vectors in a cache line */
    MAX_SUMS = 16, /* most accumulators of a register tile */
    FEW = 4,       /* most rows with which V passes through one register after the other */
};

sattn_av_fn sattn_av_f32_neon;

/* The shape of a register tile; constants once inlined. */
typedef struct tile_shape {
    int n_rows, n_vecs;
    bool is_partial; /* its one vector has fewer columns than lanes */
    bool fetches;    /* each line of V prefetches another */
} tile_shape;

/* Vector y of columns of the row v, and the line that is to be prefetched with it. */
SATTN_INLINE float32x4_t load(const float *v, int y, int n_tail, int64_t ahead,
                              const tile_shape shape)
{
    const float *const from = v + y * LANES;
    if (shape.fetches && y % LINE_VECS == 0)
        vec_fetch(from, ahead);
    return shape.is_partial ? vec_load_tail_f32x4(from, n_tail) : vld1q_f32(from);
}

/* sum[r][y] += p[r] * v[y] for one key, whose weights are in lane `lane` of p. */
SATTN_INLINE void key_of_few(float32x4_t *sum, const float32x4_t *p, const int lane, const float *v,
                             int n_tail, int64_t ahead, const tile_shape shape)
{
    SATTN_KEEP_ORDER(); /* loads hoisted further would not find registers */
    SATTN_UNROLL(16)
    for (int y = 0; y < shape.n_vecs; ++y) {
        if (y == MAX_SUMS / 2)
            SATTN_KEEP_ORDER();
        const float32x4_t v_vec = load(v, y, n_tail, ahead, shape);
        SATTN_UNROLL(4)
        for (int r = 0; r < shape.n_rows; ++r)
            sum[r * shape.n_vecs + y] =
                vec_fma_lane_f32x4(sum[r * shape.n_vecs + y], v_vec, p[r], lane);
    }
}

SATTN_INLINE void key_of_many(float32x4_t *sum, const float32x4_t *p, const int lane,
                              const float *v, int n_tail, int64_t ahead, const tile_shape shape)
{
    float32x4_t v_vec[MAX_SUMS];
    SATTN_KEEP_ORDER();
    SATTN_UNROLL(2)
    for (int y = 0; y < shape.n_vecs; ++y)
        v_vec[y] = load(v, y, n_tail, ahead, shape);
    SATTN_UNROLL(8)
    for (int r = 0; r < shape.n_rows; ++r) {
        SATTN_UNROLL(2)
        for (int y = 0; y < shape.n_vecs; ++y)
            sum[r * shape.n_vecs + y] =
                vec_fma_lane_f32x4(sum[r * shape.n_vecs + y], v_vec[y], p[r], lane);
    }
}

SATTN_INLINE void key(float32x4_t *sum, const float32x4_t *p, const int lane, const float *v,
                      int n_tail, int64_t ahead, const tile_shape shape)
{
    if (shape.n_rows <= FEW)
        key_of_few(sum, p, lane, v, n_tail, ahead, shape);
    else
        key_of_many(sum, p, lane, v, n_tail, ahead, shape);
}

/* O = sum or O += sum for one vector of columns: what O holds counts as far as `keep` has bits. */
SATTN_INLINE void store(float *o, float32x4_t sum, uint32x4_t keep, int n_tail,
                        const bool is_partial)
{
    const float32x4_t old = is_partial ? vec_load_tail_f32x4(o, n_tail) : vld1q_f32(o);
    sum = vaddq_f32(vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(old), keep)), sum);
    if (is_partial)
        vec_store_part_f32x4(o, sum, n_tail);
    else
        vst1q_f32(o, sum);
}

SATTN_INLINE void columns(const av_tile *tile, int64_t column, const tile_shape shape)
{
    const int n_tail = (int)(tile->d_v % LANES);
    const int64_t v_stride = tile->v_stride;
    const int64_t ahead =
        tile->fetch / (shape.n_vecs * VEC_BYTES) * v_stride * (int64_t)sizeof(float);
    const int64_t n_keys = tile->n_keys;
    const uint32x4_t keep = vdupq_n_u32(tile->is_first ? 0 : UINT32_MAX);
    const float *v = tile->v + column;
    const float *p[AV_TILE_ROWS]; /* of its own, to stay in registers */
    float32x4_t p_vec[AV_TILE_ROWS];
    float32x4_t sum[MAX_SUMS];
    SATTN_UNROLL(8)
    for (int r = 0; r < shape.n_rows; ++r)
        p[r] = tile->p[r] + tile->p_at;
    /* Opaque, or clang makes one memset of the loop and leaves the sums in memory. */
    float32x4_t zero = vdupq_n_f32(0.0f);
    __asm__("" : "+w"(zero));
    SATTN_UNROLL(16)
    for (int i = 0; i < shape.n_rows * shape.n_vecs; ++i)
        sum[i] = zero;
    int64_t j = 0;
    SATTN_NO_UNROLL
    for (; j + LANES <= n_keys; j += LANES) {
        SATTN_UNROLL(8)
        for (int r = 0; r < shape.n_rows; ++r)
            p_vec[r] = vld1q_f32(p[r] + j);
        SATTN_UNROLL(4)
        for (int lane = 0; lane < LANES; ++lane, v += v_stride)
            key(sum, p_vec, lane, v, n_tail, ahead, shape);
    }
    if (j < n_keys) {
        SATTN_UNROLL(8)
        for (int r = 0; r < shape.n_rows; ++r)
            p_vec[r] = vec_load_tail_f32x4(p[r] + j, n_keys - j);
        key(sum, p_vec, 0, v, n_tail, ahead, shape);
        if (n_keys - j > 1)
            key(sum, p_vec, 1, v + v_stride, n_tail, ahead, shape);
        if (n_keys - j > 2)
            key(sum, p_vec, 2, v + 2 * v_stride, n_tail, ahead, shape);
    }
    SATTN_UNROLL(16)
    for (int i = 0; i < shape.n_rows * shape.n_vecs; ++i)
        store(tile->o[i / shape.n_vecs] + column + i % shape.n_vecs * LANES, sum[i], keep, n_tail,
              shape.is_partial);
}

/* Tiles of `widest` vectors of columns, a power of 2, then one each of what is left. */
SATTN_INLINE void rows(const av_tile *tile, const int n_rows, const int widest, const bool fetches)
{
    const int64_t whole = tile->d_v / LANES * LANES;
    int64_t column = 0;
    for (; whole - column >= widest * LANES; column += widest * LANES)
        columns(tile, column, (tile_shape){n_rows, widest, false, fetches});
    if (widest > 8 && whole - column >= 8 * LANES) {
        columns(tile, column, (tile_shape){n_rows, widest > 8 ? 8 : 1, false, fetches});
        column += (int64_t)8 * LANES;
    }
    if (widest > 4 && whole - column >= 4 * LANES) {
        columns(tile, column, (tile_shape){n_rows, widest > 4 ? 4 : 1, false, fetches});
        column += (int64_t)4 * LANES;
    }
    if (widest > 2 && whole - column >= 2 * LANES) {
        columns(tile, column, (tile_shape){n_rows, widest > 2 ? 2 : 1, false, fetches});
        column += (int64_t)2 * LANES;
    }
    if (column < whole)
        columns(tile, column, (tile_shape){n_rows, 1, false, fetches});
    if (whole < tile->d_v)
        columns(tile, whole, (tile_shape){n_rows, 1, true, fetches});
}

/* One function per number of rows, so that a tile's pointers find registers. */
SATTN_NOINLINE void one_row(const av_tile *tile)
{
    rows(tile, 1, 16, true);
}

SATTN_NOINLINE void two_rows(const av_tile *tile)
{
    rows(tile, 2, 8, true);
}

SATTN_NOINLINE void three_rows(const av_tile *tile)
{
    rows(tile, 3, 4, true);
}

SATTN_NOINLINE void four_rows(const av_tile *tile)
{
    rows(tile, 4, 4, true);
}

SATTN_NOINLINE void eight_rows(const av_tile *tile)
{
    rows(tile, 8, 2, false);
}

SATTN_NOINLINE void eight_rows_fetch(const av_tile *tile)
{
    rows(tile, 8, 2, true);
}

static void accumulate(const av_tile *tile)
{
    switch (tile->n_rows) {
    case 1:
        one_row(tile);
        break;
    case 2:
        two_rows(tile);
        break;
    case 3:
        three_rows(tile);
        break;
    case 4:
        four_rows(tile);
        break;
    default:
        if (tile->fetch)
            eight_rows_fetch(tile);
        else
            eight_rows(tile);
        break;
    }
}

static bool is_visible(const av_row *row, int j)
{
    if (j < row->begin || j >= row->end || (row->mask_bool && row->mask_bool[j] == 0))
        return false;
    return !row->mask_add || row->mask_add[j] != -INFINITY;
}

/* Lanes of the 4 keys from j on that the row sees. */
SATTN_INLINE uint32x4_t visible_keys(const av_row *row, int j, int32x4_t index, const bool is_bool,
                                     const bool is_add)
{
    const uint32x4_t lanes = vandq_u32(vcgeq_s32(index, vdupq_n_s32(row->begin)),
                                       vcltq_s32(index, vdupq_n_s32(row->end)));
    if (is_bool) {
        uint32_t bytes;
        memcpy(&bytes, row->mask_bool + j, sizeof bytes);
        const uint8x8_t mask = vreinterpret_u8_u32(vdup_n_u32(bytes));
        const uint32x4_t wide = vmovl_u16(vget_low_u16(vmovl_u8(mask)));
        return vandq_u32(lanes, vtstq_u32(wide, wide));
    }
    if (is_add)
        return vbicq_u32(lanes, vceqq_f32(vld1q_f32(row->mask_add + j), vdupq_n_f32(-INFINITY)));
    return lanes;
}

SATTN_INLINE bool copy_row(float *to, const av_row *row, const bool is_bool, const bool is_add)
{
    static const int32_t first[LANES] = {0, 1, 2, 3};
    int32x4_t index = vld1q_s32(first);
    uint32x4_t seen = vdupq_n_u32(0);
    int j = 0;
    for (; j + LANES <= row->n; j += LANES) {
        const uint32x4_t lanes = visible_keys(row, j, index, is_bool, is_add);
        const uint32x4_t p = vreinterpretq_u32_f32(vld1q_f32(row->p + j));
        vst1q_f32(to + j, vreinterpretq_f32_u32(vandq_u32(p, lanes)));
        index = vaddq_s32(index, vdupq_n_s32(LANES));
        seen = vorrq_u32(seen, lanes);
    }
    bool any = vmaxvq_u32(seen) != 0;
    for (; j < row->n; ++j) {
        const bool visible = is_visible(row, j);
        to[j] = visible ? row->p[j] : 0.0f;
        any = any || visible;
    }
    return any;
}

static bool copy(float *to, const av_row *row)
{
    if (row->mask_bool)
        return copy_row(to, row, true, false);
    if (row->mask_add)
        return copy_row(to, row, false, true);
    return copy_row(to, row, false, false);
}

void sattn_av_f32_neon(const sattn_av_args *args)
{
    static const av_ops ops = {.strip_rows = 64,
                               .piece_bytes = 128 << 10,
                               .tile_rows = av_tile_rows_of_8,
                               .copy = copy,
                               .accumulate = accumulate};
    av_run(args, &ops);
}
