/* SPDX-License-Identifier: MIT
 *
 * test_decoder.c: decoders against the golden values, with every kernel of a level.
 *
 * A bound of a whole sequence takes in what each step hands on to the next, and grows; so each step
 * is also bounded alone, from the state that the library itself gave it; and steps must be those of
 * the whole sequence to the bit. */
#include "tests/support/harness.h"
#include "tests/support/lecture.h"

#include <stdlib.h>
#include <string.h>

/* What a decoder returned of a sequence. */
typedef struct outputs {
    float *weights, *contexts, *states, *logits, *start;
    int64_t tokens[LECTURE_MAX_STEPS], n_steps;
} outputs;

static float *floats(int64_t n)
{
    return test_allocate((size_t)n * sizeof(float));
}

static outputs outputs_new(const lecture_decoder *d)
{
    return (outputs){.weights = floats(LECTURE_MAX_STEPS * d->args.n_k),
                     .contexts = floats(LECTURE_MAX_STEPS * d->n_enc),
                     .states = floats(LECTURE_MAX_STEPS * d->n_hidden),
                     .logits = floats(LECTURE_MAX_STEPS * d->n_vocab),
                     .start = floats(d->n_hidden)};
}

static void outputs_free(const outputs *o)
{
    free(o->weights);
    free(o->contexts);
    free(o->states);
    free(o->logits);
    free(o->start);
}

/* ---- the equations */

enum { DECODERS_MAX = 16 };
static lecture_bounds bounds[DECODERS_MAX]; /* of each case */

static void prepare(void)
{
    for (int i = 0; i < lecture_n_decoders; ++i) {
        const lecture_decoder d = lecture_decoder_of(&lecture_decoders[i]);
        bounds[i] = lecture_bounds_of(&d);
    }
}

/* No rounding can change a token: the best logit leads by more than both may be off. */
static void check_margins(lecture_test *test, const lecture_case *c, const lecture_decoder *d)
{
    const bounded *const logits = &bounds[c - lecture_decoders].logits;
    for (int64_t i = 0; i < d->n_steps; ++i) {
        const bounded row = bounded_rows(logits, i, 1);
        const int64_t best = d->tokens[i];
        for (int64_t w = 0; w < d->n_vocab; ++w)
            if (w != best && !(row.value[best] - row.value[w] > row.error[best] + row.error[w]))
                lecture_fail(test, c, "step %lld: token %lld may win by rounding", (long long)i,
                             (long long)w);
    }
}

static void compare_sequence(lecture_test *test, const lecture_case *c, const lecture_decoder *d,
                             const outputs *got)
{
    const lecture_bounds *const want = &bounds[c - lecture_decoders];
    if (!d->s0)
        lecture_compare(test, c, "s0", &want->start, got->start);
    lecture_compare(test, c, "attention", &want->weights, got->weights);
    lecture_compare(test, c, "contexts", &want->contexts, got->contexts);
    lecture_compare(test, c, "states", &want->states, got->states);
    lecture_compare(test, c, "logits", &want->logits, got->logits);
}

/* ---- the library */

typedef struct calls {
    lecture_test *test;
    const lecture_case *c;
    const lecture_decoder *d;
    const sattn_decoder *decoder;
    sattn_decoder_source source;
    void *workspace;
    size_t workspace_size;
} calls;

static bool decode(const calls *k, outputs *got)
{
    const lecture_decoder *const d = k->d;
    const sattn_mut_view start = {.data = got->start};
    if (d->s0)
        memcpy(got->start, d->s0, (size_t)d->n_hidden * sizeof(float));
    else if (!lecture_succeeds(k->test, k->c,
                               sattn_decoder_start(k->decoder, &k->source, &start, k->workspace,
                                                   k->workspace_size)))
        return false;
    const sattn_greedy_args args = {.bos = LECTURE_BOS,
                                    .has_eos = true,
                                    .eos = LECTURE_EOS,
                                    .max_steps = LECTURE_MAX_STEPS,
                                    .start = {.data = got->start},
                                    .tokens = got->tokens,
                                    .n_steps = &got->n_steps,
                                    .weights = {.data = got->weights, .stride_t = d->args.n_k},
                                    .contexts = {.data = got->contexts, .stride_t = d->n_enc},
                                    .states = {.data = got->states, .stride_t = d->n_hidden},
                                    .logits = {.data = got->logits, .stride_t = d->n_vocab}};
    return lecture_succeeds(
        k->test, k->c,
        sattn_decode_greedy(k->decoder, &k->source, &args, k->workspace, k->workspace_size));
}

static void expect_same(const calls *k, const char *what, int64_t step, const float *got,
                        const float *want, int64_t n)
{
    if (memcmp(got, want, (size_t)n * sizeof(float)) != 0)
        lecture_fail(k->test, k->c, "step %lld: %s has other bits than in the whole sequence",
                     (long long)step, what);
}

