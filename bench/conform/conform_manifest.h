/* SPDX-License-Identifier: MIT
 *
 * conform_manifest.h: a conformance suite as it lies on disk, a directory with a manifest.json and
 * the .npy files that it names.
 *
 * It is read strictly: a key, attribute or operand that is not known, a shape that does not follow
 * from the extents, a file that is not what the manifest says it is, are refused by name. So a test
 * cannot pass because half of it was overlooked. */
#ifndef SATTN_BENCH_CONFORM_CONFORM_MANIFEST_H
#define SATTN_BENCH_CONFORM_CONFORM_MANIFEST_H

#include "bench/verify/npy.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SATTN_CONFORM_RANK_MAX = 5,
    SATTN_CONFORM_TEXT_SIZE = 640 /* of a message */
};

typedef enum sattn_conform_op {
    SATTN_CONFORM_ATTENTION,
    SATTN_CONFORM_FLEX_ATTENTION, /* without modifiers it is the same */
    SATTN_CONFORM_SOFTMAX,
    SATTN_CONFORM_LOG_SOFTMAX,
    SATTN_CONFORM_OPS
} sattn_conform_op;

static inline bool sattn_conform_is_attention(sattn_conform_op op)
{
    return op == SATTN_CONFORM_ATTENTION || op == SATTN_CONFORM_FLEX_ATTENTION;
}

typedef enum sattn_conform_input {
    SATTN_CONFORM_Q,
    SATTN_CONFORM_K,
    SATTN_CONFORM_V,
    SATTN_CONFORM_MASK,
    SATTN_CONFORM_PAST_K,
    SATTN_CONFORM_PAST_V,
    SATTN_CONFORM_NONPAD,
    SATTN_CONFORM_X,
    SATTN_CONFORM_INPUTS
} sattn_conform_input;

typedef enum sattn_conform_output {
    SATTN_CONFORM_Y,
    SATTN_CONFORM_QK,
    SATTN_CONFORM_PRESENT_K,
    SATTN_CONFORM_PRESENT_V,
    SATTN_CONFORM_OUTPUTS
} sattn_conform_output;

typedef struct sattn_conform_tensor {
    sattn_npy_type type;
    int rank;
    int64_t shape[SATTN_CONFORM_RANK_MAX];
    int64_t n_elements;
    void *data; /* dense, C order; NULL: the test has no such tensor */
} sattn_conform_tensor;

/* ONNX's names; absent ones have the value that ONNX gives them. */
typedef struct sattn_conform_attributes {
    bool is_causal, has_scale;
    double scale;
    double softcap;                              /* 0: off */
    int64_t q_num_heads, kv_num_heads;           /* 0: not given */
    int qk_matmul_output_mode;                   /* 0 to 3 */
    int softmax_precision;                       /* an ONNX type, 0: not given */
    int64_t left_window_size, right_window_size; /* -1: unbounded */
    int64_t axis;                                /* may count from the end */
} sattn_conform_attributes;

/* The ONNX types that softmax_precision names. */
enum {
    SATTN_CONFORM_PRECISION_F32 = 1,
    SATTN_CONFORM_PRECISION_F16 = 10,
    SATTN_CONFORM_PRECISION_F64 = 11,
    SATTN_CONFORM_PRECISION_BF16 = 16
};

typedef struct sattn_conform_dims {
    int64_t batch, q_heads, kv_heads, n_q, n_new, n_past, n_k, d, d_v; /* n_k = n_past + n_new */
} sattn_conform_dims;

typedef struct sattn_conform_test {
    const char *name, *note; /* note: NULL if the manifest has none */
    sattn_conform_op op;
    int opset;
    double rtol, atol; /* as the manifest has them */
    sattn_conform_attributes attributes;
    bool is_3d;              /* Q, K, V and Y are [batch, tokens, heads * features] */
    sattn_conform_dims dims; /* of attentions */
    sattn_conform_tensor inputs[SATTN_CONFORM_INPUTS], outputs[SATTN_CONFORM_OUTPUTS];
} sattn_conform_test;

typedef struct sattn_conform_suite {
    json_t *manifest; /* owns the texts */
    char *directory;
    const char *label; /* the directory's own name, as short as it stays clear; points into it */
    int label_length;
    const char *source; /* where the data come from; may be NULL */
    sattn_conform_test *tests;
    size_t n_tests;
} sattn_conform_suite;

typedef struct sattn_conform_suites {
    sattn_conform_suite *suites;
    size_t count;
    char **left_out; /* directories with a manifest that has no tests: it is of something else */
    size_t n_left_out;
} sattn_conform_suites;

const char *sattn_conform_op_name(sattn_conform_op op);
const char *sattn_conform_input_name(sattn_conform_input input);
const char *sattn_conform_output_name(sattn_conform_output output);
const char *sattn_conform_type_name(sattn_npy_type type);
/* An element as a number; the type is not a float: 0 or 1, or an integer. */
double sattn_conform_element(const sattn_conform_tensor *tensor, int64_t n);

/* Reads `directory`, if a manifest.json lies there, or else every directory in it that has one, by
 * name. On failure `error` says which file is wrong, and how. No suite at all is no failure. To be
 * freed either way. */
bool sattn_conform_suites_read(const char *directory, sattn_conform_suites *suites, char *error,
                               size_t error_size);
void sattn_conform_suites_free(sattn_conform_suites *suites);

/* One suite; its label is not set. The parts below it, apart for the files they stand in. */
bool sattn_conform_suite_read(const char *directory, sattn_conform_suite *suite, char *error,
                              size_t error_size);
void sattn_conform_suite_free(sattn_conform_suite *suite);

/* Where a message belongs to. */
typedef struct sattn_conform_reader {
    const char *directory;
    const char *test; /* NULL: outside of any */
    char *error;
    size_t error_size;
} sattn_conform_reader;

/* Writes the message, with file and test in front, and returns false. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
bool sattn_conform_refuse(const sattn_conform_reader *reader, const char *format, ...);

/* Whether `object` is one and each of its keys is among the names; `what` is what it is called. */
bool sattn_conform_known_keys(const sattn_conform_reader *reader, const json_t *object,
                              const char *what, const char *const *names, size_t n_names);

/* A tensor as the manifest describes it, with its data; counts of values that are not finite must
 * be as described. */
bool sattn_conform_tensor_read(const sattn_conform_reader *reader, const json_t *description,
                               const char *name, sattn_conform_tensor *tensor);
/* One test. Its data are freed with the suite. */
bool sattn_conform_test_read(const sattn_conform_reader *reader, const json_t *object,
                             sattn_conform_test *test);
/* Whether extents, attributes and shapes agree. */
bool sattn_conform_shapes_agree(const sattn_conform_reader *reader, const sattn_conform_test *test);

#endif
