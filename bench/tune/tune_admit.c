/* SPDX-License-Identifier: MIT
 *
 * tune_admit.c: a few calls of each candidate, and then, fastest first, what an oracle has to say.
 */
#include "bench/tune/tune_candidates.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What takes so many times as long as one that is admitted is out of the question. */
static const double slow_factor = 1.4;

/* Where a call of the default takes so long, no slower sibling in plain C is made, scalar or left
 * to the compiler, unless only that may be exact enough. */
static const double long_for_scalar_ns = 1e6, long_for_autovec_ns = 1e7;

/* Of a unit of rows, beside those of whole tiles and around their edges. */
enum { RANDOM_ROWS = 8 };

/* First calls of a candidate may take so long in any case, and longer ones are not made again. */
static const double least_probing_ns = 1e5, most_probing_ns = 2e7;

/* One of the first calls may be slow by accident. What takes so many times as long as the default
 * in two of them is slow, and other candidates have three. A call whose threads were preempted or
 * shared their core is made again, so many times. */
static const double hopeless_factor = 4;
enum { HOPELESS_PROBES = 2, LEAST_PROBES = 3, MOST_TAINTED = 8 };

/* Whether to leave off, now that the limits are reached. */
static bool is_cut(sattn_tune_field *field)
{
    const sattn_tune_limits *const limits = &field->limits;
    field->is_cut = field->is_cut || (limits->is_stopped && limits->is_stopped()) ||
                    (limits->now_ns && limits->now_ns() >= limits->deadline_ns);
    return field->is_cut;
}

static void reject(sattn_tune_candidate *candidate, const char *what, const char *why)
{
    candidate->verdict = SATTN_TUNE_REJECTED;
    snprintf(candidate->why, sizeof candidate->why, "%s%.200s", what, why);
}

static void reject_wrong(sattn_tune_candidate *candidate, const char *where)
{
    char why[SATTN_TUNE_WHY];
    sattn_verify_describe(&candidate->verified, why, sizeof why);
    candidate->verdict = SATTN_TUNE_REJECTED;
    snprintf(candidate->why, sizeof candidate->why, "wrong%s: %.200s", where, why);
}

static bool open_call(const sattn_tune_job *job, sattn_tune_candidate *candidate,
                      const sattn_workload *workload, const sattn_attention_args *args,
                      int64_t *cursor, sattn_bench_call *call)
{
    char why[SATTN_TUNE_WHY];
    const sattn_bench_request request = {.workload = workload,
                                         .args = args,
                                         .variant = &candidate->variant,
                                         .threads = job->threads,
                                         .cursor = cursor,
                                         .profile = candidate->profile};
    if (sattn_bench_call_open(call, &request, why, sizeof why))
        return true;
    reject(candidate, "refused: ", why);
    return false;
}

/* Every byte of the output becomes part of a NaN: what a kernel leaves out shows. */
static void poison_output(const sattn_workload *workload, const sattn_bench_task *task)
{
    size_t bytes;
    void *const output = sattn_workload_piece(workload, 0, task->output, &bytes);
    memset(output, 0xff, bytes);
}

/* Whether a call that was made was not refused. */
static bool was_taken(sattn_tune_candidate *candidate, const sattn_bench_call *call)
{
    if (call->status != SATTN_OK)
        reject(candidate, "refused: ", sattn_last_error());
    return call->status == SATTN_OK;
}

static bool make_call(sattn_tune_candidate *candidate, sattn_bench_call *call)
{
    poison_output(call->workload, call->task);
    sattn_bench_call_run(call);
    return was_taken(candidate, call);
}

