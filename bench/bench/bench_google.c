/* SPDX-License-Identifier: MIT
 *
 * bench_google.c: rounds interleave the rows of a shape with each other and with their references,
 * which Google Benchmark, running one benchmark after the other, cannot do. So the rounds come
 * first, and each becomes a repetition whose manual time is the one measured. The cpu_time in its
 * outputs is that of handing over; the files of --out have the measured one. */
#include "bench/bench/bench_google.h"

#include "bench/shim.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct replay {
    const sattn_bench_row *row;
    int next; /* round */
} replay;

/* A counter of 0 is left out: its coefficient of variation would be 0/0, which is not JSON. */
static void add_counter(sattn_shim_state *state, const char *name, double value)
{
    if (value > 0)
        sattn_shim_counter(state, name, value);
}

static void replay_round(sattn_shim_state *state, void *context)
{
    replay *const self = context;
    const sattn_bench_row *const row = self->row;
    const sattn_measure_result *const m = &row->measured;
    if (row->state != SATTN_ROW_MEASURED) {
        sattn_shim_skip_with_error(state, *row->why ? row->why : "not run");
        return;
    }
    const int round = self->next < m->time_ns.n ? self->next : m->time_ns.n - 1;
    ++self->next;
    const double scale = sattn_bench_row_scale(row);
    while (sattn_shim_keep_running(state))
        sattn_shim_set_iteration_time(state, m->times[round] * scale * 1e-9);
    add_counter(state, "simdattn_gflop_per_s", row->work.flops / m->times[round]);
    add_counter(state, "simdattn_gelem_per_s", row->work.elements / m->times[round]);
    add_counter(state, "simdattn_gb_per_s", row->work.bytes / m->times[round]);
    if (m->bound >= 0)
        add_counter(state, "simdattn_share", m->shares[m->bound][round]);
    add_counter(state, "simdattn_err", row->verified.worst_error);
    add_counter(state, "simdattn_err_bound", row->verified.worst_bound);
    if (*row->part)
        sattn_shim_label(state, row->part);
}

bool sattn_bench_google_begin(sattn_bench_options *options)
{
    sattn_shim_initialize(&options->google_argc, options->google_argv);
    return !sattn_shim_report_unrecognized(options->google_argc, options->google_argv);
}

bool sattn_bench_google_report(const sattn_bench_jobs *list, const sattn_environment *environment,
                               bool display)
{
    size_t n_rows = 0;
    for (size_t j = 0; j < list->count; ++j)
        n_rows += list->jobs[j].n_rows;
    replay *const replays = calloc(n_rows ? n_rows : 1, sizeof *replays);
    if (!replays) {
        fputs("simdattn bench: out of memory for the rows of Google Benchmark's outputs\n", stderr);
        return false;
    }
    size_t at = 0;
    for (size_t j = 0; j < list->count; ++j)
        for (size_t r = 0; r < list->jobs[j].n_rows; ++r) {
            const sattn_bench_row *const row = &list->jobs[j].rows[r];
            replays[at].row = row;
            const int rounds = row->state == SATTN_ROW_MEASURED ? row->measured.time_ns.n : 1;
            sattn_shim_register(row->name, replay_round, &replays[at++], rounds);
        }
    sattn_shim_add_context("simdattn_cpu_model", environment->cpu_model);
    sattn_shim_add_context("simdattn_compiler", environment->build.compiler);
    sattn_shim_add_context("simdattn_commit", environment->build.commit);
    sattn_shim_add_context("simdattn_sleef_version", environment->build.sleef_version);
    sattn_shim_add_context("simdattn_openmp", environment->build.openmp);
    sattn_shim_run(display);
    free(replays);
    return true;
}
