/* SPDX-License-Identifier: MIT
 *
 * fused_tile_avx2.h: the two products of fused_prefill.h on vectors of 8 rows, for whatever tile
 * fills the registers. The including file says how large that is: TILE keys (scores) or columns of
 * V (output) x 2 vectors, or TILE_ONE_VECTOR x 1.
 *
 * Bits     each accumulator is one chain over x or over the keys, so its bits do not depend on the
 *          tile that a key or column falls into.
 * Tail     an extent that is no multiple of TILE ends in one or two smaller tiles, with two vectors
 *          alike if two: their sums are as many as two multiply-adds a cycle keep in flight, where
 *          the extent has so many.
 * Output   where one vector takes part in more keys of a block than the other, its accumulators
 *          take the steps of those keys before or after the common ones. */
#ifndef SATTN_KERNELS_FUSED_TILE_AVX2_H
#define SATTN_KERNELS_FUSED_TILE_AVX2_H

#include "kernels/fused/fused_prefill_avx2.h"
#include "kernels/fused/fused_tile.h"

enum { TILE_AND_REST = 2 * TILE - 2 };

/* One step: acc[i][vec] += scalars[i * stride] * rows, for n_vec vectors from `vec` on. */
SATTN_INLINE void tile_step(__m256 acc[][2], int n, int vec, int n_vec, const float *scalars,
                            int64_t stride, const float *rows)
{
    const __m256 rows0 = vec_in_register_f32x8(_mm256_load_ps(rows));
    const __m256 rows1 = n_vec == 2 ? vec_in_register_f32x8(_mm256_load_ps(rows + LANES)) : rows0;
    SATTN_UNROLL(16)
    for (int i = 0; i < n; ++i) {
        const __m256 scalar = _mm256_set1_ps(scalars[i * stride]);
        acc[i][vec] = _mm256_fmadd_ps(scalar, rows0, acc[i][vec]);
        if (n_vec == 2)
            acc[i][1] = _mm256_fmadd_ps(scalar, rows1, acc[i][1]);
#if defined(__clang__)
        else
            __asm__("" : : "v"(scalar)); /* or clang puts the sum into the scalar's register */
#endif
    }
}

/* n_steps steps of the tile at key or column `at`, from these scalars and rows on. */
SATTN_INLINE void tile_steps(__m256 acc[][2], int n, int n_vec, const fused_block *block,
                             int64_t at, const float *scalars, const float *rows, int64_t n_steps,
                             product what)
{
    const int64_t across = what == SCORES ? block->k_stride : 1;
    const int64_t along = what == SCORES ? 1 : block->v_stride;
    int64_t step = 0;
    SATTN_NO_UNROLL
    for (; step + 2 <= n_steps; step += 2) {
        prefetch_line(block, at, n, step, what);
        tile_step(acc, n, 0, n_vec, scalars, across, rows);
        /* Opaque, or gcc keeps an index register for every scalar of both steps and runs out; and a
         * barrier, or clang loads the rows of both and runs out of vector registers. */
        scalars += along;
        __asm__("" : "+r"(scalars) : : "memory");
        tile_step(acc, n, 0, n_vec, scalars, across, rows + WIDTH);
        scalars += along;
        rows += (ptrdiff_t)2 * WIDTH;
    }
    if (step < n_steps)
        tile_step(acc, n, 0, n_vec, scalars, across, rows);
}

/* Steps of an output tile over the keys [key, end) that vector `vec` alone takes part in. */
SATTN_INLINE void tile_lone_steps(__m256 acc[][2], int n, int vec, const tile_job *job, int64_t at,
                                  int key, int end)
{
    job = job_again(job);
    const int64_t v_stride = job->block->v_stride;
    const float *v = job->block->v + key * v_stride + at;
    const float *p_t = job->st->s_t + key * WIDTH + vec * LANES;
    SATTN_NO_UNROLL
    for (; key < end; ++key, v += v_stride, p_t += WIDTH)
        tile_step(acc, n, vec, 1, v, 1, p_t);
}

SATTN_INLINE void score_tile(const tile_job *job, int64_t at, int n, int n_vec)
{
    __m256 acc[TILE_ONE_VECTOR][2];
    SATTN_UNROLL(16)
    for (int i = 0; i < n; ++i)
        acc[i][0] = acc[i][1] = _mm256_setzero_ps();
    job = job_again(job);
    tile_steps(acc, n, n_vec, job->block, at, job->block->k + at * job->block->k_stride,
               job->st->q_t + job->span->vec * LANES, job->st->d, SCORES);
    job = job_again(job);
    const int first = job->span->vec * LANES;
    SATTN_UNROLL(2)
    for (int vec = 0; vec < n_vec; ++vec) {
        float *const to = job->st->s_t + at * WIDTH + first + vec * LANES;
        SATTN_UNROLL(16)
        for (int i = 0; i < n; ++i)
            _mm256_store_ps(to + i * WIDTH, acc[i][vec]);
    }
    if (fused_keys_are_cut(job->block, job->span, at, n)) {
        tile_hide(job, at, n);
        return;
    }
    SATTN_UNROLL(2)
    for (int vec = 0; vec < n_vec; ++vec) {
        float *const block_max = job->st->block_max + first + vec * LANES;
        __m256 max = _mm256_load_ps(block_max);
        SATTN_UNROLL(16)
        for (int i = 0; i < n; ++i)
            max = _mm256_max_ps(acc[i][vec], max); /* a NaN score leaves max as it is */
        _mm256_store_ps(block_max, max);
    }
}

/* The keys that both vectors take part in, or all keys of the only one. */
SATTN_INLINE void tile_common_steps(__m256 acc[][2], int n, int n_vec, const tile_job *job,
                                    int64_t at)
{
    job = job_again(job);
    const fused_span *const span = job->span;
    tile_steps(
        acc, n, n_vec, job->block, at, job->block->v + span->begin * job->block->v_stride + at,
        job->st->s_t + span->begin * WIDTH + span->vec * LANES, span->end - span->begin, OUTPUT);
}

SATTN_INLINE void output_tile(const tile_job *job, int64_t at, int n, int n_vec)
{
    __m256 acc[TILE_ONE_VECTOR][2];
    SATTN_UNROLL(16)
    for (int i = 0; i < n; ++i)
        acc[i][0] = acc[i][1] = _mm256_setzero_ps();
    if (n_vec == 2)
        tile_lone_steps(acc, n, 0, job, at, 0, job->block->both_begin);
    tile_common_steps(acc, n, n_vec, job, at);
    if (n_vec == 2)
        tile_lone_steps(acc, n, 1, job, at, job->block->both_end, job->block->n_keys);
    job = job_again(job);
    const fused_prefill_state *const st = job->st;
    SATTN_UNROLL(2)
    for (int vec = 0; vec < n_vec; ++vec) {
        const int place = job->span->vec + vec;
        const bool is_fresh = st->is_fresh[place];
        float *const to = st->o_t + at * WIDTH + place * LANES;
        SATTN_UNROLL(16)
        for (int i = 0; i < n && is_fresh; ++i)
            _mm256_store_ps(to + i * WIDTH, _mm256_add_ps(acc[i][vec], _mm256_setzero_ps()));
        SATTN_UNROLL(16)
        for (int i = 0; i < n && !is_fresh; ++i)
            _mm256_store_ps(to + i * WIDTH,
                            _mm256_add_ps(_mm256_load_ps(to + i * WIDTH), acc[i][vec]));
    }
}

#include "kernels/fused/fused_tiles.h"

#endif
