/* SPDX-License-Identifier: MIT
 *
 * fused_decode_av_avx512.h: the AV product of few query rows, lanes over columns of V.
 *
 * A tile is rows x vectors of columns in registers, one broadcast weight per row and key. Columns
 * go in bands of AV_BAND vectors, which up to three rows meet as a whole: V is read fastest in the
 * order in which it lies. More rows take a band two or four vectors at a time; from memory by runs
 * of keys so short that the lines which prefetching brings meanwhile, in their order, are there
 * before the next run; from a cache five to eight rows take all keys of a block at once, since
 * groups of four would read V twice. Where a band is too narrow for enough chains of additions, its
 * keys are dealt to 2 or 4 accumulators; that follows from its width, never from the rows. */
#ifndef SATTN_KERNELS_FUSED_DECODE_AV_AVX512_H
#define SATTN_KERNELS_FUSED_DECODE_AV_AVX512_H

#include "kernels/fused/fused_decode_fetch.h"
#include "kernels/vec/vec_avx512.h"

enum {
    AV_LANES = 16,
    AV_TILE = 24, /* most accumulators of a register tile */
    AV_RUN = 16,  /* keys of a run, a multiple of all numbers of parts */
    AV_BAND = 8,  /* vectors of columns that one row of weights meets at a time; */
    AV_WIDE = 16, /* if it is the only one and there are as many, so many */
};

/* How a tile prefetches V. */
typedef enum av_fetch {
    AV_FETCH_NONE,
    AV_FETCH_BELOW,  /* from each line that is read, the one some rows below */
    AV_FETCH_STREAM, /* line by line in the order in which they lie, whatever is read */
} av_fetch;

/* What the tiles of one group of rows work on. */
typedef struct av_step {
    const float *s; /* weights of the first key */
    const float *v; /* row of the first key, from the next column on; so are: */
    float *o;
    int64_t n_columns; /* left */
    int64_t o_pitch, v_stride;
    int64_t ahead; /* bytes from a row of V to the one that is prefetched with it, unless: */
    bool is_followed;
    int n_keys;
    /* For tiles that prefetch line by line, whatever they read: a run of the keys of a block. */
    vec_stream stream;
    bool is_first, is_last; /* run of the block */
    float *sums;            /* accumulators between two runs, those of the next tile first */
} av_step;

/* One key: acc[r][y] += s[r] v[y], vector by vector, since many sums leave no registers for v. */
SATTN_INLINE void av_key(__m512 *acc, const float *s, const float *v, __mmask16 last, int64_t ahead,
                         vec_stream *stream, const int n_rows, const int n_vecs,
                         const av_fetch fetch)
{
    __m512 p_f32x16[2 * SCORE_GROUP];
    SATTN_KEEP_ORDER();
    SATTN_UNROLL(8)
    for (int r = 0; r < n_rows; ++r)
        p_f32x16[r] = _mm512_set1_ps(s[r * FUSED_DECODE_KEYS]);
    SATTN_UNROLL(16)
    for (int y = 0; y < n_vecs; ++y) {
        __m512 v_f32x16 = y + 1 < n_vecs ? _mm512_loadu_ps(v + y * AV_LANES)
                                         : vec_load_tail_f32x16(v + y * AV_LANES, last);
        if (fetch == AV_FETCH_STREAM)
            vec_stream_fetch(stream, y);
        if (fetch == AV_FETCH_BELOW)
            vec_fetch(v + y * AV_LANES, ahead);
        if (n_rows > 1)
            v_f32x16 = vec_in_register_f32x16(v_f32x16);
        SATTN_UNROLL(8)
        for (int r = 0; r < n_rows; ++r)
            acc[r * n_vecs + y] = _mm512_fmadd_ps(p_f32x16[r], v_f32x16, acc[r * n_vecs + y]);
    }
    if (fetch == AV_FETCH_STREAM)
        vec_stream_advance(stream, n_vecs);
}

/* acc += s v for the keys of a step and its next n_vecs vectors of columns; key j goes to part
 * j % n_parts of the accumulators. */
