/* SPDX-License-Identifier: MIT
 *
 * tune_list.c: `tune --list`. The lines of a kind of call stand together, below their number; what
 * tells kinds apart begins the name of each class, so that a search finds lines without headings.
 */
#include "bench/tune/tune_report.h"

#include <stdio.h>
#include <string.h>

/* "attention few-query", "exp": a class without its numbers and what stands between them. */
static void kind_of(const sattn_tune_job *job, char kind[SATTN_CLASS_TEXT])
{
    sattn_class_print(&job->shape_class, kind);
    size_t length = strcspn(kind, "=");
    while (length > 0 && kind[length] != ' ')
        --length;
    kind[length] = '\0';
}

/* Of the jobs from `first` on those of its tier and kind; all of them are printed if that is asked
 * for. Returns their number, and adds to the named shapes that they stand for. */
static size_t visit_kind(const sattn_tune_jobs *jobs, size_t first, bool is_printed, int *shapes)
{
    char kind[SATTN_CLASS_TEXT], other[SATTN_CLASS_TEXT], name[112];
    size_t n = 0;
    kind_of(&jobs->jobs[first], kind);
    for (size_t j = first; j < jobs->count; ++j) {
        const sattn_tune_job *const job = &jobs->jobs[j];
        kind_of(job, other);
        if (job->tier != jobs->jobs[first].tier || strcmp(kind, other) != 0)
            continue;
        ++n;
        *shapes += job->n_shapes;
        sattn_tune_job_name(job, name, sizeof name);
        sattn_class_print(&job->shape_class, other);
        if (is_printed)
            printf("    %-34s  %s\n", name, other);
    }
    return n;
}

static bool is_first_of_kind(const sattn_tune_jobs *jobs, size_t at)
{
    char kind[SATTN_CLASS_TEXT], other[SATTN_CLASS_TEXT];
    kind_of(&jobs->jobs[at], kind);
    for (size_t j = 0; j < at; ++j) {
        kind_of(&jobs->jobs[j], other);
        if (jobs->jobs[j].tier == jobs->jobs[at].tier && strcmp(kind, other) == 0)
            return false;
    }
    return true;
}

static void print_count(size_t n, int shapes)
{
    printf("%zu class%s", n, n == 1 ? "" : "es");
    if ((size_t)shapes > n)
        printf(" of %d shapes", shapes);
    putchar('\n');
}

static void print_tier(const sattn_tune_jobs *jobs, sattn_tune_tier tier)
{
    size_t n = 0;
    int shapes = 0;
    for (size_t j = 0; j < jobs->count; ++j)
        if (jobs->jobs[j].tier == tier) {
            ++n;
            shapes += jobs->jobs[j].n_shapes;
        }
    if (n == 0)
        return;
    printf("\n%s: ", sattn_tune_tier_name(tier));
    print_count(n, shapes);
    for (size_t j = 0; j < jobs->count; ++j) {
        char kind[SATTN_CLASS_TEXT];
        int of_kind = 0;
        if (jobs->jobs[j].tier != tier || !is_first_of_kind(jobs, j))
            continue;
        kind_of(&jobs->jobs[j], kind);
        n = visit_kind(jobs, j, false, &of_kind);
        printf("  %s: ", kind);
        print_count(n, of_kind);
        visit_kind(jobs, j, true, &of_kind);
    }
}

void sattn_tune_print_list(const sattn_tune_jobs *jobs)
{
    printf("%zu class%s, each with the shape that stands for it\n", jobs->count,
           jobs->count == 1 ? "" : "es");
    for (int tier = 0; tier < SATTN_TUNE_TIERS; ++tier)
        print_tier(jobs, (sattn_tune_tier)tier);
}
