/* SPDX-License-Identifier: MIT
 *
 * attention_check.c: refuses what is wrong with an attention call, naming field and value. */
#include "dispatch/attention_check.h"

#include "dispatch/checked.h"
#include "dispatch/error.h"
#include "dispatch/region.h"

#include <inttypes.h>
#include <math.h>

/* A tensor operand: a view, its name, and the extents it must have. */
typedef struct operand {
    const char *name;
    const void *data;
    sattn_dtype dtype;
    int64_t stride_b, stride_h, stride_t;
    int64_t batch, heads, rows, columns;
    bool written;
} operand;

enum { Q, K, V, O, N_OPERANDS };

static void operands_of(const sattn_attention_args *a, operand operands[N_OPERANDS])
{
    operands[Q] =
        (operand){"q",      a->q.data,    a->q.dtype, a->q.stride_b, a->q.stride_h, a->q.stride_t,
                  a->batch, a->n_q_heads, a->n_q,     a->d,          false};
    operands[K] =
        (operand){"k",      a->k.data,     a->k.dtype, a->k.stride_b, a->k.stride_h, a->k.stride_t,
                  a->batch, a->n_kv_heads, a->n_k,     a->d,          false};
    operands[V] =
        (operand){"v",      a->v.data,     a->v.dtype, a->v.stride_b, a->v.stride_h, a->v.stride_t,
                  a->batch, a->n_kv_heads, a->n_k,     a->d_v,        false};
    operands[O] =
        (operand){"o",      a->o.data,    a->o.dtype, a->o.stride_b, a->o.stride_h, a->o.stride_t,
                  a->batch, a->n_q_heads, a->n_q,     a->d_v,        true};
}

static sattn_status wrong(const char *field, int64_t value, const char *expected)
{
    return sattn_fail(SATTN_ERR_ARGUMENT, "%s = %" PRId64 ": expected %s", field, value, expected);
}

static sattn_status check_extents(const sattn_attention_args *a)
{
    const struct {
        const char *name;
        int64_t value, least;
    } extents[] = {
        {"batch", a->batch, 0},
        {"n_q_heads", a->n_q_heads, 0},
        {"n_kv_heads", a->n_kv_heads, 0},
        {"n_q", a->n_q, 0},
        {"n_k", a->n_k, 0},
        {"d", a->d, 1},
        {"d_v", a->d_v, 1},
    };
    for (size_t i = 0; i < sizeof extents / sizeof extents[0]; ++i)
        if (extents[i].value < extents[i].least)
            return wrong(extents[i].name, extents[i].value,
                         extents[i].least == 0 ? "0 or more" : "1 or more");
    if (a->n_q_heads > 0 && a->n_kv_heads == 0)
        return wrong("n_kv_heads", 0, "1 or more, since n_q_heads is not 0");
    if (a->n_q_heads > 0 && a->n_q_heads % a->n_kv_heads != 0)
        return sattn_fail(SATTN_ERR_ARGUMENT,
                          "n_q_heads = %" PRId64 ": expected a multiple of n_kv_heads = %" PRId64,
                          a->n_q_heads, a->n_kv_heads);
    return SATTN_OK;
}

/* Elements from the first to one past the last of a tensor with these extents and strides. */
static sattn_checked elements_spanned(const int64_t *extents, const int64_t *strides, int axes,
                                      int64_t columns)
{
    sattn_checked span = sattn_checked_of(columns);
    for (int axis = 0; axis < axes; ++axis)
        if (extents[axis] > 1)
            span = sattn_checked_add(span, sattn_checked_mul(sattn_checked_of(extents[axis] - 1),
                                                             sattn_checked_of(strides[axis])));
    return span;
}

static sattn_status check_span(const char *name, sattn_checked elements, int64_t element_size)
{
    const sattn_checked bytes = sattn_checked_mul(elements, sattn_checked_of(element_size));
    if (bytes.overflow || bytes.value > PTRDIFF_MAX)
        return sattn_fail(SATTN_ERR_TOO_LARGE,
                          "%s: its extents and strides reach beyond the address space", name);
    return SATTN_OK;
}

