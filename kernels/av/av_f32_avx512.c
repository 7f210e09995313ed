/* SPDX-License-Identifier: MIT
 *
 * av_f32_avx512.c: O = P V, 16 columns of V per vector.
 *
 * The method is in av_tiles.h; here are its steps. Sums in registers: of many rows, with V in
 * registers while the weights pass, 6 x 4 vectors of columns where these divide V, which take the
 * fewest instructions for a multiply-add, else 8 x 2 (the last tile 8 x 3); of few rows, with the
 * weights in registers while V passes, 4 x 4 (4 x 6), 3 x 8, 2 x 8, 1 x 8 (1 x 16 where V is wide),
 * so that V is read in pieces as long as registers hold. The columns behind the last whole tile are
 * one narrower tile whose last vector is masked. */
#include "kernels/av/av_tiles.h"
#include "kernels/vec/vec_avx512.h"

enum {
    LANES = 16,
    VEC_BYTES = LANES * (int)sizeof(float),
    FEW = 4,                             /* most rows whose weights stay in registers */
    MANY_VECS = 4,                       /* vectors of columns of a tile of six rows */
    MAX_SUMS = 24,                       /* most accumulators of a register tile */
    MAX_VECS = 16,                       /* most vectors of columns in it */
    ROW_LINES = SATTN_KEY_BLOCK / LANES, /* cache lines of a row's weights for a block */
};

/* What a tile prefetches: lines of V further down, or the next tile's weights. */
typedef enum prefetch { PREFETCH_NOTHING, PREFETCH_V, PREFETCH_WEIGHTS } prefetch;

sattn_av_fn sattn_av_f32_avx512;

/* Vector y of n_vecs vectors of columns; with `is_masked` the last one has only the lanes `last`.
 */
SATTN_INLINE __m512 load(const float *v, __mmask16 last, const int y, const int n_vecs,
                         const bool is_masked)
{
    return is_masked && y + 1 == n_vecs ? vec_load_tail_f32x16(v + y * LANES, last)
                                        : _mm512_loadu_ps(v + y * LANES);
}

/* sum[r][y] += p[r][j] * v[y] for one key, few rows and many columns: the weights stay in registers
 * while V passes through one. */
SATTN_INLINE void key_of_few(__m512 *sum, const float *const *p, int64_t j, const float *v,
                             __mmask16 last, int64_t ahead, const int n_rows, const int n_vecs,
                             const bool is_masked, const prefetch fetch)
{
    __m512 p_f32x16[AV_TILE_ROWS];
    SATTN_KEEP_ORDER();
    SATTN_UNROLL(8)
    for (int r = 0; r < n_rows; ++r)
        p_f32x16[r] = _mm512_set1_ps(p[r][j]);
    SATTN_UNROLL(16)
    for (int y = 0; y < n_vecs; ++y) {
        __m512 v_f32x16 = load(v, last, y, n_vecs, is_masked);
        if (fetch == PREFETCH_V)
            vec_fetch(v + y * LANES, ahead);
        if (n_rows > 1)
            v_f32x16 = vec_in_register_f32x16(v_f32x16);
        SATTN_UNROLL(8)
        for (int r = 0; r < n_rows; ++r)
            sum[r * n_vecs + y] = _mm512_fmadd_ps(p_f32x16[r], v_f32x16, sum[r * n_vecs + y]);
    }
}

/* The same for many rows and few columns: V stays in registers while the weights pass. */
SATTN_INLINE void key_of_many(__m512 *sum, const float *const *p, int64_t j, const float *v,
                              __mmask16 last, int64_t ahead, const int n_rows, const int n_vecs,
                              const bool is_masked, const prefetch fetch)
{
    __m512 v_f32x16[MAX_VECS];
    SATTN_KEEP_ORDER();
    SATTN_UNROLL(4)
    for (int y = 0; y < n_vecs; ++y) {
        v_f32x16[y] = vec_in_register_f32x16(load(v, last, y, n_vecs, is_masked));
        if (fetch == PREFETCH_V)
            vec_fetch(v + y * LANES, ahead);
    }
    SATTN_UNROLL(8)
    for (int r = 0; r < n_rows; ++r) {
        const __m512 p_f32x16 = _mm512_set1_ps(p[r][j]);
        SATTN_UNROLL(4)
        for (int y = 0; y < n_vecs; ++y)
            sum[r * n_vecs + y] = _mm512_fmadd_ps(p_f32x16, v_f32x16[y], sum[r * n_vecs + y]);
    }
}

/* O = sum or O += sum for the n_vecs vectors of columns from `column` on. */
SATTN_INLINE void store(const av_tile *tile, int64_t column, const __m512 *sum, __mmask16 last,
                        const int n_rows, const int n_vecs, const bool is_masked)
{
    SATTN_UNROLL(8)
    for (int r = 0; r < n_rows; ++r) {
        float *const o = tile->o[r] + column;
        SATTN_UNROLL(16)
        for (int y = 0; y < n_vecs; ++y) {
            const __mmask16 lanes = is_masked && y + 1 == n_vecs ? last : (__mmask16)0xffff;
            const __m512 old = vec_load_tail_f32x16(o + y * LANES, tile->is_first ? 0 : lanes);
            vec_store_tail_f32x16(o + y * LANES, lanes, _mm512_add_ps(old, sum[r * n_vecs + y]));
        }
    }
}

