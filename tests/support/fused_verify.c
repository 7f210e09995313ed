/* SPDX-License-Identifier: MIT
 *
 * fused_verify.c: the outputs of a fused_problem against the oracle, and against each other. */
#include "tests/support/fused_problem.h"

#include "bench/verify/visible.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double slope_of(const fused_problem *p, int64_t g)
{
    if (!p->shape.slopes)
        return 0;
    return (double)test_operand_sealed_f32(&p->operand[OPERAND_SLOPES], 0, 0)[g];
}

/* The row as the oracle sees it: operands as they were before the call. */
static sattn_ref_row_args row_args(const fused_problem *p, int64_t g, int64_t i)
{
    const fused_shape *const s = &p->shape;
    const test_operand *const mask = &p->operand[OPERAND_MASK];
    const fused_keys keys = fused_keys_of_row(s, i);
    const sattn_ref_row_args row = {
        .q = test_operand_sealed_f32(&p->operand[OPERAND_Q], g, i),
        .k = test_operand_sealed_f32(&p->operand[OPERAND_K], 0, 0),
        .v = test_operand_sealed_f32(&p->operand[OPERAND_V], 0, 0),
        .k_stride = p->args.k_stride,
        .v_stride = p->args.v_stride,
        .d = s->d,
        .d_v = s->d_v,
        .key_begin = keys.begin,
        .key_end = keys.end,
        .scale = (double)p->args.scale,
        .softcap = (double)p->args.softcap,
        .alibi_slope = slope_of(p, g),
        .position = sattn_verify_add(i, s->causal_offset),
        .mask_bool = s->mask == PROBLEM_BOOL ? test_operand_sealed_u8(mask, g, i) : NULL,
        .mask_add = s->mask == PROBLEM_ADDITIVE ? test_operand_sealed_f32(mask, g, i) : NULL,
        .mask_key_stride = s->mask_by_key,
    };
    return row;
}

typedef struct row_memory {
    double *block;
    sattn_ref_row_result result;
    double *bound;
} row_memory;

static row_memory row_memory_make(const fused_shape *s)
{
    const size_t n = (size_t)(3 * s->d_v + 3 * s->n_k);
    row_memory memory = {.block = test_allocate(n * sizeof(double))};
    memory.result.o = memory.block;
    memory.result.magnitude = memory.result.o + s->d_v;
    memory.bound = memory.result.magnitude + s->d_v;
    memory.result.weights = memory.bound + s->d_v;
    memory.result.logits = memory.result.weights + s->n_k;
    memory.result.dot_sizes = memory.result.logits + s->n_k;
    return memory;
}

static void verify_row(const fused_problem *p, test_run *run, row_memory *memory, int64_t g,
                       int64_t i, const float *o, const float *lse, int64_t n_splits)
{
    const sattn_ref_row_args args = row_args(p, g, i);
    const sattn_verify_place at = {.head = g, .row = i};
    sattn_bound_params params = sattn_bound_defaults();
    params.n_splits = n_splits;
    sattn_ref_row(&args, &memory->result);
    sattn_verify_result result;
    sattn_verify_result_init(&result);
    sattn_verify_row(&args, &memory->result, &params, o, lse, at, memory->bound, &result);
    if (!sattn_verify_passed(&result)) {
        char text[400];
        sattn_verify_describe(&result, text, sizeof text);
        fused_problem_fail(p, run, text);
    }
}

void fused_problem_verify_row(const fused_problem *problem, test_run *run, int64_t g, int64_t i,
                              const float *o, double lse, int64_t n_splits)
{
    const float lse_f32 = (float)lse;
    row_memory memory = row_memory_make(&problem->shape);
    verify_row(problem, run, &memory, g, i, o, &lse_f32, n_splits);
    free(memory.block);
}

/* A row of a partial result as the whole would have it. */
static void normalise(float *to, const float *o, int64_t d_v, float row_max, float row_sum)
{
    const bool is_empty = row_sum == 0.0f;
    const bool is_nan = !is_empty && row_max == -INFINITY;
    for (int64_t y = 0; y < d_v; ++y)
        to[y] = is_empty ? o[y] : is_nan ? NAN : (float)((double)o[y] / (double)row_sum);
}

/* How far the largest score may be from the oracle's. */
static double slack_of_scores(const fused_problem *p, const row_memory *memory, int64_t g,
                              int64_t i)
{
    const sattn_ref_row_result *const row = &memory->result;
    const fused_keys keys = fused_keys_of_row(&p->shape, i);
    const double slope = fabs(slope_of(p, g));
    double dot_size = 0;
    double bias_size = 0;
    for (int64_t j = keys.begin; j < keys.end; ++j)
        if (isfinite(row->logits[j - keys.begin])) {
            const double distance = (double)test_distance(i, p->shape.causal_offset, j);
            dot_size = fmax(dot_size, row->dot_sizes[j - keys.begin]);
            bias_size = fmax(bias_size, slope * distance);
        }
    const double u = SATTN_UNIT_ROUNDOFF;
    return (double)(p->shape.d + 4) * u * (dot_size + fabs(row->max_logit)) +
           SATTN_SOFTCAP_ERROR * u * (double)p->shape.softcap + 3 * u * bias_size + 1e-6;
}

