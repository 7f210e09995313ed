/* SPDX-License-Identifier: MIT
 *
 * ref_gru_f64.c: the oracle of the elementwise part of a GRU step, as the equations have it (Cho et
 * al. 2014, equations 5 to 8, with the reset gate on the projected state, as cuDNN and PyTorch have
 * it). */
#include "kernels/ref/ref.h"

/* Below 2^-150 there is no float but 0. */
static double ref_sigmoid(double x)
{
    const double value = 1 / (1 + exp(-x));
    return value <= 0x1p-150 ? 0 : value;
}

sattn_ref_gru_element sattn_ref_gru(const float gates_x[3], const float gates_h[3], float h)
{
    sattn_ref_gru_element e;
    e.reset_sum = (double)gates_x[0] + (double)gates_h[0];
    e.reset = ref_sigmoid(e.reset_sum);
    e.update_sum = (double)gates_x[1] + (double)gates_h[1];
    e.update = ref_sigmoid(e.update_sum);
    e.candidate_sum = (double)gates_x[2] + e.reset * (double)gates_h[2];
    e.candidate = tanh(e.candidate_sum);
    e.y = e.candidate + e.update * ((double)h - e.candidate);
    return e;
}
