/* SPDX-License-Identifier: MIT
 *
 * bench_rows.c: selection of shapes and kernels. */
#define _POSIX_C_SOURCE 200809L /* regcomp */

#include "bench/bench_rows.h"

#include "bench/info.h"
#include "bench/verbs.h"
#include "bench/verify/inputs.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char autovec_tag[] = "_autovec";

static sattn_row_kind kind_of(const sattn_kernel *kernel)
{
    const size_t length = strlen(kernel->name), tag = sizeof autovec_tag - 1;
    if (length >= tag && strcmp(kernel->name + length - tag, autovec_tag) == 0)
        return SATTN_ROW_AUTOVEC;
    return kernel->needs == SATTN_ISA_SCALAR ? SATTN_ROW_SCALAR : SATTN_ROW_HAND;
}

const char *sattn_cache_name(sattn_cache_state cache)
{
    return cache == SATTN_COLD ? "cold" : "warm";
}

typedef struct row_filter {
    bool given, inverted;
    regex_t regex;
} row_filter;

static bool filter_open(row_filter *filter, const char *text)
{
    *filter = (row_filter){0};
    if (!text || !*text || strcmp(text, "all") == 0) /* Google Benchmark's word for everything */
        return true;
    filter->inverted = *text == '-';
    const int code = regcomp(&filter->regex, text + filter->inverted, REG_EXTENDED | REG_NOSUB);
    filter->given = code == 0;
    if (code == 0)
        return true;
    char message[160];
    regerror(code, &filter->regex, message, sizeof message);
    fprintf(stderr, "simdattn bench: --benchmark_filter=%s: %s\n", text, message);
    return false;
}

static bool filter_passes(const row_filter *filter, const char *name)
{
    if (!filter->given)
        return true;
    return (regexec(&filter->regex, name, 0, NULL, 0) == 0) != filter->inverted;
}

static void filter_close(row_filter *filter)
{
    if (filter->given)
        regfree(&filter->regex);
}

static bool kernel_wanted(const sattn_bench_options *options, const sattn_kernel *kernel,
                          sattn_phase phase, sattn_features usable)
{
    if (kernel->op != SATTN_OP_fused || (kernel->needs & ~usable)) /* shapes are whole attentions */
        return false;
    if (options->ops.count && !sattn_names_have(&options->ops, sattn_op_name(kernel->op)))
        return false;
    if (options->isas.count && !sattn_names_have(&options->isas, sattn_isa_name(kernel->needs)))
        return false;
    if (options->kernels.count)
        return sattn_names_have(&options->kernels, kernel->name);
    return (kernel->phases & (unsigned)phase) || kind_of(kernel) != SATTN_ROW_HAND;
}

const char *sattn_data_name(const sattn_shape *shape)
{
    return shape->real_layer >= 0 ? "minilm" : sattn_input_name(SATTN_INPUT_ATTENTION);
}

double sattn_bench_row_scale(const sattn_bench_row *row)
{
    return row->time_ns / row->measured.time_ns.median;
}

/* Rows in the order of the table: hand-written, autovec, scalar. */
static bool add_rows(sattn_bench_job *job, const sattn_bench_options *options,
                     const row_filter *filter, sattn_features usable)
{
    size_t count;
    const sattn_kernel *const kernels = sattn_registry(&count);
    job->rows = calloc(count ? count : 1, sizeof *job->rows);
    if (!job->rows)
        return false;
    for (int kind = SATTN_ROW_HAND; kind <= SATTN_ROW_SCALAR; ++kind)
        for (size_t k = 0; k < count; ++k) {
            if ((int)kind_of(&kernels[k]) != kind ||
                !kernel_wanted(options, &kernels[k], job->phase, usable))
                continue;
            sattn_bench_row *const row = &job->rows[job->n_rows];
            snprintf(row->name, sizeof row->name, "%s/%s/%s/%s/t1", kernels[k].name,
                     job->shape->name, sattn_data_name(job->shape), sattn_cache_name(job->cache));
            if (!filter_passes(filter, row->name))
                continue;
            row->kernel = &kernels[k];
            row->kind = (sattn_row_kind)kind;
            row->over_scalar = row->over_autovec = sattn_stat_of(NULL, 0);
            ++job->n_rows;
        }
    return true;
}

