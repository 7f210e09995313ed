/* SPDX-License-Identifier: MIT
 *
 * fused_problem.c: makes the operands of one call of a fused kernel, and runs it. */
#include "tests/support/fused_problem.h"

#include "bench/verify/inputs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STREAM_Q = 1, STREAM_K, STREAM_V, STREAM_MASK, STREAM_BIAS };

/* ---- values */

static uint64_t place(int64_t g, int64_t i, int64_t x)
{
    return (uint64_t)g << 48 | (uint64_t)i << 16 | (uint64_t)x;
}

static void fill_minus_zero(float *row, int64_t n)
{
    for (int64_t x = 0; x < n; ++x)
        row[x] = -0.0f;
}

static void fill_q_row(const fused_shape *s, uint64_t seed, int64_t g, int64_t i, float *row)
{
    if (s->data == PROBLEM_MINUS_ZERO) {
        fill_minus_zero(row, s->d);
        return;
    }
    sattn_random_normals(seed, STREAM_Q, place(g, i, 0), s->d, row);
    if (s->data == PROBLEM_STAIRS && s->d > 0)
        row[0] = 1.0f;
}

static void fill_k_row(const fused_shape *s, uint64_t seed, int64_t j, float *row)
{
    if (s->data == PROBLEM_MINUS_ZERO) {
        fill_minus_zero(row, s->d);
        return;
    }
    sattn_random_normals(seed, STREAM_K, place(0, s->data == PROBLEM_EQUAL ? 0 : j, 0), s->d, row);
    if (s->data != PROBLEM_STAIRS || s->d == 0)
        return;
    for (int64_t x = 0; x < s->d; ++x)
        row[x] *= 0.01f;
    row[0] = s->stair_height * (float)(j / s->stair_keys);
}

static void fill_v_row(const fused_shape *s, uint64_t seed, int64_t j, float *row)
{
    if (s->data == PROBLEM_MINUS_ZERO)
        fill_minus_zero(row, s->d_v);
    else
        sattn_random_normals(seed, STREAM_V, place(0, j, 0), s->d_v, row);
}

static bool mask_lets_through(const fused_shape *s, uint64_t seed, uint64_t at)
{
    return sattn_random_bits(seed, STREAM_MASK, at) % 100 < (uint64_t)s->visible_percent;
}

static void fill_q(fused_problem *p)
{
    const fused_shape *const s = &p->shape;
    for (int64_t g = 0; g < (s->q_is_shared ? 1 : s->n_group); ++g)
        for (int64_t i = s->i0; i < s->i1; ++i)
            fill_q_row(s, p->seed, g, i, test_operand_f32(&p->operand[OPERAND_Q], g, i));
}

static void fill_kv(fused_problem *p)
{
    const fused_shape *const s = &p->shape;
    for (int64_t j = p->keys.begin; j < p->keys.end; ++j) {
        fill_k_row(s, p->seed, s->k_repeats ? 0 : j,
                   test_operand_f32(&p->operand[OPERAND_K], 0, j));
        fill_v_row(s, p->seed, s->v_repeats ? 0 : j,
                   test_operand_f32(&p->operand[OPERAND_V], 0, j));
    }
}

static void fill_mask(fused_problem *p)
{
    const fused_shape *const s = &p->shape;
    const test_operand *const mask = &p->operand[OPERAND_MASK];
    const int64_t n_columns = s->mask_by_key ? s->n_k : 1;
    for (int64_t g = 0; g < (s->mask_by_group ? s->n_group : 1); ++g)
        for (int64_t i = 0; i < (s->mask_by_row ? s->n_rows : 1); ++i)
            for (int64_t j = 0; j < n_columns; ++j) {
                const uint64_t at = place(g, i, 0) + (uint64_t)j;
                const bool visible = mask_lets_through(s, p->seed, at);
                if (s->mask == PROBLEM_BOOL)
                    test_operand_u8(mask, g, i)[j] = visible ? (uint8_t)(1 + j % 255) : 0;
                else
                    test_operand_f32(mask, g, i)[j] =
                        visible ? sattn_random_normal(p->seed, STREAM_BIAS, at) : -INFINITY;
            }
}

/* ---- operands */

/* Extents of Q or O: the heads of the group after one another, or side by side in each row. */
static test_extents head_extents(const fused_shape *s, int64_t n_columns, int64_t gap)
{
    test_extents extents = test_extents_f32(s->n_group, s->n_rows, n_columns, gap);
    if (s->heads_in_rows) {
        extents.group_stride = n_columns + gap;
        extents.row_stride = s->n_group * (n_columns + gap);
    }
    return extents;
}

