/* SPDX-License-Identifier: MIT
 *
 * bounded.c: see bounded.h. */
#include "tests/support/bounded.h"

#include "tests/support/claim.h"
#include "tests/support/harness.h"

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
    return s->off + bounded_gamma((double)s->n + 1 + more) * s->size +
           (double)(s->n + 1) * 2 * TINY;
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
