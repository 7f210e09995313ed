/* SPDX-License-Identifier: MIT
 *
 * layer.c: see layer.h. */
#include "dispatch/layers/layer.h"

#include "dispatch/error.h"

#include <inttypes.h>
#include <string.h>

int64_t sattn_layer_product(int64_t a, int64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

sattn_options sattn_layer_options(const sattn_options *options)
{
    sattn_options inner = options ? *options : (sattn_options){0};
    inner.workspace = NULL;
    inner.workspace_size = 0;
    if (inner.key_splits == 0)
        inner.key_splits = 1;
    return inner;
}

sattn_status sattn_layer_check_options(const sattn_options *options, const sattn_mut_view *weights)
{
    const sattn_status status = sattn_options_check(options);
    if (status != SATTN_OK || !options)
        return status;
    const bool is_fused = options->plan && strcmp(options->plan, "fused") == 0,
               is_chain = options->plan && strcmp(options->plan, "chain") == 0;
    if (weights->data && is_fused)
        return sattn_fail(SATTN_ERR_UNSUPPORTED,
                          "options.plan = \"fused\": weights is set, which only a chain returns; "
                          "expected \"chain\" or NULL");
    if ((weights->data || is_chain) && options->key_splits > 1)
        return sattn_fail(SATTN_ERR_UNSUPPORTED,
                          "options.key_splits = %d: %s a chain, which does not cut its keys; "
                          "expected 0 or 1",
                          options->key_splits,
                          weights->data ? "weights is set, which takes" : "options.plan asks for");
    return SATTN_OK;
}

void sattn_copy_rows(float *to, int64_t to_stride, const float *from, int64_t from_stride,
                     int64_t rows, int64_t columns)
{
    for (int64_t row = 0; row < rows; ++row)
        memcpy(to + (row > 0 ? row * to_stride : 0), from + (row > 0 ? row * from_stride : 0),
               (size_t)columns * sizeof(float));
}

sattn_status sattn_layer_check_equal(const char *name, int64_t value, const char *other,
                                     int64_t expected)
{
    if (value == expected)
        return SATTN_OK;
    return sattn_fail(SATTN_ERR_ARGUMENT, "%s = %" PRId64 ": expected %s = %" PRId64, name, value,
                      other, expected);
}

/* ---- linear maps of batches */

#define ROWS_MAX ((int64_t)1 << 40) /* of one call, as sattn_extent_check has it */

bool sattn_is_one_run(int64_t batch, int64_t rows, int64_t stride_b, int64_t stride_t)
{
    return sattn_layer_product(batch, rows) <= ROWS_MAX &&
           (batch <= 1 || rows == 1 || stride_b == sattn_layer_product(rows, stride_t));
}

sattn_status sattn_projection_make(sattn_projection *projection,
                                   const sattn_linear_weights *weights,
                                   const sattn_linear_names *names, int64_t batch, int64_t rows,
                                   const sattn_view *x, const sattn_mut_view *y,
                                   const sattn_overrides *overrides, const sattn_options *options)
{
    const bool is_one = sattn_is_one_run(batch, rows, x->stride_b, x->stride_t) &&
                        sattn_is_one_run(batch, rows, y->stride_b, y->stride_t);
    projection->n_calls = is_one ? 1 : batch;
    projection->x_step = x->stride_b;
    projection->y_step = y->stride_b;
    projection->x_stride = rows == 1 ? x->stride_b : x->stride_t;
    projection->y_stride = rows == 1 ? y->stride_b : y->stride_t;
    return sattn_linear_plan_make(&projection->linear, weights, names, is_one ? batch * rows : rows,
                                  overrides, options);
}

void sattn_projection_run(const sattn_projection *projection, const void *x, void *y,
                          unsigned char *workspace)
{
    const bool has_rows = projection->linear.n_rows > 0; /* without any, memory may be missing */
    for (int64_t call = 0; has_rows && call < projection->n_calls; ++call) {
        const int64_t x_at = call > 0 ? call * projection->x_step : 0;
        const int64_t y_at = call > 0 ? call * projection->y_step : 0;
        const sattn_linear_rows rows = {
            .n_rows = projection->linear.n_rows,
            .x = {.data = (const float *)x + x_at, .stride_t = projection->x_stride},
            .y = {.data = (float *)y + y_at, .stride_t = projection->y_stride}};
        sattn_linear_plan_run(&projection->linear, &rows, workspace);
    }
}

/* ---- weights and sums */

static sattn_attention_args args_of(const sattn_weighing *w)
{
    return (sattn_attention_args){.batch = w->batch,
                                  .n_q_heads = 1,
                                  .n_kv_heads = 1,
                                  .n_q = w->n_q,
                                  .n_k = w->n_k,
                                  .d_v = w->d_v,
                                  .v = w->v,
                                  .o = w->o,
                                  .n_k_valid = w->n_k_valid,
                                  .scores = w->scores.data,
                                  .scores_stride_b = w->scores.stride_b,
                                  .scores_stride_t = w->scores.stride_t,
                                  .scores_in = w->scores.data,
                                  .scores_in_stride_b = w->scores.stride_b,
                                  .scores_in_stride_t = w->scores.stride_t};
}

sattn_status sattn_weighing_plan_make(sattn_weighing_plan *plan, const sattn_weighing *weighing,
                                      const sattn_options *options)
{
    const sattn_attention_args args = args_of(weighing);
    const sattn_status status =
        sattn_plan_make(&plan->softmax, SATTN_COMPUTE_SOFTMAX, &args, options);
    return status == SATTN_OK ? sattn_plan_make(&plan->av, SATTN_COMPUTE_AV, &args, options)
                              : status;
}

size_t sattn_weighing_plan_size(const sattn_weighing_plan *plan)
{
    const size_t softmax = plan->softmax.layout.size, av = plan->av.layout.size;
    return softmax > av ? softmax : av;
}

void sattn_weighing_sum(const sattn_weighing_plan *plan, const sattn_weighing *weighing,
                        unsigned char *workspace)
{
    sattn_attention_args args = args_of(weighing);
    sattn_computation_narrow(SATTN_COMPUTE_AV, &args);
    sattn_plan_execute(&plan->av, &args, false, workspace);
}

void sattn_weighing_softmax(const sattn_weighing_plan *plan, const sattn_weighing *weighing,
                            unsigned char *workspace)
{
    sattn_attention_args args = args_of(weighing);
    sattn_computation_narrow(SATTN_COMPUTE_SOFTMAX, &args);
    if (weighing->n_k > 0)
        sattn_plan_execute(&plan->softmax, &args, false, workspace);
}

void sattn_weighing_run(const sattn_weighing_plan *plan, const sattn_weighing *weighing,
                        unsigned char *workspace)
{
    sattn_weighing_softmax(plan, weighing, workspace);
    sattn_weighing_sum(plan, weighing, workspace);
}
