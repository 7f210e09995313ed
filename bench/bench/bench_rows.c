/* SPDX-License-Identifier: MIT
 *
 * bench_rows.c: selection of ops, shapes and variants. */
#include "bench/bench/bench_rows.h"

#include "bench/bench/bench_goals.h"
#include "bench/info/info.h"
#include "bench/verbs.h"
#include "dispatch/choose.h"
#include "dispatch/shape_class.h"
#include "dispatch/share.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *sattn_cache_name(sattn_cache_state cache)
{
    return cache == SATTN_COLD ? "cold" : "warm";
}

static bool kernel_named(const sattn_bench_options *options, const sattn_bench_op *op)
{
    for (size_t k = 0; k < options->kernels.count; ++k)
        if (sattn_variant_by_name(options->kernels.names[k])->op == op)
            return true;
    return false;
}

/* Without --op: the ops of --kernel, else all in preset full, else fused, beside which preset
 * lecture has the scores alone; a layer, a part of one or an array brings its own. */
static bool op_wanted(const sattn_bench_options *options, const sattn_bench_op *op)
{
    if (options->ops.count)
        return sattn_name_list_has(&options->ops, op->name);
    if (options->kernels.count)
        return kernel_named(options, op);
    if (options->preset == SATTN_PRESET_FULL || op->task->takes != SATTN_SHAPE_ATTENTION)
        return true;
    if (options->preset == SATTN_PRESET_LECTURE && strcmp(op->name, "qk") == 0)
        return true;
    return strcmp(op->name, sattn_op_name(SATTN_OP_fused)) == 0;
}

sattn_phase sattn_bench_phase(const sattn_shape *shape)
{
    return sattn_phase_of(shape->n_q_heads / shape->n_kv_heads, shape->n_q);
}

/* That the dispatcher ranks kernels by: of a map also by whether its weights are packed, of whole
 * attentions by the prefill kernel of the variant's level. */
static sattn_phase ranked_by(const sattn_bench_job *job, const sattn_variant *variant)
{
    const sattn_shape *const shape = job->shape;
    const sattn_options options = {.isa = sattn_variant_isa(variant)};
    sattn_overrides overrides;
    if (shape->kind == SATTN_SHAPE_MAP)
        return sattn_class_of_linear(shape->n_q, shape->n_k, shape->d, shape->is_packed, 1).phase;
    if (strcmp(variant->op->name, sattn_op_name(SATTN_OP_fused)) == 0 &&
        sattn_overrides_get(&options, &overrides) == SATTN_OK)
        return sattn_fused_phase(shape->n_q_heads / shape->n_kv_heads, shape->n_q,
                                 sattn_prefill_tile_rows(&overrides),
                                 shape->d < shape->d_v ? shape->d : shape->d_v);
    return job->phase;
}

static bool is_ranked(const sattn_bench_job *job, const sattn_variant *variant)
{
    const sattn_shape *const shape = job->shape;
    const sattn_phase phase = ranked_by(job, variant);
    if ((variant->phases & SATTN_FOR_SEVERAL_ROWS) &&
        !sattn_are_several(sattn_cpu_this(), phase, shape->n_q_heads / shape->n_kv_heads,
                           shape->n_q))
        return false;
    return (variant->phases & (unsigned)phase) != 0;
}

static bool variant_wanted(const sattn_bench_options *options, const sattn_bench_job *job,
                           const sattn_variant *variant, sattn_features usable)
{
    if ((variant->needs & ~usable) || !op_wanted(options, variant->op))
        return false;
    if (options->isas.count && !sattn_name_list_has(&options->isas, sattn_variant_isa(variant)))
        return false;
    if (options->kernels.count)
        return sattn_name_list_has(&options->kernels, variant->name);
    return variant->kind != SATTN_ROW_HAND || is_ranked(job, variant);
}

double sattn_bench_row_scale(const sattn_bench_row *row)
{
    return row->time_ns / row->measured.time_ns.median;
}

void sattn_bench_add_row(sattn_bench_job *job, const sattn_variant *variant, size_t data,
                         int threads, const sattn_bench_filter *filter)
{
    sattn_bench_row *const row = &job->rows[job->n_rows];
    snprintf(row->name, sizeof row->name, "%s/%s/%s/%s/t%d", variant->name, job->shape->name,
             job->data[data].name, sattn_cache_name(job->cache), threads);
    if (!sattn_bench_filter_passes(filter, row->name))
        return;
    row->variant = variant;
    row->threads = threads;
    row->data = data;
    row->is_ranked = is_ranked(job, variant);
    row->over_scalar = row->over_autovec = sattn_stat_of(NULL, 0);
    row->over_fused = row->over_one_thread = row->slowdown = sattn_stat_of(NULL, 0);
    row->over_peer = row->over_kernel_ns = row->of_step = sattn_stat_of(NULL, 0);
    ++job->n_rows;
}

