/* SPDX-License-Identifier: MIT
 *
 * bench_report.c: the table. Errors are in the unit of the task (bench/verify/steps.h). */
#include "bench/bench/bench_report.h"

#include "bench/bench/bench_autovec.h"
#include "bench/bench/bench_choice.h"
#include "bench/bench/bench_list.h"
#include "bench/bench/bench_run.h"
#include "bench/bench/bench_split.h"
#include "bench/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    COLUMN_KERNEL,
    COLUMN_THREADS,
    COLUMN_DATA,
    COLUMN_TIME,
    COLUMN_SPREAD,
    COLUMN_RATE,
    COLUMN_SHARE,
    COLUMN_ONE_THREAD,
    COLUMN_SLOWDOWN,
    COLUMN_OVER_KERNEL,
    COLUMN_FUSED,
    COLUMN_PEER,
    COLUMN_SCALAR,
    COLUMN_AUTOVEC,
    COLUMN_ERROR,
    COLUMN_NOTE,
    N_COLUMNS
};

/* What a row's rate is given in: elements cost time, few query rows cost reading K and V, the rest
 * costs multiply-adds. */
typedef enum rate { RATE_FLOPS, RATE_BYTES, RATE_ELEMENTS } rate;

static rate rate_of(const sattn_bench_job *job)
{
    if (job->task->compute == SATTN_LIMIT_EXP)
        return RATE_ELEMENTS;
    return job->phase != SATTN_PHASE_PREFILL ? RATE_BYTES : RATE_FLOPS;
}

/* Columns that only some jobs have. */
typedef struct extra_columns {
    bool fused;      /* some row is a chain beside a fused kernel */
    bool threads;    /* some row has several threads */
    bool one_thread; /* and stands beside the same on one */
    bool peer;       /* some row stands beside a peer */
    bool calls;      /* rows are ways to make a call, or layers: no kernels to be compared */
} extra_columns;

static extra_columns extra_of(const sattn_bench_job *job)
{
    extra_columns extra = {.calls = job->task->is_bare || job->task->is_layer};
    for (size_t r = 0; r < job->n_rows; ++r) {
        extra.fused = extra.fused || job->rows[r].over_fused.n > 0;
        extra.threads = extra.threads || job->rows[r].threads > 1;
        extra.peer = extra.peer || job->rows[r].peer;
        extra.one_thread = extra.one_thread || job->rows[r].over_one_thread.n > 0;
    }
    return extra;
}

static void make_columns(const sattn_bench_job *job, sattn_table_column columns[N_COLUMNS])
{
    static const char *const rates[] = {"GFLOP/s", "GB/s", "ns/elem"};
    const bool many = job->n_data > 1;
    const extra_columns extra = extra_of(job);
    const sattn_table_column all[N_COLUMNS] = {
        {"  kernel", 32, false},
        {extra.threads ? "threads" : "", 0, true},
        {many ? "data" : "", 0, false},
        {"time", 7, true},
        {"spread", 7, true},
        {rates[rate_of(job)], 7, true},
        {"of bound", 10, true},
        {extra.one_thread ? "vs t1" : "", 0, true},
        {many ? "slowdown" : "", 0, true},
        {job->task->is_bare ? "over kernel" : "", 0, true},
        {extra.fused ? "vs fused" : "", 0, true},
        {extra.peer ? "vs best peer" : "", 0, false},
        {extra.calls ? "" : "vs scalar", extra.calls ? 0 : 9, true},
        {extra.calls ? "" : "vs autovec", extra.calls ? 0 : 10, true},
        {"error / max", 12, true},
        {"", 0, false},
    };
    memcpy(columns, all, sizeof all);
}

static void format_factor(const sattn_stat *speedup, char *text, size_t size)
{
    const double factor = speedup->median;
    if (speedup->n > 0 && isfinite(factor))
        snprintf(text, size, "%.*fx", factor >= 99.95 ? 0 : factor >= 9.995 ? 1 : 2, factor);
    else
        snprintf(text, size, "-");
}

static void format_rate(const sattn_bench_job *job, const sattn_bench_row *row, char *text,
                        size_t size)
{
    const double ns = row->measured.time_ns.median;
    double value = ns / row->work.elements;
    if (rate_of(job) != RATE_ELEMENTS)
        value = (rate_of(job) == RATE_BYTES ? row->work.bytes : row->work.flops) / ns;
    const int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : value >= 0.9995 ? 2 : 3;
    snprintf(text, size, "%.*f", decimals, value);
}

