/* SPDX-License-Identifier: MIT
 *
 * general.h: a planned general attention layer. */
#ifndef SATTN_DISPATCH_LAYERS_GENERAL_H
#define SATTN_DISPATCH_LAYERS_GENERAL_H

#include "dispatch/additive.h"
#include "dispatch/layers/layer.h"

typedef struct sattn_general_plan {
    const sattn_general_attention_args *args;
    /* What is made of queries and inputs first, and lies in the workspace: their maps, and
     * q^T W of a bilinear alignment. */
    bool maps_queries, maps_inputs, sums_rows;
    sattn_projection queries, inputs;
    sattn_plan row_sums;
    sattn_plan attention;           /* of all alignments but the additive one, */
    sattn_alignment_plan alignment; /* which has its scores apart */
    sattn_weighing_plan weighing;
    size_t queries_at, inputs_at, scores_at, shared_at, size; /* bytes */
} sattn_general_plan;

extern const sattn_linear_names sattn_general_names_q, sattn_general_names_x;

/* Extents, strides and types. */
sattn_status sattn_general_check_shape(const sattn_general_attention_args *args);

/* Memory, of arguments whose shape has passed. */
sattn_status sattn_general_check_data(const sattn_general_plan *plan, const sattn_workspace *used);

#endif
