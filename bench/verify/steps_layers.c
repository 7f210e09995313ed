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
 * one more with a bias, and with what is added to. */
void sattn_verify_map_row(const sattn_verify_map *row, const float *got, sattn_verify_place at,
                          sattn_verify_result *result)
{
    const double n = (double)(row->n_in + (row->bias != NULL) + (row->added_to != NULL));
    const double error = sattn_bound_gamma(0, n) + SATTN_ORACLE_ERROR;
    ++result->n_rows;
    for (int64_t o = 0; o < row->n_out; ++o) {
        double size;
        const double want = sattn_ref_linear(row->x, row->w + o * row->w_stride, row->n_in,
                                             row->bias ? &row->bias[o] : NULL,
                                             row->added_to ? &row->added_to[o] : NULL, &size);
        const sattn_verify_element element = {.got = got[o],
                                              .want = want,
                                              .bound = error * size + (double)row->n_in * 0x1p-149,
                                              .unit = measured_unit(size),
                                              .in_ulp = fabs(want) >= size / 2,
                                              .may_spoil = size * (1 + error) >= (double)FLT_MAX &&
                                                           size < INFINITY};
        at.column = o;
        sattn_verify_record(&element, at, result);
    }
}

/* ---- gated units */

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* Of sigmoid or tanh, which are monotone and at most 1 in size, where the argument is off by `by`.
 */
static double function_error(double (*f)(double), double x, double by, double ulp)
{
    const double shift = isinf(x) ? 0 : fmax(fabs(f(x + by) - f(x)), fabs(f(x - by) - f(x)));
    return shift + ulp * fmin(sattn_verify_ulp(fabs(f(x)) + shift), SATTN_UNIT_ROUNDOFF);
}

/* docs/numerics.md, "gru", with the same symbols. */
double sattn_verify_gates_error(const sattn_ref_gru_element *e, double state_gate, double h,
                                double sigmoid_ulp, double tanh_ulp)
{
    const double u = SATTN_UNIT_ROUNDOFF;
    const double d_r = function_error(sigmoid, e->reset_sum, u * fabs(e->reset_sum), sigmoid_ulp);
    const double d_z = function_error(sigmoid, e->update_sum, u * fabs(e->update_sum), sigmoid_ulp);
    const double product = d_r * fabs(state_gate);
    const double d_c = product + u * (fabs(e->candidate_sum) + product) + 0x1p-150;
    const double d_n = function_error(tanh, e->candidate_sum, d_c, tanh_ulp);
    const double way = fabs(h - e->candidate);
    const double before =
        d_n * (1 - e->update + d_z) + d_z * way + u * (e->update + d_z) * (way + d_n);
    return before + u * (fabs(e->y) + before) + 0x1p-150;
}

/* What the next state is made of; of the candidate's sum what tanh and the update gate leave. */
static double unit_size(const sattn_ref_gru_element *e, const float gates_x[3],
                        const float gates_h[3], double h)
{
    const double sum = fabs((double)gates_x[2]) + e->reset * fabs((double)gates_h[2]);
    const double slope = (1 - e->candidate * e->candidate) * (1 - e->update);
    const double left = slope > 0 ? sum * slope : 0; /* of an infinite sum nothing */
    return fabs(e->candidate) + fabs(e->update * (h - e->candidate)) + left;
}

void sattn_verify_gates_row(const sattn_verify_gates *row, const float *got, sattn_verify_place at,
                            sattn_verify_result *result)
{
    const int64_t n = row->n_hidden;
    ++result->n_rows;
    for (int64_t y = 0; y < n; ++y) {
        const float gates_x[3] = {row->gates_x[y], row->gates_x[n + y], row->gates_x[2 * n + y]};
        const float gates_h[3] = {row->gates_h[y], row->gates_h[n + y], row->gates_h[2 * n + y]};
        const double h = (double)row->h[y];
        const sattn_ref_gru_element e = sattn_ref_gru(gates_x, gates_h, row->h[y]);
        const double size = unit_size(&e, gates_x, gates_h, h);
        const double error =
            sattn_verify_gates_error(&e, (double)gates_h[2], h, row->sigmoid_ulp, row->tanh_ulp);
        const sattn_verify_element element = {.got = got[y],
                                              .want = e.y,
                                              .bound = error + SATTN_ORACLE_ERROR * size,
                                              .unit = measured_unit(size),
                                              .in_ulp = fabs(e.y) >= size / 2};
        at.column = y;
        sattn_verify_record(&element, at, result);
    }
}
