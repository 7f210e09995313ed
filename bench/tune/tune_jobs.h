/* SPDX-License-Identifier: MIT
 *
 * tune_jobs.h: the classes that a run tunes, each on one shape that stands for it, most wanted
 * first. */
#ifndef SATTN_BENCH_TUNE_TUNE_JOBS_H
#define SATTN_BENCH_TUNE_TUNE_JOBS_H

#include "bench/ops/ops.h"
#include "bench/shapes.h"
#include "bench/tune/tune_options.h"
#include "dispatch/candidates.h"

typedef enum sattn_tune_tier {
    SATTN_TUNE_ASKED,   /* by --shape */
    SATTN_TUNE_MODELS,  /* attentions of the presets models and decode */
    SATTN_TUNE_STEPS,   /* single steps and arrays, on the shapes of their ops */
    SATTN_TUNE_LENGTHS, /* decode steps of the models with fewer and more keys, as a cache grows */
    SATTN_TUNE_OTHERS,  /* attentions on all other named shapes */
    SATTN_TUNE_STRIDED, /* those of models and decode with their tensors interleaved */
    SATTN_TUNE_TIERS
} sattn_tune_tier;

/* "models and decode" */
const char *sattn_tune_tier_name(sattn_tune_tier tier);

typedef struct sattn_tune_job {
    sattn_tune_tier tier;
    sattn_op op; /* fused: a whole attention, in whatever way */
    const sattn_bench_task *task;
    sattn_shape shape; /* whole, as it is named */
    sattn_shape_class shape_class;
    const char *isa;       /* cap of its calls, NULL: none but that of the environment */
    sattn_features usable; /* under the cap */
    int threads;
    bool is_whole; /* all of the shape is measured, however long a call takes */
    int n_shapes;  /* named ones of this class, of its tier */
} sattn_tune_job;

typedef struct sattn_tune_jobs {
    sattn_tune_job *jobs;
    size_t count;
} sattn_tune_jobs;

/* "llama3-8b-384", "llama3-8b-384, interleaved", "llama3-8b-decode-2049, 768 keys" */
void sattn_tune_job_shape(const sattn_tune_job *job, char *text, size_t size);

/* That with its op, unless it is a whole attention, cap and threads, if there are several:
 * "exp, array-64, avx2". */
void sattn_tune_job_name(const sattn_tune_job *job, char *text, size_t size);

/* A job that is one shape, whatever others are of its class. */
sattn_tune_job sattn_tune_job_of(sattn_op op, const sattn_shape *shape, const char *isa,
                                 sattn_features usable, int threads);

/* The class of a call of an op on a shape. */
sattn_shape_class sattn_tune_class_of(sattn_op op, const sattn_shape *shape, int threads);

/* `usable` are the features that kernels may use, under the environment's cap. Returns an exit
 * code, and unless it is 0 a sentence has gone to stderr. To be freed either way. */
int sattn_tune_select(const sattn_tune_options *options, sattn_features usable,
                      sattn_tune_jobs *list);
void sattn_tune_jobs_free(sattn_tune_jobs *list);

/* What of a shape is measured: so many of its KV heads, of one batch entry, that a call does not
 * take long; a class does not depend on them. */
int64_t sattn_tune_heads(const sattn_tune_job *job);

/* The recipes that are tried for a job's class, the default first: all that may run here. False:
 * `error` says why there are none. */
typedef struct sattn_tune_recipes {
    sattn_recipe list[SATTN_RECIPES_MAX];
    size_t count;
} sattn_tune_recipes;

bool sattn_tune_list_recipes(const sattn_tune_job *job, sattn_tune_recipes *recipes, char *error,
                             size_t error_size);

#endif
