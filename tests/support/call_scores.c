/* SPDX-License-Identifier: MIT
 *
 * call_scores.c: what the scores that a call returns must hold, stage by stage, in double and by
 * formulas of its own. Errors are bounded by what the steps before have left (docs/numerics.md,
 * section 4): u = 2^-24, A = sum |scale q k|. */
#include "tests/support/call.h"

#include "bench/verify/compare.h"
#include "tests/support/harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One key of a row: the value of its score at the present stage, and what it may be off by. */
typedef struct score {
    double value, error;
    bool is_visible;
} score;

static const double unit = SATTN_UNIT_ROUNDOFF;

static double overflowing(double value)
{
    return isinf((float)value) ? (double)(float)value : value;
}

static const float *row_of(const sattn_view *view, const sattn_attention_args *a, int64_t b,
                           int64_t h, int64_t n_heads, int64_t i, int64_t n_rows)
{
    return (const float *)view->data + b * (a->batch == 1 ? 0 : view->stride_b) +
           h * (n_heads == 1 ? 0 : view->stride_h) + i * (n_rows == 1 ? 0 : view->stride_t);
}

static double distance_of(const sattn_attention_args *a, int64_t b, int64_t i, int64_t j)
{
    const int64_t n_valid = a->n_k_valid ? a->n_k_valid[b] : a->n_k;
    const double offset = (double)(a->causal_offset ? a->causal_offset[b] : n_valid - a->n_q);
    return fabs(offset + (double)(i - j)); /* exact where it is small enough to matter */
}

static double mask_of(const sattn_mask *mask, const int64_t place[4])
{
    int64_t at = 0;
    for (int axis = 0; axis < 4; ++axis)
        at += mask->extent[axis] == 1 ? 0 : place[axis] * mask->stride[axis];
    return (double)((const float *)mask->data)[at];
}

static score dot_of(const sattn_attention_args *a, const float *q, const float *k)
{
    score s = {.error = 0x1p-126};
    double size = 0;
    const double scale = a->has_scale ? (double)a->scale : 1 / sqrt((double)a->d);
    for (int64_t x = 0; x < a->d; ++x) {
        const double product = scale * (double)q[x] * (double)k[x];
        s.value += product;
        size += fabs(product);
    }
    s.error += (double)(a->d + 4) * unit * size;
    if (a->scores_stage != SATTN_SCORES_SCALED && a->softcap != 0.0f) {
        s.value = (double)a->softcap * tanh(s.value / (double)a->softcap);
        s.error += 9 * unit * fabs(s.value);
        s.error = isfinite(s.error) ? s.error : 9 * unit * (double)a->softcap;
    }
    return s;
}

static score score_of(const call *c, const float *q, int64_t b, int64_t h, int64_t i, int64_t j)
{
    const sattn_attention_args *const a = &c->args;
    const int64_t kv = h / (a->n_q_heads / a->n_kv_heads);
    score s = {.value = -INFINITY, .is_visible = call_sees(c, b, h, i, j)};
    if (a->scores_stage >= SATTN_SCORES_BIASED && !s.is_visible)
        return s;
    if (a->n_k_valid && j >= a->n_k_valid[b])
        return s;
    const bool sees = s.is_visible;
    s = dot_of(a, q, row_of(&a->k, a, b, kv, a->n_kv_heads, j, a->n_k));
    s.is_visible = sees;
    if (a->scores_stage < SATTN_SCORES_BIASED)
        return s;
    if (a->alibi_slopes && a->alibi_slopes[h] != 0.0f) {
        const double bias = (double)a->alibi_slopes[h] * distance_of(a, b, i, j);
        s.value = overflowing(s.value - bias);
        s.error += unit * (2 * fabs(bias) + fabs(s.value));
    }
    if (a->mask.kind == SATTN_MASK_ADDITIVE) {
        s.value = overflowing(s.value + mask_of(&a->mask, (int64_t[4]){b, h, i, j}));
        s.error += unit * fabs(s.value);
    }
    return s;
}

