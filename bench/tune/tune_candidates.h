/* SPDX-License-Identifier: MIT
 *
 * tune_candidates.h: the recipes that are tried for a class, and which of them may be timed.
 *
 * A call takes a recipe by the way that it will take it later: by a profile, here one of a single
 * class. A recipe is admitted where its results are right, and as exact as the run wants them, on
 * the shape that is timed and at the corners of the class: a kernel that is fast because it leaves
 * something out is in no race (case D17). An oracle takes far longer than a call, so a few calls
 * come first, and what is much slower than the fastest that is admitted need not be verified,
 * unless it must race; but one call may be unlucky, so a single one tells nothing. */
#ifndef SATTN_BENCH_TUNE_TUNE_CANDIDATES_H
#define SATTN_BENCH_TUNE_TUNE_CANDIDATES_H

#include "bench/bench/bench_call.h"
#include "bench/measure/calls.h"
#include "bench/tune/race.h"
#include "bench/tune/tune_corners.h"
#include "bench/tune/tune_jobs.h"
#include "bench/verify/answers.h"
#include "dispatch/recipe.h"

typedef enum sattn_tune_verdict {
    SATTN_TUNE_PENDING,
    SATTN_TUNE_ADMITTED,
    SATTN_TUNE_REJECTED, /* wrong, refused, or not exact enough: see `why` */
    SATTN_TUNE_TOO_SLOW, /* much slower than one that was admitted: not verified, not raced */
} sattn_tune_verdict;

enum {
    SATTN_TUNE_WHY = 256,
    SATTN_TUNE_PROBES = 4,
    SATTN_TUNE_VERIFIED = 1 + SATTN_TUNE_CORNERS /* shapes: the one that is timed, and corners */
};

typedef struct sattn_tune_candidate {
    sattn_recipe recipe;
    sattn_variant variant;  /* how `bench` calls and verifies it */
    sattn_profile *profile; /* that has calls of the class take the recipe */
    bool must_race;         /* however slow it is: what it takes is the question */
    sattn_tune_verdict verdict;
    char why[SATTN_TUNE_WHY];
    bool is_inexact; /* rejected for --max-error alone: it is right, and within its bound */
    double probe_ns[SATTN_TUNE_PROBES]; /* of its first calls, in order of time */
    int n_probes;
    double probing_ns; /* that they took together */
    sattn_verify_result verified;
    sattn_bench_call call; /* on the shape that is timed; open unless it is out */
} sattn_tune_candidate;

/* The time of one of so many calls. */
typedef sattn_race_window sattn_tune_time(const sattn_measure_candidate *measured, int64_t calls);

/* That of this machine's clock. */
sattn_tune_time sattn_tune_time_calls;

/* When to leave off. All 0: never. */
typedef struct sattn_tune_limits {
    int64_t (*now_ns)(void);
    int64_t deadline_ns;
    bool (*is_stopped)(void);
} sattn_tune_limits;

typedef struct sattn_tune_field {
    const sattn_tune_job *job;
    sattn_tune_candidate *list; /* the default first */
    size_t count;
    sattn_workload workload;
    sattn_attention_args args; /* the part of it that is timed */
    int64_t cursor;
    char part[64];     /* "2 of 32 heads", or "" */
    int64_t tile_rows; /* of the largest tile of a candidate: which rows are verified */
    uint64_t seed;     /* of others that are */
    sattn_verify_answers answers[SATTN_TUNE_VERIFIED]; /* the oracle's */
    sattn_tune_limits limits;
    bool is_cut;           /* it was left off: some candidates are pending */
    sattn_tune_time *time; /* sattn_tune_time_calls, but in tests */
} sattn_tune_field;

/* Makes the shape's tensors and a candidate of each recipe, the first of them the default. False:
 * `error` says why. To be closed either way. */
bool sattn_tune_field_open(sattn_tune_field *field, const sattn_tune_job *job,
                           const sattn_recipe *recipes, size_t count, char *error,
                           size_t error_size);

/* A shape's tensors, for a task. */
bool sattn_tune_open_workload(sattn_workload *workload, const sattn_bench_task *task,
                              const sattn_shape *shape, char *error, size_t error_size);

/* Gives every candidate its verdict, unless the field's limits cut it short. max_error as in the
 * options. False: no memory for a corner. */
bool sattn_tune_admit(sattn_tune_field *field, double max_error);

/* Admits all of them: they have been verified on other shapes of the class. False: one is refused.
 */
bool sattn_tune_trust(sattn_tune_field *field);

void sattn_tune_field_close(sattn_tune_field *field);

#endif