void sattn_bench_print_header(const sattn_environment *environment, const sattn_places *places,
                              const char *arguments)
{
    char machine[320], threads[160];
    const size_t terminal = 100;
    sattn_places_print(places, threads, sizeof threads);
    snprintf(machine, sizeof machine, "%s (%s), %s, %.16s, commit %.9s%s,", environment->cpu_model,
             environment->isa, environment->build.compiler, environment->date,
             environment->build.commit,
             environment->build.commit_dirty == SATTN_YES ? " with changes" : "");
    const bool fits = strlen(machine) + strlen(threads) < terminal;
    printf("%s%s%s\nprofile: %s\n", machine, fits ? " " : "\n", threads, sattn_bench_profile());
    if (*arguments)
        printf("simdattn bench %s\n", arguments);
    fflush(stdout);
}

static void add_over_kernel(sattn_table *table, const sattn_bench_row *row)
{
    const sattn_stat *const over = &row->over_kernel_ns;
    const int decimals = fabs(over->median) < 999.5 ? 1 : 0;
    if (over->n > 0)
        sattn_table_set(table, COLUMN_OVER_KERNEL, "%+.*f ±%.*f ns", decimals, over->median,
                        decimals, (over->p90 - over->p10) / 2);
}

/* Which kernels it runs, where its name does not say it. */
static bool is_nameless(const sattn_bench_row *row)
{
    return (row->chosen || row->variant->way != SATTN_WAY_NONE) &&
           strcmp(row->kernels, row->variant->name) != 0;
}

static void add_measured(sattn_table *table, const sattn_bench_job *job, const sattn_bench_row *row)
{
    char text[64];
    const sattn_stat *const time = &row->measured.time_ns;
    if (extra_of(job).threads)
        sattn_table_set(table, COLUMN_THREADS, "%d", row->threads);
    if (row->over_one_thread.n > 0) {
        format_factor(&row->over_one_thread, text, sizeof text);
        sattn_table_set(table, COLUMN_ONE_THREAD, "%s", text);
    }
    sattn_format_time(row->time_ns, text, sizeof text);
    sattn_table_set(table, COLUMN_TIME, "%s", text);
    sattn_table_set(table, COLUMN_SPREAD, "%s%.1f%%",
                    row->measured.status == SATTN_MEASURE_TAINTED ? "~" : "",
                    100 * (time->p90 - time->p10) / time->median);
    format_rate(job, row, text, sizeof text);
    sattn_table_set(table, COLUMN_RATE, "%s", text);
    if (row->bounded)
        sattn_table_set(table, COLUMN_SHARE, "%.1f%% %-4s",
                        100 * row->measured.share[row->measured.bound].median,
                        sattn_limit_name(row->bound));
    if (job->n_data > 1) {
        sattn_table_set(table, COLUMN_DATA, "%s", job->data[row->data].name);
        format_factor(&row->slowdown, text, sizeof text);
        sattn_table_set(table, COLUMN_SLOWDOWN, "%s", text);
    }
    if (row->over_fused.n > 0) {
        format_factor(&row->over_fused, text, sizeof text);
        sattn_table_set(table, COLUMN_FUSED, "%s", text);
    }
    if (row->peer) {
        format_factor(&row->over_peer, text, sizeof text);
        sattn_table_set(table, COLUMN_PEER, "%s %s", text, row->peer->variant->name);
    }
    if (job->task->is_bare) {
        add_over_kernel(table, row);
    } else if (!job->task->is_layer) {
        format_factor(&row->over_scalar, text, sizeof text);
        sattn_table_set(table, COLUMN_SCALAR, "%s", text);
        format_factor(&row->over_autovec, text, sizeof text);
        sattn_table_set(table, COLUMN_AUTOVEC, "%s", text);
    }
    const double error = row->verified.worst_error, bound = row->verified.worst_bound;
    sattn_table_set(table, COLUMN_ERROR, "%.*f / %.*f", error < 9.995 ? 2 : 1, error,
                    bound < 9.95 ? 1 : 0, bound);
    if (row->variant->peer)
        sattn_table_set(table, COLUMN_NOTE, "%s: %s", row->version, row->kernels);
    else if (*row->part || !is_nameless(row))
        sattn_table_set(table, COLUMN_NOTE, "%s", row->part);
    else
        sattn_table_set(table, COLUMN_NOTE, "runs %s", row->kernels);
}