static int by_number(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double least_probe(const sattn_tune_candidate *candidate)
{
    double least = candidate->probe_ns[0];
    for (int p = 1; p < candidate->n_probes; ++p)
        least = candidate->probe_ns[p] < least ? candidate->probe_ns[p] : least;
    return least;
}

/* Whether it is worth another first call: a slow one is known as such soon. */
static bool goes_on(const sattn_tune_field *field, const sattn_tune_candidate *candidate)
{
    const sattn_tune_candidate *const standard = &field->list[0];
    const double allowed = 1.5 * standard->probing_ns;
    const int n = candidate->n_probes;
    if (n == 0)
        return true;
    if (n == SATTN_TUNE_PROBES || candidate->probing_ns >= most_probing_ns)
        return false;
    if (candidate == standard || n < HOPELESS_PROBES)
        return true;
    if (n < LEAST_PROBES && (standard->n_probes == 0 ||
                             least_probe(candidate) < hopeless_factor * standard->probe_ns[0]))
        return true;
    return candidate->probing_ns < (allowed > least_probing_ns ? allowed : least_probing_ns);
}

/* Whether it is plain C that is not worth a call, where the default uses vectors and takes long. */
static bool is_plain(const sattn_tune_candidate *candidate, const sattn_tune_candidate *standard)
{
    const double ns = standard->probe_ns[0];
    const sattn_variant *const variant = sattn_variant_by_name(candidate->variant.name);
    return variant && standard->variant.needs != SATTN_ISA_SCALAR &&
           ((variant->kind == SATTN_ROW_SCALAR && ns > long_for_scalar_ns) ||
            (variant->kind == SATTN_ROW_AUTOVEC && ns > long_for_autovec_ns));
}

static void make_probes(sattn_tune_field *field, sattn_tune_candidate *candidate)
{
    sattn_bench_call *const call = &candidate->call;
    const sattn_measure_candidate measured = {.name = candidate->variant.name,
                                              .call = sattn_bench_call_run,
                                              .context = call,
                                              .threads = field->job->threads};
    int n_tainted = 0;
    do {
        poison_output(call->workload, call->task);
        const sattn_race_window window = field->time(&measured, 1);
        if (!was_taken(candidate, call))
            return;
        candidate->probing_ns += window.ns;
        if (!window.is_tainted || ++n_tainted > MOST_TAINTED)
            candidate->probe_ns[candidate->n_probes++] = window.ns;
    } while (goes_on(field, candidate) && !is_cut(field));
}

static void probe(sattn_tune_field *field, sattn_tune_candidate *candidate, double max_error)
{
    if (!(max_error > 0) && !candidate->must_race && is_plain(candidate, &field->list[0])) {
        candidate->verdict = SATTN_TUNE_TOO_SLOW;
        snprintf(candidate->why, sizeof candidate->why,
                 "plain C, not tried where the default takes %.1f ms",
                 field->list[0].probe_ns[0] * 1e-6);
        return;
    }
    if (!open_call(field->job, candidate, &field->workload, &field->args, &field->cursor,
                   &candidate->call))
        return;
    make_probes(field, candidate);
    qsort(candidate->probe_ns, (size_t)candidate->n_probes, sizeof *candidate->probe_ns, by_number);
}

/* Compares what the call left, beside what was compared before: the same rows of all candidates,
 * and of these every one of some whole tiles, since a kernel that leaves out or mixes up some rows
 * of each tile would be the fastest. Each row has all keys, features and columns. */
static void verify_call(sattn_tune_field *field, int shape, sattn_tune_candidate *candidate,
                        const sattn_bench_call *call)
{
    const char *why = "";
    const sattn_verify_selection selection = {.whole_tiles = true,
                                              .tile_queries = field->tile_rows,
                                              .n_random = RANDOM_ROWS,
                                              .seed = field->seed,
                                              .answers = &field->answers[shape]};
    sattn_variant variant = candidate->variant;
    variant.selection = &selection;
    if (call->task->verify(&call->args, &variant, &candidate->verified, &why) != SATTN_OK)
        reject(candidate, "cannot be verified: ", why);
    else if (!sattn_verify_passed(&candidate->verified))
        reject_wrong(candidate, shape > 0 ? " at a corner of its class" : "");
}

static void verify_timed(sattn_tune_field *field, sattn_tune_candidate *candidate)
{
    if (make_call(candidate, &candidate->call))
        verify_call(field, 0, candidate, &candidate->call);
}

static void verify_corner(sattn_tune_field *field, int shape, const sattn_workload *corner,
                          sattn_tune_candidate *candidate)
{
    sattn_bench_call call;
    int64_t cursor = 0;
    if (!open_call(field->job, candidate, corner, &corner->args, &cursor, &call))
        return;
    if (make_call(candidate, &call))
        verify_call(field, shape, candidate, &call);
    sattn_bench_call_close(&call);
}

/* Everything that an oracle has to say of a candidate. */
static void verify(sattn_tune_field *field, const sattn_workload *corners,
                   sattn_tune_candidate *candidate, double max_error)
{
    verify_timed(field, candidate);
    for (int corner = 0; corner < SATTN_TUNE_CORNERS && !is_cut(field); ++corner)
        if (candidate->verdict == SATTN_TUNE_PENDING && corners[corner].arena)
            verify_corner(field, 1 + corner, &corners[corner], candidate);
    if (candidate->verdict != SATTN_TUNE_PENDING || field->is_cut)
        return;
    const double error = candidate->verified.worst_error;
    candidate->verdict = SATTN_TUNE_ADMITTED;
    if (max_error > 0 && !(error <= max_error)) {
        candidate->verdict = SATTN_TUNE_REJECTED;
        candidate->is_inexact = true;
        snprintf(candidate->why, sizeof candidate->why,
                 "not exact enough: error %.3g, --max-error is %.3g", error, max_error);
    }
}

static bool open_corners(const sattn_tune_job *job, sattn_workload *corners)
{
    char error[SATTN_TUNE_WHY];
    bool good = true;
    for (int corner = 0; corner < SATTN_TUNE_CORNERS; ++corner) {
        sattn_shape shape;
        corners[corner] = (sattn_workload){0};
        if (good && sattn_tune_corner(job, corner, &shape))
            good =
                sattn_tune_open_workload(&corners[corner], job->task, &shape, error, sizeof error);
    }
    return good;
}

/* The next that has no verdict, fastest first; NULL: there is none. */
static sattn_tune_candidate *next_pending(sattn_tune_field *field)
{
    sattn_tune_candidate *next = NULL;
    for (size_t c = 0; c < field->count; ++c) {
        sattn_tune_candidate *const candidate = &field->list[c];
        if (candidate->verdict == SATTN_TUNE_PENDING &&
            (!next || candidate->probe_ns[0] < next->probe_ns[0]))
            next = candidate;
    }
    return next;
}

/* Whether it is out of the question beside one that is admitted. */
static bool is_too_slow(sattn_tune_candidate *candidate, const sattn_tune_candidate *admitted)
{
    const double ratio = admitted ? candidate->probe_ns[0] / admitted->probe_ns[0] : 1;
    if (ratio <= slow_factor || candidate->must_race)
        return false;
    candidate->verdict = SATTN_TUNE_TOO_SLOW;
    snprintf(candidate->why, sizeof candidate->why,
             "%.1f times as slow as another in its first calls", ratio);
    return true;
}

bool sattn_tune_admit(sattn_tune_field *field, double max_error)
{
    sattn_workload corners[SATTN_TUNE_CORNERS];
    const sattn_tune_candidate *fastest = NULL;
    const bool good = open_corners(field->job, corners);
    for (size_t c = 0; good && c < field->count; ++c)
        sattn_verify_result_init(&field->list[c].verified);
    for (size_t c = 0; good && c < field->count && !is_cut(field); ++c)
        probe(field, &field->list[c], max_error);
    if (good && !is_cut(field) && field->list[0].verdict == SATTN_TUNE_PENDING)
        verify(field, corners, &field->list[0], max_error); /* the default, however slow */
    if (good && field->list[0].verdict == SATTN_TUNE_ADMITTED)
        fastest = &field->list[0];
    for (sattn_tune_candidate *next; good && !is_cut(field) && (next = next_pending(field));) {
        if (!is_too_slow(next, fastest))
            verify(field, corners, next, max_error);
        if (next->verdict == SATTN_TUNE_ADMITTED &&
            (!fastest || next->probe_ns[0] < fastest->probe_ns[0]))
            fastest = next;
    }
    for (size_t c = 0; c < field->count; ++c)
        if (field->list[c].verdict != SATTN_TUNE_ADMITTED)
            sattn_bench_call_close(&field->list[c].call);
    for (int corner = 0; corner < SATTN_TUNE_CORNERS; ++corner)
        sattn_workload_close(&corners[corner]);
    return good;
}

bool sattn_tune_trust(sattn_tune_field *field)
{
    for (size_t c = 0; c < field->count; ++c) {
        sattn_tune_candidate *const candidate = &field->list[c];
        if (!open_call(field->job, candidate, &field->workload, &field->args, &field->cursor,
                       &candidate->call))
            return false;
        candidate->verdict = SATTN_TUNE_ADMITTED;
    }
    return true;
}
