/* SPDX-License-Identifier: MIT
 *
 * share.c: see share.h. Sizes of blocks and of the least work are measured ones. */
#include "dispatch/share.h"

static double lesser(double a, double b)
{
    return a < b ? a : b;
}

double sattn_keys_per_row(const sattn_attention_args *a)
{
    const double n_q = (double)a->n_q, n_k = (double)a->n_k;
    double keys = n_k;
    if (a->causal && !a->causal_offset && n_q > 0)
        keys = n_k >= n_q ? n_k - (n_q - 1) / 2 : n_k * (n_k + 1) / 2 / n_q;
    if (a->has_window && a->window_left >= 0 && (a->window_right >= 0 || a->causal))
        keys =
            lesser(keys, (double)a->window_left + 1 + (a->causal ? 0.0 : (double)a->window_right));
    return keys;
}

double sattn_work_of(const sattn_attention_args *a, sattn_computation computation)
{
    const double queries = (double)a->batch * (double)a->n_q_heads * (double)a->n_q;
    const double heads = (double)a->batch * (double)a->n_kv_heads;
    const double seen = sattn_keys_per_row(a);
    const double d = (double)a->d, d_v = (double)a->d_v;
    const double kv =
        SATTN_WORK_PER_KV_ELEMENT * heads * lesser((double)a->n_k, seen * (double)a->n_q);
    switch (computation) {
    case SATTN_COMPUTE_FUSED:
    case SATTN_COMPUTE_CHAIN:
        return queries * seen * (d + d_v + SATTN_WORK_PER_EXP) + kv * (d + d_v);
    case SATTN_COMPUTE_QK:
        return queries * (double)a->n_k * d + kv * d;
    case SATTN_COMPUTE_SOFTMAX:
        return queries * seen * SATTN_WORK_PER_EXP;
    case SATTN_COMPUTE_AV:
        return queries * seen * d_v + kv * d_v;
    case SATTN_COMPUTE_APART:
        break;
    }
    return 0;
}

int sattn_threads_for(double work, int asked)
{
    const int most = asked < SATTN_THREADS_MAX ? asked : SATTN_THREADS_MAX;
    const double worth = work / SATTN_WORK_PER_THREAD;
    if (most <= 1 || worth < 2)
        return 1;
    return worth < (double)most ? (int)worth : most;
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b > 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The number of rows of each head next to `rows` rows of all that fills tiles, if one is near. */
static int64_t block_near(int64_t rows, int64_t n_group, int64_t tile_rows)
{
    const int64_t step = tile_rows / common_divisor(tile_rows, n_group);
    if (step > 2 * rows / n_group)
        return rows > n_group ? rows / n_group : 1;
    const int64_t steps = (rows / n_group + step / 2) / step;
    return steps > 0 ? steps * step : step;
}

int64_t sattn_block_rows(double n_rows, int64_t n_group, int64_t tile_rows, int threads)
{
    const int64_t rows = block_near(SATTN_BLOCK_ROWS, n_group, tile_rows);
    if (n_rows >= (double)(rows * SATTN_BLOCKS_PER_THREAD * threads))
        return rows;
    return block_near(SATTN_BLOCK_ROWS_FEW, n_group, tile_rows);
}

/* A prefill kernel has two vectors of rows to a tile, and does with one where that suffices. What
 * it takes as long for as a few-query kernel are 3/4 of a vector or more; and of two, 5/8 or more.
 * With few features that has empty lanes too. */
int64_t sattn_rest_rows(int64_t n_group, int64_t n_q, int64_t tile_rows, int64_t d)
{
    enum { EIGHTHS = 8, WIDE = 64 };
    if (n_q > SATTN_REST_TILES_MAX * tile_rows / n_group)
        return 0;
    const int64_t rest = n_group * n_q % tile_rows, eighths = EIGHTHS * rest;
    const bool of_one = eighths <= (d < WIDE ? 2 : 3) * tile_rows;
    const bool of_two = d >= WIDE && 2 * rest > tile_rows && eighths <= 5 * tile_rows;
    return (of_one || of_two) && rest % n_group == 0 ? rest / n_group : 0;
}

sattn_phase sattn_fused_phase(int64_t n_group, int64_t n_q, int64_t tile_rows, int64_t d)
{
    const sattn_phase phase = sattn_phase_of(n_group, n_q);
    const int64_t vector = tile_rows / 2;
    if (phase == SATTN_PHASE_PREFILL || n_group * n_q < SATTN_FILLING_ROWS_MIN || vector == 0)
        return phase;
    const int64_t rows = n_group * (n_q - sattn_rest_rows(n_group, n_q, tile_rows, d));
    const int64_t empty = vector - 1 - (rows - 1) % vector;
    return rows > vector && 8 * empty <= tile_rows ? SATTN_PHASE_PREFILL : phase;
}

int64_t sattn_chosen_splits(double n_blocks, double n_keys, int threads)
{
    const double longest = n_keys / (double)SATTN_SPLIT_KEYS_MIN;
    const int64_t most = longest < (double)threads ? (int64_t)longest : threads;
    int64_t best = 1;
    double best_rounds = 1.0; /* that the threads need, in units of a whole block */
    for (int64_t splits = 2; splits <= most && n_blocks < (double)threads; ++splits) {
        const int64_t parts_each = ((int64_t)n_blocks * splits + threads - 1) / threads;
        const double rounds = (double)parts_each / (double)splits;
        if (rounds < 0.9 * best_rounds) { /* a range more is to be worth its merge */
            best = splits;
            best_rounds = rounds;
        }
    }
    return best;
}

/* The extent of a block where so many tiles are to be shared among n_blocks blocks. */
static int64_t block_extent(int64_t extent, int64_t tile, int64_t n_blocks)
{
    const int64_t tiles = (extent + tile - 1) / tile;
    const int64_t per_block = (tiles + n_blocks - 1) / n_blocks;
    return per_block > 0 ? per_block * tile : tile;
}

sattn_grid sattn_grid_cut(int64_t n_rows, int64_t tile_rows, int64_t n_columns,
                          int64_t tile_columns, int64_t n_blocks)
{
    const bool cuts_rows = n_rows / tile_rows >= n_blocks;
    sattn_grid grid = {.block_rows = block_extent(n_rows, tile_rows, cuts_rows ? n_blocks : 1),
                       .block_columns =
                           block_extent(n_columns, tile_columns, cuts_rows ? 1 : n_blocks)};
    grid.n_row_blocks = (n_rows + grid.block_rows - 1) / grid.block_rows;
    grid.n_column_blocks = (n_columns + grid.block_columns - 1) / grid.block_columns;
    return grid;
}

static int64_t end_of(int64_t begin, int64_t extent, int64_t most)
{
    return most - begin < extent ? most : begin + extent;
}

sattn_grid_block sattn_grid_block_of(const sattn_grid *grid, int64_t n_rows, int64_t n_columns,
                                     int64_t index)
{
    const int64_t i0 = index / grid->n_column_blocks * grid->block_rows;
    const int64_t j0 = index % grid->n_column_blocks * grid->block_columns;
    return (sattn_grid_block){i0, end_of(i0, grid->block_rows, n_rows), j0,
                              end_of(j0, grid->block_columns, n_columns)};
}
