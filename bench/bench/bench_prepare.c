/* SPDX-License-Identifier: MIT
 *
 * bench_prepare.c: cuts slow rows to what fits their time, and refuses to time a wrong variant. */
#include "bench/bench/bench_prepare.h"

#include "bench/bench/bench_choice.h"
#include "bench/measure/clock.h"

#include <stdio.h>
#include <string.h>

enum {
    PROBE_CALLS = 3,
    PROBE_ROWS = 32, /* query rows of a probe where rows can be cut */
};

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* How many of `unit`s that take `seconds` each fit. */
static int64_t fitting(double allowed, double seconds, int64_t most)
{
    const double n = allowed / (seconds > 1e-9 ? seconds : 1e-9);
    return n < 1 ? 1 : n >= (double)most ? most : (int64_t)n;
}

/* Seconds of one call, the best of a few: the first one touches memory that nobody has touched yet,
 * and another may be interrupted. */
static bool probe(sattn_bench_row *row, const sattn_bench_request *request, double *seconds)
{
    sattn_bench_call call;
    if (!sattn_bench_call_open(&call, request, row->why, sizeof row->why))
        return false;
    int64_t best = INT64_MAX;
    for (int i = 0; i < PROBE_CALLS; ++i) {
        const int64_t begin = sattn_now_ns();
        sattn_bench_call_run(&call);
        best = smaller(best, sattn_now_ns() - begin);
    }
    *seconds = (double)best * 1e-9;
    sattn_bench_call_close(&call);
    return true;
}

bool sattn_bench_may_cut(const sattn_bench_row *row)
{
    return row->variant->kind == SATTN_ROW_AUTOVEC || row->variant->kind == SATTN_ROW_SCALAR;
}

/* Sets how much of the shape the row runs; false if the kernel refused. */
static bool choose_part(sattn_bench_row *row, const sattn_bench_request *request,
                        double slow_seconds, sattn_attention_args *args)
{
    const sattn_workload *const workload = request->workload;
    *args = workload->args;
    row->n_kv_heads = args->n_kv_heads;
    row->n_rows = args->n_q;
    if (!sattn_bench_may_cut(row) || args->n_kv_heads == 0 || args->n_q == 0)
        return true;
    const int64_t probe_rows =
        sattn_workload_can_cut_rows(workload) ? smaller(args->n_q, PROBE_ROWS) : args->n_q;
    const sattn_attention_args little = sattn_workload_part(workload, 1, probe_rows);
    sattn_bench_request of_little = *request;
    of_little.args = &little;
    double seconds;
    if (!probe(row, &of_little, &seconds))
        return false;
    const double row_seconds = seconds / (double)probe_rows;
    const double head_seconds = row_seconds * (double)args->n_q;
    const int64_t all_heads = args->batch * args->n_kv_heads;
    const int64_t heads = fitting(slow_seconds, head_seconds, all_heads);
    const bool cut_rows = head_seconds > slow_seconds && probe_rows < args->n_q;
    if (heads == all_heads && !cut_rows)
        return true;
    row->n_kv_heads = smaller(heads, args->n_kv_heads);
    if (cut_rows) {
        const int64_t rows = fitting(slow_seconds, row_seconds, args->n_q);
        row->n_rows = rows > probe_rows ? rows : probe_rows;
        snprintf(row->part, sizeof row->part, "%lld of %lld rows of 1 head", (long long)row->n_rows,
                 (long long)args->n_q);
    } else {
        const int64_t group = args->n_q_heads / args->n_kv_heads;
        snprintf(row->part, sizeof row->part, "%lld of %lld heads",
                 (long long)row->n_kv_heads * group, (long long)args->batch * args->n_q_heads);
    }
    *args = sattn_workload_part(workload, row->n_kv_heads, row->n_rows);
    return true;
}

/* Every byte of set 0's output becomes part of a NaN: what a kernel leaves out shows. */
static void poison_output(const sattn_workload *workload, const sattn_bench_task *task)
{
    size_t bytes;
    void *const output = sattn_workload_piece(workload, 0, task->output, &bytes);
    memset(output, 0xff, bytes);
}

static bool verify(sattn_bench_row *row, const sattn_bench_call *call)
{
    const char *why = "";
    sattn_verify_result_init(&row->verified);
    if (call->task->note)
        call->task->note(call);
    const sattn_status status = call->task->verify(&call->args, row->variant, &row->verified, &why);
    if (status != SATTN_OK) {
        snprintf(row->why, sizeof row->why, "cannot be verified: %s", why);
        return false;
    }
    if (sattn_verify_passed(&row->verified))
        return true;
    const int used = snprintf(row->why, sizeof row->why, "wrong: ");
    sattn_verify_describe(&row->verified, row->why + used, sizeof row->why - (size_t)used);
    return false;
}

static void note_kernels(sattn_bench_row *row, const sattn_bench_call *call)
{
    if (call->peer) {
        const int n = call->peer->threads;
        snprintf(row->version, sizeof row->version, "%s", call->peer->peer->version);
        snprintf(row->kernels, sizeof row->kernels, "%.290s, %d thread%s", call->peer->picked, n,
                 n == 1 ? "" : "s");
        return;
    }
    if (call->task->name) {
        call->task->name(call, row->kernels, sizeof row->kernels);
        return;
    }
    (void)sattn_bench_choice(row->variant->op, &call->workload->shape, &call->args, &call->options,
                             row->kernels);
}

void sattn_bench_prepare(sattn_bench_row *row, const sattn_bench_request *request,
                         double slow_seconds, sattn_bench_call *call)
{
    const sattn_workload *const workload = request->workload;
    sattn_attention_args args;
    sattn_bench_request own = *request;
    own.args = &args;
    own.variant = row->variant;
    own.names_none = row->chosen;
    own.threads = row->threads;
    row->state = row->variant->peer ? SATTN_ROW_ABSENT : SATTN_ROW_FAILED;
    *call = (sattn_bench_call){0};
    if (!choose_part(row, &own, slow_seconds, &args) ||
        !sattn_bench_call_open(call, &own, row->why, sizeof row->why))
        return;
    note_kernels(row, call);
    if (!row->variant->part) { /* the work of a part is not counted */
        row->work = call->task->work(&args);
        row->whole = call->task->work(&workload->args);
    }
    poison_output(workload, call->task);
    *request->cursor = 0;
    sattn_bench_call_run(call);
    bool good = false;
    if (call->status != SATTN_OK)
        snprintf(row->why, sizeof row->why, "refused: %.300s",
                 call->peer ? call->peer->why : sattn_last_error());
    else
        good = verify(row, call);
    if (good)
        row->state = SATTN_ROW_READY;
    else
        sattn_bench_call_close(call);
}
