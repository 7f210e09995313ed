/* SPDX-License-Identifier: MIT
 *
 * bounded.c: see bounded.h. */
#include "tests/support/bounded.h"

#include "kernels/contract.h"
#include "tests/support/claim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define U              0x1p-24 /* unit roundoff of f32 */
#define TINY           0x1p-149
#define FUNCTION_ERROR (TEST_MOST_ULP * 2 * U) /* tanh, sigmoid */
#define EXP_ERROR      (2 * U)

/* ---- memory */

typedef struct block {
    struct block *next;
    double numbers[];
} block;

static block *blocks;

bounded bounded_new(int64_t rows, int64_t columns)
{
    const size_t n = (size_t)(rows * columns);
    block *const b = test_allocate(sizeof *b + 2 * n * sizeof(double));
    b->next = blocks;
    blocks = b;
    memset(b->numbers, 0, 2 * n * sizeof(double));
    return (bounded){rows, columns, b->numbers, b->numbers + n};
}

const void *bounded_mark(void)
{
    return blocks;
}

void bounded_free_to(const void *mark)
{
    while (blocks && blocks != mark) {
        block *const next = blocks->next;
        free(blocks);
        blocks = next;
    }
}

bounded bounded_given(const float *x, int64_t rows, int64_t columns)
{
    const bounded y = bounded_new(rows, columns);
    for (int64_t i = 0; i < rows * columns; ++i)
        y.value[i] = (double)x[i];
    return y;
}

bounded bounded_rows(const bounded *x, int64_t begin, int64_t rows)
{
    return (bounded){rows, x->columns, x->value + begin * x->columns,
                     x->error + begin * x->columns};
}

static void put_columns(const bounded *to, int64_t at, const bounded *from, int64_t begin,
                        int64_t columns)
{
    for (int64_t i = 0; i < to->rows; ++i)
        for (int64_t c = 0; c < columns; ++c) {
            to->value[i * to->columns + at + c] = from->value[i * from->columns + begin + c];
            to->error[i * to->columns + at + c] = from->error[i * from->columns + begin + c];
        }
}

bounded bounded_columns(const bounded *x, int64_t begin, int64_t columns)
{
    const bounded y = bounded_new(x->rows, columns);
    put_columns(&y, 0, x, begin, columns);
    return y;
}

bounded bounded_joined(const bounded *x, const bounded *y)
{
    const bounded z = bounded_new(x->rows, x->columns + y->columns);
    put_columns(&z, 0, x, 0, x->columns);
    put_columns(&z, x->columns, y, 0, y->columns);
    return z;
}

/* ---- sums */

static double gamma_of(double n)
{
    return n * U / (1 - n * U);
}

/* A sum of products in any order: what it is, what its terms are off by, and their sizes. */
typedef struct sum {
    double value, off, size;
    int64_t n;
} sum;

static void add_product(sum *s, double x, double x_off, double y, double y_off)
{
    s->value += x * y;
    s->off += x_off * fabs(y) + fabs(x) * y_off + x_off * y_off;
    s->size += (fabs(x) + x_off) * (fabs(y) + y_off);
    ++s->n;
}

/* Each term passes its product and at most n sums, and `more` roundings. */
static double sum_error(const sum *s, double more)
{
    return s->off + gamma_of((double)s->n + 1 + more) * s->size + (double)(s->n + 1) * 2 * TINY;
}

bounded bounded_linear(const bounded *x, const bounded_map *map)
{
    const bounded y = bounded_new(x->rows, map->n_out);
    for (int64_t i = 0; i < x->rows; ++i)
        for (int64_t o = 0; o < map->n_out; ++o) {
            sum s = {0};
            for (int64_t c = 0; c < map->n_in; ++c)
                add_product(&s, x->value[i * x->columns + c], x->error[i * x->columns + c],
                            (double)map->w[o * map->stride + c], 0);
            if (map->bias)
                add_product(&s, (double)map->bias[o], 0, 1, 0);
            y.value[i * map->n_out + o] = s.value;
            y.error[i * map->n_out + o] = sum_error(&s, 0);
        }
    return y;
}

