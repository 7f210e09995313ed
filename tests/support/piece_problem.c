/* SPDX-License-Identifier: MIT
 *
 * piece_problem.c: makes the operands of one call of a qk, softmax or av kernel. */
#include "tests/support/piece_problem.h"

#include "bench/verify/inputs.h"

#include <math.h>

enum { STREAM_IN = 1, STREAM_SHARED, STREAM_MASK, STREAM_BIAS };

/* ---- values */

static uint64_t place(int64_t g, int64_t i, int64_t x)
{
    return (uint64_t)g << 56 | (uint64_t)i << 32 | (uint64_t)x;
}

static float zero_value(const piece_shape *s, float normal)
{
    return s->data == PIECE_ZEROS && normal > 0 ? 0.0f : -0.0f;
}

/* What a normal deviate makes of element x of an input row. */
static float in_value(const piece_shape *s, float normal, int64_t x)
{
    if (s->data == PIECE_MINUS_ZERO || s->data == PIECE_ZEROS)
        return zero_value(s, normal);
    if (s->op == SATTN_OP_qk)
        return normal;
    if (s->op == SATTN_OP_softmax)
        return s->data == PIECE_RISING ? s->spread * (float)x : s->spread * normal;
    return 0x1p-4f * (s->data == PIECE_SIGNED ? normal : fabsf(normal));
}

static void fill_in_row(const piece_shape *s, uint64_t seed, int64_t g, int64_t i, float *row)
{
    const int64_t width = piece_in_width(s);
    const bool is_equal = s->data == PIECE_EQUAL && s->op != SATTN_OP_qk;
    sattn_random_normals(seed, STREAM_IN, place(g, i, 0), width, row);
    const float first = width > 0 ? row[0] : 0.0f;
    for (int64_t x = 0; x < width; ++x)
        row[x] = in_value(s, is_equal ? first : row[x], x);
}

static void fill_shared_row(const piece_shape *s, uint64_t seed, int64_t j, float *row)
{
    const int64_t key = s->shared_repeats || s->data == PIECE_EQUAL ? 0 : j;
    sattn_random_normals(seed, STREAM_SHARED, place(0, key, 0), s->n_features, row);
    if (s->data == PIECE_MINUS_ZERO || s->data == PIECE_ZEROS)
        for (int64_t x = 0; x < s->n_features; ++x)
            row[x] = zero_value(s, row[x]);
}

static void fill_in(piece_problem *p)
{
    const piece_shape *const s = &p->shape;
    for (int64_t g = 0; g < s->n_group; ++g)
        for (int64_t i = s->i0; i < s->i1; ++i)
            fill_in_row(s, p->seed, g, s->in_repeats ? 0 : i,
                        test_operand_f32(&p->operand[PIECE_IN], g, i));
}

static void fill_shared(piece_problem *p)
{
    const piece_shape *const s = &p->shape;
    if (s->n_features == 0) /* softmax */
        return;
    for (int64_t j = p->keys.begin; j < p->keys.end; ++j)
        fill_shared_row(s, p->seed, j, test_operand_f32(&p->operand[PIECE_SHARED], 0, j));
}

static void fill_slopes(piece_problem *p)
{
    const test_operand *const slopes = &p->operand[PIECE_SLOPES];
    for (int64_t g = 0; g < slopes->extents.n_columns; ++g)
        test_operand_f32(slopes, 0, 0)[g] = test_slope(p->shape.slopes, g);
}

static void fill_mask(piece_problem *p)
{
    const piece_shape *const s = &p->shape;
    const test_operand *const mask = &p->operand[PIECE_MASK];
    for (int64_t g = 0; g < (s->mask_by_group ? s->n_group : 1); ++g)
        for (int64_t i = 0; i < (s->mask_by_row ? s->n_rows : 1); ++i)
            for (int64_t j = 0; j < mask->extents.n_columns; ++j) {
                const uint64_t at = place(g, i, j);
                const bool visible = sattn_random_bits(p->seed, STREAM_MASK, at) % 100 <
                                     (uint64_t)s->visible_percent;
                if (s->mask == PIECE_BOOL)
                    test_operand_u8(mask, g, i)[j] = visible ? (uint8_t)(1 + j % 255) : 0;
                else
                    test_operand_f32(mask, g, i)[j] =
                        visible ? sattn_random_normal(p->seed, STREAM_BIAS, at) : -INFINITY;
            }
}

