/* SPDX-License-Identifier: MIT
 *
 * wrong_attention.c: attention as plain loops over one row at a time, with a switch for each
 * mistake. It shares nothing with the kernels. */
#include "tests/support/wrong_attention.h"

#include "bench/half.h"

#include <math.h>
#include <stdlib.h>

const char *const wrong_step_names[WRONG_STEPS] = {
    [RIGHT] = "(right)",
    [EXP_WITHOUT_MAX] = "exp without subtracting the maximum",
    [MAX_OVER_HIDDEN] = "maximum over hidden keys too",
    [NO_RESCALING] = "no rescaling when a block raises the maximum",
    [EXP_INEXACT] = "exp off by 1e-3",
    [WEIGHTS_IN_F16] = "weights rounded to f16",
    [SUM_IN_F16] = "sum of the weights rounded to f16",
    [HIDDEN_VALUES_TIMES_0] = "hidden values multiplied by 0",
    [HIDDEN_SCORES_PLUS_MINUS_INF] = "-inf added to hidden scores",
    [LOWEST_BIAS_HIDES] = "a bias of -1e30 or less hides",
    [EMPTY_ROW_NAN] = "a row that sees nothing is NaN",
    [EMPTY_ROW_MEAN] = "a row that sees nothing is the mean of V",
    [SOFTCAP_AFTER_BIAS] = "softcap after the bias",
    [SOFTCAP_AS_CLAMP] = "softcap as a clamp",
    [HEADS_MODULO] = "query head h reads KV head h % Hkv",
    [KEY_TAIL_DROPPED] = "last keys beyond a multiple of 4 dropped",
    [D_TAIL_DROPPED] = "last features of Q and K beyond a multiple of 4 dropped",
    [DV_TAIL_DROPPED] = "last features of V beyond a multiple of 4 dropped",
    [KEYS_OF_FIRST_BLOCK] = "keys behind the first 128 dropped",
};

enum { BLOCK = 64 };

/* One row: what it is made of, and its logits. */
typedef struct row {
    const sattn_conform_problem *problem;
    wrong_step step;
    int64_t b, h, i, n_k; /* n_k: keys that are read at all */
    const float *q, *k, *v;
    float *scaled, *capped, *logits; /* [args.n_k] */
    bool *visible;
} row;

static int64_t whole(const row *r, wrong_step step, int64_t n)
{
    return r->step == step ? n / 4 * 4 : n;
}

static float capped(const row *r, float s)
{
    const float cap = r->problem->args.softcap;
    if (cap == 0)
        return s;
    if (r->step == SOFTCAP_AS_CLAMP)
        return fminf(fmaxf(s, -cap), cap);
    return cap * tanhf(s / cap);
}

/* What the mask says of key j: whether it is let through, and what is added. */
static bool look(const row *r, int64_t j, float *bias)
{
    const sattn_mask *const mask = &r->problem->args.mask;
    const int64_t at[4] = {r->b, r->h, r->i, j};
    int64_t element = 0;
    *bias = 0;
    if (mask->kind == SATTN_MASK_NONE)
        return true;
    for (int axis = 0; axis < 4; ++axis)
        element += mask->extent[axis] > 1 ? at[axis] * mask->stride[axis] : 0;
    if (mask->kind == SATTN_MASK_BOOL)
        return ((const uint8_t *)mask->data)[element] != 0;
    *bias = ((const float *)mask->data)[element];
    return r->step == LOWEST_BIAS_HIDES ? *bias > -1e30f : *bias != -INFINITY;
}

static bool in_range(const row *r, int64_t j)
{
    const sattn_attention_args *const a = &r->problem->args;
    /* In floating point: i + offset + right may be beyond int64_t. */
    const double distance = (double)(r->i + a->causal_offset[r->b] - j);
    if (a->causal && distance < 0)
        return false;
    if (a->has_window && a->window_left >= 0 && distance > (double)a->window_left)
        return false;
    return !a->has_window || a->window_right < 0 || -distance <= (double)a->window_right;
}

static void make_logits(row *r)
{
    const sattn_attention_args *const a = &r->problem->args;
    const float scale = a->has_scale ? a->scale : (float)(1 / sqrt((double)a->d));
    const int64_t d = whole(r, D_TAIL_DROPPED, a->d);
    for (int64_t j = 0; j < r->n_k; ++j) {
        float bias, s = 0;
        for (int64_t x = 0; x < d; ++x)
            s += scale * r->q[x] * r->k[j * a->k.stride_t + x];
        r->visible[j] = look(r, j, &bias) && in_range(r, j);
        r->scaled[j] = s;
        r->capped[j] = capped(r, s);
        r->logits[j] = r->step == SOFTCAP_AFTER_BIAS ? capped(r, s + bias) : r->capped[j] + bias;
        if (r->step == HIDDEN_SCORES_PLUS_MINUS_INF) { /* NaN where K holds one */
            r->logits[j] += r->visible[j] ? 0 : -INFINITY;
            r->visible[j] = r->logits[j] != -INFINITY;
        } else if (r->step == SOFTCAP_AFTER_BIAS && bias == -INFINITY && in_range(r, j)) {
            r->visible[j] = true; /* tanh(-inf) is a number, and the key has weight */
        }
    }
}

static float weight(const row *r, float logit, float max)
{
    const float shifted = r->step == EXP_WITHOUT_MAX ? logit : logit - max;
    float p = expf(shifted);
    if (r->step == EXP_INEXACT)
        p *= 1 + 1e-3f * sinf(10 * shifted);
    return r->step == WEIGHTS_IN_F16 ? sattn_half_widen(sattn_half_round(p)) : p;
}

