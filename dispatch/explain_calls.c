/* SPDX-License-Identifier: MIT
 *
 * explain_calls.c: the public entry points of explanations: the recipes of each kind of call. */
#include "dispatch/additive.h"
#include "dispatch/error.h"
#include "dispatch/explain.h"
#include "dispatch/gates.h"
#include "dispatch/linear.h"

#include <inttypes.h>
#include <stdlib.h>

static sattn_status begin(sattn_explanation **made)
{
    if (!made)
        return sattn_fail(SATTN_ERR_ARGUMENT,
                          "explanation is NULL: expected where to put the explanation");
    *made = NULL;
    return SATTN_OK;
}

/* A list of recipes is too large for the stacks that threads may have. */
static sattn_status new_list(sattn_recipe_list **list)
{
    *list = malloc(sizeof **list);
    return *list ? SATTN_OK : sattn_fail(SATTN_ERR_MEMORY, "could not allocate a list of recipes");
}

static sattn_status explain_call(sattn_explanation **made, sattn_call call,
                                 const sattn_attention_args *args, const sattn_options *options)
{
    sattn_recipe_list *list = NULL;
    sattn_status status = begin(made);
    if (status == SATTN_OK)
        status = new_list(&list);
    if (status == SATTN_OK)
        status = sattn_list_recipes(list, call, args, options);
    if (status == SATTN_OK)
        status = sattn_explanation_make(made, list, options);
    free(list);
    return status;
}

static sattn_status explain_apart(sattn_explanation **made, const sattn_shape_class *shape_class,
                                  const sattn_kernel *packed_for, const sattn_options *options)
{
    sattn_recipe_list *list;
    sattn_status status = new_list(&list);
    if (status == SATTN_OK)
        status = sattn_list_apart_recipes(list, shape_class, packed_for, options);
    if (status == SATTN_OK)
        status = sattn_explanation_make(made, list, options);
    free(list);
    return status;
}

static sattn_status explain_array(sattn_explanation **made, sattn_op op, int64_t n,
                                  const sattn_options *options)
{
    sattn_status status = begin(made);
    if (status == SATTN_OK && n < 0)
        status = sattn_fail(SATTN_ERR_ARGUMENT, "n = %" PRId64 ": expected 0 or more", n);
    const sattn_shape_class shape_class = sattn_class_of_array(op, n, sattn_threads_asked(options));
    return status == SATTN_OK ? explain_apart(made, &shape_class, NULL, options) : status;
}

sattn_status sattn_explain(sattn_explanation **made, const sattn_attention_args *args,
                           const sattn_options *options)
{
    return explain_call(made, SATTN_CALL_ATTENTION, args, options);
}

sattn_status sattn_explain_step(sattn_explanation **made, sattn_step step,
                                const sattn_attention_args *args, const sattn_options *options)
{
    static const sattn_call calls[] = {[SATTN_STEP_QK] = SATTN_CALL_QK,
                                       [SATTN_STEP_SOFTMAX] = SATTN_CALL_SOFTMAX,
                                       [SATTN_STEP_AV] = SATTN_CALL_AV};
    sattn_status status = begin(made);
    if (status == SATTN_OK && ((int)step < 0 || (int)step > (int)SATTN_STEP_AV))
        status =
            sattn_fail(SATTN_ERR_ARGUMENT, "step = %d: expected a value of sattn_step", (int)step);
    return status == SATTN_OK ? explain_call(made, calls[step], args, options) : status;
}

sattn_status sattn_explain_exp(sattn_explanation **made, int64_t n, const sattn_options *options)
{
    return explain_array(made, SATTN_OP_exp, n, options);
}

sattn_status sattn_explain_tanh(sattn_explanation **made, int64_t n, const sattn_options *options)
{
    return explain_array(made, SATTN_OP_tanh, n, options);
}

sattn_status sattn_explain_sigmoid(sattn_explanation **made, int64_t n,
                                   const sattn_options *options)
{
    return explain_array(made, SATTN_OP_sigmoid, n, options);
}

sattn_status sattn_explain_additive(sattn_explanation **made, const sattn_alignment_args *args,
                                    const sattn_options *options)
{
    sattn_status status = begin(made);
    if (status == SATTN_OK)
        status = sattn_alignment_check_shape(args);
    if (status != SATTN_OK)
        return status;
    const sattn_shape_class shape_class = sattn_alignment_class(args, options);
    return explain_apart(made, &shape_class, NULL, options);
}

sattn_status sattn_explain_linear(sattn_explanation **made, const sattn_linear_weights *weights,
                                  int64_t n_rows, const sattn_options *options)
{
    sattn_linear_plan plan;
    sattn_status status = begin(made);
    if (status == SATTN_OK)
        status = sattn_linear_plan_alone(&plan, weights, n_rows, options);
    if (status != SATTN_OK)
        return status;
    const sattn_shape_class shape_class =
        sattn_linear_class(weights, n_rows, weights->packed != NULL, options);
    return explain_apart(made, &shape_class, weights->packed ? plan.kernel : NULL, options);
}

sattn_status sattn_explain_linear_pack(sattn_explanation **made,
                                       const sattn_linear_weights *weights, int64_t n_rows,
                                       const sattn_options *options)
{
    sattn_status status = begin(made);
    if (status == SATTN_OK)
        status = sattn_linear_check_unpacked(weights, n_rows);
    if (status != SATTN_OK)
        return status;
    const sattn_shape_class shape_class = sattn_linear_class(weights, n_rows, true, options);
    return explain_apart(made, &shape_class, NULL, options);
}

sattn_status sattn_explain_gru(sattn_explanation **made, int64_t n_rows, int64_t n_hidden,
                               const sattn_options *options)
{
    sattn_status status = begin(made);
    if (status == SATTN_OK)
        status = sattn_gate_check_extents(n_rows, n_hidden);
    if (status != SATTN_OK)
        return status;
    const sattn_shape_class shape_class = sattn_gate_class(n_rows, n_hidden, options);
    return explain_apart(made, &shape_class, NULL, options);
}
