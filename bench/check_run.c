/* SPDX-License-Identifier: MIT
 *
 * check_run.c: every variant on every shape class and kind of data. The loops over shapes and data
 * are outside, so that all variants are given the same tensors. */
#include "bench/check_problem.h"
#include "bench/info.h"
#include "bench/measure/clock.h"
#include "bench/progress.h"
#include "bench/verbs.h"
#include "bench/verify/record.h"
#include "bench/verify/steps.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char chain_op[] = "chain";

static bool is_chain(const sattn_check_variant *variant)
{
    return variant->row == NULL;
}

/* ---- variants */

/* Whether some step of a chain has kernels of exactly this level. */
static bool has_chain(const sattn_isa *isa)
{
    size_t count;
    const sattn_kernel *const rows = sattn_registry(&count);
    for (size_t r = 0; r < count; ++r)
        if ((rows[r].op == SATTN_OP_qk || rows[r].op == SATTN_OP_softmax ||
             rows[r].op == SATTN_OP_av) &&
            rows[r].needs == isa->needs)
            return true;
    return false;
}

static void finish_variant(const sattn_check_options *options, sattn_check_variant *variant)
{
    variant->is_wanted = sattn_name_list_wants(&options->ops, variant->op) &&
                         sattn_name_list_wants(&options->isas, variant->isa) &&
                         sattn_name_list_wants(&options->kernels, variant->kernel);
}

static void add_op(const sattn_check_options *options, sattn_op op, sattn_features usable,
                   sattn_check_run *run)
{
    size_t count;
    const sattn_kernel *const rows = sattn_registry(&count);
    for (size_t r = 0; r < count; ++r) {
        if (rows[r].op != op)
            continue;
        sattn_check_variant *const variant = &run->variants[run->n_variants++];
        *variant = (sattn_check_variant){
            .op = sattn_op_name(op), .isa = sattn_isa_name(rows[r].needs), .row = &rows[r]};
        snprintf(variant->kernel, sizeof variant->kernel, "%s", rows[r].name);
        sattn_info_why(rows[r].needs, usable, variant->why_not, sizeof variant->why_not);
        finish_variant(options, variant);
    }
}

static void add_chains(const sattn_check_options *options, sattn_features usable,
                       sattn_check_run *run)
{
    size_t count;
    const sattn_isa *const isas = sattn_isas(&count);
    for (size_t i = count; i-- > 0;) {
        if (!has_chain(&isas[i]))
            continue;
        sattn_check_variant *const variant = &run->variants[run->n_variants++];
        *variant = (sattn_check_variant){.op = chain_op, .isa = isas[i].name};
        snprintf(variant->kernel, sizeof variant->kernel, "chain_%s", isas[i].name);
        sattn_info_why(isas[i].needs, usable, variant->why_not, sizeof variant->why_not);
        finish_variant(options, variant);
    }
}

bool sattn_check_variants(const sattn_check_options *options, sattn_features usable,
                          sattn_check_run *run)
{
    size_t n_rows, n_isas;
    sattn_registry(&n_rows);
    sattn_isas(&n_isas);
    run->variants = calloc(n_rows + n_isas, sizeof *run->variants);
    if (!run->variants)
        return false;
    for (int op = 0; op < SATTN_OP_COUNT; ++op) {
        add_op(options, (sattn_op)op, usable, run);
        if (op == SATTN_OP_fused)
            add_chains(options, usable, run);
    }
    return true;
}

const char *sattn_check_unit(const char *op)
{
    if (strcmp(op, "qk") == 0)
        return "2^-24 of sum |scale q k|";
    if (strcmp(op, "softmax") == 0)
        return "2^-24 of the row's largest weight";
    if (strcmp(op, "exp") == 0 || strcmp(op, "tanh") == 0)
        return "units in the last place";
    return "2^-24 of sum p |v|";
}

void sattn_check_run_free(sattn_check_run *run)
{
    free(run->variants);
    free(run->entries);
    run->variants = NULL;
    run->entries = NULL;
}

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

/* ---- attentions and their steps */

