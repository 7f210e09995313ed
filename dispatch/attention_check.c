/* SPDX-License-Identifier: MIT
 *
 * attention_check.c: refuses what is wrong with a call, naming field and value. */
#include "dispatch/attention_check.h"

#include "dispatch/error.h"

#include <inttypes.h>
#include <math.h>

static sattn_status wrong(const char *field, int64_t value, const char *expected)
{
    return sattn_fail(SATTN_ERR_ARGUMENT, "%s = %" PRId64 ": expected %s", field, value, expected);
}

/* Says which of the extents is wrong. */
static sattn_status refuse_extents(const sattn_attention_args *a, bool has_d, bool has_d_v)
{
    const struct {
        const char *name;
        int64_t value, least;
        bool used;
    } extents[] = {
        {"batch", a->batch, 0, true},
        {"n_q_heads", a->n_q_heads, 0, true},
        {"n_kv_heads", a->n_kv_heads, 0, true},
        {"n_q", a->n_q, 0, true},
        {"n_k", a->n_k, 0, true},
        {"d", a->d, 1, has_d},
        {"d_v", a->d_v, 1, has_d_v},
    };
    int i = 0;
    while (!extents[i].used || extents[i].value >= extents[i].least)
        ++i;
    return wrong(extents[i].name, extents[i].value,
                 extents[i].least == 0 ? "0 or more" : "1 or more");
}

static sattn_status check_extents(const sattn_attention_args *a, sattn_computation computation)
{
    const bool has_d = sattn_computes_attention(computation) || computation == SATTN_COMPUTE_QK;
    const bool has_d_v = sattn_computes_attention(computation) || computation == SATTN_COMPUTE_AV;
    if (a->batch < 0 || a->n_q_heads < 0 || a->n_kv_heads < 0 || a->n_q < 0 || a->n_k < 0 ||
        (has_d && a->d < 1) || (has_d_v && a->d_v < 1))
        return refuse_extents(a, has_d, has_d_v);
    if (a->n_q_heads == a->n_kv_heads) /* as mostly: no division */
        return SATTN_OK;
    if (a->n_q_heads > 0 && a->n_kv_heads == 0)
        return wrong("n_kv_heads", 0, "1 or more, since n_q_heads is not 0");
    if (a->n_q_heads > 0 && a->n_q_heads % a->n_kv_heads != 0)
        return sattn_fail(SATTN_ERR_ARGUMENT,
                          "n_q_heads = %" PRId64 ": expected a multiple of n_kv_heads = %" PRId64,
                          a->n_q_heads, a->n_kv_heads);
    return SATTN_OK;
}