/* The stride of an extent of 1 is ignored, so it may hold anything. */
static int64_t step_of(int64_t extent, int64_t stride, int64_t element_size)
{
    return extent > 1 ? stride * element_size : 0;
}

static sattn_region region_of(const operand *t)
{
    const bool empty = t->batch == 0 || t->heads == 0 || t->rows == 0;
    return (sattn_region){.base = (uintptr_t)t->data,
                          .extent = {t->batch, t->heads, t->rows},
                          .step = {step_of(t->batch, t->stride_b, 4),
                                   step_of(t->heads, t->stride_h, 4),
                                   step_of(t->rows, t->stride_t, 4)},
                          .run = empty ? 0 : t->columns * 4};
}

static sattn_status check_self_overlap(const char *name, const sattn_region *region)
{
    const sattn_meeting meeting = sattn_region_meets_itself(region);
    if (meeting == SATTN_APART)
        return SATTN_OK;
    return sattn_fail(
        SATTN_ERR_OVERLAP,
        "%s: with these strides its elements %s memory; an output needs memory of its "
        "own for each",
        name, meeting == SATTN_MEET ? "share" : "cannot be shown not to share");
}

static sattn_status check_operand(const operand *t)
{
    const struct {
        const char *name;
        int64_t extent, stride, least;
    } axes[] = {
        {"stride_b", t->batch, t->stride_b, 0},
        {"stride_h", t->heads, t->stride_h, 0},
        {"stride_t", t->rows, t->stride_t, t->columns},
    };
    if (t->dtype != SATTN_F32) {
        if (t->dtype != SATTN_F16 && t->dtype != SATTN_BF16)
            return sattn_fail(SATTN_ERR_ARGUMENT, "%s.dtype = %d: no such type", t->name,
                              (int)t->dtype);
        return sattn_fail(SATTN_ERR_UNSUPPORTED,
                          "%s.dtype = %d (%s): only SATTN_F32 is computed so far", t->name,
                          (int)t->dtype, t->dtype == SATTN_F16 ? "SATTN_F16" : "SATTN_BF16");
    }
    for (int i = 0; i < 3; ++i) {
        if (axes[i].extent <= 1)
            continue;
        if (axes[i].stride < 0)
            return sattn_fail(SATTN_ERR_ARGUMENT, "%s.%s = %" PRId64 ": expected 0 or more",
                              t->name, axes[i].name, axes[i].stride);
        if (axes[i].stride > 0 && axes[i].stride < axes[i].least)
            return sattn_fail(SATTN_ERR_ARGUMENT,
                              "%s.%s = %" PRId64 ": expected 0 or at least the row's %" PRId64
                              " elements",
                              t->name, axes[i].name, axes[i].stride, axes[i].least);
    }
    const int64_t extents[] = {t->batch, t->heads, t->rows};
    const int64_t strides[] = {t->stride_b, t->stride_h, t->stride_t};
    const sattn_status status =
        check_span(t->name, elements_spanned(extents, strides, 3, t->columns), 4);
    if (status != SATTN_OK || !t->written)
        return status;
    const sattn_region region = region_of(t);
    return check_self_overlap(t->name, &region);
}

static sattn_status check_mask(const sattn_attention_args *a)
{
    const int64_t full[4] = {a->batch, a->n_q_heads, a->n_q, a->n_k};
    int64_t strides[4];
    if (a->mask.kind == SATTN_MASK_NONE)
        return SATTN_OK;
    if (a->mask.kind != SATTN_MASK_BOOL && a->mask.kind != SATTN_MASK_ADDITIVE)
        return wrong("mask.kind", (int64_t)a->mask.kind,
                     "SATTN_MASK_NONE, SATTN_MASK_BOOL or SATTN_MASK_ADDITIVE");
    for (int axis = 0; axis < 4; ++axis) {
        const int64_t extent = a->mask.extent[axis], stride = a->mask.stride[axis];
        strides[axis] = stride;
        if (extent != 1 && extent != full[axis])
            return sattn_fail(SATTN_ERR_ARGUMENT,
                              "mask.extent[%d] = %" PRId64 ": expected 1 or %" PRId64, axis, extent,
                              full[axis]);
        if (extent > 1 && stride < 0)
            return sattn_fail(SATTN_ERR_ARGUMENT,
                              "mask.stride[%d] = %" PRId64 ": expected 0 or more", axis, stride);
    }
    if (a->mask.extent[3] > 1 && a->mask.stride[3] != 1)
        return wrong("mask.stride[3]", a->mask.stride[3], "1, the innermost stride");
    return check_span("mask", elements_spanned(a->mask.extent, strides, 4, 1),
                      a->mask.kind == SATTN_MASK_BOOL ? 1 : 4);
}

