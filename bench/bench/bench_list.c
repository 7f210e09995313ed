/* SPDX-License-Identifier: MIT
 *
 * bench_list.c: what --list prints. */
#include "bench/bench/bench_list.h"

#include "bench/bench/bench_goals.h"

#include <stdio.h>
#include <string.h>

void sattn_bench_job_ops(const sattn_bench_job *job, char *text, size_t size)
{
    size_t count, used = 0;
    const sattn_bench_op *const ops = sattn_bench_ops(&count);
    if (size > 0)
        text[0] = '\0';
    for (size_t o = 0; o < count; ++o) {
        bool found = false;
        for (size_t r = 0; r < job->n_rows; ++r)
            found = found || job->rows[r].variant->op == &ops[o];
        if (found && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? " and " : "",
                                     ops[o].name);
    }
}

/* "    87/91 and 88/91 % of fma: prefill D=128, n=128", for each goal that the job is about. */
static void print_goals(const sattn_bench_job *job)
{
    size_t n_goals;
    const sattn_goal *const goals = sattn_goals(&n_goals);
    for (size_t g = 0; g < n_goals; ++g) {
        const sattn_goal *const goal = &goals[g];
        if (strcmp(goal->shape, job->shape->name) != 0 || goal->cache != job->cache ||
            sattn_bench_op_by_name(goal->op)->task != job->task)
            continue;
        printf("  goal: %s:", goal->workload);
        for (int i = 0; i < SATTN_GOAL_ISAS; ++i) {
            char figures[SATTN_GOAL_TEXT_SIZE];
            sattn_goal_print(&goal->figures[i], figures, sizeof figures);
            printf(" %s at %s,", figures, sattn_goal_isa(i));
        }
        printf(" in %s\n", sattn_goal_unit(goal->measure));
    }
}

void sattn_bench_print_list(const sattn_bench_jobs *list, bool bare, bool with_goals)
{
    for (size_t j = 0; j < list->count; ++j) {
        const sattn_bench_job *const job = &list->jobs[j];
        char sizes[160], ops[64];
        sattn_shape_describe(job->shape, sizes, sizeof sizes);
        sattn_bench_job_ops(job, ops, sizeof ops);
        if (!bare)
            printf("%s%s, %s, %s: %s [%s]\n  %s\n", j ? "\n" : "", ops, job->shape->name,
                   sattn_cache_name(job->cache), job->shape->model, job->shape->source, sizes);
        if (!bare && with_goals)
            print_goals(job);
        for (size_t d = 0; !bare && job->n_data > 1 && d < job->n_data; ++d)
            printf("  %-9s  %s\n", job->data[d].name, job->data[d].note);
        for (size_t r = 0; r < job->n_rows; ++r)
            printf("%s%s\n", bare ? "" : "    ", job->rows[r].name);
    }
}
