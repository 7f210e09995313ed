/* SPDX-License-Identifier: MIT
 *
 * attention.c: the outputs of a whole call against the oracle (compare.h): all rows, or a sample
 * of them and a look at everything else. */
#include "bench/verify/answers.h"
#include "bench/verify/attention_rows.h"
#include "bench/verify/attention_scan.h"
#include "bench/verify/visit.h"

#include <stdlib.h>

typedef struct verification {
    const sattn_attention_args *args;
    sattn_bound_params params;
    sattn_verify_answers *answers;        /* NULL: none are kept */
    double *weights, *logits, *dot_sizes; /* [n_k] */
    double *o, *magnitude, *bound;        /* [d_v] */
    sattn_verify_result *result;
} verification;

static void compare(const verification *v, const sattn_ref_row_args *row_args,
                    const sattn_verify_answer *answer, sattn_verify_place at)
{
    const sattn_attention_args *const a = v->args;
    const float *lse = NULL;
    if (a->lse)
        lse = a->lse + at.batch * sattn_verify_stride(a->batch, a->lse_stride_b) +
              at.head * sattn_verify_stride(a->n_q_heads, a->lse_stride_h) + at.row;
    sattn_verify_against(row_args, answer, sattn_verify_output_row(a, at.batch, at.head, at.row),
                         lse, at, v->result);
}

static void compare_with_kept(const verification *v, const sattn_ref_row_args *row_args,
                              const sattn_kept_answer *kept, sattn_verify_place at)
{
    const sattn_verify_answer answer = {.row = &kept->row,
                                        .bound = kept->bound,
                                        .lse_bound = kept->lse_bound,
                                        .overflows = kept->overflows};
    compare(v, row_args, &answer, at);
}

static void ask_and_compare(const verification *v, const sattn_ref_row_args *row_args,
                            sattn_verify_place at)
{
    sattn_ref_row_result row = {.o = v->o,
                                .magnitude = v->magnitude,
                                .weights = v->weights,
                                .logits = v->logits,
                                .dot_sizes = v->dot_sizes};
    sattn_ref_row(row_args, &row);
    const sattn_verify_answer answer = {
        .row = &row,
        .bound = v->bound,
        .lse_bound = sattn_verify_bound(row_args, &row, &v->params, v->bound),
        .overflows = sattn_row_may_overflow(row_args, &row)};
    if (v->answers)
        sattn_answers_keep(v->answers, &v->params, at, &answer, v->args->d_v);
    compare(v, row_args, &answer, at);
}

/* The signature is that of a visitor. */
static void verify_one(void *context, sattn_verify_place at)
{
    const verification *const v = context;
    const sattn_ref_row_args row_args = sattn_verify_map_row(v->args, at.batch, at.head, at.row);
    const sattn_kept_answer *const kept =
        v->answers ? sattn_answers_find(v->answers, &v->params, at) : NULL;
    if (kept)
        compare_with_kept(v, &row_args, kept, at);
    else
        ask_and_compare(v, &row_args, at);
}

static void verify_all(verification *v)
{
    for (int64_t batch = 0; batch < v->args->batch; ++batch)
        for (int64_t head = 0; head < v->args->n_q_heads; ++head)
            for (int64_t i = 0; i < v->args->n_q; ++i)
                verify_one(v, (sattn_verify_place){.batch = batch, .head = head, .row = i});
}

static bool verify_sample(verification *v, const sattn_verify_selection *selection)
{
    if (!sattn_verify_visit(v->args, selection, verify_one, v))
        return false;
    sattn_verify_scan(v->args, v->result);
    return true;
}

static const char *cannot_verify(const sattn_attention_args *a)
{
    if (a->q.dtype != SATTN_F32 || a->k.dtype != SATTN_F32 || a->v.dtype != SATTN_F32 ||
        a->o.dtype != SATTN_F32)
        return "verify: dtype: only SATTN_F32 can be verified";
    if (a->scores)
        return "verify: scores cannot be verified";
    return NULL;
}

static void *array_of(int64_t n, size_t size)
{
    if (n < 0 || (uint64_t)n > SIZE_MAX / size - 1)
        return NULL;
    return malloc(((size_t)n + 1) * size);
}

sattn_status sattn_verify_attention(const sattn_attention_args *args,
                                    const sattn_verify_selection *selection,
                                    const sattn_bound_params *params, sattn_verify_result *result,
                                    const char **why)
{
    const char *text = cannot_verify(args);
    if (why)
        *why = text ? text : "";
    if (text)
        return SATTN_ERR_UNSUPPORTED;
    if (args->batch == 0 || args->n_q_heads == 0 || args->n_q == 0)
        return SATTN_OK;
    verification v = {.args = args,
                      .params = params ? *params : sattn_bound_defaults(),
                      .answers = selection->answers,
                      .weights = array_of(args->n_k, sizeof(double)),
                      .logits = array_of(args->n_k, sizeof(double)),
                      .dot_sizes = array_of(args->n_k, sizeof(double)),
                      .o = array_of(args->d_v, sizeof(double)),
                      .magnitude = array_of(args->d_v, sizeof(double)),
                      .bound = array_of(args->d_v, sizeof(double)),
                      .result = result};
    if (!args->has_scale) /* 1 / sqrt(d) in float: a square root and a division */
        v.params.scale_roundings += 2;
    bool has_memory = v.weights && v.logits && v.dot_sizes && v.o && v.magnitude && v.bound;
    if (has_memory && selection->all_rows)
        verify_all(&v);
    else if (has_memory)
        has_memory = verify_sample(&v, selection);
    if (!has_memory && why)
        *why = "verify: no memory";
    free(v.weights);
    free(v.logits);
    free(v.dot_sizes);
    free(v.o);
    free(v.magnitude);
    free(v.bound);
    return has_memory ? SATTN_OK : SATTN_ERR_MEMORY;
}