/* ---- operands */

/* Extents of input or output: the heads after one another, or side by side in each row. */
static test_extents head_extents(const piece_shape *s, int64_t n_columns, int64_t gap)
{
    test_extents extents = test_extents_f32(s->n_group, s->n_rows, n_columns, gap);
    if (s->heads_in_rows) {
        extents.group_stride = n_columns + gap;
        extents.row_stride = s->n_group * (n_columns + gap);
    }
    return extents;
}

static test_extents mask_extents(const piece_shape *s)
{
    const int64_t n_columns = s->mask == PIECE_NO_MASK ? 0 : s->mask_by_key ? s->n_keys : 1;
    test_extents extents =
        test_extents_f32(s->mask_by_group ? s->n_group : 1, s->mask_by_row ? s->n_rows : 1,
                         n_columns, s->row_gap[PIECE_MASK]);
    if (!s->mask_by_group)
        extents.group_stride = 0;
    if (!s->mask_by_row)
        extents.row_stride = 0;
    if (s->mask == PIECE_BOOL)
        extents.element_size = 1;
    return extents;
}

static size_t scratch_bytes(const piece_shape *s)
{
    return s->op == SATTN_OP_qk        ? sattn_qk_scratch_bytes(s->n_features)
           : s->op == SATTN_OP_softmax ? sattn_softmax_scratch_bytes(s->n_columns)
                                       : sattn_av_scratch_bytes(s->n_features);
}

static void make_operands(piece_problem *p, const test_run *run)
{
    const piece_shape *const s = &p->shape;
    test_extents extents[PIECE_OPERANDS];
    /* In place the rows of S are as long as those of P; what is behind n_keys stays the canary. */
    extents[PIECE_IN] =
        head_extents(s, s->in_place ? s->n_columns : piece_in_width(s), s->row_gap[PIECE_IN]);
    extents[PIECE_SHARED] =
        test_extents_f32(1, s->n_features ? s->n_keys : 0, s->n_features, s->row_gap[PIECE_SHARED]);
    extents[PIECE_OUT] = head_extents(s, piece_out_width(s), s->row_gap[PIECE_OUT]);
    extents[PIECE_MASK] = mask_extents(s);
    extents[PIECE_STATS] = test_extents_f32(
        2, s->n_group, s->op == SATTN_OP_softmax ? s->n_rows : 0, s->row_gap[PIECE_STATS]);
    extents[PIECE_SLOPES] = test_extents_f32(1, 1, s->slopes ? s->n_group : 0, 0);
    if (s->in_repeats)
        extents[PIECE_IN].row_stride = 0;
    if (s->shared_repeats)
        extents[PIECE_SHARED].row_stride = 0;
    for (int operand = 0; operand < PIECE_OPERANDS; ++operand)
        p->operand[operand] =
            operand == PIECE_SHARED && s->n_features
                ? test_operand_make_part(&extents[operand], p->keys.begin, p->keys.end,
                                         s->placement, s->distance[operand])
                : test_operand_make(&extents[operand], s->placement, s->distance[operand]);
    const size_t n_bytes = (scratch_bytes(s) + run->kernel->extra_scratch + 63) / 64 * 64;
    const test_extents scratch = test_extents_f32(1, 1, (int64_t)(n_bytes / sizeof(float)), 0);
    p->scratch = test_operand_make(&scratch, s->placement, 0);
}

/* ---- arguments */

static sattn_visibility visibility(const piece_problem *p)
{
    const piece_shape *const s = &p->shape;
    const test_operand *const mask = &p->operand[PIECE_MASK];
    const sattn_visibility visible = {
        .n_k = s->n_keys,
        .causal = s->causal,
        .has_window = s->has_window,
        .causal_offset = s->causal_offset,
        .window_left = s->window_left,
        .window_right = s->window_right,
        .mask_bool = s->mask == PIECE_BOOL ? mask->data : NULL,
        .mask_add = s->mask == PIECE_ADDITIVE ? mask->data : NULL,
        .mask_group_stride = mask->extents.group_stride,
        .mask_row_stride = mask->extents.row_stride,
        .mask_key_stride = s->mask_by_key,
        .alibi_slopes = s->slopes ? p->operand[PIECE_SLOPES].data : NULL,
    };
    return visible;
}

