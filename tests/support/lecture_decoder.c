/* SPDX-License-Identifier: MIT
 *
 * lecture_decoder.c: decoder cases, and how far f32 may be from them.
 *
 * Errors of a sequence: step k makes of a state s the state F_k(s), in f32 off by l_k at most,
 * which is what the stages of the one step add up to. So the state of step k is off by
 *
 *   sum over i <= k of |J_k .. J_(i+1)| l_i
 *
 * to first order, J_k being the derivative of F_k, here by central differences in double; sizes are
 * taken of the products' elements, so that what contracts may contract. Weights, contexts and
 * logits follow from their states likewise. Products of two errors are left out; the double of it
 * all leaves room for them. */
#include "tests/support/lecture.h"

#include <math.h>
#include <string.h>

const lecture_case lecture_decoders[] = {
    {"seq2seq", "gru_t1", "gru"},       {"seq2seq", "rnn_t1", "rnn"},
    {"seq2seq", "gru_t7", "gru"},       {"seq2seq", "rnn_t7", "rnn"},
    {"seq2seq", "gru_t50", "gru"},      {"seq2seq", "rnn_t50", "rnn"},
    {"captioning", "gru_7x7", "gru"},   {"captioning", "rnn_7x7", "rnn"},
    {"captioning", "gru_14x14", "gru"},
};
const int lecture_n_decoders = sizeof lecture_decoders / sizeof lecture_decoders[0];

static sattn_linear_weights weights_of(const lecture_case *c, const char *w, const char *bias)
{
    int64_t shape[2];
    const float *const data = lecture_floats(c, w, shape);
    return lecture_weights(data, shape[0], shape[1], bias ? lecture_floats(c, bias, NULL) : NULL);
}

lecture_decoder lecture_decoder_of(const lecture_case *c)
{
    const bool is_grid = strcmp(c->system, "captioning") == 0;
    int64_t shape[3];
    lecture_decoder d = {.h = lecture_floats(c, is_grid ? "features" : "h", shape)};
    d.n_enc = shape[is_grid ? 2 : 1];
    d.args.batch = 1;
    d.args.n_k = is_grid ? shape[0] * shape[1] : shape[0];
    d.args.h = (sattn_view){.stride_t = d.n_enc};
    d.args.w_state = weights_of(c, "align_w", "align_b");
    d.args.w_encoded = weights_of(c, "align_u", NULL);
    d.args.v = lecture_floats(c, "align_v", NULL);
    d.args.cell = strcmp(c->kind, "gru") == 0 ? SATTN_CELL_GRU : SATTN_CELL_RNN;
    d.args.w_hidden = weights_of(c, "w_hh", "b_hh");
    d.args.w_out = weights_of(c, "w_out", "b_out");
    d.args.embedding.data = lecture_floats(c, "embedding", shape);
    d.args.embedding.stride_t = d.n_embed = shape[1];
    d.args.w_embedded = weights_of(c, "w_ih", "b_ih"); /* [embedding; context]: columns of one */
    d.args.w_context = d.args.w_embedded;
    d.args.w_embedded.n_in = d.n_embed;
    d.args.w_context.n_in = d.n_enc;
    d.args.w_context.w.data = (const float *)d.args.w_embedded.w.data + d.n_embed;
    d.args.w_context.bias = NULL;
    d.s0 = is_grid ? NULL : lecture_floats(c, "s0", NULL);
    if (is_grid)
        d.args.w_start = weights_of(c, "w_init", "b_init");
    d.n_hidden = d.args.w_hidden.n_in;
    d.n_align = d.args.w_encoded.n_out;
    d.n_vocab = d.args.w_out.n_out;
    d.tokens = lecture_integers(c, "tokens", &d.n_steps);
    return d;
}

/* ---- one step */

lecture_step lecture_step_of(const lecture_decoder *d, const bounded *h, const bounded *keys,
                             int64_t token, const bounded *state)
{
    const sattn_decoder_args *const a = &d->args;
    const bounded_map map_s = lecture_map(&a->w_state), map_e = lecture_map(&a->w_embedded),
                      map_c = lecture_map(&a->w_context), map_h = lecture_map(&a->w_hidden),
                      map_o = lecture_map(&a->w_out);
    const bounded query = bounded_linear(state, &map_s);
    const bounded scores = bounded_alignments(&query, keys, a->v);
    const bounded_attention attention = bounded_attend(&scores, h, false);
    const bounded embedded = bounded_given(
        (const float *)a->embedding.data + token * a->embedding.stride_t, 1, d->n_embed);
    const bounded from_e = bounded_linear(&embedded, &map_e),
                  from_c = bounded_linear(&attention.outputs, &map_c);
    const bounded input = bounded_sum(&from_e, &from_c), hidden = bounded_linear(state, &map_h);
    lecture_step step = {.weights = attention.weights, .context = attention.outputs};
    if (a->cell == SATTN_CELL_GRU) {
        step.state = bounded_gru(&input, &hidden, state);
    } else {
        const bounded sums = bounded_sum(&input, &hidden);
        step.state = bounded_tanh(&sums);
    }
    step.logits = bounded_linear(&step.state, &map_o);
    return step;
}

/* ---- a sequence */