/* The reference value trails the maximum by at most the lazy threshold and never leads it, but for
 * the rounding of the scores. */
static void check_statistics(const fused_problem *p, test_run *run, const row_memory *memory,
                             int64_t g, int64_t i)
{
    const float row_max = test_operand_f32(&p->operand[OPERAND_STATS], 0, g)[i];
    const float row_sum = test_operand_f32(&p->operand[OPERAND_STATS], 1, g)[i];
    const sattn_ref_row_result *const row = &memory->result;
    if (row->n_visible == 0 && (row_max != -INFINITY || row_sum != 0.0f))
        fused_problem_fail(p, run, "a row that sees no key has not row_max -inf and row_sum 0");
    if (row->n_visible > 0 && !isnan(row_sum) && !(row_sum > 0.0f))
        fused_problem_fail(p, run, "keys are visible, but row_sum is not above 0");
    if (row->n_visible > 0 && row->lse == (double)-INFINITY && row_max != -INFINITY)
        fused_problem_fail(p, run, "every visible score is -inf, but row_max is not");
    if (row->is_nan || row->n_visible == 0)
        return;
    const double slack = slack_of_scores(p, memory, g, i);
    const double trail = row->max_logit - (double)row_max;
    if (!(trail <= (double)SATTN_LAZY_THRESHOLD + slack && trail >= -slack))
        fused_problem_fail(p, run,
                           "row_max is further from the row's maximum than the lazy threshold");
}

void fused_problem_verify(const fused_problem *problem, test_run *run)
{
    const fused_shape *const s = &problem->shape;
    row_memory memory = row_memory_make(s);
    float *const normalised = test_allocate((size_t)s->d_v * sizeof(float));
    for (int64_t g = 0; g < s->n_group; ++g)
        for (int64_t i = s->i0; i < s->i1; ++i) {
            const float *o =
                test_operand_f32(&problem->operand[s->o_is_q ? OPERAND_Q : OPERAND_O], g, i);
            if (s->without_statistics) {
                verify_row(problem, run, &memory, g, i, o, NULL, 1);
                continue;
            }
            const float row_max = test_operand_f32(&problem->operand[OPERAND_STATS], 0, g)[i];
            const float row_sum = test_operand_f32(&problem->operand[OPERAND_STATS], 1, g)[i];
            if (s->partial) {
                normalise(normalised, o, s->d_v, row_max, row_sum);
                o = normalised;
            }
            const float lse = (float)((double)row_max + log((double)row_sum));
            verify_row(problem, run, &memory, g, i, o, &lse, 1);
            check_statistics(problem, run, &memory, g, i);
        }
    free(normalised);
    free(memory.block);
}

void fused_problem_same_bits(test_run *run, const fused_problem *got, int64_t g, int64_t i,
                             const fused_problem *want, int64_t g_want, int64_t i_want,
                             const char *what)
{
    const test_operand *const o_got = &got->operand[got->shape.o_is_q ? OPERAND_Q : OPERAND_O];
    const test_operand *const o_want = &want->operand[want->shape.o_is_q ? OPERAND_Q : OPERAND_O];
    const float *const a = test_operand_f32(o_got, g, i);
    const float *const b = test_operand_f32(o_want, g_want, i_want);
    char text[256];
    for (int64_t y = 0; y < got->shape.d_v; ++y)
        if (memcmp(&a[y], &b[y], sizeof a[y]) != 0) {
            snprintf(text, sizeof text,
                     "other bits %s: head %lld row %lld column %lld: %.9g, but %.9g", what,
                     (long long)g, (long long)i, (long long)y, (double)a[y], (double)b[y]);
            fused_problem_fail(got, run, text);
            return;
        }
    for (int64_t statistic = 0; statistic < 2 && !got->shape.without_statistics; ++statistic) {
        const float x = test_operand_f32(&got->operand[OPERAND_STATS], statistic, g)[i];
        const float y = test_operand_f32(&want->operand[OPERAND_STATS], statistic, g_want)[i_want];
        if (memcmp(&x, &y, sizeof x) != 0) {
            snprintf(text, sizeof text, "other %s %s: head %lld row %lld: %.9g, but %.9g",
                     statistic ? "row_sum" : "row_max", what, (long long)g, (long long)i, (double)x,
                     (double)y);
            fused_problem_fail(got, run, text);
            return;
        }
    }
}
