/* SPDX-License-Identifier: MIT
 *
 * projected.h: attention over keys and values that are linear maps of inputs, one head or many;
 * queries are given or are another map of the inputs, outputs may be mapped once more. Both the
 * attention layer and the self-attention layer are this. */
#ifndef SATTN_DISPATCH_LAYERS_PROJECTED_H
#define SATTN_DISPATCH_LAYERS_PROJECTED_H

#include "dispatch/layers/layer.h"

typedef enum sattn_map { SATTN_MAP_Q, SATTN_MAP_K, SATTN_MAP_V, SATTN_MAP_O, SATTN_MAPS } sattn_map;

typedef struct sattn_projected {
    int64_t batch, n_q, n_k, n_heads;
    sattn_view q;                              /* where there is no map of queries */
    sattn_view x;                              /* [batch, n_k, d_x] */
    sattn_mut_view y;                          /* [batch, n_q, ..] */
    sattn_mut_view weights;                    /* [batch, n_heads, n_q, n_k], or data NULL */
    const sattn_linear_weights *w[SATTN_MAPS]; /* those of Q and O may be NULL */
    bool causal;                               /* query i sees inputs 0 to i */
    const int64_t *n_k_valid;
} sattn_projected;

/* Both do the whole of a call: all checks, in the order of docs/api.md, the plan and its run, or
 * the size of its workspace, which is left alone where the call is refused. */
sattn_status sattn_projected_run(const sattn_projected *layer, const sattn_options *options);
sattn_status sattn_projected_workspace_size(const sattn_projected *layer,
                                            const sattn_options *options, size_t *size);

#endif
