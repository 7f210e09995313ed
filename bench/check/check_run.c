/* SPDX-License-Identifier: MIT
 *
 * check_run.c: every variant on every shape class and kind of data. The loops over shapes and data
 * are outside, so that all variants are given the same tensors. */
#include "bench/check/check_entry.h"
#include "bench/measure/clock.h"
#include "bench/progress.h"
#include "bench/verbs.h"
#include "dispatch/shape_class.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- entries */

sattn_check_entry *sattn_check_add(sattn_check_run *run, size_t variant, const char *shape,
                                   const char *data)
{
    if (run->n_entries == run->capacity) {
        const size_t capacity = run->capacity ? 2 * run->capacity : 1024;
        void *const entries = realloc(run->entries, capacity * sizeof *run->entries);
        if (!entries)
            return NULL;
        run->entries = entries;
        run->capacity = capacity;
    }
    sattn_check_entry *const entry = &run->entries[run->n_entries++];
    *entry = (sattn_check_entry){.variant = variant, .shape = shape, .data = data};
    sattn_verify_result_init(&entry->result);
    return entry;
}

bool sattn_check_entry_good(const sattn_check_entry *entry)
{
    return !*entry->refused && sattn_verify_passed(&entry->result);
}

void sattn_check_run_free(sattn_check_run *run)
{
    free(run->variants);
    free(run->entries);
    run->variants = NULL;
    run->entries = NULL;
}

/* ---- attentions and their steps */

static bool is_array(const sattn_check_variant *variant)
{
    return variant->row && sattn_op_takes_arrays(variant->row->op);
}

/* Of an attention or a step of it. */
static bool takes_problems(const sattn_check_variant *variant)
{
    return sattn_check_is_chain(variant) ||
           sattn_call_computation(sattn_call_of_op(variant->row->op)) != SATTN_COMPUTE_APART;
}

/* Whether any variant of this run reads oracle scores or weights, and whether there is any at all
 * of attentions and their steps. */
static void what_runs(const sattn_check_run *run, bool *any, bool *steps)
{
    *any = *steps = false;
    for (size_t v = 0; v < run->n_variants; ++v) {
        const sattn_check_variant *const variant = &run->variants[v];
        if (!sattn_check_runs(variant) || !takes_problems(variant))
            continue;
        *any = true;
        if (variant->row &&
            (variant->row->op == SATTN_OP_softmax || variant->row->op == SATTN_OP_av))
            *steps = true;
    }
}

static int check_problem(sattn_check_run *run, const sattn_check_shape *shape,
                         sattn_input_kind kind, bool steps)
{
    sattn_check_problem problem;
    char error[512];
    const int code =
        sattn_check_problem_open(&problem, run->options, shape, kind, error, sizeof error);
    if (code != SATTN_EXIT_GOOD) {
        fprintf(stderr, "simdattn check: %s\n", error);
        return code;
    }
    bool good = true;
    if (steps)
        sattn_check_problem_steps(&problem);
    for (size_t v = 0; good && v < run->n_variants; ++v) {
        const sattn_check_variant *const variant = &run->variants[v];
        if (!sattn_check_runs(variant) || !takes_problems(variant) ||
            !sattn_check_applies(variant, &problem, kind))
            continue;
        sattn_check_entry *const entry = sattn_check_add(run, v, shape->name, problem.data);
        good = entry != NULL;
        if (good)
            sattn_check_entry_attention(variant, &problem, entry);
    }
    sattn_check_problem_close(&problem);
    return good ? SATTN_EXIT_GOOD : SATTN_EXIT_FAILED;
}

static int check_attentions(sattn_check_run *run, sattn_progress *line)
{
    size_t n_shapes;
    const sattn_check_shape *const shapes = sattn_check_shapes(&n_shapes);
    bool any, steps;
    what_runs(run, &any, &steps);
    for (size_t s = 0; any && s < n_shapes; ++s) {
        const bool is_real = shapes[s].layer != SATTN_CHECK_NO_LAYER;
        const int n_kinds = is_real ? 1 : SATTN_INPUT_KINDS;
        for (int kind = 0; kind < n_kinds; ++kind) {
            const char *const data =
                is_real ? SATTN_CHECK_REAL_DATA : sattn_input_name((sattn_input_kind)kind);
            if (!sattn_check_wants(run->options, shapes[s].name, data))
                continue;
            sattn_progress_update(
                line, 0.9 * ((double)s + (double)kind / (double)n_kinds) / (double)n_shapes,
                shapes[s].name);
            const int code = check_problem(run, &shapes[s], (sattn_input_kind)kind, steps);
            if (code != SATTN_EXIT_GOOD)
                return code;
        }
    }
    return SATTN_EXIT_GOOD;
}

/* ---- exp, tanh and sigmoid */

static bool check_range(sattn_check_run *run, const sattn_check_length *length,
                        const sattn_check_range *range)
{
    float *const x = malloc((size_t)length->n * 2 * sizeof *x);
    if (!x)
        return false;
    bool good = true;
    sattn_check_range_fill(range, run->options->seed, x, length->n);
    for (size_t v = 0; good && v < run->n_variants; ++v) {
        const sattn_check_variant *const variant = &run->variants[v];
        if (!sattn_check_runs(variant) || !is_array(variant))
            continue;
        sattn_check_entry *const entry = sattn_check_add(run, v, length->name, range->name);
        good = entry != NULL;
        if (good)
            sattn_check_entry_array(variant, x, x + length->n, length->n, entry);
    }
    free(x);
    return good;
}

static bool check_arrays(sattn_check_run *run, sattn_progress *line)
{
    size_t n_lengths, n_ranges;
    const sattn_check_length *const lengths = sattn_check_lengths(&n_lengths);
    const sattn_check_range *const ranges = sattn_check_ranges(&n_ranges);
    for (size_t l = 0; l < n_lengths; ++l)
        for (size_t r = 0; r < n_ranges; ++r) {
            if (!sattn_check_wants(run->options, lengths[l].name, ranges[r].name))
                continue;
            sattn_progress_update(line, 0.9 + 0.1 * (double)l / (double)n_lengths, lengths[l].name);
            if (!check_range(run, &lengths[l], &ranges[r]))
                return false;
        }
    return true;
}

int sattn_check_execute(sattn_check_run *run)
{
    sattn_progress line;
    const int64_t begin = sattn_now_ns();
    sattn_progress_begin(&line);
    int code = check_attentions(run, &line);
    if (code == SATTN_EXIT_GOOD && !(check_arrays(run, &line) && sattn_check_run_layers(run))) {
        fputs("simdattn check: out of memory\n", stderr);
        code = SATTN_EXIT_FAILED;
    }
    sattn_progress_clear(&line);
    run->seconds = (double)(sattn_now_ns() - begin) * 1e-9;
    return code;
}