SATTN_INLINE void av_keys(const av_step *step, __m512 *acc, vec_stream *stream, const int n_rows,
                          const int n_vecs, const int n_parts, const av_fetch fetch)
{
    const int n_sums = n_rows * n_vecs;
    const __mmask16 last = vec_tail_m16(step->n_columns - (n_vecs - 1) * AV_LANES);
    const int64_t v_stride = step->v_stride;
    const float *v = step->v;
    const float *s = step->s;
    const float *const end = s + step->n_keys;
    const int64_t ahead = step->ahead;
    SATTN_NO_UNROLL
    for (; end - s >= n_parts; s += n_parts) {
        SATTN_UNROLL(4)
        for (int part = 0; part < n_parts; ++part, v += v_stride)
            av_key(acc + part * n_sums, s + part, v, last, ahead, stream, n_rows, n_vecs, fetch);
    }
    SATTN_UNROLL(4)
    for (int part = 0; part + 1 < n_parts; ++part, v += v_stride)
        if (end - s > part)
            av_key(acc + part * n_sums, s + part, v, last, ahead, stream, n_rows, n_vecs, fetch);
}

/* Adds the parts of an accumulator by halves, as in fused_decode.h, and these to o. */
SATTN_INLINE void av_finish(const av_step *step, const __m512 *acc, const int n_rows,
                            const int n_vecs, const int n_parts)
{
    const int n_sums = n_rows * n_vecs;
    const int64_t o_pitch = step->o_pitch;
    float *const first = step->o;
    SATTN_UNROLL(24)
    for (int i = 0; i < n_sums; ++i) {
        __m512 sum = acc[i];
        if (n_parts == 2)
            sum = _mm512_add_ps(sum, acc[n_sums + i]);
        if (n_parts == 4)
            sum = _mm512_add_ps(_mm512_add_ps(sum, acc[2 * n_sums + i]),
                                _mm512_add_ps(acc[n_sums + i], acc[3 * n_sums + i]));
        float *const o = first + i / n_vecs * o_pitch + i % n_vecs * AV_LANES;
        _mm512_storeu_ps(o, _mm512_add_ps(_mm512_loadu_ps(o), sum));
    }
}

SATTN_INLINE void av_next(av_step *step, const int n_vecs)
{
    step->v += n_vecs * AV_LANES;
    step->o += n_vecs * AV_LANES;
    step->n_columns -= n_vecs * AV_LANES;
}

/* o += s v for the next n_vecs vectors of columns. */
SATTN_INLINE void av_tile(av_step *step, const int n_rows, const int n_vecs, const int n_parts,
                          const av_fetch fetch)
{
    __m512 acc[AV_TILE];
    SATTN_UNROLL(24)
    for (int i = 0; i < n_rows * n_vecs * n_parts; ++i)
        acc[i] = _mm512_setzero_ps();
    av_keys(step, acc, NULL, n_rows, n_vecs, n_parts, fetch);
    av_finish(step, acc, n_rows, n_vecs, n_parts);
    av_next(step, n_vecs);
}

/* The same for 4 to 8 rows. `in_order`: for a run of keys, whose lines are prefetched in the order
 * of V; between two runs the accumulators wait in `sums`. Else for all keys of the block: they are
 * first and last run at once, and `sums` is not touched. */
SATTN_INLINE void av_tile_of_many(av_step *step, const int n_rows, const int n_vecs,
                                  const int n_parts, const bool in_order)
{
    const int n_acc = n_rows * n_vecs * n_parts;
    float *const sums = step->sums;
    vec_stream stream = step->stream;
    __m512 acc[AV_TILE];
    SATTN_UNROLL(24)
    for (int i = 0; i < n_acc; ++i)
        acc[i] = step->is_first ? _mm512_setzero_ps() : _mm512_loadu_ps(sums + i * AV_LANES);
    av_keys(step, acc, &stream, n_rows, n_vecs, n_parts,
            in_order ? AV_FETCH_STREAM : AV_FETCH_BELOW);
    if (step->is_last) {
        av_finish(step, acc, n_rows, n_vecs, n_parts);
    } else {
        SATTN_UNROLL(24)
        for (int i = 0; i < n_acc; ++i)
            _mm512_storeu_ps(sums + i * AV_LANES, acc[i]);
    }
    step->stream = stream;
    step->sums += n_acc * AV_LANES;
    av_next(step, n_vecs);
}

