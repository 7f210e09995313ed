/* SPDX-License-Identifier: MIT
 *
 * conform.h: what `simdattn conform` is made of.
 *
 * A variant is a fused kernel, a chain of qk, softmax and av kernels, or a softmax kernel. Every
 * test of every suite (conform_manifest.h) is made a call once (conform_problem.h), run by each
 * variant of its operator and compared with what the suite expects. */
#ifndef SATTN_BENCH_CONFORM_CONFORM_H
#define SATTN_BENCH_CONFORM_CONFORM_H

#include "bench/conform/conform_problem.h"
#include "bench/names.h"
#include "dispatch/cpu.h"

#include <jansson.h>

typedef struct sattn_conform_options {
    const char *directory;
    const char *filter; /* NULL, or a text that names of tests must hold */
    sattn_name_list isas, kernels;
    bool list, json, help;
} sattn_conform_options;

/* False: wrong usage; a sentence has gone to stderr. To be freed either way. */
bool sattn_conform_options_parse(int argc, char **argv, sattn_conform_options *options);
void sattn_conform_options_free(sattn_conform_options *options);
void sattn_conform_help(void);

/* ---- variants */

enum { SATTN_CONFORM_NAME_SIZE = 64, SATTN_CONFORM_VARIANTS_MAX = 96 };

typedef struct sattn_conform_variant {
    const char *op; /* "fused", "chain", "softmax" */
    char name[SATTN_CONFORM_NAME_SIZE];
    char kernels[4 * SATTN_CONFORM_NAME_SIZE]; /* as in sattn_options */
    const char *isa;
    char why_not[256]; /* "": it can run here */
    bool is_wanted;    /* by --isa and --kernel */
} sattn_conform_variant;

typedef struct sattn_conform_variants {
    sattn_conform_variant all[SATTN_CONFORM_VARIANTS_MAX];
    size_t count;
} sattn_conform_variants;

/* All of this build in the order of the table, those that cannot run here too. A chain takes the
 * kernels of one ISA and one tag, and where a step has none of that tag, the ISA's plain one. */
void sattn_conform_variants_make(const sattn_conform_options *options, sattn_features usable,
                                 sattn_conform_variants *variants);
static inline bool sattn_conform_runs(const sattn_conform_variant *variant)
{
    return variant->is_wanted && !*variant->why_not;
}
/* Whether the variant computes the operator, and whether it returns the output qk. */
bool sattn_conform_computes(const sattn_conform_variant *variant, sattn_conform_op op);
bool sattn_conform_returns_qk(const sattn_conform_variant *variant);
sattn_options sattn_conform_call(const sattn_conform_variant *variant);

/* ---- the run */

typedef struct sattn_conform_entry {
    size_t variant, suite;
    const sattn_conform_test *test;
    sattn_conform_result result;
    char refused[SATTN_CONFORM_TEXT_SIZE]; /* "": the call was made */
} sattn_conform_entry;

bool sattn_conform_entry_good(const sattn_conform_entry *entry);

/* A test that no variant was given: never a pass. */
typedef struct sattn_conform_missed {
    size_t suite;
    const sattn_conform_test *test;
    char why[SATTN_CONFORM_TEXT_SIZE];
} sattn_conform_missed;

typedef struct sattn_conform_run {
    const sattn_conform_options *options;
    sattn_conform_suites suites;
    sattn_conform_variants variants;
    sattn_conform_entry *entries;
    size_t n_entries, capacity;
    sattn_conform_missed *missed;
    size_t n_missed;
    int64_t n_tests;                         /* selected */
    int64_t adapted[SATTN_CONFORM_ADAPTERS]; /* tests that needed it */
    double seconds;
} sattn_conform_run;

bool sattn_conform_wants(const sattn_conform_options *options, const sattn_conform_test *test);
/* Runs and compares everything; false: out of memory. */
bool sattn_conform_execute(sattn_conform_run *run);
void sattn_conform_run_free(sattn_conform_run *run);

/* ---- the report */

/* Of one variant, over one suite or, with SATTN_CONFORM_ALL, all of them. Tests that could not be
 * run are among those of a variant, and have not passed. */
#define SATTN_CONFORM_ALL SIZE_MAX
typedef struct sattn_conform_total {
    int64_t n_tests, n_passed, n_with_qk; /* n_with_qk: in which the output qk was compared too */
    double worst;
    const sattn_conform_entry *worst_entry; /* NULL: nothing was compared */
} sattn_conform_total;

/* `variant` may be SATTN_CONFORM_ALL too. */
sattn_conform_total sattn_conform_total_of(const sattn_conform_run *run, size_t variant,
                                           size_t suite);
/* Failed entries. */
int64_t sattn_conform_count_failed(const sattn_conform_run *run);
void sattn_conform_print(const sattn_conform_run *run);
void sattn_conform_print_list(const sattn_conform_run *run);
/* NULL: out of memory. */
json_t *sattn_conform_document(const sattn_conform_run *run, json_t *environment);

#endif