/* Names that exist but cannot run here are an answer, not an empty table. */
static bool check_usable(const sattn_bench_options *options, sattn_features usable)
{
    char why[256];
    for (size_t i = 0; i < options->isas.count; ++i) {
        const char *const name = options->isas.names[i];
        sattn_info_why_level(sattn_isa_by_name(name), usable, why, sizeof why);
        if (*why) {
            fprintf(stderr, "simdattn bench: ISA level %s cannot be used here: %s\n", name, why);
            return false;
        }
    }
    for (size_t k = 0; k < options->kernels.count; ++k) {
        const char *const name = options->kernels.names[k];
        sattn_info_why(sattn_kernel_by_name(name)->needs, usable, why, sizeof why);
        if (*why) {
            fprintf(stderr, "simdattn bench: %s cannot be used here: %s\n", name, why);
            return false;
        }
    }
    return true;
}

static bool shape_wanted(const sattn_bench_options *options, const sattn_shape *shape)
{
    if (options->shapes.count)
        return sattn_names_have(&options->shapes, shape->name);
    return (shape->presets & options->preset) != 0;
}

static int fill(const sattn_bench_options *options, sattn_features usable, const row_filter *filter,
                sattn_bench_jobs *list)
{
    static const sattn_cache_state states[] = {SATTN_WARM, SATTN_COLD};
    size_t n_shapes;
    const sattn_shape *const shapes = sattn_shapes(&n_shapes);
    list->jobs = calloc(2 * n_shapes, sizeof *list->jobs);
    if (!list->jobs) {
        fputs("simdattn bench: out of memory\n", stderr);
        return SATTN_EXIT_FAILED;
    }
    for (size_t s = 0; s < n_shapes; ++s)
        for (int c = 0; c < 2; ++c) {
            const sattn_phase phase =
                sattn_phase_of(shapes[s].n_q_heads / shapes[s].n_kv_heads, shapes[s].n_q);
            if (!shape_wanted(options, &shapes[s]) || !(options->cache & (unsigned)states[c]) ||
                (states[c] == SATTN_COLD && phase == SATTN_PHASE_PREFILL))
                continue;
            sattn_bench_job *const job = &list->jobs[list->count];
            *job = (sattn_bench_job){.shape = &shapes[s], .cache = states[c], .phase = phase};
            job->run_shape = shapes[s];
            if (!add_rows(job, options, filter, usable)) {
                fputs("simdattn bench: out of memory\n", stderr);
                return SATTN_EXIT_FAILED;
            }
            if (job->n_rows > 0)
                ++list->count;
            else
                free(job->rows);
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
    row_filter filter;
    *list = (sattn_bench_jobs){0};
    if (!check_usable(options, usable) || !filter_open(&filter, options->filter))
        return SATTN_EXIT_USAGE;
    const int code = fill(options, usable, &filter, list);
    filter_close(&filter);
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

void sattn_bench_print_list(const sattn_bench_jobs *list, bool bare)
{
    for (size_t j = 0; j < list->count; ++j) {
        const sattn_bench_job *const job = &list->jobs[j];
        char sizes[160];
        sattn_shape_describe(job->shape, sizes, sizeof sizes);
        if (!bare)
            printf("%s%s, %s: %s [%s]\n  %s\n", j ? "\n" : "", job->shape->name,
                   sattn_cache_name(job->cache), job->shape->model, job->shape->source, sizes);
        for (size_t r = 0; r < job->n_rows; ++r)
            printf("%s%s\n", bare ? "" : "    ", job->rows[r].name);
    }
}