bounded bounded_product(const bounded *x, const float *w, int64_t columns)
{
    const bounded y = bounded_new(x->rows, columns);
    for (int64_t i = 0; i < x->rows; ++i)
        for (int64_t o = 0; o < columns; ++o) {
            sum s = {0};
            for (int64_t c = 0; c < x->columns; ++c)
                add_product(&s, x->value[i * x->columns + c], x->error[i * x->columns + c],
                            (double)w[c * columns + o], 0);
            y.value[i * columns + o] = s.value;
            y.error[i * columns + o] = sum_error(&s, 2); /* its blocks, its spans */
        }
    return y;
}

bounded bounded_sum(const bounded *x, const bounded *y)
{
    const bounded z = bounded_new(x->rows, x->columns);
    for (int64_t i = 0; i < x->rows * x->columns; ++i) {
        z.value[i] = x->value[i] + y->value[i];
        z.error[i] = x->error[i] + y->error[i];
        z.error[i] += U * (fabs(z.value[i]) + z.error[i]);
    }
    return z;
}

bounded bounded_mean_of_rows(const bounded *x)
{
    const bounded y = bounded_new(1, x->columns);
    for (int64_t c = 0; c < x->columns; ++c) {
        sum s = {0};
        for (int64_t i = 0; i < x->rows; ++i)
            add_product(&s, x->value[i * x->columns + c], x->error[i * x->columns + c],
                        1.0 / (double)x->rows, 0);
        y.value[c] = s.value;
        y.error[c] = sum_error(&s, 3); /* of 1 / n, of blocks, of spans */
    }
    return y;
}

/* ---- functions */

/* Of a function whose slope is the less the farther from 0: `slope` is that at the nearest place
 * where the argument may be. */
static double function_error(double y, double slope, double x_off)
{
    const double passed = slope * x_off;
    return passed + FUNCTION_ERROR * (fabs(y) + passed) + 4 * TINY;
}

static double nearest(double x, double x_off)
{
    return fabs(x) > x_off ? fabs(x) - x_off : 0;
}

static double tanh_error(double x, double x_off)
{
    const double t = tanh(nearest(x, x_off));
    return function_error(tanh(x), 1 - t * t, x_off);
}

static double sigmoid_of(double x)
{
    return 1 / (1 + exp(-x));
}

static double sigmoid_error(double x, double x_off)
{
    const double s = sigmoid_of(nearest(x, x_off));
    return function_error(sigmoid_of(x), s * (1 - s), x_off);
}

bounded bounded_tanh(const bounded *x)
{
    const bounded y = bounded_new(x->rows, x->columns);
    for (int64_t i = 0; i < x->rows * x->columns; ++i) {
        y.value[i] = tanh(x->value[i]);
        y.error[i] = tanh_error(x->value[i], x->error[i]);
    }
    return y;
}

/* ---- scores */

bounded bounded_dots(const bounded *q, const bounded *k, double scale)
{
    const bounded e = bounded_new(q->rows, k->rows);
    for (int64_t i = 0; i < q->rows; ++i)
        for (int64_t j = 0; j < k->rows; ++j) {
            sum s = {0};
            for (int64_t c = 0; c < q->columns; ++c)
                add_product(&s, scale * q->value[i * q->columns + c],
                            fabs(scale) * q->error[i * q->columns + c],
                            k->value[j * k->columns + c], k->error[j * k->columns + c]);
            e.value[i * k->rows + j] = s.value;
            e.error[i * k->rows + j] = sum_error(&s, 3); /* of scale q, and of the scale itself */
        }
    return e;
}

