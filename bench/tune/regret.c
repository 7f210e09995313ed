/* SPDX-License-Identifier: MIT
 *
 * regret.c: a race per shape, in a random order: what drifts while they are run, such as the heat
 * of the machine, is not to go one way through the table. */
#include "bench/tune/regret.h"

#include "bench/info/info.h"
#include "bench/measure/clock.h"
#include "bench/progress.h"
#include "bench/result.h"
#include "bench/stop.h"
#include "bench/tune/regret_shapes.h"
#include "bench/verbs.h"
#include "bench/verify/inputs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* In less a race decides nothing. */
static const double least_share_s = 0.5;

enum { SHUFFLE_STREAM = 1 };

static int by_number(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

sattn_regret_summary sattn_regret_summarise(const sattn_regret_run *run, bool with_profile)
{
    sattn_regret_summary summary = {0};
    double *const regrets = calloc(run->count + 1, sizeof *regrets);
    for (size_t r = 0; regrets && r < run->count; ++r) {
        const sattn_regret_row *const row = &run->rows[r];
        const sattn_regret *const regret = with_profile ? &row->with : &row->without;
        if (!row->is_decided) {
            summary.n_undecided += row->turn > 0 && !*row->error;
            summary.n_waiting += row->turn == 0;
            continue;
        }
        regrets[summary.n++] = regret->regret;
        summary.n_beyond += regret->beyond > 0;
        summary.worst_beyond = fmax(summary.worst_beyond, regret->beyond);
    }
    if (summary.n > 0) {
        qsort(regrets, (size_t)summary.n, sizeof *regrets, by_number);
        summary.median = regrets[summary.n / 2];
        summary.p95 = regrets[(summary.n * 95 - 1) / 100];
        summary.worst = regrets[summary.n - 1];
    }
    free(regrets);
    return summary;
}

int sattn_regret_exit_code(const sattn_regret_run *run)
{
    for (size_t r = 0; r < run->count; ++r)
        if (*run->rows[r].error)
            return SATTN_EXIT_FAILED;
    return sattn_regret_summarise(run, true).n > 0 ? SATTN_EXIT_GOOD : SATTN_EXIT_NOTHING;
}

static void add_rows(sattn_regret_run *run, const sattn_regret_shape *shape, sattn_features usable)
{
    const sattn_tune_options *const options = run->options;
    const size_t n_isas = options->isas.count ? options->isas.count : 1;
    if (!sattn_name_list_wants(&options->shapes, shape->shape.name) ||
        !sattn_name_list_wants(&options->ops, sattn_op_name(shape->op)))
        return;
    for (size_t i = 0; i < n_isas; ++i)
        for (int t = 0; t < options->threads.n; ++t)
            run->rows[run->count++].job = sattn_tune_job_of(
                shape->op, &shape->shape, options->isas.count ? options->isas.names[i] : NULL,
                usable, options->threads.of[t]);
}

static bool select_rows(sattn_regret_run *run, sattn_features usable)
{
    size_t n_shapes;
    const sattn_regret_shape *const shapes = sattn_regret_shapes(&n_shapes);
    const size_t n_isas = run->options->isas.count ? run->options->isas.count : 1;
    run->rows = calloc(n_shapes * n_isas * (size_t)run->options->threads.n, sizeof *run->rows);
    for (size_t s = 0; run->rows && s < n_shapes; ++s)
        add_rows(run, &shapes[s], usable);
    return run->rows != NULL;
}

double sattn_regret_share_s(double left_s, size_t n_left)
{
    const double even = left_s / (double)n_left;
    return left_s > 0 ? fmin(left_s, fmax(even, least_share_s)) : 0;
}

static double elapsed_s(const sattn_regret_run *run)
{
    return (double)(sattn_now_ns() - run->begin_ns) * 1e-9;
}

/* Fisher and Yates. */
void sattn_regret_shuffle(size_t *order, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; ++i) {
        const size_t at = (size_t)(sattn_random_bits(seed, SHUFFLE_STREAM, i) % (i + 1));
        order[i] = order[at];
        order[at] = i;
    }
}

