/* SPDX-License-Identifier: MIT
 *
 * wrong_attention.h: attentions that are wrong on purpose, to find out what a conformance suite
 * sees.
 *
 * Two kinds. A wrong call gives the library other arguments than the test asks for: what a caller
 * who misread the ONNX document would do. A wrong computation is plain C of our own, right but for
 * one deliberate mistake: what a kernel may get wrong. */
#ifndef SATTN_TESTS_WRONG_ATTENTION_H
#define SATTN_TESTS_WRONG_ATTENTION_H

#include "bench/conform/conform_problem.h"

/* Spoils the arguments of an open problem; false: this test does not have what it is about. */
typedef bool wrong_call_fn(sattn_conform_problem *problem);

typedef struct wrong_call {
    const char *name;
    wrong_call_fn *spoil;
} wrong_call;

extern const wrong_call wrong_calls[];
extern const int n_wrong_calls;

typedef enum wrong_step {
    RIGHT, /* no mistake: it has to pass */
    EXP_WITHOUT_MAX,
    MAX_OVER_HIDDEN,
    NO_RESCALING,
    EXP_INEXACT,
    WEIGHTS_IN_F16,
    SUM_IN_F16,
    HIDDEN_VALUES_TIMES_0,
    HIDDEN_SCORES_PLUS_MINUS_INF,
    LOWEST_BIAS_HIDES,
    EMPTY_ROW_NAN,
    EMPTY_ROW_MEAN,
    SOFTCAP_AFTER_BIAS,
    SOFTCAP_AS_CLAMP,
    HEADS_MODULO,
    KEY_TAIL_DROPPED,
    D_TAIL_DROPPED,
    DV_TAIL_DROPPED,
    KEYS_OF_FIRST_BLOCK,
    WRONG_STEPS
} wrong_step;

extern const char *const wrong_step_names[WRONG_STEPS];

/* Fills y and qk of the problem. False: out of memory. */
bool wrong_attention(sattn_conform_problem *problem, wrong_step step);

#endif