/* One key, by the operand that is to stay in registers. */
SATTN_INLINE void key(__m512 *sum, const float *const *p, int64_t j, const float *v, __mmask16 last,
                      int64_t ahead, const int n_rows, const int n_vecs, const bool is_masked,
                      const prefetch fetch)
{
    if (n_rows <= FEW)
        key_of_few(sum, p, j, v, last, ahead, n_rows, n_vecs, is_masked, fetch);
    else
        key_of_many(sum, p, j, v, last, ahead, n_rows, n_vecs, is_masked, fetch);
}

/* With keys j and j + 1 one line of the weights of the next tile, so that 16 keys bring a row's for
 * a block. Returns where the next line is; `next_row` bytes behind a row's last, its neighbour's
 * first. */
SATTN_INLINE const float *fetch_weights(const float *line, int64_t next_row, int64_t j)
{
    uintptr_t at = (uintptr_t)line + VEC_LINE;
    uintptr_t down = at + (uintptr_t)next_row;
    vec_fetch_early(line, 0);
    __asm__("" : "+r"(down)); /* compilers would choose first and add then */
    at = j % LANES == LANES - 2 ? down : at;
    return (const float *)at;
}

SATTN_INLINE void columns(const av_tile *tile, int64_t column, const int n_rows, const int n_vecs,
                          const bool is_masked, const prefetch fetch)
{
    const __mmask16 last = vec_tail_m16(tile->d_v - column - (n_vecs - 1) * LANES);
    const int64_t v_stride = tile->v_stride;
    const int64_t n_keys = tile->n_keys;
    const int64_t ahead = tile->fetch / (n_vecs * VEC_BYTES) * v_stride * (int64_t)sizeof(float);
    const float *v = tile->v + column;
    const float *p[AV_TILE_ROWS]; /* of its own, to stay in registers */
    __m512 sum[MAX_SUMS];
    SATTN_UNROLL(8)
    for (int r = 0; r < n_rows; ++r)
        p[r] = tile->p[r] + tile->p_at;
    SATTN_UNROLL(24)
    for (int i = 0; i < n_rows * n_vecs; ++i)
        sum[i] = _mm512_setzero_ps();
    const float *next = tile->next;
    const int64_t next_row = (tile->next_stride - ROW_LINES * LANES) * (int64_t)sizeof(float);
    int64_t j = 0;
    if (n_rows > FEW) {
        SATTN_NO_UNROLL
        for (; j + 2 <= n_keys; j += 2) {
            if (fetch == PREFETCH_WEIGHTS)
                next = fetch_weights(next, next_row, j);
            key(sum, p, j, v, last, ahead, n_rows, n_vecs, is_masked, fetch);
            v += v_stride;
            key(sum, p, j + 1, v, last, ahead, n_rows, n_vecs, is_masked, fetch);
            v += v_stride;
        }
    }
    SATTN_NO_UNROLL
    for (; j < n_keys; ++j, v += v_stride)
        key(sum, p, j, v, last, ahead, n_rows, n_vecs, is_masked, fetch);
    store(tile, column, sum, last, n_rows, n_vecs, is_masked);
}

/* The columns from `column` on, at most n_most vectors of them. */
SATTN_INLINE void last_columns(const av_tile *tile, int64_t column, const int n_rows,
                               const int n_most, const prefetch fetch)
{
    const int64_t n_vecs = (tile->d_v - column + LANES - 1) / LANES;
    if (n_vecs == 1)
        columns(tile, column, n_rows, 1, true, fetch);
    if (n_most >= 2 && n_vecs == 2)
        columns(tile, column, n_rows, 2, true, fetch);
    if (n_most >= 3 && n_vecs == 3)
        columns(tile, column, n_rows, 3, true, fetch);
    if (n_most >= 4 && n_vecs == 4)
        columns(tile, column, n_rows, 4, true, fetch);
    if (n_most >= 5 && n_vecs == 5)
        columns(tile, column, n_rows, 5, true, fetch);
    if (n_most >= 6 && n_vecs == 6)
        columns(tile, column, n_rows, 6, true, fetch);
    if (n_most >= 7 && n_vecs == 7)
        columns(tile, column, n_rows, 7, true, fetch);
    if (n_most >= 8 && n_vecs == 8)
        columns(tile, column, n_rows, 8, true, fetch);
}