/* Turns the logits of a row into weights: p_j, and p_j (exp(x_j) - 1) for what the exponents may be
 * off by, with the sum's own error. */
static void weigh(const call *c, score *row, int64_t h)
{
    const double sink = c->args.sinks ? (double)c->args.sinks[h] : -INFINITY;
    double most = sink, most_error = 0, sum = 0, common = 0;
    bool is_nan = isnan(sink);
    int64_t n_visible = 0;
    for (int64_t j = 0; j < c->args.n_k; ++j) {
        n_visible += row[j].is_visible;
        is_nan |= row[j].is_visible && isnan(row[j].value);
        if (row[j].is_visible && row[j].value > most) {
            most = row[j].value;
            most_error = row[j].error;
        }
    }
    is_nan |= most == INFINITY || (most == -INFINITY && n_visible > 0);
    for (int64_t j = 0; j < c->args.n_k; ++j)
        sum += row[j].is_visible ? exp(row[j].value - most) : 0;
    sum += exp(sink - most);
    for (int64_t j = 0; j < c->args.n_k; ++j) {
        const double weight = is_nan ? (double)NAN : exp(row[j].value - most) / sum;
        const double gap = most - row[j].value;
        const double exponent = row[j].error + most_error + unit * gap + 24 * unit;
        row[j].value = row[j].is_visible ? weight : 0;
        if (exponent < 1)
            row[j].error = weight * expm1(exponent);
        else
            row[j].error = gap - row[j].error - most_error < 200 ? 1 : 0;
        if (row[j].is_visible)
            common += row[j].error;
    }
    const double sums = (double)(c->args.n_k / 128 + 130) * unit;
    for (int64_t j = 0; j < c->args.n_k; ++j)
        row[j].error += row[j].value * (2 * common + 2 * sums) + 0x1p-126;
}

static bool is_right(const score *want, float got, bool is_probability)
{
    static const float zero = 0.0f;
    if (is_probability && !want->is_visible)
        return memcmp(&got, &zero, sizeof got) == 0;
    if (!isfinite(want->value))
        return sattn_classify_f32(got) == sattn_classify_f64(want->value);
    return sattn_classify_f32(got) == SATTN_CLASS_FINITE &&
           fabs((double)got - want->value) <= want->error;
}

static bool verify_row(call *c, score *row, int64_t b, int64_t h, int64_t i)
{
    const sattn_attention_args *const a = &c->args;
    sattn_view q = a->q;
    if (c->shape.in_place) /* as it was before the call */
        q.data =
            c->memory[CALL_Q].before + ((const unsigned char *)q.data - c->memory[CALL_Q].pages);
    for (int64_t j = 0; j < a->n_k; ++j)
        row[j] = score_of(c, row_of(&q, a, b, h, a->n_q_heads, i, a->n_q), b, h, i, j);
    if (a->scores_stage == SATTN_SCORES_PROBABILITIES)
        weigh(c, row, h);
    const float *const got = call_scores_row(c, b, h, i);
    for (int64_t j = 0; j < a->n_k; ++j)
        if (!is_right(&row[j], got[j], a->scores_stage == SATTN_SCORES_PROBABILITIES)) {
            snprintf(c->failure, sizeof c->failure,
                     "score of batch %lld, head %lld, query %lld, key %lld (%s): %.9g instead of "
                     "%.9g +- %.2g",
                     (long long)b, (long long)h, (long long)i, (long long)j,
                     row[j].is_visible ? "visible" : "hidden", (double)got[j], row[j].value,
                     row[j].error);
            return false;
        }
    return true;
}

bool call_verify_scores(call *c)
{
    bool good = true;
    score *const row = test_allocate((size_t)c->args.n_k * sizeof *row);
    for (int64_t b = 0; b < c->args.batch; ++b)
        for (int64_t h = 0; h < c->args.n_q_heads; ++h)
            for (int64_t i = 0; good && i < c->args.n_q; ++i)
                good = verify_row(c, row, b, h, i);
    free(row);
    return good;
}
