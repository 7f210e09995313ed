/* SPDX-License-Identifier: MIT
 *
 * check.h: what `simdattn check` is made of.
 *
 * A variant is a row of the registry, or the chain of qk, softmax and av at one ISA level. An entry
 * is one variant on one shape class and one kind of data: its outputs are compared with the oracle
 * (bench/verify/), and its worst and mean error are what a baseline stores. The same options and
 * seed make the same entries on every machine. */
#ifndef SATTN_BENCH_CHECK_CHECK_H
#define SATTN_BENCH_CHECK_CHECK_H

#include "bench/names.h"
#include "bench/verify/compare.h"
#include "bench/verify/inputs.h"
#include "dispatch/registry.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sattn_check_options {
    bool full; /* preset full, else quick */
    sattn_name_list ops, isas, kernels, shapes, data;
    const char *dataset;
    const char *baseline, *write_baseline; /* NULL: none */
    uint64_t seed;
    bool json, help;
} sattn_check_options;

/* False: wrong usage; a sentence has gone to stderr. To be freed either way. */
bool sattn_check_options_parse(int argc, char **argv, sattn_check_options *options);
void sattn_check_options_free(sattn_check_options *options);
void sattn_check_help(void);

/* ---- shape classes and data */

enum { SATTN_CHECK_NO_LAYER = -1 };

/* Of whole attentions and their steps. */
typedef struct sattn_check_shape {
    const char *name, *note;
    int64_t batch, n_q_heads, n_kv_heads, n_q, n_k, d, d_v;
    int64_t window_left, window_right;
    float scale, softcap; /* 0: the default, off */
    bool full_only;       /* not in preset quick */
    bool causal, has_window;
    bool has_lengths;    /* batch entry b lacks its last keys */
    bool has_bias;       /* an additive mask per head, unless the data bring a mask */
    bool has_alibi;      /* the slopes of the paper, 2^(-8 (h + 1) / n_q_heads) */
    bool has_sinks;      /* some strong, some weak, and none in head 1 */
    bool is_interleaved; /* rows of all heads side by side, [batch, rows, heads, features] */
    int layer;           /* captured MiniLM layer, or SATTN_CHECK_NO_LAYER */
} sattn_check_shape;

const sattn_check_shape *sattn_check_shapes(size_t *count);

/* Of additive, linear and gru. */
typedef struct sattn_check_layer {
    char name[32];                /* align-2x37-d64, map-5x47-130-packed, gates-3x512 */
    int64_t n_rows, n_columns, d; /* queries, keys, features; rows, outputs, inputs; rows, units */
    sattn_op op;
    bool is_packed; /* the weights of a linear map */
} sattn_check_layer;

const sattn_check_layer *sattn_check_layers(size_t *count);

/* Of exp, tanh and sigmoid: a length of the array, and where its numbers come from. */
typedef struct sattn_check_length {
    const char *name;
    int64_t n;
    bool full_only;
} sattn_check_length;

typedef struct sattn_check_range {
    const char *name, *note;
    double low, high; /* uniform between these; both 0: any bit pattern */
    bool is_special;  /* zeros, infinities, NaN, the ends of the range, in turn */
} sattn_check_range;

const sattn_check_length *sattn_check_lengths(size_t *count);
const sattn_check_range *sattn_check_ranges(size_t *count);
void sattn_check_range_fill(const sattn_check_range *range, uint64_t seed, float *x, int64_t n);

/* The name of the captured data; of made data it is sattn_input_name(). */
#define SATTN_CHECK_REAL_DATA "minilm"

/* ---- variants and entries */

enum { SATTN_CHECK_NAME_SIZE = 64, SATTN_CHECK_TEXT_SIZE = 320 };

typedef struct sattn_check_variant {
    const char *op; /* of the registry, or "chain" */
    char kernel[SATTN_CHECK_NAME_SIZE];
    const char *isa;
    const sattn_kernel *row;             /* NULL: a chain */
    char why_not[SATTN_CHECK_TEXT_SIZE]; /* "": it can run here */
    bool is_wanted;                      /* by --op, --isa and --kernel */
} sattn_check_variant;

static inline bool sattn_check_is_chain(const sattn_check_variant *variant)
{
    return variant->row == NULL;
}

/* Whether it is part of this run. */
static inline bool sattn_check_runs(const sattn_check_variant *variant)
{
    return variant->is_wanted && !*variant->why_not;
}

typedef struct sattn_check_entry {
    size_t variant;
    const char *shape, *data;
    sattn_verify_result result;
    char refused[SATTN_CHECK_TEXT_SIZE]; /* "": the call was made and its outputs compared */
} sattn_check_entry;

bool sattn_check_entry_good(const sattn_check_entry *entry);

typedef struct sattn_check_run {
    const sattn_check_options *options;
    sattn_check_variant *variants;
    size_t n_variants;
    sattn_check_entry *entries;
    size_t n_entries, capacity;
    double seconds;
} sattn_check_run;

/* All variants of this build in the order of the table, those that cannot run here too. `usable`
 * are the features that kernels may use. False: out of memory. */
bool sattn_check_variants(const sattn_check_options *options, sattn_features usable,
                          sattn_check_run *run);
/* What an error of this op is given in, in words. */
const char *sattn_check_unit(const char *op);

/* Runs and compares everything. Returns an exit code; unless it is 0 or 1, a sentence has gone to
 * stderr. */
int sattn_check_execute(sattn_check_run *run);
/* The part of it that is additive, linear and gru; false: out of memory. */
bool sattn_check_run_layers(sattn_check_run *run);
/* A new entry; NULL: out of memory. */
sattn_check_entry *sattn_check_add(sattn_check_run *run, size_t variant, const char *shape,
                                   const char *data);
void sattn_check_run_free(sattn_check_run *run);

/* Whether the options ask for this shape and data. */
bool sattn_check_wants(const sattn_check_options *options, const char *shape, const char *data);
/* Whether the shape is one of preset full only. */
bool sattn_check_full_only(const char *shape);

/* ---- the report */

/* Totals of one variant over its entries. */
typedef struct sattn_check_total {
    int64_t n_entries, n_elements, n_failed; /* entries failed */
    double worst, worst_bound, mean, worst_ratio;
    bool is_finite; /* false: some output was not finite where it had to be */
} sattn_check_total;

sattn_check_total sattn_check_total_of(const sattn_check_run *run, size_t variant);
void sattn_check_print(const sattn_check_run *run);
/* One sentence about an entry that is not good. */
void sattn_check_describe(const sattn_check_run *run, const sattn_check_entry *entry, char *text,
                          size_t size);

#endif