/* Whether the entry says anything that another one does not. */
static bool applies(const sattn_check_variant *variant, const sattn_check_problem *problem,
                    sattn_input_kind kind)
{
    const sattn_check_shape *const shape = problem->shape;
    const bool is_biased = shape->has_alibi || shape->has_sinks;
    if (is_chain(variant))
        return true;
    switch (variant->row->op) {
    case SATTN_OP_fused:
        return true;
    case SATTN_OP_qk: /* masks and biases are not looked at */
        return shape->layer != SATTN_CHECK_NO_LAYER ||
               (sattn_input_mask_kind(kind) == SATTN_MASK_NONE && !is_biased);
    case SATTN_OP_softmax: /* nor is V */
        return kind != SATTN_INPUT_DENORMAL;
    case SATTN_OP_av:
        return !is_biased;
    case SATTN_OP_exp:
    case SATTN_OP_tanh:
    case SATTN_OP_COUNT:
        break;
    }
    return false;
}

static void refuse(sattn_check_entry *entry, const char *what)
{
    snprintf(entry->refused, sizeof entry->refused, "%s", what);
}

static void check_attention(const sattn_check_variant *variant, sattn_check_problem *problem,
                            sattn_check_entry *entry)
{
    const sattn_options options = {.kernels = is_chain(variant) ? NULL : variant->kernel,
                                   .isa = is_chain(variant) ? variant->isa : NULL,
                                   .plan = is_chain(variant) ? chain_op : "fused"};
    if (sattn_attention(&problem->args, &options) != SATTN_OK) {
        refuse(entry, sattn_last_error());
        return;
    }
    const sattn_bound_params params =
        is_chain(variant) ? sattn_bound_chain() : sattn_bound_defaults();
    const int64_t n_heads = problem->args.batch * problem->args.n_q_heads > 1 ? 2 : 1;
    const int64_t n_random = problem->n_rows / n_heads - 2;
    const sattn_verify_selection selection = {.all_rows = problem->all_rows,
                                              .n_random = n_random > 1 ? n_random : 1,
                                              .n_heads = n_heads,
                                              .seed = problem->seed};
    const char *why = "";
    if (sattn_verify_attention(&problem->args, &selection, &params, &entry->result, &why) !=
        SATTN_OK)
        refuse(entry, why);
}

static void check_qk(sattn_check_problem *problem, const sattn_options *options,
                     sattn_check_entry *entry)
{
    sattn_attention_args args = problem->args;
    args.scores = problem->step;
    args.scores_stage = SATTN_SCORES_SOFTCAPPED;
    if (sattn_qk(&args, options) != SATTN_OK) {
        refuse(entry, sattn_last_error());
        return;
    }
    for (int64_t r = 0; r < problem->n_rows; ++r) {
        sattn_verify_place at = problem->rows[r];
        const float *const got = problem->step + sattn_check_row(problem, at) * args.n_k;
        const sattn_verify_scores row = {.q = sattn_check_query(problem, at.batch, at.head) +
                                              at.row * args.q.stride_t,
                                         .k = sattn_check_key(problem, at.batch, at.head),
                                         .k_stride = args.k.stride_t,
                                         .d = args.d,
                                         .n = sattn_check_visible(problem, at.batch, at.head).n_k,
                                         .scale = args.scale,
                                         .softcap = args.softcap};
        sattn_verify_scores_row(&row, got, at, &entry->result);
        for (int64_t j = row.n; j < args.n_k; ++j) {
            at.column = j;
            sattn_verify_record_bits(got[j], -INFINITY, "no such key: -inf", at, &entry->result);
        }
    }
}

static void check_softmax(sattn_check_problem *problem, const sattn_options *options,
                          sattn_check_entry *entry)
{
    sattn_attention_args args = problem->args;
    args.scores_in = problem->scores;
    args.scores = problem->step;
    args.scores_stage = SATTN_SCORES_PROBABILITIES;
    if (sattn_softmax(&args, options) != SATTN_OK) {
        refuse(entry, sattn_last_error());
        return;
    }
    for (int64_t r = 0; r < problem->n_rows; ++r) {
        const sattn_verify_place at = problem->rows[r];
        const int64_t number = sattn_check_row(problem, at);
        const sattn_visibility visible = sattn_check_visible(problem, at.batch, at.head);
        const sattn_verify_weights row = {.s = problem->scores + number * args.n_k,
                                          .n_columns = args.n_k,
                                          .visible = &visible,
                                          .i = at.row,
                                          .lse = args.lse + number,
                                          .sink = args.sinks ? args.sinks + at.head : NULL};
        sattn_verify_weights_row(&row, problem->step + number * args.n_k, NULL, NULL, at,
                                 &entry->result);
    }
}

