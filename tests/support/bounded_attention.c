/* SPDX-License-Identifier: MIT
 *
 * bounded_attention.c: softmax and the sums of values, as section 4 of docs/numerics.md has them.
 */
#include "kernels/contract.h"
#include "tests/support/bounded.h"

#include <math.h>

#define U         BOUNDED_U
#define EXP_ERROR (2 * U)

/* Of one row: exact weights p, and H of each. */
typedef struct row_of_weights {
    double *p, *h;
    int64_t n;          /* keys that are seen */
    double b, n_blocks; /* keys to a block, blocks */
    double w;           /* error of the sum, relative */
} row_of_weights;

static void weigh(const double *score, const double *off, row_of_weights *row)
{
    double most = -INFINITY, beyond = -INFINITY, total = 0;
    for (int64_t j = 0; j < row->n; ++j)
        most = fmax(most, score[j]);
    for (int64_t j = 0; j < row->n; ++j) {
        beyond = fmax(beyond, score[j] + off[j] - most);
        row->p[j] = exp(score[j] - most);
        total += row->p[j];
    }
    row->b = (double)(row->n < SATTN_KEY_BLOCK ? row->n : SATTN_KEY_BLOCK);
    row->n_blocks = ceil((double)row->n / (double)SATTN_KEY_BLOCK);
    const double beta = bounded_gamma(row->b + 3 * row->n_blocks);
    row->w = (double)row->n * 0x1p-126;
    for (int64_t j = 0; j < row->n; ++j) {
        const double g = most - score[j] + off[j] + beyond;
        row->p[j] /= total;
        row->h[j] = expm1(off[j] + U * (g + 32) + row->n_blocks * EXP_ERROR);
        row->w += row->p[j] * ((1 + row->h[j]) * (1 + beta) - 1);
    }
}

static double weight_error(const row_of_weights *row, int64_t j)
{
    const double own = (1 + row->h[j]) * (1 + bounded_gamma(row->n_blocks + 2)) - 1;
    return row->w < 1 ? row->p[j] * (own + row->w) / (1 - row->w) + 0x1p-126 : 1;
}

/* Column c of the weighted sum. */
static void sum_column(const row_of_weights *row, const bounded *values, int64_t c, double *value,
                       double *error)
{
    const double alpha = bounded_gamma(row->b + 2 * row->n_blocks + 2);
    const double beta = bounded_gamma(row->b + 3 * row->n_blocks);
    double o = 0, moved = 0, spread = 0, size = 0, total = 0, largest = 0;
    for (int64_t j = 0; j < row->n; ++j) {
        largest = fmax(largest, fabs(values->value[j * values->columns + c]) +
                                    values->error[j * values->columns + c]);
        o += row->p[j] * values->value[j * values->columns + c];
        moved += row->p[j] * values->error[j * values->columns + c];
    }
    for (int64_t j = 0; j < row->n; ++j) {
        const double v = values->value[j * values->columns + c];
        const double off = values->error[j * values->columns + c];
        spread += row->p[j] * (fabs(v - o) + off + moved) * row->h[j];
        size += row->p[j] * (fabs(v) + off) * (1 + row->h[j]) * alpha;
        total += row->p[j] * (1 + row->h[j]) * beta;
    }
    const double reach = fabs(o) + moved;
    *value = o;
    *error = moved + (spread + size + reach * total) / (1 - row->w) + 2 * U * reach +
             (double)row->n * 0x1p-126;
    if (!(row->w < 1) || *error > reach + 1.05 * largest) /* any weights make a mean */
        *error = reach + 1.05 * largest;
}

bounded_attention bounded_attend(const bounded *scores, const bounded *values, bool causal)
{
    const int64_t n_q = scores->rows, n_k = scores->columns;
    const bounded_attention a = {bounded_new(n_q, n_k), bounded_new(n_q, values->columns)};
    const bounded room = bounded_new(2, n_k);
    for (int64_t i = 0; i < n_q; ++i) {
        row_of_weights row = {.p = room.value, .h = room.value + n_k};
        row.n = causal && i + 1 < n_k ? i + 1 : n_k;
        weigh(scores->value + i * n_k, scores->error + i * n_k, &row);
        for (int64_t j = 0; j < row.n; ++j) {
            a.weights.value[i * n_k + j] = row.p[j];
            a.weights.error[i * n_k + j] = weight_error(&row, j);
        }
        for (int64_t c = 0; c < values->columns; ++c)
            sum_column(&row, values, c, a.outputs.value + i * values->columns + c,
                       a.outputs.error + i * values->columns + c);
    }
    return a;
}