static bounded start_bounds(const lecture_decoder *d, const bounded *h)
{
    if (d->s0)
        return bounded_given(d->s0, 1, d->n_hidden);
    const bounded_map map = lecture_map(&d->args.w_start);
    const bounded mean = bounded_mean_of_rows(h), sums = bounded_linear(&mean, &map);
    return bounded_tanh(&sums);
}

/* The results of a step, one behind the other. */
static void flatten(const lecture_step *step, bool errors, double *to)
{
    const bounded *const parts[] = {&step->state, &step->weights, &step->context, &step->logits};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; ++i) {
        memcpy(to, errors ? parts[i]->error : parts[i]->value,
               (size_t)parts[i]->columns * sizeof(double));
        to += parts[i]->columns;
    }
}

/* The derivative of a step's results by its state, [results, n_hidden]. */
static bounded derivative_of(const lecture_decoder *d, const bounded *h, const bounded *keys,
                             int64_t token, const bounded *state)
{
    const double delta = 0x1p-18;
    const int64_t n = d->n_hidden, n_results = n + d->args.n_k + d->n_enc + d->n_vocab;
    const bounded by_state = bounded_new(n_results, n), ends = bounded_new(2, n_results);
    for (int64_t c = 0; c < n; ++c) {
        const void *const mark = bounded_mark();
        const bounded moved = bounded_columns(state, 0, n);
        moved.value[c] = state->value[c] + delta;
        lecture_step step = lecture_step_of(d, h, keys, token, &moved);
        flatten(&step, false, ends.value);
        moved.value[c] = state->value[c] - delta;
        step = lecture_step_of(d, h, keys, token, &moved);
        flatten(&step, false, ends.value + n_results);
        for (int64_t r = 0; r < n_results; ++r)
            by_state.value[r * n + c] = (ends.value[r] - ends.value[n_results + r]) / (2 * delta);
        bounded_free_to(mark);
    }
    return by_state;
}

/* a b, of values alone. */
static bounded times(const bounded *a, const bounded *b)
{
    const bounded y = bounded_new(a->rows, b->columns);
    for (int64_t i = 0; i < a->rows; ++i)
        for (int64_t k = 0; k < a->columns; ++k)
            for (int64_t c = 0; c < b->columns; ++c)
                y.value[i * b->columns + c] +=
                    a->value[i * a->columns + k] * b->value[k * b->columns + c];
    return y;
}

/* Adds to errors what states that were off by `off` make of results, by their derivative. */
static void add_passed(double *errors, const bounded *derivative, const double *off)
{
    for (int64_t r = 0; r < derivative->rows; ++r)
        for (int64_t c = 0; c < derivative->columns; ++c)
            errors[r] += fabs(derivative->value[r * derivative->columns + c]) * off[c];
}

/* A row of results to where it belongs. */
static void put_results(const lecture_bounds *all, int64_t row, const lecture_step *step,
                        const double *errors)
{
    const bounded *const to[] = {&all->states, &all->weights, &all->contexts, &all->logits};
    const bounded *const from[] = {&step->state, &step->weights, &step->context, &step->logits};
    for (size_t i = 0; i < sizeof to / sizeof to[0]; ++i) {
        const int64_t n = to[i]->columns;
        memcpy(to[i]->value + row * n, from[i]->value, (size_t)n * sizeof(double));
        for (int64_t c = 0; c < n; ++c)
            to[i]->error[row * n + c] = 2 * errors[c];
        errors += n;
    }
}

lecture_bounds lecture_bounds_of(const lecture_decoder *d)
{
    const int64_t n = d->n_hidden, n_steps = d->n_steps;
    const bounded_map map_u = lecture_map(&d->args.w_encoded);
    const bounded h = bounded_given(d->h, d->args.n_k, d->n_enc);
    const bounded keys = bounded_linear(&h, &map_u);
    const lecture_bounds all = {.weights = bounded_new(n_steps, d->args.n_k),
                                .contexts = bounded_new(n_steps, d->n_enc),
                                .states = bounded_new(n_steps, n),
                                .logits = bounded_new(n_steps, d->n_vocab),
                                .start = start_bounds(d, &h)};
    bounded local[LECTURE_MAX_STEPS + 1], passed[LECTURE_MAX_STEPS + 1]; /* of start and steps */
    bounded state = bounded_columns(&all.start, 0, n);
    local[0] = all.start;
    for (int64_t k = 0; k < n_steps; ++k) {
        const int64_t token = k > 0 ? d->tokens[k - 1] : LECTURE_BOS;
        memset(state.error, 0, (size_t)n * sizeof(double));
        const lecture_step step = lecture_step_of(d, &h, &keys, token, &state);
        const bounded derivative = derivative_of(d, &h, &keys, token, &state);
        const bounded errors = bounded_new(1, derivative.rows);
        flatten(&step, true, errors.value);
        for (int64_t i = 0; i <= k; ++i) {
            passed[i] = i == k ? derivative : times(&derivative, &passed[i]);
            add_passed(errors.value, &passed[i], local[i].error);
            passed[i].rows = n; /* the state's, which the next step gets */
        }
        put_results(&all, k, &step, errors.value);
        local[k + 1] = step.state;
        state = bounded_columns(&step.state, 0, n);
    }
    return all;
}