static sattn_status check_unsupported(const sattn_attention_args *a)
{
    if (isnan(a->softcap) || a->softcap < 0.0f)
        return sattn_fail(SATTN_ERR_ARGUMENT, "softcap = %g: expected 0 (off) or more",
                          (double)a->softcap);
    if (a->has_window && (a->window_left < -1 || a->window_right < -1))
        return sattn_fail(SATTN_ERR_ARGUMENT,
                          "window_left = %" PRId64 ", window_right = %" PRId64
                          ": expected -1 (unbounded) or more",
                          a->window_left, a->window_right);
    const char *const field = a->softcap != 0.0f ? "softcap"
                              : a->alibi_slopes  ? "alibi_slopes"
                              : a->sinks         ? "sinks"
                              : a->has_window    ? "has_window"
                              : a->scores        ? "scores"
                                                 : NULL;
    if (field)
        return sattn_fail(SATTN_ERR_UNSUPPORTED, "%s is set: this version does not compute it",
                          field);
    return SATTN_OK;
}

static sattn_region lse_region(const sattn_attention_args *a)
{
    return (sattn_region){.base = (uintptr_t)a->lse,
                          .extent = {a->batch, a->n_q_heads, 1},
                          .step = {step_of(a->batch, a->lse_stride_b, 4),
                                   step_of(a->n_q_heads, a->lse_stride_h, 4), 0},
                          .run = a->lse ? a->n_q * 4 : 0};
}

static sattn_status check_lse(const sattn_attention_args *a)
{
    const int64_t extents[] = {a->batch, a->n_q_heads};
    const int64_t strides[] = {a->lse_stride_b, a->lse_stride_h};
    if (!a->lse)
        return SATTN_OK;
    if (a->batch > 1 && a->lse_stride_b < 0)
        return wrong("lse_stride_b", a->lse_stride_b, "0 or more");
    if (a->n_q_heads > 1 && a->lse_stride_h < 0)
        return wrong("lse_stride_h", a->lse_stride_h, "0 or more");
    const sattn_status status = check_span("lse", elements_spanned(extents, strides, 2, a->n_q), 4);
    if (status != SATTN_OK)
        return status;
    const sattn_region region = lse_region(a);
    return check_self_overlap("lse", &region);
}

sattn_status sattn_attention_check_shape(const sattn_attention_args *a)
{
    operand operands[N_OPERANDS];
    sattn_status status = check_extents(a);
    operands_of(a, operands);
    for (int i = 0; status == SATTN_OK && i < N_OPERANDS; ++i)
        status = check_operand(&operands[i]);
    if (status == SATTN_OK && a->has_scale && !isfinite(a->scale))
        status = sattn_fail(SATTN_ERR_ARGUMENT, "scale = %g: expected a finite number",
                            (double)a->scale);
    if (status == SATTN_OK)
        status = check_mask(a);
    if (status == SATTN_OK)
        status = check_unsupported(a);
    if (status == SATTN_OK)
        status = check_lse(a);
    return status;
}

