/* SPDX-License-Identifier: MIT
 *
 * layers.c: see layers.h. A sum of n products has the deviation sqrt(n) u of the root of their
 * squares, a function that of its largest error; what numbers are off by adds up in squares, times
 * slopes. */
#include "bench/verify/layers.h"

#include "bench/verify/record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define U SATTN_UNIT_ROUNDOFF
static const double function_error = 4 * 2; /* tanh, sigmoid and exp, in u of their value */
static const double deviations = 10;        /* that an output may be off by */

/* n numbers, and how far those of f32 deviate from them. */
typedef struct numbers {
    double *value, *error;
} numbers;

/* Of memory that is one piece. */
static numbers take(double **memory, int64_t n)
{
    const numbers taken = {*memory, *memory + n};
    *memory += 2 * n;
    return taken;
}

static numbers from(numbers x, int64_t at)
{
    return (numbers){x.value + at, x.error + at};
}

static double square(double x)
{
    return x * x;
}

static void give(const float *x, int64_t n, numbers y)
{
    for (int64_t i = 0; i < n; ++i) {
        y.value[i] = (double)x[i];
        y.error[i] = 0;
    }
}

/* Of a sum of n terms whose squares add up to `squares`, and whose errors' do to `errors`. */
static double deviation(int64_t n, double squares, double errors)
{
    return sqrt(errors + (double)n * square(U) * squares);
}

/* y = W x for W [n_out, n_in]. */
static void map(const float *w, int64_t n_out, int64_t n_in, numbers x, numbers y)
{
    for (int64_t o = 0; o < n_out; ++o) {
        double sum = 0, squares = 0, errors = 0;
        for (int64_t i = 0; i < n_in; ++i) {
            const double weight = (double)w[o * n_in + i], term = weight * x.value[i];
            sum += term;
            squares += square(term);
            errors += square(weight * x.error[i]);
        }
        y.value[o] = sum;
        y.error[o] = deviation(n_in, squares, errors);
    }
}

/* Weights of scores, in place: an argument s - m is off by what both are and by its rounding. */
static void soften(numbers s, int64_t n)
{
    double most = -INFINITY, sum = 0;
    for (int64_t j = 0; j < n; ++j)
        most = fmax(most, s.value[j]);
    for (int64_t j = 0; j < n; ++j)
        sum += exp(s.value[j] - most);
    for (int64_t j = 0; j < n; ++j) {
        const double argument = s.value[j] - most;
        const double off = square(s.error[j]) + square(U * argument);
        const double of_sum = 2 * square(function_error) + (double)n;
        s.value[j] = exp(argument) / sum;
        s.error[j] = s.value[j] * sqrt(2 * off + square(U) * of_sum);
    }
}

/* y = sum_j a_j rows_j, of rows `stride` apart. */
static void weigh(numbers a, numbers rows, int64_t n, int64_t stride, int64_t width, numbers y)
{
    for (int64_t c = 0; c < width; ++c) {
        double sum = 0, squares = 0, errors = 0;
        for (int64_t j = 0; j < n; ++j) {
            const double value = rows.value[j * stride + c], off = rows.error[j * stride + c];
            sum += a.value[j] * value;
            squares += square(a.value[j] * value);
            errors += square(a.error[j] * value) + square(a.value[j] * off);
        }
        y.value[c] = sum;
        y.error[c] = deviation(n, squares, errors);
    }
}

/* e_j = v . tanh(q + k_j) */
static void align(const float *v, numbers q, numbers k, int64_t n, int64_t d, numbers e)
{
    for (int64_t j = 0; j < n; ++j) {
        double sum = 0, squares = 0, errors = 0;
        for (int64_t x = 0; x < d; ++x) {
            const double at = q.value[x] + k.value[j * d + x], weight = (double)v[x];
            const double value = tanh(at), of_key = square(k.error[j * d + x]);
            const double off =
                (square(q.error[x]) + of_key + square(U * at)) * square(1 - square(value));
            sum += weight * value;
            squares += square(weight * value);
            errors += square(weight) * (off + square(function_error * U * value));
        }
        e.value[j] = sum;
        e.error[j] = deviation(d, squares, errors);
    }
}

static void record(numbers want, const float *got, int64_t n, int64_t row,
                   sattn_verify_result *result)
{
    ++result->n_rows;
    for (int64_t i = 0; i < n; ++i) {
        const sattn_verify_element element = {.got = got[i],
                                              .want = want.value[i],
                                              .bound = deviations * want.error[i] +
                                                       U * fabs(want.value[i]),
                                              .unit = U};
        sattn_verify_record(&element, (sattn_verify_place){.row = row, .column = i}, result);
    }
}

/* ---- a decoder's step */

typedef struct gate {
    double value, error;
} gate;

/* sigmoid(x + h) */
static gate gate_of(numbers x, numbers h, int64_t at)
{
    const double sum = x.value[at] + h.value[at], value = 1 / (1 + exp(-sum));
    const double off = hypot(hypot(x.error[at], h.error[at]), U * sum);
    return (gate){value, hypot(off * value * (1 - value), function_error * U * value)};
}