static void make_mask(fused_problem *p)
{
    const fused_shape *const s = &p->shape;
    const int64_t n_columns = s->mask == PROBLEM_NO_MASK ? 0 : s->mask_by_key ? s->n_k : 1;
    test_extents extents =
        test_extents_f32(s->mask_by_group ? s->n_group : 1, s->mask_by_row ? s->n_rows : 1,
                         n_columns, s->row_gap[OPERAND_MASK]);
    if (!s->mask_by_group)
        extents.group_stride = 0;
    if (!s->mask_by_row)
        extents.row_stride = 0;
    if (s->mask == PROBLEM_BOOL)
        extents.element_size = 1;
    p->operand[OPERAND_MASK] = test_operand_make(&extents, s->placement, s->distance[OPERAND_MASK]);
    if (s->mask != PROBLEM_NO_MASK)
        fill_mask(p);
}

static void make_slopes(fused_problem *p)
{
    const fused_shape *const s = &p->shape;
    const test_extents slopes = test_extents_f32(1, 1, s->slopes ? s->n_group : 0, 0);
    p->operand[OPERAND_SLOPES] =
        test_operand_make(&slopes, s->placement, s->distance[OPERAND_SLOPES]);
    for (int64_t g = 0; g < slopes.n_columns; ++g)
        test_operand_f32(&p->operand[OPERAND_SLOPES], 0, 0)[g] = test_slope(s->slopes, g);
}

static void make_operands(fused_problem *p)
{
    const fused_shape *const s = &p->shape;
    test_extents q = head_extents(s, s->d, s->row_gap[OPERAND_Q]);
    test_extents k = test_extents_f32(1, s->n_k, s->d, s->row_gap[OPERAND_K]);
    test_extents v = test_extents_f32(1, s->n_k, s->d_v, s->row_gap[OPERAND_V]);
    const test_extents o = head_extents(s, s->d_v, s->row_gap[OPERAND_O]);
    const test_extents stats =
        test_extents_f32(2, s->n_group, s->n_rows, s->row_gap[OPERAND_STATS]);
    if (s->q_is_shared)
        q.group_stride = 0;
    if (s->k_repeats)
        k.row_stride = 0;
    if (s->v_repeats)
        v.row_stride = 0;
    p->operand[OPERAND_Q] = test_operand_make(&q, s->placement, s->distance[OPERAND_Q]);
    p->operand[OPERAND_K] = test_operand_make_part(&k, p->keys.begin, p->keys.end, s->placement,
                                                   s->distance[OPERAND_K]);
    p->operand[OPERAND_V] = test_operand_make_part(&v, p->keys.begin, p->keys.end, s->placement,
                                                   s->distance[OPERAND_V]);
    p->operand[OPERAND_O] = test_operand_make(&o, s->placement, s->distance[OPERAND_O]);
    p->operand[OPERAND_STATS] = test_operand_make(&stats, s->placement, s->distance[OPERAND_STATS]);
    fill_q(p);
    fill_kv(p);
    make_mask(p);
    make_slopes(p);
}

/* Exactly the bytes that the contract promises, as one row of floats. */
static test_operand make_scratch(const test_run *run, const fused_shape *s)
{
    const size_t n_bytes =
        (sattn_fused_scratch_bytes(s->d, s->d_v) + run->kernel->extra_scratch + 63) / 64 * 64;
    const test_extents extents = test_extents_f32(1, 1, (int64_t)(n_bytes / sizeof(float)), 0);
    return test_operand_make(&extents, s->placement, 0);
}

static void fill_args(fused_problem *p)
{
    const fused_shape *const s = &p->shape;
    const test_operand *const o = &p->operand[s->o_is_q ? OPERAND_Q : OPERAND_O];
    const test_operand *const mask = &p->operand[OPERAND_MASK];
    const test_operand *const stats = &p->operand[OPERAND_STATS];
    p->args = (sattn_fused_args){
        .q = p->operand[OPERAND_Q].data,
        .k = p->operand[OPERAND_K].data,
        .v = p->operand[OPERAND_V].data,
        .o = o->data,
        .q_stride = p->operand[OPERAND_Q].extents.row_stride,
        .k_stride = p->operand[OPERAND_K].extents.row_stride,
        .v_stride = p->operand[OPERAND_V].extents.row_stride,
        .o_stride = o->extents.row_stride,
        .q_group_stride = p->operand[OPERAND_Q].extents.group_stride,
        .o_group_stride = o->extents.group_stride,
        .n_group = s->n_group,
        .i0 = s->i0,
        .i1 = s->i1,
        .j0 = s->j0,
        .j1 = s->j1,
        .d = s->d,
        .d_v = s->d_v,
        .scale = s->scale,
        .softcap = s->softcap,
        .partial = s->partial,
        .visible = {.n_k = s->n_k,
                    .causal = s->causal,
                    .has_window = s->has_window,
                    .causal_offset = s->causal_offset,
                    .window_left = s->window_left,
                    .window_right = s->window_right,
                    .alibi_slopes = s->slopes ? p->operand[OPERAND_SLOPES].data : NULL,
                    .mask_bool = s->mask == PROBLEM_BOOL ? mask->data : NULL,
                    .mask_add = s->mask == PROBLEM_ADDITIVE ? mask->data : NULL,
                    .mask_group_stride = mask->extents.group_stride,
                    .mask_row_stride = mask->extents.row_stride,
                    .mask_key_stride = s->mask_by_key},
        .row_max = s->without_statistics ? NULL : test_operand_f32(stats, 0, 0),
        .row_sum = s->without_statistics ? NULL : test_operand_f32(stats, 1, 0),
        .stat_group_stride = stats->extents.row_stride,
        .scratch = p->scratch.data,
        .kv_bytes = s->kv_bytes,
        .rows_are_followed = s->rows_are_followed,
    };
}

