/* SPDX-License-Identifier: MIT
 *
 * lecture.h: the golden values of tests/data/lecture (docs/lecture-data.md), and the tests of
 * layers against them.
 *
 * A test program runs on one ISA: with the kernels that a call chooses there, then with each kernel
 * of its level in turn named for the call. What it compares has two references: the golden value in
 * float64, which the equations in double (bounded.h) must give as well, and for the library's f32
 * result the bound that those come with. */
#ifndef SATTN_TESTS_SUPPORT_LECTURE_H
#define SATTN_TESTS_SUPPORT_LECTURE_H

#include "dispatch/simdattn.h"
#include "tests/support/bounded.h"

typedef struct lecture_case {
    const char *system, *name, *kind;
} lecture_case;

/* Arrays of a case. A file that cannot be read ends the program. They live as long as the variant
 * that runs, or what `prepare` read to the end. `shape` may be NULL, else it gets as many extents
 * as there are. */
const float *lecture_floats(const lecture_case *c, const char *array, int64_t *shape);
const double *lecture_doubles(const lecture_case *c, const char *array, int64_t *shape);
const int64_t *lecture_integers(const lecture_case *c, const char *array, int64_t *shape);

/* The test that runs: one variant of the library. */
typedef struct lecture_test {
    const char *isa, *kernels; /* kernels NULL: those that the library chooses */
    sattn_options options;
    int64_t n_compared, n_failures;
    double worst; /* share of a bound that a result has used */
} lecture_test;

/* Fails the test, naming variant and case. */
void lecture_fail(lecture_test *test, const lecture_case *c, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Whether a call of the library has succeeded. */
bool lecture_succeeds(lecture_test *test, const lecture_case *c, sattn_status status);

/* Compares what the library made with the golden array and the bound. */
void lecture_compare(lecture_test *test, const lecture_case *c, const char *array,
                     const bounded *want, const float *got);

/* The whole program: --isa=NAME. `prepare` (or NULL) is called first, `run` once for each variant.
 * Exit code 77: this CPU has not got that level. */
int lecture_main(int argc, char **argv, void (*prepare)(void), void (*run)(lecture_test *test));

/* Weights in place. */
sattn_linear_weights lecture_weights(const float *w, int64_t n_out, int64_t n_in,
                                     const float *bias);
bounded_map lecture_map(const sattn_linear_weights *weights);

/* A decoder case: its arguments, which point at the case's arrays. */
typedef struct lecture_decoder {
    sattn_decoder_args args;
    const float *h, *s0; /* s0 NULL: of w_start */
    int64_t n_hidden, n_enc, n_align, n_embed, n_vocab, n_steps;
    const int64_t *tokens;
} lecture_decoder;

lecture_decoder lecture_decoder_of(const lecture_case *c);
enum { LECTURE_BOS = 1, LECTURE_EOS = 0, LECTURE_MAX_STEPS = 6 };

/* What each step of a whole sequence may be off by, [n_steps, ..]: that of each step alone, and
 * what the errors of the states before it make of it, by the derivatives of the steps between. */
typedef struct lecture_bounds {
    bounded weights, contexts, states, logits, start;
} lecture_bounds;

lecture_bounds lecture_bounds_of(const lecture_decoder *d);

/* One step alone, from a state and keys that are off by what they say. */
typedef struct lecture_step {
    bounded weights, context, state, logits;
} lecture_step;

lecture_step lecture_step_of(const lecture_decoder *d, const bounded *h, const bounded *keys,
                             int64_t token, const bounded *state);

extern const lecture_case lecture_decoders[];
extern const int lecture_n_decoders;

#endif
