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
    for (int i = 0; i < SATTN_OPERAND_COUNT; ++i) {
        operands[i].needed = operands[i].used && has_keys;
        operands[i].written = i >= SATTN_OPERAND_LSE;
        operands[i].pointer = NULL;
        operands[i].bytes = 0;
    }
    operands[SATTN_OPERAND_Q].needed = operands[SATTN_OPERAND_Q].used;
    operands[SATTN_OPERAND_O].needed = operands[SATTN_OPERAND_O].used;
}

typedef struct names {
    const char *name, *pointer;
    char separator;
} names;

/* Written field by field, since a call of few numbers takes hardly longer than this. */
static void describe(sattn_operand *t, names of, const sattn_view *view)
{
    t->name = of.name;
    t->pointer = of.pointer;
    t->separator = of.separator;
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
}

static void describe_queries_and_keys(const sattn_attention_args *a, sattn_operand *operands)
{
    describe(&operands[SATTN_OPERAND_Q], (names){"q", "q.data", '.'}, &a->q);
    describe(&operands[SATTN_OPERAND_K], (names){"k", "k.data", '.'}, &a->k);
    set_extents(&operands[SATTN_OPERAND_Q], a, a->n_q_heads, a->n_q, a->d);
    set_extents(&operands[SATTN_OPERAND_K], a, a->n_kv_heads, a->n_k, a->d);
}

static void describe_values_and_outputs(const sattn_attention_args *a, sattn_operand *operands)
{
    const sattn_view o = {NULL, a->o.dtype, a->o.stride_b, a->o.stride_h, a->o.stride_t};
    describe(&operands[SATTN_OPERAND_V], (names){"v", "v.data", '.'}, &a->v);
    describe(&operands[SATTN_OPERAND_O], (names){"o", "o.data", '.'}, &o);
    set_extents(&operands[SATTN_OPERAND_V], a, a->n_kv_heads, a->n_k, a->d_v);
    set_extents(&operands[SATTN_OPERAND_O], a, a->n_q_heads, a->n_q, a->d_v);
}

static void describe_scores(const sattn_attention_args *a, sattn_operand *scores)
{
    const sattn_view view = {NULL, SATTN_F32, a->scores_stride_b, a->scores_stride_h,
                             a->scores_stride_t};
    describe(scores, (names){"scores", "scores", '_'}, &view);
    set_extents(scores, a, a->n_q_heads, a->n_q, a->n_k);
}

static void describe_scores_in(const sattn_attention_args *a, sattn_operand *scores_in)
{
    const sattn_view view = {NULL, SATTN_F32, a->scores_in_stride_b, a->scores_in_stride_h,
                             a->scores_in_stride_t};
    describe(scores_in, (names){"scores_in", "scores_in", '_'}, &view);
    set_extents(scores_in, a, a->n_q_heads, a->n_q, a->n_k);
}

static void describe_lse(const sattn_attention_args *a, sattn_operand *lse)
{
    const sattn_view view = {NULL, SATTN_F32, a->lse_stride_b, a->lse_stride_h, 0};
    describe(lse, (names){"lse", "lse", '_'}, &view);
    set_extents(lse, a, a->n_q_heads, 1, a->n_q);
}

void sattn_operands_of(const sattn_attention_args *a, sattn_computation computation,
                       sattn_operand operands[SATTN_OPERAND_COUNT])
{
    set_uses(a, computation, operands);
    if (operands[SATTN_OPERAND_Q].used)
        describe_queries_and_keys(a, operands);
    if (operands[SATTN_OPERAND_V].used)
        describe_values_and_outputs(a, operands);
    if (operands[SATTN_OPERAND_SCORES].used)
        describe_scores(a, &operands[SATTN_OPERAND_SCORES]);
    if (operands[SATTN_OPERAND_SCORES_IN].used)
        describe_scores_in(a, &operands[SATTN_OPERAND_SCORES_IN]);
    if (operands[SATTN_OPERAND_LSE].used)
        describe_lse(a, &operands[SATTN_OPERAND_LSE]);
}

sattn_status sattn_check_span(const char *name, const int64_t *extents, const int64_t *strides,
                              int axes, int64_t columns, int64_t element_size, int64_t *bytes)
{
    sattn_checked span = sattn_checked_of(columns);
    for (int axis = 0; axis < axes; ++axis)
        if (extents[axis] > 1)
            span = sattn_checked_add(span, sattn_checked_mul(sattn_checked_of(extents[axis] - 1),
                                                             sattn_checked_of(strides[axis])));
    const sattn_checked size = sattn_checked_mul(span, sattn_checked_of(element_size));
    *bytes = size.value;
    if (size.overflow || size.value > PTRDIFF_MAX)
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

static bool stride_is_legal(int64_t extent, int64_t stride, int64_t least)
{
    return extent <= 1 || stride == 0 || (stride > 0 && stride >= least);
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

/* Says which of the strides is wrong, and how. */
static sattn_status refuse_strides(const sattn_operand *t)
{
    const struct {
        const char *name;
        int64_t extent, stride, least;
    } axes[] = {
        {"stride_b", t->batch, t->stride_b, 0},
        {"stride_h", t->heads, t->stride_h, 0},
        {"stride_t", t->rows, t->stride_t, t->columns},
    };
    int i = 0;
    while (stride_is_legal(axes[i].extent, axes[i].stride, axes[i].least))
        ++i;
    if (axes[i].stride < 0)
        return sattn_fail(SATTN_ERR_ARGUMENT, "%s%c%s = %" PRId64 ": expected 0 or more", t->name,
                          t->separator, axes[i].name, axes[i].stride);
    return sattn_fail(SATTN_ERR_ARGUMENT,
                      "%s%c%s = %" PRId64 ": expected 0 or at least the row's %" PRId64 " elements",
                      t->name, t->separator, axes[i].name, axes[i].stride, axes[i].least);
}

/* Sets `bytes`. */
static sattn_status check_strides(sattn_operand *t)
{
    const int64_t extents[] = {t->batch, t->heads, t->rows};
    const int64_t strides[] = {t->stride_b, t->stride_h, t->stride_t};
    if (!stride_is_legal(t->batch, t->stride_b, 0) || !stride_is_legal(t->heads, t->stride_h, 0) ||
        !stride_is_legal(t->rows, t->stride_t, t->columns))
        return refuse_strides(t);
    const sattn_status status =
        sattn_check_span(t->name, extents, strides, 3, t->columns, 4, &t->bytes);
    if (t->batch == 0 || t->heads == 0 || t->rows == 0 || t->columns == 0)
        t->bytes = 0;
    return status;
}

sattn_status sattn_operand_check(sattn_operand *t)
{
    sattn_status status = check_type(t);
    if (status == SATTN_OK)
        status = check_strides(t);
    if (status != SATTN_OK || !t->written)
        return status;
    const sattn_region region = sattn_operand_region(t, NULL);
    const sattn_meeting meeting = sattn_region_meets_itself(&region);
    if (meeting == SATTN_APART)
        return SATTN_OK;
    return sattn_fail(
        SATTN_ERR_OVERLAP,
        "%s: with these strides its elements %s memory; an output needs memory of its "
        "own for each",
        t->name, meeting == SATTN_MEET ? "share" : "cannot be shown not to share");
}