static void run_rows(sattn_regret_run *run, const size_t *order)
{
    sattn_progress line;
    run->begin_ns = sattn_now_ns();
    sattn_progress_begin(&line);
    for (size_t turn = 0; turn < run->count && !sattn_stop_asked(); ++turn) {
        sattn_regret_row *const row = &run->rows[order[turn]];
        const double left = run->options->budget_s - elapsed_s(run);
        const double share = sattn_regret_share_s(left, run->count - turn);
        char text[96];
        if (!(share > 0))
            break;
        snprintf(text, sizeof text, "%zu of %zu: %.60s", turn + 1, run->count, row->job.shape.name);
        sattn_progress_update(&line, (double)turn / (double)run->count, text);
        row->turn = turn + 1;
        sattn_regret_run_row(run, row, share);
        sattn_progress_clear(&line);
    }
    run->seconds = elapsed_s(run);
}

static bool print_document(const sattn_regret_run *run)
{
    json_t *const document = sattn_regret_document(run);
    const bool good = document && sattn_result_print(document, stdout);
    json_decref(document);
    return good;
}

static int run_all(const sattn_regret_run *selected)
{
    sattn_regret_run all = *selected;
    sattn_regret_run *const run = &all;
    sattn_environment environment;
    sattn_places places;
    size_t *const order = calloc(run->count, sizeof *order);
    bool good = true;
    if (!order) {
        fputs("simdattn tune: out of memory\n", stderr);
        return SATTN_EXIT_FAILED;
    }
    sattn_regret_shuffle(order, run->count, run->options->seed);
    run->environment = &environment;
    run->places = &places;
    sattn_environment_read(NULL, &environment);
    sattn_places_begin(&places, &run->options->threads);
    if (!run->options->json)
        sattn_regret_print_begin(run);
    sattn_stop_begin();
    run_rows(run, order);
    free(order);
    if (run->options->json)
        good = print_document(run);
    else
        sattn_regret_print_end(run);
    sattn_stop_end();
    sattn_places_end(&places);
    if (sattn_stop_asked())
        return SATTN_EXIT_SIGNAL + sattn_stop_signal();
    const int code = good ? sattn_regret_exit_code(run) : SATTN_EXIT_FAILED;
    if (code == SATTN_EXIT_NOTHING)
        fputs("simdattn tune: no race was decided in this time: --budget gives it more\n", stderr);
    return code;
}

static int list_rows(const sattn_regret_run *run)
{
    for (size_t r = 0; r < run->count; ++r) {
        char text[SATTN_CLASS_TEXT];
        sattn_class_print(&run->rows[r].job.shape_class, text);
        printf("%-22s  %s\n", run->rows[r].job.shape.name, text);
    }
    return SATTN_EXIT_GOOD;
}

int sattn_regret_verify(const sattn_tune_options *options, sattn_features usable)
{
    char error[512] = "out of memory";
    sattn_tune_store store = {0};
    sattn_regret_run run = {.options = options, .store = &store};
    int code = SATTN_EXIT_FAILED;
    if (!sattn_info_check_levels("tune", &options->isas, usable))
        return SATTN_EXIT_USAGE;
    if (!select_rows(&run, usable)) {
        fprintf(stderr, "simdattn tune: %s\n", error);
    } else if (run.count == 0) {
        fputs("simdattn tune: --verify has no shape that matches these options (--list shows what "
              "there is)\n",
              stderr);
        code = SATTN_EXIT_NOTHING;
    } else if (options->list) {
        code = list_rows(&run);
    } else if (!sattn_tune_store_open(&store, options, error, sizeof error)) {
        fprintf(stderr, "simdattn tune: %s\n", error);
        code = SATTN_EXIT_USAGE;
    } else if (!store.kept) {
        fprintf(stderr, "simdattn tune: there is no profile to verify: %s\n",
                *store.note ? store.note : store.path);
        code = SATTN_EXIT_NOTHING;
    } else {
        code = run_all(&run);
    }
    sattn_tune_store_close(&store);
    free(run.rows);
    return code;
}