static void check_av(sattn_check_problem *problem, const sattn_options *options,
                     sattn_check_entry *entry)
{
    sattn_attention_args args = problem->args;
    args.scores_in = problem->weights;
    if (sattn_av(&args, options) != SATTN_OK) {
        refuse(entry, sattn_last_error());
        return;
    }
    for (int64_t r = 0; r < problem->n_rows; ++r) {
        const sattn_verify_place at = problem->rows[r];
        const sattn_visibility visible = sattn_check_visible(problem, at.batch, at.head);
        const sattn_verify_outputs row = {.p = problem->weights +
                                               sattn_check_row(problem, at) * args.n_k,
                                          .v = sattn_check_value(problem, at.batch, at.head),
                                          .v_stride = args.v.stride_t,
                                          .d_v = args.d_v,
                                          .visible = &visible,
                                          .i = at.row,
                                          .repaired = true};
        const float *const got = (const float *)args.o.data + at.batch * args.o.stride_b +
                                 at.head * args.o.stride_h + at.row * args.o.stride_t;
        sattn_verify_outputs_row(&row, got, at, &entry->result);
    }
}

static void check_entry(const sattn_check_variant *variant, sattn_check_problem *problem,
                        sattn_check_entry *entry)
{
    const sattn_options options = {.kernels = variant->kernel};
    sattn_check_poison(problem);
    if (is_chain(variant) || variant->row->op == SATTN_OP_fused)
        check_attention(variant, problem, entry);
    else if (variant->row->op == SATTN_OP_qk)
        check_qk(problem, &options, entry);
    else if (variant->row->op == SATTN_OP_softmax)
        check_softmax(problem, &options, entry);
    else
        check_av(problem, &options, entry);
}

static bool is_array(const sattn_check_variant *variant)
{
    return variant->row && (variant->row->op == SATTN_OP_exp || variant->row->op == SATTN_OP_tanh);
}

/* Whether any variant of this run reads oracle scores or weights, and whether there is any at all
 * but exp and tanh. */
static void what_runs(const sattn_check_run *run, bool *any, bool *steps)
{
    *any = *steps = false;
    for (size_t v = 0; v < run->n_variants; ++v) {
        const sattn_check_variant *const variant = &run->variants[v];
        if (!sattn_check_runs(variant) || is_array(variant))
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
        if (!sattn_check_runs(variant) || is_array(variant) || !applies(variant, &problem, kind))
            continue;
        sattn_check_entry *const entry = sattn_check_add(run, v, shape->name, problem.data);
        good = entry != NULL;
        if (good)
            check_entry(variant, &problem, entry);
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

/* ---- exp and tanh */

static void check_array(const sattn_check_variant *variant, const float *x, float *y, int64_t n,
                        sattn_check_entry *entry)
{
    const bool is_exp = variant->row->op == SATTN_OP_exp;
    const sattn_options options = {.kernels = variant->kernel};
    const sattn_verify_place at = {0};
    const double bound = sattn_kernel_stated_ulp(variant->row);
    if (!(bound > 0)) {
        refuse(entry, "the note of its registry row states no error in ULP");
        return;
    }
    memset(y, 0xff, (size_t)n * sizeof *y);
    const sattn_status status =
        is_exp ? sattn_exp(x, y, n, &options) : sattn_tanh(x, y, n, &options);
    if (status == SATTN_OK)
        sattn_verify_array(is_exp ? SATTN_VERIFY_EXP : SATTN_VERIFY_TANH, x, y, n, bound, at,
                           &entry->result);
    else
        refuse(entry, sattn_last_error());
}

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
            check_array(variant, x, x + length->n, length->n, entry);
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
    if (code == SATTN_EXIT_GOOD && !check_arrays(run, &line)) {
        fputs("simdattn check: out of memory\n", stderr);
        code = SATTN_EXIT_FAILED;
    }
    sattn_progress_clear(&line);
    run->seconds = (double)(sattn_now_ns() - begin) * 1e-9;
    return code;
}
