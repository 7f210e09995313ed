/* SPDX-License-Identifier: MIT
 *
 * operands.c: which tensors a computation has, and what may be wrong with one of them. */
#include "dispatch/operands.h"

#include "dispatch/checked.h"
#include "dispatch/error.h"

#include <inttypes.h>

void sattn_computation_narrow(sattn_computation computation, sattn_attention_args *a)
{
    const bool has_queries =
        sattn_computes_attention(computation) || computation == SATTN_COMPUTE_QK;
    const bool has_outputs =
        sattn_computes_attention(computation) || computation == SATTN_COMPUTE_AV;
    if (!has_queries) {
        a->q = a->k = (sattn_view){0};
        a->softcap = 0.0f;
    }
    if (!has_outputs) {
        a->v = (sattn_view){0};
        a->o = (sattn_mut_view){0};
    }
    if (!sattn_computation_sees(computation)) {
        a->mask = (sattn_mask){0};
        a->causal = a->has_window = false;
        a->causal_offset = NULL;
    }
    if (!sattn_computation_weighs(computation)) {
        a->alibi_slopes = a->sinks = NULL;
        a->lse = NULL;
    }
    if (computation == SATTN_COMPUTE_QK)
        a->scores_in = NULL;
    if (computation == SATTN_COMPUTE_AV)
        a->scores = NULL;
}

/* Written field by field, since a call of few numbers takes hardly longer than this. */
static void describe(sattn_operand *t, const char *name, const char *pointer,
                     const sattn_view *view)
{
    t->name = name;
    t->pointer = pointer;
    t->stride_b = view->stride_b;
    t->stride_h = view->stride_h;
    t->stride_t = view->stride_t;
    t->dtype = view->dtype;
}

static void set_extents(sattn_operand *t, const sattn_attention_args *a, int64_t heads,
                        int64_t rows, int64_t columns)
{
    t->batch = a->batch;
    t->heads = heads;
    t->rows = rows;
    t->columns = columns;
    t->bytes = 0;
}

static void set_uses(const sattn_attention_args *a, sattn_computation computation,
                     sattn_operand operands[SATTN_OPERAND_COUNT])
{
    const bool attention = sattn_computes_attention(computation);
    const bool has_keys = a->n_k > 0;
    operands[SATTN_OPERAND_Q].used = attention || computation == SATTN_COMPUTE_QK;
    operands[SATTN_OPERAND_K].used = operands[SATTN_OPERAND_Q].used;
    operands[SATTN_OPERAND_V].used = attention || computation == SATTN_COMPUTE_AV;
    operands[SATTN_OPERAND_O].used = operands[SATTN_OPERAND_V].used;
    operands[SATTN_OPERAND_SCORES_IN].used =
        computation == SATTN_COMPUTE_SOFTMAX || computation == SATTN_COMPUTE_AV;
    operands[SATTN_OPERAND_SCORES].used =
        attention ? a->scores != NULL : computation != SATTN_COMPUTE_AV;
    operands[SATTN_OPERAND_LSE].used =
        a->lse && (attention || computation == SATTN_COMPUTE_SOFTMAX);
    for (int i = 0; i < SATTN_OPERAND_COUNT; ++i)
        operands[i].needed = operands[i].used && has_keys;
    operands[SATTN_OPERAND_Q].needed = operands[SATTN_OPERAND_Q].used;
    operands[SATTN_OPERAND_O].needed = operands[SATTN_OPERAND_O].used;
}

void sattn_operands_of(const sattn_attention_args *a, sattn_computation computation,
                       sattn_operand operands[SATTN_OPERAND_COUNT])
{
    const sattn_view o = {NULL, a->o.dtype, a->o.stride_b, a->o.stride_h, a->o.stride_t};
    const sattn_view scores = {NULL, SATTN_F32, a->scores_stride_b, a->scores_stride_h,
                               a->scores_stride_t};
    const sattn_view scores_in = {NULL, SATTN_F32, a->scores_in_stride_b, a->scores_in_stride_h,
                                  a->scores_in_stride_t};
    const sattn_view lse = {NULL, SATTN_F32, a->lse_stride_b, a->lse_stride_h, 0};
    describe(&operands[SATTN_OPERAND_Q], "q", "q.data", &a->q);
    describe(&operands[SATTN_OPERAND_K], "k", "k.data", &a->k);
    describe(&operands[SATTN_OPERAND_V], "v", "v.data", &a->v);
    describe(&operands[SATTN_OPERAND_O], "o", "o.data", &o);
    describe(&operands[SATTN_OPERAND_SCORES], "scores", "scores", &scores);
    describe(&operands[SATTN_OPERAND_SCORES_IN], "scores_in", "scores_in", &scores_in);
    describe(&operands[SATTN_OPERAND_LSE], "lse", "lse", &lse);
    set_extents(&operands[SATTN_OPERAND_Q], a, a->n_q_heads, a->n_q, a->d);
    set_extents(&operands[SATTN_OPERAND_K], a, a->n_kv_heads, a->n_k, a->d);
    set_extents(&operands[SATTN_OPERAND_V], a, a->n_kv_heads, a->n_k, a->d_v);
    set_extents(&operands[SATTN_OPERAND_O], a, a->n_q_heads, a->n_q, a->d_v);
    set_extents(&operands[SATTN_OPERAND_SCORES], a, a->n_q_heads, a->n_q, a->n_k);
    set_extents(&operands[SATTN_OPERAND_SCORES_IN], a, a->n_q_heads, a->n_q, a->n_k);
    set_extents(&operands[SATTN_OPERAND_LSE], a, a->n_q_heads, 1, a->n_q);
    for (int i = 0; i < SATTN_OPERAND_COUNT; ++i) {
        const bool is_view = i < SATTN_OPERAND_SCORES_IN || i == SATTN_OPERAND_O;
        operands[i].separator = is_view ? '.' : '_';
        operands[i].written = i >= SATTN_OPERAND_LSE;
    }
    set_uses(a, computation, operands);
}

