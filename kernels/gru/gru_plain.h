/* SPDX-License-Identifier: MIT
 *
 * gru_plain.h: the elementwise part of a GRU step in plain C, the honest baseline of every
 * hand-written kernel: one pass over the three gates, without branches, so that a compiler can
 * vectorise the loop. */
#ifndef SATTN_KERNELS_GRU_PLAIN_H
#define SATTN_KERNELS_GRU_PLAIN_H

#include "kernels/contract.h"
#include "kernels/vec/sigmoid_plain.h"

SATTN_INLINE void gru_plain(const sattn_gru_args *args)
{
    const int64_t n = args->n_hidden;
    for (int64_t i = args->i0; i < args->i1; ++i) {
        const float *const gates_x = args->gates_x + i * args->gates_x_stride;
        const float *const gates_h = args->gates_h + i * args->gates_h_stride;
        const float *const h = args->h + i * args->h_stride;
        float *const y = args->y + i * args->y_stride;
        PLAIN_SIMD()
        for (int64_t j = 0; j < n; ++j) {
            const float reset = plain_sigmoid(gates_x[j] + gates_h[j]);
            const float update = plain_sigmoid(gates_x[n + j] + gates_h[n + j]);
            const float candidate =
                plain_tanh(plain_add_product(gates_x[2 * n + j], reset, gates_h[2 * n + j]));
            y[j] = plain_add_product(candidate, update, h[j] - candidate);
        }
    }
}

#endif
