/* SPDX-License-Identifier: MIT
 *
 * self_attention.c: sattn_self_attention, whose queries are a third map of the inputs, and whose
 * heads are joined by a fourth. */
#include "dispatch/error.h"
#include "dispatch/layers/projected.h"

static sattn_projected layer_of(const sattn_self_attention_args *a)
{
    return (sattn_projected){.batch = a->batch,
                             .n_q = a->n_k,
                             .n_k = a->n_k,
                             .n_heads = a->n_heads,
                             .x = a->x,
                             .y = a->y,
                             .weights = a->weights,
                             .w = {[SATTN_MAP_Q] = &a->w_q,
                                   [SATTN_MAP_K] = &a->w_k,
                                   [SATTN_MAP_V] = &a->w_v,
                                   [SATTN_MAP_O] = &a->w_o},
                             .causal = a->causal,
                             .n_k_valid = a->n_k_valid};
}

sattn_status sattn_self_attention(const sattn_self_attention_args *args,
                                  const sattn_options *options)
{
    if (!args)
        return sattn_fail(SATTN_ERR_ARGUMENT, "args is NULL: expected arguments");
    const sattn_projected layer = layer_of(args);
    return sattn_projected_run(&layer, options);
}

sattn_status sattn_self_attention_workspace_size(const sattn_self_attention_args *args,
                                                 const sattn_options *options, size_t *size)
{
    const sattn_status status = sattn_size_begin(size);
    if (status != SATTN_OK)
        return status;
    if (!args)
        return sattn_fail(SATTN_ERR_ARGUMENT, "args is NULL: expected arguments");
    const sattn_projected layer = layer_of(args);
    return sattn_projected_workspace_size(&layer, options, size);
}
