/* SPDX-License-Identifier: MIT
 *
 * steps_layers.c: linear maps and gated recurrent units against the oracle. Bounds:
 * docs/numerics.md.
 */
#include "bench/verify/record.h"
#include "bench/verify/steps.h"

#include <float.h>
#include <math.h>

static double measured_unit(double magnitude)
{
    return magnitude < SATTN_VERIFY_LEAST_MEASURED ? 0 : SATTN_UNIT_ROUNDOFF * magnitude;
}

/* Whatever the order of the sum, a term goes through no more roundings than there are features, and
 * two more: that of the bias, and that of what y held. */
void sattn_verify_map_row(const sattn_verify_map *row, const float *got, sattn_verify_place at,
                          sattn_verify_result *result)
{
    const double n = (double)row->n_in + 2;
    const double error = sattn_bound_gamma(0, n) + SATTN_ORACLE_ERROR;
    ++result->n_rows;
    for (int64_t o = 0; o < row->n_out; ++o) {
        double size;
        const double want = sattn_ref_linear(row->x, row->w + o * row->w_stride, row->n_in,
                                             row->bias ? &row->bias[o] : NULL, NULL, &size);
        const sattn_verify_element element = {.got = got[o],
                                              .want = want,
                                              .bound = error * size + n * 0x1p-149,
                                              .unit = measured_unit(size),
                                              .in_ulp = fabs(want) >= size / 2,
                                              .may_spoil = size * (1 + error) >= (double)FLT_MAX &&
                                                           size < INFINITY};
        at.column = o;
        sattn_verify_record(&element, at, result);
    }
}

/* Of a unit in u = 2^-24, by the steps of contract.h. A gate's sum is rounded once, which a sigmoid
 * makes 0.224 at most, the largest |x| s (1 - s); a sigmoid or tanh of E ULP is off by 2 E u of its
 * value at most. */
static double unit_error(const sattn_ref_gru_element *e, const float gates_h[3], double h)
{
    const double sigmoid = 2 * SATTN_GRU_SIGMOID_ULP, tanh_error = 2 * SATTN_GRU_TANH_ULP;
    const double reset = 0.224 + sigmoid * e->reset, update = 0.224 + sigmoid * e->update;
    const double candidate =
        fabs((double)gates_h[2]) * reset + fabs(e->candidate_sum) + tanh_error * fabs(e->candidate);
    const double apart = fabs(h - e->candidate);
    return candidate * (1 + e->update) + apart * (update + e->update) + fabs(e->y);
}

void sattn_verify_gates_row(const sattn_verify_gates *row, const float *got, sattn_verify_place at,
                            sattn_verify_result *result)
{
    const int64_t n = row->n_hidden;
    const double second_order = 1 + 64 * SATTN_UNIT_ROUNDOFF;
    ++result->n_rows;
    for (int64_t y = 0; y < n; ++y) {
        const float gates_x[3] = {row->gates_x[y], row->gates_x[n + y], row->gates_x[2 * n + y]};
        const float gates_h[3] = {row->gates_h[y], row->gates_h[n + y], row->gates_h[2 * n + y]};
        const double h = (double)row->h[y];
        const sattn_ref_gru_element e = sattn_ref_gru(gates_x, gates_h, row->h[y]);
        const double size = fabs(e.candidate) + fabs(e.update * (h - e.candidate));
        const sattn_verify_element element = {.got = got[y],
                                              .want = e.y,
                                              .bound = second_order * SATTN_UNIT_ROUNDOFF *
                                                           unit_error(&e, gates_h, h) +
                                                       16 * 0x1p-149 + SATTN_ORACLE_ERROR * size,
                                              .unit = measured_unit(size),
                                              .in_ulp = fabs(e.y) >= size / 2};
        at.column = y;
        sattn_verify_record(&element, at, result);
    }
}