void sattn_bench_add_peers(sattn_bench_job *job, const char *op, size_t data, const char *isa,
                           const sattn_bench_filter *filter)
{
    const char *cap;
    if (!sattn_peers_match(isa, &cap))
        return;
    for (int peer = 0; peer < SATTN_PEERS; ++peer) {
        const sattn_variant *variant;
        for (int number = 0; (variant = sattn_peer_variant(op, number, peer, cap)) != NULL;
             ++number)
            sattn_bench_add_row(job, variant, data, 1, filter);
    }
}

/* Peers of the highest level that kernels may use, or of those that --isa names. */
static void add_peers(sattn_bench_job *job, const sattn_bench_options *options,
                      const sattn_bench_filter *filter, sattn_features usable)
{
    size_t count;
    const sattn_bench_op *const ops = sattn_bench_ops(&count);
    const char *const highest = sattn_isa_name(usable);
    const sattn_name_list *const isas = &options->isas;
    const size_t n_isas = isas->count ? isas->count : 1;
    for (size_t o = 0; o < count && options->peers; ++o)
        for (size_t d = 0; d < job->n_data; ++d) {
            if (ops[o].task != job->task || !op_wanted(options, &ops[o]))
                continue;
            for (size_t i = 0; i < n_isas; ++i)
                sattn_bench_add_peers(job, ops[o].name, d, isas->count ? isas->names[i] : highest,
                                      filter);
        }
}

/* Rows in the order of the table: hand-written, of other libraries, autovec, scalar; each variant
 * with all its data and numbers of threads. */
static bool add_rows(sattn_bench_job *job, const sattn_bench_options *options,
                     const sattn_bench_filter *filter, sattn_features usable)
{
    const sattn_thread_counts *const threads = &options->threads;
    size_t count;
    const sattn_variant *const variants = sattn_variants(&count);
    const size_t n_peers =
        options->peers ? SATTN_PEERS * SATTN_PEER_CAPS * SATTN_BENCH_ALIGNMENTS : 0;
    job->rows = calloc((count * (size_t)threads->n + n_peers) * job->n_data + 1, sizeof *job->rows);
    if (!job->rows)
        return false;
    for (int kind = 0; kind < SATTN_ROW_KINDS; ++kind)
        for (size_t v = 0; v < count; ++v) {
            if ((int)variants[v].kind != kind || variants[v].op->task != job->task ||
                !variant_wanted(options, job, &variants[v], usable))
                continue;
            for (size_t d = 0; d < job->n_data; ++d)
                for (int t = 0; t < threads->n; ++t)
                    if (threads->of[t] == 1 || !job->task->is_bare)
                        sattn_bench_add_row(job, &variants[v], d, threads->of[t], filter);
        }
    add_peers(job, options, filter, usable);
    return true;
}

/* Names that exist but cannot run here are an answer, not an empty table. */
static bool check_usable(const sattn_bench_options *options, sattn_features usable)
{
    char why[256];
    if (!sattn_info_check_levels("bench", &options->isas, usable))
        return false;
    for (size_t k = 0; k < options->kernels.count; ++k) {
        const char *const name = options->kernels.names[k];
        sattn_info_why(sattn_variant_by_name(name)->needs, usable, why, sizeof why);
        if (*why) {
            fprintf(stderr, "simdattn bench: %s cannot be used here: %s\n", name, why);
            return false;
        }
    }
    return true;
}

/* Whether a wanted op of the task is run on the shape. */
static bool shape_wanted(const sattn_bench_options *options, const sattn_bench_task *task,
                         const sattn_shape *shape)
{
    size_t count;
    const sattn_bench_op *const ops = sattn_bench_ops(&count);
    if (task->takes != shape->kind || (task->is_bare && shape->has_sinks))
        return false;
    for (size_t o = 0; o < count; ++o) {
        const bool has_own =
            !options->preset || (task->is_bare && options->preset == SATTN_PRESET_FULL);
        const unsigned presets = has_own ? ops[o].presets : options->preset;
        if (ops[o].task != task || !op_wanted(options, &ops[o]))
            continue;
        if (options->shapes.count ? sattn_name_list_has(&options->shapes, shape->name)
                                  : (shape->presets & presets) != 0)
            return true;
    }
    return false;
}

