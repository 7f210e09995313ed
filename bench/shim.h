/* SPDX-License-Identifier: MIT
 *
 * shim.h: what the program needs of Google Benchmark (1.7 and newer), for C.
 *
 *   static void body(sattn_shim_state *state, void *arg)
 *   {
 *       while (sattn_shim_keep_running(state))
 *           sattn_shim_set_iteration_time(state, seconds_of(arg));
 *   }
 *   sattn_shim_initialize(&argc, argv);
 *   if (!sattn_shim_report_unrecognized(argc, argv)) {
 *       sattn_shim_register("name", body, arg, 5);
 *       sattn_shim_run(true);
 *   }
 *
 * Google Benchmark's own options keep working: sattn_shim_initialize takes those it knows out of
 * argv, --benchmark_out writes its own file whatever is displayed. */
#ifndef SATTN_BENCH_SHIM_H
#define SATTN_BENCH_SHIM_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One run of a benchmark; valid while its function runs. */
typedef struct sattn_shim_state sattn_shim_state;
typedef void sattn_shim_fn(sattn_shim_state *state, void *arg);

void sattn_shim_initialize(int *argc, const char **argv);
/* Prints what is left in argv to stderr; true if there is anything. */
bool sattn_shim_report_unrecognized(int argc, const char **argv);

/* Registers a benchmark of one iteration, whose time is what sattn_shim_set_iteration_time says.
 * `arg` must live until sattn_shim_run returns. */
void sattn_shim_register(const char *name, sattn_shim_fn *fn, void *arg, int repetitions);
/* Adds a pair to the context of Google Benchmark's own outputs; before sattn_shim_run. */
void sattn_shim_add_context(const char *key, const char *value);

/* Runs what was registered, once; with `display` the report is on standard output, in the form that
 * --benchmark_format says. */
void sattn_shim_run(bool display);

/* The loop of a benchmark: true while there is an iteration to do. */
bool sattn_shim_keep_running(sattn_shim_state *state);
/* Time of the iteration just done. */
void sattn_shim_set_iteration_time(sattn_shim_state *state, double seconds);
/* A counter of the row, after the loop. A value that is not finite is left out: Google Benchmark
 * would write it as something that is not JSON. */
void sattn_shim_counter(sattn_shim_state *state, const char *name, double value);
void sattn_shim_label(sattn_shim_state *state, const char *text);
/* Marks the row as failed. The loop ends; a call before it makes it not begin. */
void sattn_shim_skip_with_error(sattn_shim_state *state, const char *text);

#ifdef __cplusplus
}
#endif

#endif
