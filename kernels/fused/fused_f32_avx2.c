/* SPDX-License-Identifier: MIT
 *
 * fused_f32_avx2.c: fused attention for many query rows, in AVX2; the method is in
 * fused_prefill.h.
 *
 * Strip    16 query rows, two vectors; a rest of up to 8 rows uses one.
 * Tile     6 keys (scores) or 6 columns of V (output) x 2 vectors: 12 accumulators, and one
 *          register to spare. A step takes 8 loads for 12 FMA. With one vector the tile is 12 x 1.
 *          Each accumulator is one chain over x or over the keys, so its bits do not depend on the
 *          tile that a key or column falls into.
 * Tail     an extent that is no multiple of 6 ends in one tile of exactly the size that is left. */
#include "kernels/fused/fused_prefill_avx2.h"

sattn_fused_fn sattn_fused_f32_avx2;

enum {
    TILE = 6,
    TILE_ONE_VECTOR = 12,
    LINE = 16, /* floats in a cache line */
};

/* The two products of a block have one shape: a tile of n scalars x n_vec vectors of rows. */
typedef enum product {
    SCORES, /* S^T: the scalars are n keys, the steps run over x */
    OUTPUT, /* O^T: the scalars are n columns of V, the steps run over the keys */
} product;

/* One step: acc[i] += scalars[i * stride] * rows. */
SATTN_INLINE void tile_step(__m256 acc[][2], int n, int n_vec, const float *scalars, int64_t stride,
                            const float *rows)
{
    const __m256 rows0 = _mm256_load_ps(rows);
    const __m256 rows1 = n_vec == 2 ? _mm256_load_ps(rows + LANES) : rows0;
    SATTN_UNROLL(12)
    for (int i = 0; i < n; ++i) {
        const __m256 scalar = _mm256_set1_ps(scalars[i * stride]);
        acc[i][0] = _mm256_fmadd_ps(scalar, rows0, acc[i][0]);
        if (n_vec == 2)
            acc[i][1] = _mm256_fmadd_ps(scalar, rows1, acc[i][1]);
#if defined(__clang__)
        else
            __asm__("" : : "x"(scalar)); /* or clang puts the sum into the scalar's register */
#endif
    }
}

/* One line of what is read next is prefetched per two steps. Scores fetch their own rows of V,
 * eight at a time, line by line. A tile of output fetches a line of every other K row that comes
 * next; each line of 16 columns meets tiles of both parities. The address is an integer, since it
 * may lie past the end of an array. */
SATTN_INLINE void prefetch_line(const fused_block *block, int64_t at, int64_t step, product what)
{
    const uintptr_t line = LINE * sizeof(float);
    uintptr_t address;
    if (what == SCORES) {
        const int64_t row = at + (step / 2 & 7);
        address = (uintptr_t)block->v + (uintptr_t)(row * block->v_stride) * sizeof(float) +
                  (uintptr_t)(step / 16) * line;
    } else {
        const int64_t row = step + (at / (LINE / 2) & 1);
        address = (uintptr_t)block->k_next + (uintptr_t)(row * block->k_stride) * sizeof(float) +
                  (uintptr_t)(at / LINE) * line;
    }
    _mm_prefetch((const char *)address, _MM_HINT_T0);
}

SATTN_INLINE void tile_finish(const fused_prefill_state *st, int64_t at, __m256 acc[][2], int n,
                              int vec, product what)
{
    float *to = (what == SCORES ? st->s_t : st->o_t) + at * WIDTH + vec * LANES;
    __m256 max = _mm256_load_ps(st->block_max + vec * LANES);
    SATTN_UNROLL(12)
    for (int i = 0; i < n; ++i, to += WIDTH) {
        if (what == SCORES) {
            _mm256_store_ps(to, acc[i][vec]);
            max = _mm256_max_ps(acc[i][vec], max); /* a NaN score leaves max as it is */
        } else {
            _mm256_store_ps(to, _mm256_add_ps(_mm256_load_ps(to), acc[i][vec]));
        }
    }
    if (what == SCORES)
        _mm256_store_ps(st->block_max + vec * LANES, max);
}

SATTN_INLINE void tile(const fused_prefill_state *st, const fused_block *block, int64_t at, int n,
                       int n_vec, product what)
{
    const int64_t n_steps = what == SCORES ? st->d : block->n_keys;
    const int64_t across = what == SCORES ? block->k_stride : 1;
    const int64_t along = what == SCORES ? 1 : block->v_stride;
    const float *scalars = what == SCORES ? block->k + at * across : block->v + at;
    const float *rows = what == SCORES ? st->q_t : st->s_t;
    __m256 acc[TILE_ONE_VECTOR][2];
    SATTN_UNROLL(12)
    for (int i = 0; i < n; ++i)
        acc[i][0] = acc[i][1] = _mm256_setzero_ps();
    int64_t step = 0;
    SATTN_NO_UNROLL
    for (; step + 2 <= n_steps; step += 2) {
        prefetch_line(block, at, step, what);
        tile_step(acc, n, n_vec, scalars, across, rows);
        /* Opaque, or gcc keeps an index register for every scalar of both steps and runs out. */
        scalars += along;
        __asm__("" : "+r"(scalars));
        tile_step(acc, n, n_vec, scalars, across, rows + WIDTH);
        scalars += along;
        rows += (ptrdiff_t)2 * WIDTH;
    }
    if (step < n_steps)
        tile_step(acc, n, n_vec, scalars, across, rows);
    SATTN_UNROLL(2)
    for (int vec = 0; vec < n_vec; ++vec)
        tile_finish(st, at, acc, n, vec, what);
}

SATTN_INLINE void tiles(const fused_prefill_state *st, const fused_block *block, int n_vec,
                        product what)
{
    const int64_t extent = what == SCORES ? block->n_keys : st->d_v;
    int64_t at = 0;
    if (n_vec == 1)
        for (; at + TILE_ONE_VECTOR <= extent; at += TILE_ONE_VECTOR)
            tile(st, block, at, TILE_ONE_VECTOR, n_vec, what);
    for (; at + TILE <= extent; at += TILE)
        tile(st, block, at, TILE, n_vec, what);
    switch (extent - at) {
    case 5:
        tile(st, block, at, 5, n_vec, what);
        break;
    case 4:
        tile(st, block, at, 4, n_vec, what);
        break;
    case 3:
        tile(st, block, at, 3, n_vec, what);
        break;
    case 2:
        tile(st, block, at, 2, n_vec, what);
        break;
    case 1:
        tile(st, block, at, 1, n_vec, what);
        break;
    default:
        break;
    }
}

static void score(const fused_prefill_state *st, const fused_block *block)
{
    _mm256_store_ps(st->block_max, _mm256_set1_ps(-INFINITY));
    _mm256_store_ps(st->block_max + LANES, _mm256_set1_ps(-INFINITY));
    if (st->n_vec == 2)
        tiles(st, block, 2, SCORES);
    else
        tiles(st, block, 1, SCORES);
}

static void accumulate(const fused_prefill_state *st, const fused_block *block)
{
    if (st->n_vec == 2)
        tiles(st, block, 2, OUTPUT);
    else
        tiles(st, block, 1, OUTPUT);
}

void sattn_fused_f32_avx2(const sattn_fused_args *args)
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
