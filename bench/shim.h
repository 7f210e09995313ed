/* SPDX-License-Identifier: MIT
 *
 * shim.h: what the program needs of Google Benchmark (1.7 and newer), for C.
 *
 *   static void body(sattn_shim_state *state, void *arg)
 *   {
 *       while (sattn_shim_keep_running(state))
 *           sattn_shim_set_iteration_time(state, measure(arg));
 *   }
 *   sattn_shim_register("name", body, arg, &(sattn_shim_options){.manual_time = true});
 *   sattn_shim_initialize(&argc, argv);
 *   if (!sattn_shim_report_unrecognized(argc, argv) && sattn_shim_run(SATTN_SHIM_STDOUT) == 0)
 *       the filter matched nothing
 *   sattn_shim_shutdown();
 *
 * Google Benchmark's own options keep working: sattn_shim_initialize takes those it knows out of
 * argv, --benchmark_out writes its own file whatever is displayed. */
#ifndef SATTN_BENCH_SHIM_H
#define SATTN_BENCH_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One run of a benchmark; valid while its function runs. */
typedef struct sattn_shim_state sattn_shim_state;
typedef void sattn_shim_fn(sattn_shim_state *state, void *arg);

typedef enum sattn_shim_unit {
    SATTN_SHIM_UNIT_DEFAULT = 0, /* what --benchmark_time_unit says, else nanoseconds */
    SATTN_SHIM_NANOSECONDS,
    SATTN_SHIM_MICROSECONDS,
    SATTN_SHIM_MILLISECONDS,
    SATTN_SHIM_SECONDS,
} sattn_shim_unit;

/* Zero means Google Benchmark's default. */
typedef struct sattn_shim_options {
    bool manual_time;   /* time is what sattn_shim_set_iteration_time says, else wall time */
    int64_t iterations; /* exactly so many, instead of as many as fill the minimum time */
    int repetitions;
    double min_time_s;    /* not together with iterations */
    bool aggregates_only; /* report mean, median, ... and not each repetition */
    sattn_shim_unit unit;
} sattn_shim_options;

/* Registers a benchmark; `options` may be NULL. `arg` must live until sattn_shim_run returns. */
void sattn_shim_register(const char *name, sattn_shim_fn *fn, void *arg,
                         const sattn_shim_options *options);

/* The loop of a benchmark: true while there is an iteration to do. Costs 1 to 2 ns: bodies of less
 * than a microsecond take the batch form, n iterations at a time. */
bool sattn_shim_keep_running(sattn_shim_state *state);
bool sattn_shim_keep_running_batch(sattn_shim_state *state, int64_t n);
/* Time of the iteration just done, with manual_time. */
void sattn_shim_set_iteration_time(sattn_shim_state *state, double seconds);

typedef enum sattn_shim_counter_kind {
    SATTN_SHIM_VALUE,          /* as it is; the mean over threads */
    SATTN_SHIM_RATE,           /* divided by the whole time */
    SATTN_SHIM_ITERATION_RATE, /* times iterations, divided by the whole time */
} sattn_shim_counter_kind;

/* A counter of the row, after the loop. A value that is not finite is left out: Google Benchmark
 * would write it as something that is not JSON. */
void sattn_shim_counter(sattn_shim_state *state, const char *name, double value,
                        sattn_shim_counter_kind kind);
void sattn_shim_label(sattn_shim_state *state, const char *text);
/* Marks the row as failed. The loop ends; a call before it makes it not begin. */
void sattn_shim_skip_with_error(sattn_shim_state *state, const char *text);

/* Adds a pair to the context of Google Benchmark's own outputs; before sattn_shim_run. */
void sattn_shim_add_context(const char *key, const char *value);

void sattn_shim_initialize(int *argc, char **argv);
/* Prints what is left in argv to stderr; true if there is anything. */
bool sattn_shim_report_unrecognized(int argc, char **argv);

typedef enum sattn_shim_display {
    SATTN_SHIM_STDOUT, /* as --benchmark_format says */
    SATTN_SHIM_STDERR, /* the console table, on stderr */
    SATTN_SHIM_QUIET,  /* nothing on stdout */
} sattn_shim_display;

/* Runs what was registered and passes --benchmark_filter; returns how many benchmarks matched. */
size_t sattn_shim_run(sattn_shim_display display);
void sattn_shim_shutdown(void);

/* Version of Google Benchmark, "unknown" for 1.7, which cannot tell. */
const char *sattn_shim_version(void);

#ifdef __cplusplus
}
#endif

#endif