static bool sees(const row *r, int64_t j)
{
    return r->visible[j] && j < whole(r, KEY_TAIL_DROPPED, r->n_k) &&
           !(r->step == KEYS_OF_FIRST_BLOCK && j >= 2 * BLOCK);
}

/* Weights of the row into logits, 0 where a key is hidden; false: it sees none. */
static bool make_weights(row *r)
{
    float max = -INFINITY, sum = 0;
    bool any = false;
    for (int64_t j = 0; j < r->n_k; ++j) {
        any = any || r->visible[j];
        if (sees(r, j) || r->step == MAX_OVER_HIDDEN)
            max = fmaxf(max, r->logits[j]);
    }
    float block_max = -INFINITY; /* without rescaling each block has the maximum up to its end */
    for (int64_t j = 0; j < r->n_k; ++j) {
        if (r->step == NO_RESCALING && j % BLOCK == 0)
            for (int64_t n = j; n < r->n_k && n < j + BLOCK; ++n)
                block_max = sees(r, n) ? fmaxf(block_max, r->logits[n]) : block_max;
        const float reference = r->step == NO_RESCALING ? block_max : max;
        r->logits[j] = sees(r, j) ? weight(r, r->logits[j], reference) : 0;
        sum += r->logits[j];
    }
    if (r->step == SUM_IN_F16)
        sum = sattn_half_widen(sattn_half_round(sum));
    for (int64_t j = 0; any && j < r->n_k; ++j)
        r->logits[j] /= sum;
    return any;
}

static void make_output(const row *r, bool any, float *o)
{
    const sattn_attention_args *const a = &r->problem->args;
    const int64_t d_v = whole(r, DV_TAIL_DROPPED, a->d_v);
    for (int64_t y = 0; y < a->d_v; ++y)
        o[y] = 0;
    for (int64_t j = 0; j < r->n_k; ++j)
        for (int64_t y = 0; y < d_v; ++y) {
            const float value = r->v[j * a->v.stride_t + y];
            if (!any && r->step == EMPTY_ROW_MEAN)
                o[y] += value / (float)r->n_k;
            else if (!any && r->step == EMPTY_ROW_NAN)
                o[y] = NAN;
            else if (r->logits[j] != 0 || r->step == HIDDEN_VALUES_TIMES_0)
                o[y] += r->logits[j] * value;
        }
}

/* The stage that is asked for; beyond n_k there is no key. */
static void return_scores(const row *r, const float *biased, float *qk)
{
    const sattn_attention_args *const a = &r->problem->args;
    for (int64_t j = 0; j < a->n_k; ++j) {
        const bool is_late = a->scores_stage >= SATTN_SCORES_BIASED;
        const bool is_hidden = j >= r->n_k || (is_late && !r->visible[j]);
        if (a->scores_stage == SATTN_SCORES_PROBABILITIES)
            qk[j] = is_hidden ? 0 : r->logits[j];
        else if (is_hidden)
            qk[j] = -INFINITY;
        else if (a->scores_stage == SATTN_SCORES_BIASED)
            qk[j] = biased[j];
        else
            qk[j] = a->scores_stage == SATTN_SCORES_SCALED ? r->scaled[j] : r->capped[j];
    }
}

static void compute_row(row *r, float *biased)
{
    const sattn_conform_problem *const p = r->problem;
    const sattn_attention_args *const a = &p->args;
    make_logits(r);
    for (int64_t j = 0; j < r->n_k; ++j)
        biased[j] = r->logits[j];
    const bool any = make_weights(r);
    make_output(r, any,
                (float *)a->o.data + r->b * a->o.stride_b + r->h * a->o.stride_h +
                    r->i * a->o.stride_t);
    if (p->has_qk)
        return_scores(r, biased, p->qk + ((r->b * a->n_q_heads + r->h) * a->n_q + r->i) * a->n_k);
}

bool wrong_attention(sattn_conform_problem *problem, wrong_step step)
{
    const sattn_attention_args *const a = &problem->args;
    const int64_t group = a->n_q_heads / a->n_kv_heads;
    float *const floats = malloc((size_t)a->n_k * 4 * sizeof *floats);
    bool *const visible = calloc((size_t)a->n_k, sizeof *visible);
    if (!floats || !visible) {
        free(floats);
        free(visible);
        return false;
    }
    for (int64_t n = 0; n < a->batch * a->n_q_heads * a->n_q; ++n) {
        row r = {.problem = problem,
                 .step = step,
                 .b = n / a->n_q / a->n_q_heads,
                 .h = n / a->n_q % a->n_q_heads,
                 .i = n % a->n_q,
                 .scaled = floats,
                 .capped = floats + a->n_k,
                 .logits = floats + 2 * a->n_k,
                 .visible = visible};
        const int64_t kv = step == HEADS_MODULO ? r.h % a->n_kv_heads : r.h / group;
        r.n_k = a->n_k_valid ? a->n_k_valid[r.b] : a->n_k;
        r.q = (const float *)a->q.data + r.b * a->q.stride_b + r.h * a->q.stride_h +
              r.i * a->q.stride_t;
        r.k = (const float *)a->k.data + r.b * a->k.stride_b + kv * a->k.stride_h;
        r.v = (const float *)a->v.data + r.b * a->v.stride_b + kv * a->v.stride_h;
        compute_row(&r, floats + 3 * a->n_k);
    }
    free(floats);
    free(visible);
    return true;
}