/* All n_vecs vectors of a band at once, for up to 3 rows. */
SATTN_INLINE void av_few_rows(av_step *step, int n_vecs, const int n_rows, const av_fetch fetch)
{
    switch (n_vecs) {
    case 1:
        av_tile(step, n_rows, 1, 4, fetch);
        break;
    case 2:
        av_tile(step, n_rows, 2, 4, fetch);
        break;
    case 3:
        av_tile(step, n_rows, 3, 2, fetch);
        break;
    case 4:
        av_tile(step, n_rows, 4, 2, fetch);
        break;
    case 5:
        av_tile(step, n_rows, 5, 1, fetch);
        break;
    case 6:
        av_tile(step, n_rows, 6, 1, fetch);
        break;
    case 7:
        av_tile(step, n_rows, 7, 1, fetch);
        break;
    default:
        av_tile(step, n_rows, 8, 1, fetch);
    }
}

/* The same for one row, which may take a wider one. */
SATTN_INLINE void av_1_row(av_step *step, int n_vecs, const av_fetch fetch)
{
    if (n_vecs == AV_WIDE)
        av_tile(step, 1, AV_WIDE, 1, fetch);
    else
        av_few_rows(step, n_vecs, 1, fetch);
}

/* The n_vecs vectors of a band, as many at a time as registers hold, for 4 rows. */
SATTN_INLINE void av_4_rows(av_step *step, int n_vecs)
{
    if (n_vecs < 3) {
        for (; n_vecs > 0; --n_vecs)
            av_tile(step, 4, 1, 4, AV_FETCH_BELOW);
        return;
    }
    if (n_vecs < 5) {
        for (; n_vecs > 1; n_vecs -= 2)
            av_tile(step, 4, 2, 2, AV_FETCH_BELOW);
        if (n_vecs == 1)
            av_tile(step, 4, 1, 2, AV_FETCH_BELOW);
        return;
    }
    for (; n_vecs > 3; n_vecs -= 4)
        av_tile(step, 4, 4, 1, AV_FETCH_BELOW);
    if (n_vecs == 3)
        av_tile(step, 4, 3, 1, AV_FETCH_BELOW);
    else if (n_vecs == 2)
        av_tile(step, 4, 2, 1, AV_FETCH_BELOW);
    else if (n_vecs == 1)
        av_tile(step, 4, 1, 1, AV_FETCH_BELOW);
}

SATTN_NOINLINE void av_band(av_step *step, int n_vecs, int n_rows)
{
    if (n_rows == 4)
        av_4_rows(step, n_vecs);
    else if (n_rows == 3)
        av_few_rows(step, n_vecs, 3, AV_FETCH_BELOW);
    else if (n_rows == 2)
        av_few_rows(step, n_vecs, 2, AV_FETCH_BELOW);
    else if (step->is_followed)
        av_1_row(step, n_vecs, AV_FETCH_NONE);
    else
        av_1_row(step, n_vecs, AV_FETCH_BELOW);
}

/* The keys of a step for a band, two vectors at a time. In runs a band may be so narrow that its
 * keys are dealt to 2 accumulators: then registers hold one vector of more than 4 rows. From a
 * cache such bands go by av_dealt. */
SATTN_INLINE void av_many_rows(av_step *step, int n_vecs, const int n_rows, const bool in_order)
{
    if (in_order && n_vecs < 5) {
        for (; n_rows == SCORE_GROUP && n_vecs > 1; n_vecs -= 2)
            av_tile_of_many(step, n_rows, 2, 2, in_order);
        for (; n_vecs > 0; --n_vecs)
            av_tile_of_many(step, n_rows, 1, 2, in_order);
        return;
    }
    for (; n_vecs > 1; n_vecs -= 2)
        av_tile_of_many(step, n_rows, 2, 1, in_order);
    if (n_vecs == 1)
        av_tile_of_many(step, n_rows, 1, 1, in_order);
}