static void print_title(const sattn_bench_job *job)
{
    char sizes[160], ops[64], less[96] = "";
    const sattn_shape *const s = &job->run_shape;
    sattn_shape_describe(s, sizes, sizeof sizes);
    if (s->source_batch > s->batch)
        snprintf(less, sizeof less, " (B=%lld in the source)", (long long)s->source_batch);
    else if (s->source_heads > s->n_q_heads)
        snprintf(less, sizeof less, " (H=%lld in the source)", (long long)s->source_heads);
    sattn_bench_job_ops(job, ops, sizeof ops);
    printf("\n%s, %s, %s: %s%s", ops, job->shape->name, sattn_cache_name(job->cache), sizes, less);
    if (job->cache == SATTN_COLD && job->n_sets > 0)
        printf(", %lld set%s of %.3g MB", (long long)job->n_sets, job->n_sets == 1 ? "" : "s",
               (double)job->set_bytes / 1e6);
    for (size_t r = 0; r < job->n_rows; ++r)
        if (job->rows[r].state == SATTN_ROW_MEASURED) {
            printf(", %d rounds", job->rows[r].measured.rounds);
            break;
        }
    fputc('\n', stdout);
}

void sattn_bench_print_job(const sattn_bench_job *job)
{
    print_title(job);
    if (*job->error || *job->skipped) {
        printf("  %s: %s\n", *job->error ? "failed" : "skipped",
               *job->error ? job->error : job->skipped);
        return;
    }
    sattn_table_column columns[N_COLUMNS];
    sattn_table table;
    const char *last = "";
    make_columns(job, columns);
    sattn_table_init(&table, columns, N_COLUMNS);
    for (size_t r = 0; r < job->n_rows; ++r) {
        const sattn_bench_row *const row = &job->rows[r];
        if (row->state != SATTN_ROW_MEASURED || row->variant->part || !sattn_table_add_row(&table))
            continue;
        if (strcmp(row->variant->name, last) != 0) /* its other data and threads stand below */
            sattn_table_set(&table, COLUMN_KERNEL, "%c %s", row->chosen ? '*' : ' ',
                            row->variant->name);
        last = row->variant->name;
        add_measured(&table, job, row);
    }
    sattn_table_print(&table, stdout, true, 0);
    sattn_table_free(&table);
    sattn_bench_print_split(job);
    for (size_t r = 0; r < job->n_rows; ++r)
        if (job->rows[r].state == SATTN_ROW_FAILED)
            printf("%c %s  FAILED\n  %s\n", job->rows[r].chosen ? '*' : ' ',
                   job->rows[r].variant->name, job->rows[r].why);
        else if (job->rows[r].state == SATTN_ROW_ABSENT)
            printf("  %s: %s\n", job->rows[r].variant->name, job->rows[r].why);
    fflush(stdout);
}

/* From this share of the rounds on it is worth a line. */
static const double shared_matters = 0.02;

static void print_shared(const sattn_bench_jobs *list)
{
    double rounds = 0, shared = 0;
    for (size_t j = 0; j < list->count; ++j)
        for (size_t r = 0; r < list->jobs[j].n_rows; ++r) {
            const sattn_bench_row *const row = &list->jobs[j].rows[r];
            if (row->state != SATTN_ROW_MEASURED || row->measured.taint.shared < 0)
                continue;
            rounds += row->measured.rounds;
            shared += (double)row->measured.taint.shared;
        }
    if (shared > 0 && shared >= shared_matters * rounds)
        printf("another hardware thread was at work on the core in %.0f %% of the rounds\n",
               100 * shared / rounds);
}

void sattn_bench_print_footer(const sattn_bench_jobs *list, double seconds, const char *out)
{
    size_t measured = 0, failed = 0, skipped = 0, left = 0;
    for (size_t j = 0; j < list->count; ++j) {
        const sattn_bench_job *const job = &list->jobs[j];
        skipped += *job->skipped ? job->n_rows : 0;
        left += job->is_done ? 0 : job->n_rows;
        failed += *job->error ? job->n_rows : 0;
        for (size_t r = 0; r < job->n_rows; ++r) {
            measured += job->rows[r].state == SATTN_ROW_MEASURED;
            failed += !*job->error && job->rows[r].state == SATTN_ROW_FAILED;
        }
    }
    printf("\n%zu rows measured in %.*f s", measured, seconds < 9.95, seconds);
    if (skipped)
        printf(", %zu skipped", skipped);
    if (failed)
        printf(", %zu FAILED", failed);
    else
        fputs(", none failed", stdout);
    if (left)
        printf("; interrupted, %zu not run", left);
    if (out)
        printf("; results in %s", out);
    fputc('\n', stdout);
    print_shared(list);
    sattn_bench_print_autovec(list, stdout);
    for (size_t j = 0; j < list->count; ++j) {
        const sattn_bench_job *const job = &list->jobs[j];
        if (*job->error)
            printf("FAILED: all of %s, %s\n", job->shape->name, sattn_cache_name(job->cache));
        for (size_t r = 0; !*job->error && r < job->n_rows; ++r)
            if (job->rows[r].state == SATTN_ROW_FAILED)
                printf("FAILED: %s\n", job->rows[r].name);
    }
}
