/* SPDX-License-Identifier: MIT
 *
 * check_problem_rows.c: what the rows of a problem hold and see, and the oracle's scores and
 * weights of them, which softmax and av are given, so that each step is judged apart from the one
 * before. */
#include "bench/check/check_problem.h"

#include "bench/verify/steps.h"

#include <math.h>

const float *sattn_check_query(const sattn_check_problem *problem, int64_t b, int64_t h)
{
    const sattn_view *const q = &problem->args.q;
    return (const float *)q->data + b * q->stride_b + h * q->stride_h;
}

static const float *kv_head(const sattn_check_problem *problem, const sattn_view *view, int64_t b,
                            int64_t h)
{
    const int64_t group = problem->args.n_q_heads / problem->args.n_kv_heads;
    return (const float *)view->data + b * view->stride_b + h / group * view->stride_h;
}

const float *sattn_check_key(const sattn_check_problem *problem, int64_t b, int64_t h)
{
    return kv_head(problem, &problem->args.k, b, h);
}

const float *sattn_check_value(const sattn_check_problem *problem, int64_t b, int64_t h)
{
    return kv_head(problem, &problem->args.v, b, h);
}

sattn_visibility sattn_check_visible(const sattn_check_problem *problem, int64_t b, int64_t h)
{
    const sattn_attention_args *const a = &problem->args;
    const int64_t n_k = a->n_k_valid ? a->n_k_valid[b] : a->n_k;
    sattn_visibility visible = {.n_k = n_k,
                                .causal = a->causal,
                                .has_window = a->has_window,
                                .causal_offset = n_k - a->n_q,
                                .window_left = a->window_left,
                                .window_right = a->window_right,
                                .mask_row_stride = a->mask.stride[2],
                                .mask_key_stride = 1,
                                .alibi_slopes = a->alibi_slopes ? a->alibi_slopes + h : NULL};
    const int64_t at = a->mask.extent[1] > 1 ? h * a->mask.stride[1] : 0;
    if (a->mask.kind == SATTN_MASK_BOOL)
        visible.mask_bool = (const uint8_t *)a->mask.data + at;
    else if (a->mask.kind == SATTN_MASK_ADDITIVE)
        visible.mask_add = (const float *)a->mask.data + at;
    return visible;
}

int64_t sattn_check_row(const sattn_check_problem *problem, sattn_verify_place at)
{
    const sattn_attention_args *const a = &problem->args;
    return (at.batch * a->n_q_heads + at.head) * a->n_q + at.row;
}

bool sattn_check_problem_steps(sattn_check_problem *problem)
{
    const sattn_attention_args *const a = &problem->args;
    for (int64_t r = 0; r < a->batch * a->n_q_heads * a->n_q; ++r) {
        const int64_t b = r / a->n_q / a->n_q_heads, h = r / a->n_q % a->n_q_heads;
        const sattn_visibility visible = sattn_check_visible(problem, b, h);
        const float *const q = sattn_check_query(problem, b, h) + r % a->n_q * a->q.stride_t;
        const float *const k = sattn_check_key(problem, b, h);
        float *const s = problem->scores + r * a->n_k;
        float *const p = problem->weights + r * a->n_k;
        double size;
        for (int64_t j = 0; j < a->n_k; ++j)
            s[j] = j < visible.n_k
                       ? (float)sattn_ref_score(q, k + j * a->k.stride_t, a->d, (double)a->scale,
                                                (double)a->softcap, &size)
                       : -INFINITY;
        sattn_ref_scores row = sattn_verify_scores_of(s, &visible, 0, r % a->n_q);
        row.has_sink = a->sinks != NULL;
        row.sink = a->sinks ? (double)a->sinks[h] : 0;
        const sattn_ref_softmax softmax = sattn_ref_softmax_of(&row);
        for (int64_t j = 0; j < a->n_k; ++j)
            p[j] = j < row.key_begin || j >= row.key_end || softmax.n_visible == 0
                       ? 0.0f
                       : (float)(exp(sattn_ref_logit(&row, j) - softmax.max) / softmax.sum);
    }
    return true;
}
