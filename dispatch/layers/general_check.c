/* SPDX-License-Identifier: MIT
 *
 * general_check.c: refuses what is wrong with a general attention layer. */
#include "dispatch/error.h"
#include "dispatch/layers/general.h"

enum { TENSORS = 6 + 2 * SATTN_LINEAR_TENSORS };

const sattn_linear_names sattn_general_names_q = SATTN_LINEAR_NAMES("w_q");
const sattn_linear_names sattn_general_names_x = SATTN_LINEAR_NAMES("w_x");

static sattn_status check_extents(const sattn_general_attention_args *a)
{
    const sattn_extent extents[] = {{"batch", a->batch, 0},
                                    {"n_q", a->n_q, 0},
                                    {"n_k", a->n_k, 0},
                                    {"d_q", a->d_q, 1},
                                    {"d_x", a->d_x, 1}};
    return sattn_extents_check(extents, sizeof extents / sizeof extents[0]);
}

static sattn_status check_bilinear(const sattn_general_attention_args *a)
{
    sattn_status status = sattn_linear_check_shape(&a->w_x, &sattn_general_names_x, a->n_k);
    if (status == SATTN_OK)
        status = sattn_layer_check_equal("w_x.n_out", a->w_x.n_out, "d_q", a->d_q);
    return status == SATTN_OK ? sattn_layer_check_equal("w_x.n_in", a->w_x.n_in, "d_x", a->d_x)
                              : status;
}

static sattn_status check_additive(const sattn_general_attention_args *a)
{
    sattn_status status = sattn_linear_check_shape(&a->w_q, &sattn_general_names_q, a->n_q);
    if (status == SATTN_OK)
        status = sattn_linear_check_shape(&a->w_x, &sattn_general_names_x, a->n_k);
    if (status == SATTN_OK)
        status = sattn_layer_check_equal("w_q.n_in", a->w_q.n_in, "d_q", a->d_q);
    if (status == SATTN_OK)
        status = sattn_layer_check_equal("w_x.n_in", a->w_x.n_in, "d_x", a->d_x);
    return status == SATTN_OK
               ? sattn_layer_check_equal("w_x.n_out", a->w_x.n_out, "w_q.n_out", a->w_q.n_out)
               : status;
}

static sattn_status check_alignment(const sattn_general_attention_args *a)
{
    switch (a->align) {
    case SATTN_ALIGN_SCALED_DOT:
    case SATTN_ALIGN_DOT:
        return sattn_layer_check_equal("d_x", a->d_x, "d_q", a->d_q);
    case SATTN_ALIGN_BILINEAR:
        return check_bilinear(a);
    case SATTN_ALIGN_ADDITIVE:
        return check_additive(a);
    default:
        return sattn_fail(SATTN_ERR_ARGUMENT, "align = %d: expected a value of sattn_align_kind",
                          (int)a->align);
    }
}

static bool is_set(const sattn_linear_weights *w)
{
    return w->n_in != 0 || w->n_out != 0 || w->w.data || w->bias || w->packed;
}

/* Refuses what the alignment would not look at: more likely than not another was meant. */
static sattn_status check_unused(const sattn_general_attention_args *a)
{
    const bool is_additive = a->align == SATTN_ALIGN_ADDITIVE,
               is_bilinear = a->align == SATTN_ALIGN_BILINEAR;
    const struct {
        const char *name;
        bool is_set;
    } fields[] = {{"w_q", !is_additive && is_set(&a->w_q)},
                  {"w_x", !is_additive && !is_bilinear && is_set(&a->w_x)},
                  {"w_x.bias", is_bilinear && a->w_x.bias},
                  {"v", !is_additive && a->v}};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; ++i)
        if (fields[i].is_set)
            return sattn_fail(SATTN_ERR_ARGUMENT,
                              "%s is set: expected it left at zero, this alignment has none",
                              fields[i].name);
    return SATTN_OK;
}

/* All but the weights of maps. */
static int tensors_of(const sattn_general_attention_args *a, sattn_tensor tensors[TENSORS])
{
    int n = 0;
    tensors[n++] = sattn_tensor_read("q", "q.data", &a->q, a->batch, a->n_q, a->d_q);
    tensors[n++] = sattn_tensor_read("x", "x.data", &a->x, a->batch, a->n_k, a->d_x);
    tensors[n++] = sattn_tensor_written("y", "y.data", &a->y, a->batch, a->n_q, a->d_x);
    if (a->weights.data)
        tensors[n++] =
            sattn_tensor_written("weights", "weights.data", &a->weights, a->batch, a->n_q, a->n_k);
    if (a->n_k_valid)
        tensors[n++] = sattn_tensor_array("n_k_valid", a->n_k_valid, a->batch, sizeof(int64_t));
    if (a->align == SATTN_ALIGN_ADDITIVE)
        tensors[n++] = sattn_tensor_array("v", a->v, a->w_q.n_out, sizeof(float));
    return n;
}

sattn_status sattn_general_check_shape(const sattn_general_attention_args *a)
{
    sattn_tensor tensors[TENSORS];
    sattn_status status = check_extents(a);
    if (status == SATTN_OK)
        status = check_alignment(a);
    if (status == SATTN_OK)
        status = check_unused(a);
    return status == SATTN_OK ? sattn_tensors_check_shapes(tensors, tensors_of(a, tensors))
                              : status;
}

sattn_status sattn_general_check_data(const sattn_general_plan *plan, const sattn_workspace *used)
{
    const sattn_general_attention_args *const a = plan->args;
    sattn_tensor tensors[TENSORS];
    int n = tensors_of(a, tensors);
    if (plan->maps_queries)
        n += sattn_linear_tensors_of(&a->w_q, &sattn_general_names_q,
                                     plan->queries.linear.packed_size, tensors + n);
    if (plan->maps_inputs || plan->sums_rows)
        n += sattn_linear_tensors_of(&a->w_x, &sattn_general_names_x,
                                     plan->maps_inputs ? plan->inputs.linear.packed_size : 0,
                                     tensors + n);
    const sattn_status status = sattn_tensors_check_data(tensors, n, used);
    return status == SATTN_OK ? sattn_lengths_check(a->n_k_valid, a->batch, a->n_k) : status;
}