static sattn_qk_args qk_args(const piece_problem *p)
{
    const piece_shape *const s = &p->shape;
    const test_operand *const q = &p->operand[PIECE_IN];
    const test_operand *const k = &p->operand[PIECE_SHARED];
    const test_operand *const out = &p->operand[PIECE_OUT];
    const sattn_qk_args args = {
        .q = q->data,
        .k = k->data,
        .s = out->data,
        .q_stride = q->extents.row_stride,
        .k_stride = k->extents.row_stride,
        .s_stride = out->extents.row_stride,
        .q_group_stride = q->extents.group_stride,
        .s_group_stride = out->extents.group_stride,
        .n_group = s->n_group,
        .i0 = s->i0,
        .i1 = s->i1,
        .j0 = s->j0,
        .j1 = s->j1,
        .d = s->n_features,
        .scale = s->scale,
        .softcap = s->softcap,
        .scratch = p->scratch.data,
    };
    return args;
}

static sattn_softmax_args softmax_args(const piece_problem *p)
{
    const piece_shape *const s = &p->shape;
    const test_operand *const scores = &p->operand[PIECE_IN];
    const test_operand *const out = &p->operand[s->in_place ? PIECE_IN : PIECE_OUT];
    const test_operand *const stats = &p->operand[PIECE_STATS];
    const sattn_softmax_args args = {
        .s = scores->data,
        .p = out->data,
        .s_stride = scores->extents.row_stride,
        .p_stride = out->extents.row_stride,
        .s_group_stride = scores->extents.group_stride,
        .p_group_stride = out->extents.group_stride,
        .n_group = s->n_group,
        .i0 = s->i0,
        .i1 = s->i1,
        .n_columns = s->n_columns,
        .visible = visibility(p),
        .row_max = s->without_statistics ? NULL : test_operand_f32(stats, 0, 0),
        .row_sum = s->without_statistics ? NULL : test_operand_f32(stats, 1, 0),
        .stat_group_stride = stats->extents.row_stride,
        .scratch = p->scratch.data,
    };
    return args;
}

static sattn_av_args av_args(const piece_problem *p)
{
    const piece_shape *const s = &p->shape;
    const test_operand *const weights = &p->operand[PIECE_IN];
    const test_operand *const v = &p->operand[PIECE_SHARED];
    const test_operand *const out = &p->operand[PIECE_OUT];
    const sattn_av_args args = {
        .p = weights->data,
        .v = v->data,
        .o = out->data,
        .p_stride = weights->extents.row_stride,
        .v_stride = v->extents.row_stride,
        .o_stride = out->extents.row_stride,
        .p_group_stride = weights->extents.group_stride,
        .o_group_stride = out->extents.group_stride,
        .n_group = s->n_group,
        .i0 = s->i0,
        .i1 = s->i1,
        .d_v = s->n_features,
        .visible = visibility(p),
        .scratch = p->scratch.data,
    };
    return args;
}

void piece_problem_make(piece_problem *problem, const test_run *run, const piece_shape *shape,
                        uint64_t seed)
{
    *problem = (piece_problem){.shape = *shape, .seed = seed, .keys = piece_keys_of_call(shape)};
    make_operands(problem, run);
    fill_in(problem);
    fill_shared(problem);
    fill_mask(problem);
    fill_slopes(problem);
    if (shape->op == SATTN_OP_qk)
        problem->args.qk = qk_args(problem);
    else if (shape->op == SATTN_OP_softmax)
        problem->args.softmax = softmax_args(problem);
    else
        problem->args.av = av_args(problem);
}

void piece_problem_free(piece_problem *problem)
{
    for (int operand = 0; operand < PIECE_OPERANDS; ++operand)
        test_operand_free(&problem->operand[operand]);
    test_operand_free(&problem->scratch);
}