static sattn_status check_pointers(const sattn_attention_args *a)
{
    const struct {
        const char *name;
        const void *data;
        bool needed;
        uintptr_t alignment;
    } pointers[] = {
        {"q.data", a->q.data, true, 4},
        {"k.data", a->k.data, a->n_k > 0, 4},
        {"v.data", a->v.data, a->n_k > 0, 4},
        {"o.data", a->o.data, true, 4},
        {"mask.data", a->mask.data, a->mask.kind != SATTN_MASK_NONE && a->n_k > 0,
         a->mask.kind == SATTN_MASK_ADDITIVE ? 4 : 1},
        {"lse", a->lse, false, 4},
    };
    for (size_t i = 0; i < sizeof pointers / sizeof pointers[0]; ++i) {
        if (pointers[i].needed && !pointers[i].data)
            return sattn_fail(SATTN_ERR_ARGUMENT, "%s is NULL: expected data", pointers[i].name);
        if ((uintptr_t)pointers[i].data % pointers[i].alignment != 0)
            return sattn_fail(SATTN_ERR_ARGUMENT,
                              "%s = %p: expected an address that is a multiple of 4",
                              pointers[i].name, pointers[i].data);
    }
    for (int64_t b = 0; a->n_k_valid && b < a->batch; ++b)
        if (a->n_k_valid[b] < 0 || a->n_k_valid[b] > a->n_k)
            return sattn_fail(SATTN_ERR_ARGUMENT,
                              "n_k_valid[%" PRId64 "] = %" PRId64 ": expected 0 to n_k = %" PRId64,
                              b, a->n_k_valid[b], a->n_k);
    return SATTN_OK;
}

bool sattn_output_fits_queries(const sattn_attention_args *a)
{
    return a->d == a->d_v && (a->batch <= 1 || a->o.stride_b == a->q.stride_b) &&
           (a->n_q_heads <= 1 || a->o.stride_h == a->q.stride_h) &&
           (a->n_q <= 1 || a->o.stride_t == a->q.stride_t);
}

static sattn_status check_apart(const char *output, const sattn_region *written, const char *other,
                                const sattn_region *region, const char *hint)
{
    const sattn_meeting meeting = sattn_regions_meet(written, region);
    if (meeting == SATTN_APART)
        return SATTN_OK;
    return sattn_fail(SATTN_ERR_OVERLAP, "%s %s %s: expected memory of its own%s", output,
                      meeting == SATTN_MEET ? "overlaps" : "cannot be shown to be apart from",
                      other, hint);
}

static sattn_region mask_region(const sattn_attention_args *a)
{
    const int64_t size = a->mask.kind == SATTN_MASK_BOOL ? 1 : 4;
    sattn_region region = {.base = (uintptr_t)a->mask.data,
                           .run = a->mask.kind == SATTN_MASK_NONE ? 0 : a->mask.extent[3] * size};
    for (int axis = 0; axis < SATTN_REGION_AXES; ++axis) {
        region.extent[axis] = a->mask.extent[axis];
        region.step[axis] = step_of(a->mask.extent[axis], a->mask.stride[axis], size);
    }
    return region;
}

static sattn_region array_region(const int64_t *data, int64_t count)
{
    return (sattn_region){
        .base = (uintptr_t)data, .extent = {1, 1, 1}, .run = data ? count * 8 : 0};
}

static sattn_status check_overlap(const sattn_attention_args *a, bool o_is_q)
{
    operand operands[N_OPERANDS];
    operands_of(a, operands);
    const sattn_region lse = lse_region(a), o = region_of(&operands[O]);
    const struct {
        const char *name;
        sattn_region region;
    } inputs[] = {
        {"q.data", region_of(&operands[Q])},
        {"k.data", region_of(&operands[K])},
        {"v.data", region_of(&operands[V])},
        {"mask.data", mask_region(a)},
        {"n_k_valid", array_region(a->n_k_valid, a->batch)},
        {"causal_offset", array_region(a->causal_offset, a->batch)},
    };
    sattn_status status = check_apart("o.data", &o, "lse", &lse, "");
    for (size_t i = 0; status == SATTN_OK && i < sizeof inputs / sizeof inputs[0]; ++i) {
        const char *const hint = i == Q ? ", or exactly q with equal strides and d == d_v" : "";
        if (i != Q || !o_is_q)
            status = check_apart("o.data", &o, inputs[i].name, &inputs[i].region, hint);
        if (status == SATTN_OK)
            status = check_apart("lse", &lse, inputs[i].name, &inputs[i].region, "");
    }
    return status;
}

sattn_status sattn_attention_check_data(const sattn_attention_args *a, bool *o_is_q)
{
    const sattn_status status = check_pointers(a);
    *o_is_q = a->o.data == a->q.data && sattn_output_fits_queries(a);
    return status == SATTN_OK ? check_overlap(a, *o_is_q) : status;
}
