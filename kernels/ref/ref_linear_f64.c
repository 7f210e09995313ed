/* SPDX-License-Identifier: MIT
 *
 * ref_linear_f64.c: the oracle of `linear`, one output of one row:
 *
 *   y_o <- [y_o +] (sum_k x_k w_ok + b_o)
 *
 * The sum is that of a score whose scale is 1, compensated (ref_f64.c). */
#include "kernels/ref/ref.h"

#include <stddef.h>

double sattn_ref_linear(const float *x, const float *w, int64_t n_in, const float *bias,
                        const float *added_to, double *size)
{
    double sum = sattn_ref_score(x, w, n_in, 1, 0, size);
    if (bias) {
        sum += (double)*bias;
        *size += fabs((double)*bias);
    }
    if (added_to) {
        sum += (double)*added_to;
        *size += fabs((double)*added_to);
    }
    return sum;
}