void fused_problem_make(fused_problem *problem, const test_run *run, const fused_shape *shape,
                        uint64_t seed)
{
    *problem = (fused_problem){.shape = *shape, .seed = seed, .keys = fused_keys_of_call(shape)};
    make_operands(problem);
    problem->scratch = make_scratch(run, shape);
    fill_args(problem);
}

void fused_problem_free(fused_problem *problem)
{
    for (int operand = 0; operand < OPERAND_COUNT; ++operand)
        test_operand_free(&problem->operand[operand]);
    test_operand_free(&problem->scratch);
}

/* ---- the call */

void fused_problem_fail(const fused_problem *problem, test_run *run, const char *what)
{
    char shape[640];
    fused_shape_print(&problem->shape, shape, sizeof shape);
    test_fail(run, "%s [%s]", what, shape);
}

static void check_surroundings(fused_problem *p, test_run *run)
{
    static const char *const names[] = {"q",         "k", "v", "o", "the mask", "the statistics",
                                        "the slopes"};
    const fused_shape *const s = &p->shape;
    test_operand *const o = &p->operand[s->o_is_q ? OPERAND_Q : OPERAND_O];
    test_operand *const stats = &p->operand[OPERAND_STATS];
    if (!s->o_is_q && test_operand_has_canary(o, s->i0, s->i1))
        fused_problem_fail(p, run, "an element of o was not written");
    test_operand after = *o; /* what was there before stays remembered for the oracle */
    after.before = test_allocate(o->n_bytes);
    memcpy(after.before, o->before, o->n_bytes);
    test_operand_accept(&after, s->i0, s->i1);
    if (!s->without_statistics)
        for (int64_t statistic = 0; statistic < 2; ++statistic)
            for (int64_t g = 0; g < s->n_group; ++g)
                for (int64_t i = s->i0; i < s->i1; ++i) {
                    float *const at = test_operand_f32(stats, statistic, g) + i;
                    if (test_is_canary(*at))
                        fused_problem_fail(p, run, "a row's statistics were not written");
                    memcpy(stats->before + ((unsigned char *)at - stats->pages), at, sizeof *at);
                }
    for (int operand = 0; operand < OPERAND_COUNT; ++operand) {
        const test_operand *const t = &p->operand[operand];
        int64_t at;
        if (!test_operand_is_unchanged(t == o ? &after : t, &at)) {
            char what[128];
            snprintf(what, sizeof what, "%s was written where it must not be, at byte %lld",
                     names[operand], (long long)at);
            fused_problem_fail(p, run, what);
        }
    }
    free(after.before);
}

void fused_problem_run(fused_problem *problem, test_run *run)
{
    test_operand *const stats = &problem->operand[OPERAND_STATS];
    const uint64_t control = test_fp_control();
    test_operand_spoil(&problem->scratch, 0, 1);
    test_operand_spoil(stats, 0, problem->shape.n_group);
    if (!problem->shape.o_is_q)
        test_operand_spoil(&problem->operand[OPERAND_O], 0, problem->shape.n_rows);
    for (int operand = 0; operand < OPERAND_COUNT; ++operand)
        test_operand_seal(&problem->operand[operand]);
    run->kernel->fn.fused(&problem->args);
    if (test_fp_control() != control) {
        fused_problem_fail(problem, run, "the floating-point control state was changed");
        test_fp_control_set(control);
    }
    check_surroundings(problem, run);
}

void fused_problem_check(test_run *run, const fused_shape *shape, uint64_t seed)
{
    fused_problem problem;
    fused_problem_make(&problem, run, shape, seed);
    fused_problem_run(&problem, run);
    fused_problem_verify(&problem, run);
    fused_problem_free(&problem);
}