bounded bounded_alignments(const bounded *q, const bounded *k, const float *v)
{
    const bounded e = bounded_new(q->rows, k->rows);
    for (int64_t i = 0; i < q->rows; ++i)
        for (int64_t j = 0; j < k->rows; ++j) {
            sum s = {0};
            for (int64_t c = 0; c < q->columns; ++c) {
                const double x = q->value[i * q->columns + c] + k->value[j * k->columns + c];
                double off = q->error[i * q->columns + c] + k->error[j * k->columns + c];
                off += U * (fabs(x) + off);
                add_product(&s, tanh(x), tanh_error(x, off), (double)v[c], 0);
            }
            e.value[i * k->rows + j] = s.value;
            e.error[i * k->rows + j] = sum_error(&s, 0);
        }
    return e;
}

/* ---- softmax and the sums of values, as section 4 of docs/numerics.md has them */

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
    const double beta = gamma_of(row->b + 3 * row->n_blocks);
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
    const double own = (1 + row->h[j]) * (1 + gamma_of(row->n_blocks + 2)) - 1;
    return row->w < 1 ? row->p[j] * (own + row->w) / (1 - row->w) + 0x1p-126 : 1;
}

/* Column c of the weighted sum. */
static void sum_column(const row_of_weights *row, const bounded *values, int64_t c, double *value,
                       double *error)
{
    const double alpha = gamma_of(row->b + 2 * row->n_blocks + 2);
    const double beta = gamma_of(row->b + 3 * row->n_blocks);
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

/* ---- a GRU */

typedef struct number {
    double value, error;
} number;

static number number_of(const bounded *x, int64_t i, int64_t c)
{
    return (number){x->value[i * x->columns + c], x->error[i * x->columns + c]};
}

static number gate_of(number x, number h)
{
    const double a = x.value + h.value, off = x.error + h.error;
    return (number){sigmoid_of(a), sigmoid_error(a, off + U * (fabs(a) + off))};
}

/* x + r h, with the product rounded or not. */
static number candidate_of(number x, number r, number h)
{
    const double product = r.value * h.value;
    const double off = x.error + r.error * (fabs(h.value) + h.error) + r.value * h.error;
    const double a = x.value + product;
    const double a_off = off + U * (fabs(product) + fabs(a) + 2 * off);
    return (number){tanh(a), tanh_error(a, a_off)};
}

/* n + z (h - n), two or three roundings. */
static number mix_of(number n, number z, number h)
{
    const double y = n.value + z.value * (h.value - n.value);
    const double gap = fabs(h.value - n.value), gap_off = n.error + h.error;
    const double off =
        (1 - z.value + z.error) * n.error + (z.value + z.error) * h.error + z.error * gap;
    const double rounded = 2 * U * (z.value + z.error) * (gap + gap_off) * (1 + U);
    return (number){y, off + rounded + U * (fabs(y) + off + rounded)};
}

bounded bounded_gru(const bounded *gates_x, const bounded *gates_h, const bounded *h)
{
    const int64_t n = h->columns;
    const bounded next = bounded_new(h->rows, n);
    for (int64_t i = 0; i < h->rows; ++i)
        for (int64_t c = 0; c < n; ++c) {
            const number r = gate_of(number_of(gates_x, i, c), number_of(gates_h, i, c));
            const number z = gate_of(number_of(gates_x, i, n + c), number_of(gates_h, i, n + c));
            const number new_state =
                candidate_of(number_of(gates_x, i, 2 * n + c), r, number_of(gates_h, i, 2 * n + c));
            const number y = mix_of(new_state, z, number_of(h, i, c));
            next.value[i * n + c] = y.value;
            next.error[i * n + c] = y.error;
        }
    return next;
}

/* ---- comparison */

int64_t bounded_compare(const bounded *want, const float *got, double *worst)
{
    for (int64_t i = 0; i < want->rows * want->columns; ++i) {
        const double off = fabs((double)got[i] - want->value[i]);
        if (!(off <= want->error[i]) || !isfinite(want->error[i]))
            return i;
        if (want->error[i] > 0 && off / want->error[i] > *worst)
            *worst = off / want->error[i];
    }
    return -1;
}