/* Tiles of n_vecs vectors of columns, and a last one of at most n_most. */
SATTN_INLINE void rows(const av_tile *tile, const int n_rows, const int n_vecs, const int n_most,
                       const prefetch fetch)
{
    const int64_t width = n_vecs * LANES;
    int64_t column = 0;
    if (n_rows == 1)
        for (; tile->d_v - column >= MAX_VECS * LANES; column += MAX_VECS * LANES)
            columns(tile, column, 1, MAX_VECS, false, fetch);
    for (; tile->d_v - column == width || tile->d_v - column > n_most * LANES; column += width)
        columns(tile, column, n_rows, n_vecs, false, fetch);
    last_columns(tile, column, n_rows, n_most, fetch);
}

/* One function per number of rows, so that a tile's pointers find registers. */
SATTN_NOINLINE void one_row(const av_tile *tile)
{
    rows(tile, 1, 8, 8, PREFETCH_V);
}

SATTN_NOINLINE void two_rows(const av_tile *tile)
{
    rows(tile, 2, 8, 8, PREFETCH_V);
}

SATTN_NOINLINE void three_rows(const av_tile *tile)
{
    rows(tile, 3, 8, 8, PREFETCH_V);
}

SATTN_NOINLINE void four_rows(const av_tile *tile)
{
    rows(tile, 4, 4, 6, PREFETCH_V);
}

/* Tiles of eight rows have no registers left for a second place in P. */
SATTN_NOINLINE void six_rows(const av_tile *tile)
{
    int64_t column = 0;
    if (tile->next) {
        columns(tile, column, 6, MANY_VECS, false, PREFETCH_WEIGHTS);
        column += MANY_VECS * LANES;
    }
    for (; column < tile->d_v; column += MANY_VECS * LANES)
        columns(tile, column, 6, MANY_VECS, false, PREFETCH_NOTHING);
}

SATTN_NOINLINE void eight_rows(const av_tile *tile)
{
    rows(tile, 8, 2, 3, PREFETCH_NOTHING);
}

SATTN_NOINLINE void eight_rows_fetch_v(const av_tile *tile)
{
    rows(tile, 8, 2, 3, PREFETCH_V);
}

/* Lanes of the 16 keys from j on that the row sees. */
SATTN_INLINE __mmask16 visible_keys(const av_row *row, int j, __m512i index, const bool is_bool,
                                    const bool is_add)
{
    const __mmask16 lanes =
        _mm512_mask_cmplt_epi32_mask(_mm512_cmpge_epi32_mask(index, _mm512_set1_epi32(row->begin)),
                                     index, _mm512_set1_epi32(row->end));
    if (is_bool) {
        const __m128i bytes = _mm_maskz_loadu_epi8(lanes, row->mask_bool + j);
        return _mm_test_epi8_mask(bytes, bytes);
    }
    if (is_add)
        return _mm512_mask_cmp_ps_mask(lanes, vec_load_tail_f32x16(row->mask_add + j, lanes),
                                       _mm512_set1_ps(-INFINITY), _CMP_NEQ_UQ);
    return lanes;
}

SATTN_INLINE bool copy_row(float *to, const av_row *row, const bool is_bool, const bool is_add)
{
    __m512i index = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    __mmask16 seen = 0;
    for (int j = 0; j < row->n; j += LANES) {
        const __mmask16 lanes = visible_keys(row, j, index, is_bool, is_add);
        _mm512_storeu_ps(to + j, vec_load_tail_f32x16(row->p + j, lanes));
        index = _mm512_add_epi32(index, _mm512_set1_epi32(LANES));
        seen |= lanes;
    }
    return seen != 0;
}

static bool copy(float *to, const av_row *row)
{
    if (row->mask_bool)
        return copy_row(to, row, true, false);
    if (row->mask_add)
        return copy_row(to, row, false, true);
    return copy_row(to, row, false, false);
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
    case 6:
        six_rows(tile);
        break;
    default:
        if (tile->fetch)
            eight_rows_fetch_v(tile);
        else
            eight_rows(tile);
        break;
    }
}

/* Rows of the next tile where tiles have 6, 4, 3, 2 or 1: 5 are dealt out evenly. */
static int tile_rows_of_6(int n_left)
{
    return n_left >= 6 ? 6 : n_left == 5 ? 3 : n_left;
}

/* Few rows fill tiles of eight better, which prefetch, too. */
static bool is_for_six_rows(const sattn_av_args *args)
{
    return args->d_v % (MANY_VECS * LANES) == 0 &&
           args->n_group * (args->i1 - args->i0) > AV_FETCH_ROWS;
}

void sattn_av_f32_avx512(const sattn_av_args *args)
{
    static const av_ops by_six = {.strip_rows = 60,
                                  .piece_bytes = 256 << 10,
                                  .tile_rows = tile_rows_of_6,
                                  .copy = copy,
                                  .accumulate = accumulate};
    static const av_ops by_eight = {.strip_rows = 64,
                                    .piece_bytes = 256 << 10,
                                    .tile_rows = av_tile_rows_of_8,
                                    .copy = copy,
                                    .accumulate = accumulate};
    av_run(args, is_for_six_rows(args) ? &by_six : &by_eight);
}