static void expect_within(const calls *k, const char *what, int64_t step, const bounded *want,
                          const float *got)
{
    const int64_t at = bounded_compare(want, got, &k->test->worst);
    k->test->n_compared += want->columns;
    if (at >= 0)
        lecture_fail(k->test, k->c, "step %lld: %s[%lld] is %.9g instead of %.17g, bound %g",
                     (long long)step, what, (long long)at, (double)got[at], want->value[at],
                     want->error[at]);
}

/* Each step as a call of its own, from the state before: to the bit as in the sequence, and within
 * the bound of one step. */
static void check_steps(const calls *k, const outputs *all)
{
    const lecture_decoder *const d = k->d;
    const bounded h = bounded_given(d->h, d->args.n_k, d->n_enc);
    const bounded keys = bounded_given(k->source.keys, d->args.n_k, d->n_align);
    const outputs one = outputs_new(d);
    for (int64_t i = 0; i < all->n_steps; ++i) {
        const int64_t token = i > 0 ? all->tokens[i - 1] : LECTURE_BOS;
        const float *const before = i > 0 ? all->states + (i - 1) * d->n_hidden : all->start;
        sattn_decoder_step_args args = {.tokens = &token,
                                        .state = {.data = before},
                                        .next = {.data = one.states},
                                        .weights = {.data = one.weights},
                                        .context = {.data = one.contexts},
                                        .logits = {.data = one.logits}};
        for (int embedded = 0; embedded < 2; ++embedded) {
            if (embedded) {
                args.embedded.data =
                    (const float *)d->args.embedding.data + token * d->args.embedding.stride_t;
                args.tokens = NULL;
            }
            if (!lecture_succeeds(k->test, k->c,
                                  sattn_decoder_step(k->decoder, &k->source, &args, k->workspace,
                                                     k->workspace_size)))
                break;
            expect_same(k, "weights", i, one.weights, all->weights + i * d->args.n_k, d->args.n_k);
            expect_same(k, "context", i, one.contexts, all->contexts + i * d->n_enc, d->n_enc);
            expect_same(k, "state", i, one.states, all->states + i * d->n_hidden, d->n_hidden);
            expect_same(k, "logits", i, one.logits, all->logits + i * d->n_vocab, d->n_vocab);
        }
        const bounded state = bounded_given(before, 1, d->n_hidden);
        const lecture_step step = lecture_step_of(d, &h, &keys, token, &state);
        expect_within(k, "weights", i, &step.weights, one.weights);
        expect_within(k, "context", i, &step.context, one.contexts);
        expect_within(k, "state", i, &step.state, one.states);
        expect_within(k, "logits", i, &step.logits, one.logits);
    }
    outputs_free(&one);
}

static void check_tokens(lecture_test *test, const lecture_case *c, const lecture_decoder *d,
                         const outputs *got)
{
    if (got->n_steps != d->n_steps)
        lecture_fail(test, c, "%lld steps instead of %lld", (long long)got->n_steps,
                     (long long)d->n_steps);
    for (int64_t i = 0; i < LECTURE_MAX_STEPS; ++i) {
        const int64_t want = i < d->n_steps ? d->tokens[i] : LECTURE_EOS;
        if (got->tokens[i] != want)
            lecture_fail(test, c, "token %lld is %lld instead of %lld", (long long)i,
                         (long long)got->tokens[i], (long long)want);
    }
}

static void test_case(lecture_test *test, const lecture_case *c)
{
    const lecture_decoder d = lecture_decoder_of(c);
    sattn_decoder *decoder;
    if (!lecture_succeeds(test, c, sattn_decoder_create(&decoder, &d.args, &test->options)))
        return;
    float *const keys = floats(d.args.n_k * d.n_align);
    outputs got = outputs_new(&d);
    calls k = {.test = test,
               .c = c,
               .d = &d,
               .decoder = decoder,
               .source = {.h = d.h, .keys = keys},
               .workspace_size = sattn_decoder_workspace_size(decoder)};
    k.workspace = aligned_alloc(64, (k.workspace_size + 63) / 64 * 64);
    if (lecture_succeeds(
            test, c, sattn_decoder_prepare(decoder, &k.source, k.workspace, k.workspace_size)) &&
        decode(&k, &got)) {
        check_tokens(test, c, &d, &got);
        check_margins(test, c, &d);
        compare_sequence(test, c, &d, &got);
        check_steps(&k, &got);
    }
    free(k.workspace);
    free(keys);
    outputs_free(&got);
    sattn_decoder_destroy(decoder);
}

static void run(lecture_test *test)
{
    for (int i = 0; i < lecture_n_decoders; ++i)
        test_case(test, &lecture_decoders[i]);
}

int main(int argc, char **argv)
{
    return lecture_main(argc, argv, prepare, run);
}
