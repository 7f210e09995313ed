/* SPDX-License-Identifier: MIT
 *
 * conform_problem.h: a test of a suite as a call of this library.
 *
 * What both say in the same way is handed on: a causal limit is an offset, a padded cache a number
 * of keys, a window a window, heads side by side are strides. What only ONNX says takes a step of
 * its own, an adapter. Each is named and counted, so that a report tells what was run by the
 * library and what was done around it. */
#ifndef SATTN_BENCH_CONFORM_CONFORM_PROBLEM_H
#define SATTN_BENCH_CONFORM_CONFORM_PROBLEM_H

#include "bench/conform/conform_manifest.h"
#include "dispatch/simdattn.h"

typedef enum sattn_conform_adapter {
    SATTN_CONFORM_HEADS_BY_STRIDES,
    SATTN_CONFORM_MASK_RANK,
    SATTN_CONFORM_PAST_JOINED,
    SATTN_CONFORM_PRESENT_COPIED,
    SATTN_CONFORM_MASK_COMPLETED,
    SATTN_CONFORM_F16_WIDENED,
    SATTN_CONFORM_F64_NARROWED,
    SATTN_CONFORM_PRECISION_KEPT,
    SATTN_CONFORM_PRECISION_BELOW,
    SATTN_CONFORM_AXIS_MOVED,
    SATTN_CONFORM_LOG_OF_SOFTMAX,
    SATTN_CONFORM_ADAPTERS
} sattn_conform_adapter;

/* What it does, in words. */
const char *sattn_conform_adapter_text(sattn_conform_adapter adapter);

enum { SATTN_CONFORM_BUFFERS = 16 };

typedef struct sattn_conform_problem {
    const sattn_conform_test *test;
    /* Of sattn_attention, or for a softmax of sattn_softmax. Outputs point to o, scores and lse. */
    sattn_attention_args args;
    unsigned adapters; /* bit n: sattn_conform_adapter n */
    bool has_qk;       /* the test has the output qk, which only a chain returns */
    float *y, *qk;     /* outputs in ONNX's order, once run */
    float *lse;        /* of softmax */
    int64_t n_y, n_qk;
    void *present[2]; /* K and V, of their own type; NULL: not an output */
    int64_t inner;    /* softmax: elements between neighbours along the axis; 1: in place */
    void *buffers[SATTN_CONFORM_BUFFERS]; /* all memory */
    int n_buffers;
} sattn_conform_problem;

/* Makes the call of a test. False: it is not run, and `why` says for what reason; the problem then
 * holds nothing. */
bool sattn_conform_problem_open(sattn_conform_problem *problem, const sattn_conform_test *test,
                                char *why, size_t why_size);
void sattn_conform_problem_close(sattn_conform_problem *problem);

/* Fills the outputs with NaN, calls, and leaves y and, where `with_qk`, qk. */
sattn_status sattn_conform_problem_run(sattn_conform_problem *problem, bool with_qk,
                                       const sattn_options *options);

/* ---- comparing */

typedef struct sattn_conform_tolerance {
    double rtol, atol; /* |got - want| <= atol + rtol |want| */
    double lse_tol;    /* log-softmax: + lse_tol |log-sum-exp| */
} sattn_conform_tolerance;

/* What every test of ONNX carries. It is made for f16; for f32 results, here of expectations that
 * are good to half a unit in the last place, it is a thousand times what they need, so there the
 * bound is SATTN_CONFORM_F32_RTOL. A test with a tolerance of its own keeps it. */
#define SATTN_CONFORM_ONNX_RTOL 1e-3
#define SATTN_CONFORM_ONNX_ATOL 1e-7
#define SATTN_CONFORM_F32_RTOL  2e-6
bool sattn_conform_has_default_tolerance(const sattn_conform_test *test);
sattn_conform_tolerance sattn_conform_tolerance_of(const sattn_conform_test *test,
                                                   sattn_conform_output output);

typedef struct sattn_conform_place {
    sattn_conform_output output;
    int64_t index[SATTN_CONFORM_RANK_MAX];
    double got, want, tolerance;
} sattn_conform_place;

typedef struct sattn_conform_result {
    int64_t n_elements, n_failed;
    double worst; /* the largest |got - want| / tolerance; infinite where only one is a number */
    sattn_conform_place at; /* of the worst */
} sattn_conform_result;

/* Compares all outputs, qk only where `with_qk`. */
sattn_conform_result sattn_conform_compare(const sattn_conform_problem *problem, bool with_qk);
bool sattn_conform_passed(const sattn_conform_result *result);

/* ---- the parts of open and run */

/* Memory that lives as long as the problem; NULL: there is none. */
void *sattn_conform_allocate(sattn_conform_problem *problem, size_t count, size_t size);
/* The tensor's elements as floats: its own where it has floats, else a converted copy. NULL: out of
 * memory, or a number that f32 does not have; `why` then says which. */
const float *sattn_conform_floats(sattn_conform_problem *problem,
                                  const sattn_conform_tensor *tensor, const char *name, char *why,
                                  size_t why_size);
static inline void sattn_conform_adapt(sattn_conform_problem *problem,
                                       sattn_conform_adapter adapter)
{
    problem->adapters |= 1u << adapter;
}
bool sattn_conform_attention_open(sattn_conform_problem *problem, char *why, size_t why_size);
bool sattn_conform_softmax_open(sattn_conform_problem *problem, char *why, size_t why_size);
sattn_status sattn_conform_softmax_run(sattn_conform_problem *problem,
                                       const sattn_options *options);

#endif