SATTN_NOINLINE void av_run(av_step *step, int n_vecs, int n_rows)
{
    if (n_rows == 8)
        av_many_rows(step, n_vecs, 8, true);
    else if (n_rows == 7)
        av_many_rows(step, n_vecs, 7, true);
    else if (n_rows == 6)
        av_many_rows(step, n_vecs, 6, true);
    else if (n_rows == 5)
        av_many_rows(step, n_vecs, 5, true);
    else
        av_many_rows(step, n_vecs, 4, true);
}

/* All keys of a block for more than 4 rows, from a cache. */
SATTN_NOINLINE void av_block(av_step *step, int n_vecs, int n_rows)
{
    if (n_rows == 8)
        av_many_rows(step, n_vecs, 8, false);
    else if (n_rows == 7)
        av_many_rows(step, n_vecs, 7, false);
    else if (n_rows == 6)
        av_many_rows(step, n_vecs, 6, false);
    else
        av_many_rows(step, n_vecs, 5, false);
}

/* A band by runs of keys: prefetching keeps to the order of V, whose next lines it brings while the
 * tiles read parts of the rows of this run. */
static inline void av_runs(av_step *band, int n_vecs, int n_rows, float *sums)
{
    for (int j = 0; j < band->n_keys; j += AV_RUN) {
        const int left = band->n_keys - j;
        av_step step = *band;
        step.s += j;
        step.v += j * band->v_stride;
        step.n_keys = left < AV_RUN ? left : AV_RUN;
        step.is_first = j == 0;
        step.is_last = left <= AV_RUN;
        step.sums = sums;
        step.stream = vec_stream_of(step.v, band->ahead, n_vecs * AV_LANES, band->v_stride);
        av_run(&step, n_vecs, n_rows);
    }
    av_next(band, n_vecs);
}

/* A band that is dealt to so many parts that more than 4 rows take turns. */
static inline void av_dealt(av_step *band, int n_vecs, int n_rows)
{
    av_step rest = *band;
    rest.s += SCORE_GROUP * FUSED_DECODE_KEYS;
    rest.o += SCORE_GROUP * band->o_pitch;
    av_band(band, n_vecs, n_rows < SCORE_GROUP ? n_rows : SCORE_GROUP);
    if (n_rows > SCORE_GROUP)
        av_band(&rest, n_vecs, n_rows - SCORE_GROUP);
}

/* Rows of the next group from a cache; those of the scores would read V more often. */
static inline int av_group_rows(int n_left)
{
    const int most = 2 * SCORE_GROUP;
    return n_left == most + 1 ? SCORE_GROUP + 1 : n_left < most ? n_left : most;
}

static inline void av_group(const fused_decode_state *st, const fused_decode_block *block,
                            const fused_decode_part *part)
{
    const bool wide = part->n_rows > SCORE_GROUP;
    const bool by_runs = block->is_far && (wide || (part->n_rows == SCORE_GROUP && part->is_far));
    const int dealt = block->is_far ? 2 : 4; /* most vectors of a band for which rows take turns */
    av_step step = {.s = st->s + part->row * FUSED_DECODE_KEYS,
                    .v = block->v,
                    .o = st->o + part->row * st->o_pitch,
                    .n_columns = st->d_v,
                    .o_pitch = st->o_pitch,
                    .v_stride = block->v_stride,
                    .ahead = part->v_ahead,
                    .is_followed = part->is_followed,
                    .n_keys = block->n_keys,
                    .is_first = true,
                    .is_last = true,
                    .sums = st->sum};
    while (step.n_columns > 0) {
        const int64_t left = (step.n_columns + AV_LANES - 1) / AV_LANES;
        const int band = part->n_rows == 1 && left >= AV_WIDE ? AV_WIDE : AV_BAND;
        const int n_vecs = left < band ? (int)left : band;
        if (n_vecs <= dealt)
            av_dealt(&step, n_vecs, part->n_rows);
        else if (by_runs)
            av_runs(&step, n_vecs, part->n_rows, st->sum);
        else if (wide)
            av_block(&step, n_vecs, part->n_rows);
        else
            av_band(&step, n_vecs, part->n_rows);
    }
}

#endif