/* Arrays, layers and their parts come only with --op, --kernel, --shape, preset lecture or full. */
static bool task_wanted(const sattn_bench_options *options, const sattn_bench_task *task)
{
    const bool by_name = options->ops.count || options->kernels.count || options->shapes.count;
    return by_name || task->takes == SATTN_SHAPE_ATTENTION ||
           options->preset == SATTN_PRESET_FULL || options->preset == SATTN_PRESET_LECTURE;
}

/* Adds the job, unless no row is wanted; false: no memory. */
static bool add_job(const sattn_bench_options *options, sattn_features usable,
                    const sattn_bench_filter *filter, const sattn_bench_job *wanted,
                    sattn_bench_jobs *list)
{
    sattn_bench_job *const job = &list->jobs[list->count];
    *job = *wanted;
    job->run_shape = *job->shape;
    if (options->preset == SATTN_PRESET_DATA && job->task->takes == SATTN_SHAPE_ATTENTION) {
        job->data = sattn_data_hard(&job->n_data);
    } else {
        job->data = sattn_data_default(job->shape);
        job->n_data = 1;
    }
    if (!add_rows(job, options, filter, usable))
        return false;
    if (job->n_rows > 0)
        ++list->count;
    else
        free(job->rows);
    return true;
}

static bool add_task(const sattn_bench_options *options, sattn_features usable,
                     const sattn_bench_filter *filter, const sattn_bench_task *task,
                     sattn_bench_jobs *list)
{
    static const sattn_cache_state states[] = {SATTN_WARM, SATTN_COLD};
    size_t n_shapes;
    const sattn_shape *const shapes = sattn_shapes(&n_shapes);
    for (size_t s = 0; s < n_shapes; ++s)
        for (int c = 0; c < 2; ++c) {
            const sattn_phase phase = sattn_bench_phase(&shapes[s]);
            const bool may_be_cold = (phase != SATTN_PHASE_PREFILL || task->memory_always) &&
                                     !task->is_bare && !task->is_layer;
            if (!shape_wanted(options, task, &shapes[s]) ||
                !(options->cache & (unsigned)states[c]) ||
                (states[c] == SATTN_COLD && (!may_be_cold || options->preset == SATTN_PRESET_DATA)))
                continue;
            const sattn_bench_job job = {
                .shape = &shapes[s], .task = task, .cache = states[c], .phase = phase};
            if (!add_job(options, usable, filter, &job, list))
                return false;
        }
    return true;
}

static int fill(const sattn_bench_options *options, sattn_features usable,
                const sattn_bench_filter *filter, sattn_bench_jobs *list)
{
    size_t n_shapes, n_ops;
    sattn_shapes(&n_shapes);
    const sattn_bench_op *const ops = sattn_bench_ops(&n_ops);
    list->jobs = calloc(2 * n_shapes * n_ops, sizeof *list->jobs);
    bool good = list->jobs != NULL;
    for (size_t o = 0; good && o < n_ops; ++o) {
        const bool is_first = o == 0 || ops[o].task != ops[o - 1].task; /* of its task */
        if (is_first && task_wanted(options, ops[o].task))
            good = add_task(options, usable, filter, ops[o].task, list);
    }
    if (!good) {
        fputs("simdattn bench: out of memory\n", stderr);
        return SATTN_EXIT_FAILED;
    }
    if (list->count > 0)
        return SATTN_EXIT_GOOD;
    fputs("simdattn bench: no kernel and shape match these options, so nothing was run"
          " (--list shows what there is)\n",
          stderr);
    return SATTN_EXIT_NOTHING;
}

int sattn_bench_select(const sattn_bench_options *options, sattn_features usable,
                       sattn_bench_jobs *list)
{
    sattn_bench_filter filter;
    *list = (sattn_bench_jobs){0};
    if (!check_usable(options, usable) || !sattn_bench_filter_open(&filter, options->filter))
        return SATTN_EXIT_USAGE;
    const int code = options->preset == SATTN_PRESET_LIMITS
                         ? sattn_bench_select_goals(options, usable, &filter, list)
                         : fill(options, usable, &filter, list);
    sattn_bench_filter_close(&filter);
    return code;
}

void sattn_bench_jobs_free(sattn_bench_jobs *list)
{
    for (size_t j = 0; j < list->count; ++j) {
        sattn_bench_job *const job = &list->jobs[j];
        for (size_t r = 0; r < job->n_rows; ++r)
            sattn_measure_free(&job->rows[r].measured, 1);
        free(job->rows);
    }
    free(list->jobs);
    *list = (sattn_bench_jobs){0};
}