sattn_status sattn_check_span(const char *name, const int64_t *extents, const int64_t *strides,
                              int axes, int64_t columns, int64_t element_size)
{
    sattn_checked span = sattn_checked_of(columns);
    for (int axis = 0; axis < axes; ++axis)
        if (extents[axis] > 1)
            span = sattn_checked_add(span, sattn_checked_mul(sattn_checked_of(extents[axis] - 1),
                                                             sattn_checked_of(strides[axis])));
    const sattn_checked bytes = sattn_checked_mul(span, sattn_checked_of(element_size));
    if (bytes.overflow || bytes.value > PTRDIFF_MAX)
        return sattn_fail(SATTN_ERR_TOO_LARGE,
                          "%s: its extents and strides reach beyond the address space", name);
    return SATTN_OK;
}

void sattn_operands_locate(const sattn_attention_args *a, const void *data[SATTN_OPERAND_COUNT])
{
    data[SATTN_OPERAND_Q] = a->q.data;
    data[SATTN_OPERAND_K] = a->k.data;
    data[SATTN_OPERAND_V] = a->v.data;
    data[SATTN_OPERAND_SCORES_IN] = a->scores_in;
    data[SATTN_OPERAND_LSE] = a->lse;
    data[SATTN_OPERAND_SCORES] = a->scores;
    data[SATTN_OPERAND_O] = a->o.data;
}

static sattn_status check_type(const sattn_operand *t)
{
    if (t->dtype == SATTN_F32)
        return SATTN_OK;
    if (t->dtype != SATTN_F16 && t->dtype != SATTN_BF16)
        return sattn_fail(SATTN_ERR_ARGUMENT, "%s.dtype = %d: no such type", t->name,
                          (int)t->dtype);
    return sattn_fail(SATTN_ERR_UNSUPPORTED,
                      "%s.dtype = %d (%s): only SATTN_F32 is computed so far", t->name,
                      (int)t->dtype, t->dtype == SATTN_F16 ? "SATTN_F16" : "SATTN_BF16");
}

static sattn_status check_strides(const sattn_operand *t)
{
    const struct {
        const char *name;
        int64_t extent, stride, least;
    } axes[] = {
        {"stride_b", t->batch, t->stride_b, 0},
        {"stride_h", t->heads, t->stride_h, 0},
        {"stride_t", t->rows, t->stride_t, t->columns},
    };
    for (int i = 0; i < 3; ++i) {
        if (axes[i].extent <= 1)
            continue;
        if (axes[i].stride < 0)
            return sattn_fail(SATTN_ERR_ARGUMENT, "%s%c%s = %" PRId64 ": expected 0 or more",
                              t->name, t->separator, axes[i].name, axes[i].stride);
        if (axes[i].stride > 0 && axes[i].stride < axes[i].least)
            return sattn_fail(SATTN_ERR_ARGUMENT,
                              "%s%c%s = %" PRId64 ": expected 0 or at least the row's %" PRId64
                              " elements",
                              t->name, t->separator, axes[i].name, axes[i].stride, axes[i].least);
    }
    const int64_t extents[] = {t->batch, t->heads, t->rows};
    const int64_t strides[] = {t->stride_b, t->stride_h, t->stride_t};
    return sattn_check_span(t->name, extents, strides, 3, t->columns, 4);
}

sattn_status sattn_operand_check(sattn_operand *t)
{
    sattn_status status = check_type(t);
    if (status == SATTN_OK)
        status = check_strides(t);
    if (status != SATTN_OK)
        return status;
    const sattn_region region = sattn_operand_region(t, NULL);
    t->bytes = (int64_t)sattn_region_span(&region).bytes;
    if (!t->written)
        return SATTN_OK;
    const sattn_meeting meeting = sattn_region_meets_itself(&region);
    if (meeting == SATTN_APART)
        return SATTN_OK;
    return sattn_fail(
        SATTN_ERR_OVERLAP,
        "%s: with these strides its elements %s memory; an output needs memory of its "
        "own for each",
        t->name, meeting == SATTN_MEET ? "share" : "cannot be shown not to share");
}
