/* SPDX-License-Identifier: MIT
 *
 * piece_verify.c: the outputs of a piece_problem against the oracle, and against each other. */
#include "tests/support/piece_problem.h"

#include "bench/verify/steps.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool piece_is_visible(const piece_problem *problem, int64_t g, int64_t i, int64_t j)
{
    const piece_shape *const s = &problem->shape;
    const test_operand *const mask = &problem->operand[PIECE_MASK];
    const int64_t at = s->mask_by_key ? j : 0;
    if (!piece_is_in_range(s, i, j))
        return false;
    if (s->mask == PIECE_BOOL)
        return test_operand_u8(mask, g, i)[at] != 0;
    return s->mask == PIECE_NO_MASK || test_operand_f32(mask, g, i)[at] != -INFINITY;
}

/* V of av, dense, with zeros for the keys that it does not have: the verifier looks for values that
 * are not finite at hidden keys too. */
static float *v_of_all_keys(const piece_problem *p)
{
    const int64_t n = p->shape.n_features;
    float *const v = test_allocate((size_t)(p->shape.n_keys * n) * sizeof(float));
    for (int64_t j = 0; j < p->shape.n_keys; ++j) {
        const bool is_there = j >= p->keys.begin && j < p->keys.end;
        const float *const row = test_operand_sealed_f32(&p->operand[PIECE_SHARED], 0, j);
        for (int64_t y = 0; y < n; ++y)
            v[j * n + y] = is_there ? row[y] : 0.0f;
    }
    return v;
}

/* Operands as they were before the call; `v` of av, dense. */
static void verify_row(const piece_problem *p, const float *v, int64_t g, int64_t i,
                       sattn_verify_result *result)
{
    const piece_shape *const s = &p->shape;
    const sattn_verify_place at = {.head = g, .row = i};
    const float *const in = test_operand_sealed_f32(&p->operand[PIECE_IN], g, i);
    const float *const k = test_operand_sealed_f32(&p->operand[PIECE_SHARED], 0, s->j0);
    const float *const got = piece_out_row(p, g, i);
    if (s->op == SATTN_OP_qk) {
        const sattn_verify_scores row = {.q = in,
                                         .k = k,
                                         .k_stride = p->args.qk.k_stride,
                                         .d = s->n_features,
                                         .n = s->j1 - s->j0,
                                         .scale = s->scale,
                                         .softcap = s->softcap};
        sattn_verify_scores_row(&row, got + s->j0, at, result);
    } else if (s->op == SATTN_OP_softmax) {
        const sattn_verify_weights row = {.s = in,
                                          .n_columns = s->n_columns,
                                          .visible = &p->args.softmax.visible,
                                          .g = g,
                                          .i = i};
        const float *const stats = test_operand_f32(&p->operand[PIECE_STATS], 0, g) + i;
        const float *const sums = test_operand_f32(&p->operand[PIECE_STATS], 1, g) + i;
        sattn_verify_weights_row(&row, got, s->without_statistics ? NULL : stats,
                                 s->without_statistics ? NULL : sums, at, result);
    } else {
        const sattn_verify_outputs row = {.p = in,
                                          .v = v,
                                          .v_stride = s->n_features,
                                          .d_v = s->n_features,
                                          .visible = &p->args.av.visible,
                                          .g = g,
                                          .i = i};
        sattn_verify_outputs_row(&row, got, at, result);
    }
}

void piece_problem_verify(const piece_problem *problem, test_run *run)
{
    const piece_shape *const s = &problem->shape;
    const bool is_empty = s->n_group * (s->i1 - s->i0) * piece_out_width(s) == 0 ||
                          (s->op == SATTN_OP_qk && s->j0 == s->j1);
    sattn_verify_result result;
    float *const v = s->op == SATTN_OP_av ? v_of_all_keys(problem) : NULL;
    sattn_verify_result_init(&result);
    for (int64_t g = 0; g < s->n_group; ++g)
        for (int64_t i = s->i0; i < s->i1; ++i)
            verify_row(problem, v, g, i, &result);
    free(v);
    if (is_empty ? result.n_failed > 0 : !sattn_verify_passed(&result)) {
        char text[400];
        sattn_verify_describe(&result, text, sizeof text);
        piece_problem_fail(problem, run, text);
    }
}

void piece_problem_check(test_run *run, const piece_shape *shape, uint64_t seed)
{
    piece_problem problem;
    piece_problem_make(&problem, run, shape, seed);
    piece_problem_run(&problem, run);
    piece_problem_verify(&problem, run);
    piece_problem_free(&problem);
}

bool piece_is_same(float a, float b)
{
    uint32_t bits_a, bits_b;
    memcpy(&bits_a, &a, sizeof bits_a);
    memcpy(&bits_b, &b, sizeof bits_b);
    return bits_a == bits_b;
}

static void fail_bits(test_run *run, const piece_pair *pair, int64_t i, const char *which,
                      int64_t column, float got, float want, const char *what)
{
    char text[256];
    snprintf(text, sizeof text, "other bits %s: head %lld row %lld %s %lld: %.9g, but %.9g", what,
             (long long)pair->g_got, (long long)i, which, (long long)column, (double)got,
             (double)want);
    piece_problem_fail(pair->got, run, text);
}

void piece_same_bits(test_run *run, const piece_pair *pair, int64_t i, int64_t begin, int64_t end,
                     const char *what)
{
    const float *const a = piece_out_row(pair->got, pair->g_got, i);
    const float *const b = piece_out_row(pair->want, pair->g_want, i);
    for (int64_t x = begin; x < end; ++x)
        if (!piece_is_same(a[x], b[x])) {
            fail_bits(run, pair, i, "column", x, a[x], b[x], what);
            return;
        }
    const piece_shape *const s = &pair->got->shape;
    if (s->op != SATTN_OP_softmax || s->without_statistics || pair->want->shape.without_statistics)
        return;
    for (int64_t statistic = 0; statistic < 2; ++statistic) {
        const float *const x =
            test_operand_f32(&pair->got->operand[PIECE_STATS], statistic, pair->g_got) + i;
        const float *const y =
            test_operand_f32(&pair->want->operand[PIECE_STATS], statistic, pair->g_want) + i;
        if (!piece_is_same(*x, *y))
            fail_bits(run, pair, i, "statistic", statistic, *x, *y, what);
    }
}

void piece_same_bits_all(test_run *run, const piece_problem *got, const piece_problem *want,
                         const char *what)
{
    const piece_shape *const s = &got->shape;
    const bool is_qk = s->op == SATTN_OP_qk;
    for (int64_t g = 0; g < s->n_group; ++g)
        for (int64_t i = s->i0; i < s->i1; ++i) {
            const piece_pair pair = {.got = got, .want = want, .g_got = g, .g_want = g};
            piece_same_bits(run, &pair, i, is_qk ? s->j0 : 0, is_qk ? s->j1 : piece_out_width(s),
                            what);
        }
}