static sattn_status check_mask(const sattn_attention_args *a)
{
    const int64_t full[4] = {a->batch, a->n_q_heads, a->n_q, a->n_k};
    int64_t bytes;
    if (a->mask.kind == SATTN_MASK_NONE)
        return SATTN_OK;
    if (a->mask.kind != SATTN_MASK_BOOL && a->mask.kind != SATTN_MASK_ADDITIVE)
        return wrong("mask.kind", (int64_t)a->mask.kind,
                     "SATTN_MASK_NONE, SATTN_MASK_BOOL or SATTN_MASK_ADDITIVE");
    for (int axis = 0; axis < 4; ++axis) {
        const int64_t extent = a->mask.extent[axis], stride = a->mask.stride[axis];
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
    return sattn_check_span("mask", a->mask.extent, a->mask.stride, 4, 1,
                            a->mask.kind == SATTN_MASK_BOOL ? 1 : 4, &bytes);
}

static sattn_status check_stage(const sattn_attention_args *a, sattn_computation computation)
{
    const int64_t stage = (int64_t)a->scores_stage;
    if (computation == SATTN_COMPUTE_QK) {
        if (stage != SATTN_SCORES_SCALED && stage != SATTN_SCORES_SOFTCAPPED)
            return wrong("scores_stage", stage, "SATTN_SCORES_SCALED or SATTN_SCORES_SOFTCAPPED");
    } else if (sattn_computes_attention(computation) && a->scores) {
        if (stage < SATTN_SCORES_SCALED || stage > SATTN_SCORES_PROBABILITIES)
            return wrong("scores_stage", stage, "a value of sattn_scores_stage");
    }
    return SATTN_OK;
}

static sattn_status check_values(const sattn_attention_args *a, sattn_computation computation)
{
    const bool scores_keys =
        sattn_computes_attention(computation) || computation == SATTN_COMPUTE_QK;
    if (scores_keys && a->has_scale && !isfinite(a->scale))
        return sattn_fail(SATTN_ERR_ARGUMENT, "scale = %g: expected a finite number",
                          (double)a->scale);
    if (scores_keys && !(a->softcap >= 0.0f && isfinite(a->softcap)))
        return sattn_fail(SATTN_ERR_ARGUMENT,
                          "softcap = %g: expected 0 (off) or more, and a finite number",
                          (double)a->softcap);
    if (sattn_computation_sees(computation) && a->has_window &&
        (a->window_left < -1 || a->window_right < -1))
        return sattn_fail(SATTN_ERR_ARGUMENT,
                          "window_left = %" PRId64 ", window_right = %" PRId64
                          ": expected -1 (unbounded) or more",
                          a->window_left, a->window_right);
    if (sattn_computes_attention(computation) && a->scores_in)
        return sattn_fail(SATTN_ERR_ARGUMENT,
                          "scores_in is set: expected NULL, an attention makes its own scores");
    return check_stage(a, computation);
}

sattn_status sattn_attention_check_shape(const sattn_attention_args *a,
                                         sattn_computation computation,
                                         sattn_operand operands[SATTN_OPERAND_COUNT])
{
    sattn_status status = check_extents(a, computation);
    sattn_operands_of(a, computation, operands);
    for (int i = 0; status == SATTN_OK && i < SATTN_OPERAND_COUNT; ++i)
        if (operands[i].used)
            status = sattn_operand_check(&operands[i]);
    if (status == SATTN_OK)
        status = check_values(a, computation);
    if (status == SATTN_OK && sattn_computation_sees(computation))
        status = check_mask(a);
    return status;
}

static sattn_status check_pointer(const char *name, const void *data, bool needed,
                                  uintptr_t alignment)
{
    if (needed && !data)
        return sattn_fail(SATTN_ERR_ARGUMENT, "%s is NULL: expected data", name);
    if ((uintptr_t)data % alignment != 0)
        return sattn_fail(SATTN_ERR_ARGUMENT,
                          "%s = %p: expected an address that is a multiple of %d", name, data,
                          (int)alignment);
    return SATTN_OK;
}

static sattn_status check_head_arrays(const sattn_attention_args *a)
{
    sattn_status status = check_pointer("alibi_slopes", a->alibi_slopes, false, 4);
    if (status == SATTN_OK)
        status = check_pointer("sinks", a->sinks, false, 4);
    for (int64_t h = 0; status == SATTN_OK && a->alibi_slopes && h < a->n_q_heads; ++h)
        if (!isfinite(a->alibi_slopes[h]))
            status = sattn_fail(SATTN_ERR_ARGUMENT,
                                "alibi_slopes[%" PRId64 "] = %g: expected a finite number", h,
                                (double)a->alibi_slopes[h]);
    return status;
}

static sattn_status check_pointers(const sattn_attention_args *a, sattn_computation computation,
                                   const sattn_operand operands[SATTN_OPERAND_COUNT],
                                   const void *const data[SATTN_OPERAND_COUNT])
{
    sattn_status status = SATTN_OK;
    for (int i = 0; status == SATTN_OK && i < SATTN_OPERAND_COUNT; ++i)
        if (operands[i].used)
            status = check_pointer(operands[i].pointer, data[i], operands[i].needed, 4);
    if (status == SATTN_OK && sattn_computation_sees(computation) &&
        a->mask.kind != SATTN_MASK_NONE)
        status = check_pointer("mask.data", a->mask.data, a->n_k > 0,
                               a->mask.kind == SATTN_MASK_ADDITIVE ? 4 : 1);
    if (status == SATTN_OK)
        status = check_pointer("n_k_valid", a->n_k_valid, false, _Alignof(int64_t));
    if (status == SATTN_OK && sattn_computation_sees(computation))
        status = check_pointer("causal_offset", a->causal_offset, false, _Alignof(int64_t));
    for (int64_t b = 0; status == SATTN_OK && a->n_k_valid && b < a->batch; ++b)
        if (a->n_k_valid[b] < 0 || a->n_k_valid[b] > a->n_k)
            status =
                sattn_fail(SATTN_ERR_ARGUMENT,
                           "n_k_valid[%" PRId64 "] = %" PRId64 ": expected 0 to n_k = %" PRId64, b,
                           a->n_k_valid[b], a->n_k);
    return status == SATTN_OK && sattn_computation_weighs(computation) ? check_head_arrays(a)
                                                                       : status;
}

bool sattn_output_fits_queries(const sattn_attention_args *a)
{
    return a->d == a->d_v && (a->batch <= 1 || a->o.stride_b == a->q.stride_b) &&
           (a->n_q_heads <= 1 || a->o.stride_h == a->q.stride_h) &&
           (a->n_q <= 1 || a->o.stride_t == a->q.stride_t);
}

sattn_status sattn_attention_check_data(const sattn_attention_args *a,
                                        sattn_computation computation,
                                        const sattn_operand operands[SATTN_OPERAND_COUNT],
                                        const sattn_workspace *workspace, bool *o_is_q)
{
    const void *data[SATTN_OPERAND_COUNT];
    sattn_operands_locate(a, data);
    const sattn_status status = check_pointers(a, computation, operands, data);
    *o_is_q = sattn_computes_attention(computation) && a->o.data == a->q.data &&
              sattn_output_fits_queries(a);
    return status == SATTN_OK
               ? sattn_overlap_check(a, computation, operands, data, workspace, *o_is_q)
               : status;
}
