/* SPDX-License-Identifier: MIT
 *
 * layer_calls.h: calls of layers that are worth several threads, and of small decoders, each in a
 * batch, with gaps between all rows and outputs between guard pages. */
#ifndef SATTN_TESTS_SUPPORT_LAYER_CALLS_H
#define SATTN_TESTS_SUPPORT_LAYER_CALLS_H

#include "dispatch/simdattn.h"
#include "tests/support/buffers.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    LAYER_BATCH = 2,
    LAYER_N_K = 130,
    LAYER_D = 96,
    LAYER_GAP = 3,
    LAYER_OUTPUTS = 10,
    LAYER_MAPS = 16,
};

/* How a call is made, and what it returned. Every output has a group for each batch entry. */
typedef struct layer_call {
    sattn_options options;
    int64_t batch, first;     /* batch entries, and which of LAYER_BATCH the first of them is */
    const int64_t *n_k_valid; /* of these, or NULL */
    bool packs;               /* weights are packed */
    bool has_workspace;       /* of just the size asked for, between guard pages, full of NaN */
    test_operand outputs[LAYER_OUTPUTS];
    int n_outputs;
    void *packed[LAYER_MAPS];
    int n_packed;
    test_operand workspace;
} layer_call;

/* The inputs of batch entry b, rows of LAYER_D floats, LAYER_D + LAYER_GAP apart. */
float *layer_input(int64_t b, int64_t row);

/* Draws inputs and weights, the same each time. */
void layer_fill(void);

typedef struct layer_case {
    const char *name;
    void (*run)(layer_call *call);
} layer_case;

extern const layer_case layer_cases[];
extern const int layer_n_cases;

/* Runs a case: it succeeds, writes all of its outputs and nothing beside them, and where it has a
 * workspace it allocates nothing; else the program ends. */
void layer_run(const layer_case *c, layer_call *call);
void layer_free(layer_call *call);

/* Whether the outputs of `got` are the bits of those batch entries in `want`; else *at is the
 * number of the first output that is not. */
bool layer_same_bits(const layer_call *got, const layer_call *want, int *at);

/* ---- for the cases */

/* Weights [n_out, n_in] of one of LAYER_MAPS maps, with a bias and gaps between rows. */
sattn_linear_weights layer_weights(int map, int64_t n_out, int64_t n_in);

/* The call's batch entries of queries [batch, rows, LAYER_D], whose rows are all at one distance,
 * and of inputs [batch, LAYER_N_K, LAYER_D], whose batch entries lie a row more apart. */
sattn_view layer_queries(const layer_call *call, int64_t rows);
sattn_view layer_inputs(const layer_call *call);

/* Outputs [batch, rows, columns], or a row of each batch entry, stride_t apart. */
sattn_mut_view layer_output(layer_call *call, int64_t rows, int64_t columns);
sattn_mut_view layer_output_row(layer_call *call, int64_t columns);

/* Outputs [batch, columns], dense. */
int64_t *layer_output_integers(layer_call *call, int64_t columns);

/* Replaces weights by packed ones, where the call wants that. */
void layer_pack(layer_call *call, sattn_linear_weights *w, int64_t n_rows);

/* Sets the options' workspace, where the call wants one; from here on the library allocates nothing
 * if it has, and something if not. */
void layer_make_workspace(layer_call *call, size_t size);
void layer_expect_allocations(const layer_call *call, const char *name);

void layer_expect_ok(sattn_status status, const char *what);

#endif