/* The next state of maps of input and state; h is the state itself. */
static void update(numbers x, numbers g, const float *state, int64_t d, numbers next)
{
    for (int64_t y = 0; y < d; ++y) {
        const gate r = gate_of(x, g, y), z = gate_of(x, g, d + y);
        const double gx = x.value[2 * d + y], gh = g.value[2 * d + y], h = (double)state[y];
        const double n = tanh(gx + r.value * gh);
        const double of_maps = hypot(x.error[2 * d + y], r.value * g.error[2 * d + y]);
        const double of_sum = hypot(r.error * gh, U * (fabs(gx) + fabs(r.value * gh)));
        const double n_error = hypot(hypot(of_maps, of_sum) * (1 - n * n), function_error * U * n);
        next.value[y] = n + z.value * (h - n);
        next.error[y] =
            hypot(hypot((1 - z.value) * n_error, z.error * (h - n)), 2 * U * (fabs(n) + fabs(h)));
    }
}

bool sattn_verify_step_state(const sattn_verify_step *step, const float *got,
                             sattn_verify_result *result)
{
    const int64_t d = step->d, n_enc = step->n_enc, n_k = step->n_k, n_input = d + n_enc;
    const int64_t n_numbers = 9 * d + n_input + n_k + n_k * (n_enc + d);
    double *const memory = malloc((size_t)(2 * n_numbers) * sizeof *memory);
    if (!memory)
        return false;
    double *rest = memory;
    const numbers state = take(&rest, d), input = take(&rest, n_input), query = take(&rest, d);
    const numbers weights = take(&rest, n_k), h = take(&rest, n_k * n_enc);
    const numbers keys = take(&rest, n_k * d);
    const numbers x = take(&rest, 3 * d), g = take(&rest, 3 * d), next = take(&rest, d);
    give(step->state, d, state);
    give(step->embedded, d, input);
    give(step->h, n_k * n_enc, h);
    give(step->keys, n_k * d, keys);
    map(step->w_state, d, d, state, query);
    align(step->v, query, keys, n_k, d, weights);
    soften(weights, n_k);
    weigh(weights, h, n_k, n_enc, n_enc, from(input, d));
    map(step->w_input, 3 * d, n_input, input, x);
    map(step->w_hidden, 3 * d, d, state, g);
    update(x, g, step->state, d, next);
    record(next, got, d, 0, result);
    free(memory);
    return true;
}

/* ---- an attention layer */

/* Keys and values of all inputs, and room for one row. */
typedef struct layer_room {
    numbers k, v;                    /* [n_k, d] */
    numbers x, q, heads, y, weights; /* [d], and [n_k] */
} layer_room;

/* y = W x, or x itself. */
static void project(const float *w, int64_t d, numbers x, numbers y)
{
    if (w) {
        map(w, d, d, x, y);
        return;
    }
    memcpy(y.value, x.value, (size_t)d * sizeof *y.value);
    memcpy(y.error, x.error, (size_t)d * sizeof *y.error);
}

/* e_j = scale q . k_j */
static void multiply(double scale, numbers q, numbers k, int64_t n, int64_t stride, int64_t width,
                     numbers e)
{
    for (int64_t j = 0; j < n; ++j) {
        double sum = 0, squares = 0, errors = 0;
        for (int64_t c = 0; c < width; ++c) {
            const double key = k.value[j * stride + c], off = k.error[j * stride + c];
            sum += q.value[c] * key;
            squares += square(q.value[c] * key);
            errors += square(q.value[c] * off) + square(q.error[c] * key);
        }
        e.value[j] = scale * sum;
        e.error[j] = scale * deviation(width, squares, errors);
    }
}

static void check_row(const sattn_verify_layer *layer, const layer_room *room, int64_t row,
                      const float *got, sattn_verify_result *result)
{
    const int64_t d = layer->d, width = d / layer->n_heads;
    const int64_t n_seen = layer->causal ? row + 1 : layer->n_k;
    const double scale = layer->scale > 0 ? layer->scale : 1 / sqrt((double)width);
    give(layer->q + row * d, d, room->x);
    project(layer->w_q, d, room->x, room->q);
    for (int64_t at = 0; at < d; at += width) {
        if (layer->v)
            align(layer->v, room->q, room->k, n_seen, d, room->weights);
        else
            multiply(scale, from(room->q, at), from(room->k, at), n_seen, d, width, room->weights);
        soften(room->weights, n_seen);
        weigh(room->weights, from(room->v, at), n_seen, d, width, from(room->heads, at));
    }
    project(layer->w_o, d, room->heads, room->y);
    record(room->y, got + row * d, d, row, result);
}

bool sattn_verify_layer_rows(const sattn_verify_layer *layer, const float *got,
                             sattn_verify_result *result)
{
    const int64_t n_q = layer->n_q, n_k = layer->n_k, d = layer->d;
    double *const memory = malloc((size_t)(2 * (2 * n_k * d + 4 * d + n_k)) * sizeof *memory);
    if (!memory)
        return false;
    double *rest = memory;
    const layer_room room = {take(&rest, n_k * d), take(&rest, n_k * d), take(&rest, d),
                             take(&rest, d),       take(&rest, d),       take(&rest, d),
                             take(&rest, n_k)};
    for (int64_t j = 0; j < n_k; ++j) {
        give(layer->x + j * d, d, room.x);
        project(layer->w_k, d, room.x, from(room.k, j * d));
        project(layer->w_v, d, room.x, from(room.v, j * d));
    }
    const int64_t rows[] = {0, n_q / 3, n_q / 2, n_q - 1};
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; ++r)
        if (r == 0 || rows[r] > rows[r - 1])
            check_row(layer, &room, rows[r], got, result);
    free(memory);
    return true;
}
