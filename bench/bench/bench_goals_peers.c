/* SPDX-License-Identifier: MIT
 *
 * bench_goals_peers.c: other libraries beside the goals: the fastest of them for each goal, and how
 * far ahead of each our kernels are. */
#include "bench/bench/bench_goals_report.h"

#include "bench/table.h"

#include <stdio.h>
#include <string.h>

enum {
    PEER_WORKLOAD,
    PEER_FIRST, /* of the first ISA */
    PEER_GOAL = 0,
    PEER_VALUE,
    PEER_MARK,
    PEER_NAME,
    PEER_EACH,
    PEER_COLUMNS = PEER_FIRST + SATTN_GOAL_ISAS * PEER_EACH
};

/* Without a figure to reach, being ahead is what counts. */
static void set_peer(sattn_table *table, const sattn_goal_result *result)
{
    static const char *const marks[2][2] = {{"behind", "ahead"}, {"below", "goal"}};
    const int first = PEER_FIRST + result->isa * PEER_EACH;
    const double figure = result->goal->figures[result->isa].peer;
    if (figure > 0)
        sattn_table_set(table, first + PEER_GOAL, "%.2f", figure);
    if (!result->row || !result->row->peer)
        return;
    const sattn_stat *const over = &result->row->over_peer;
    const double line = figure > 0 ? figure : 1;
    sattn_table_set(table, first + PEER_VALUE, "%.2f", over->median);
    sattn_table_set(table, first + PEER_NAME, "%s", result->row->peer->variant->peer);
    sattn_table_set(table, first + PEER_MARK, "%s%s", marks[figure > 0][over->median >= line],
                    sattn_stat_side(over, line) == SATTN_SIDE_OPEN ? "?" : "");
}

static void fill_peers(const sattn_bench_jobs *list, const sattn_caches *caches, sattn_table *table)
{
    size_t n_goals;
    const sattn_goal *const goals = sattn_goals(&n_goals);
    for (size_t g = 0; g < n_goals; ++g) {
        sattn_goal_result results[SATTN_GOAL_ISAS];
        bool has_peer = false;
        for (int i = 0; i < SATTN_GOAL_ISAS; ++i) {
            results[i] = sattn_goal_judge(&goals[g], i, list, caches);
            has_peer = has_peer || (results[i].row && results[i].row->peer);
        }
        if (!has_peer || !sattn_table_add_row(table))
            continue;
        sattn_table_set(table, PEER_WORKLOAD, "%s", goals[g].workload);
        for (int i = 0; i < SATTN_GOAL_ISAS; ++i)
            set_peer(table, &results[i]);
    }
}

static void print_peer_table(const sattn_bench_jobs *list, const sattn_caches *caches)
{
    sattn_table_column columns[PEER_COLUMNS] = {[PEER_WORKLOAD] = {"vs best peer", 27, false}};
    for (int i = 0; i < SATTN_GOAL_ISAS; ++i) {
        sattn_table_column *const own = &columns[PEER_FIRST + i * PEER_EACH];
        own[PEER_GOAL] = (sattn_table_column){"goal", 4, true};
        own[PEER_VALUE] = (sattn_table_column){sattn_goal_isa(i), 6, true};
        own[PEER_MARK] = (sattn_table_column){"mark", 7, false};
        own[PEER_NAME] = (sattn_table_column){"peer", 11, false};
    }
    sattn_table table;
    sattn_table_init(&table, columns, PEER_COLUMNS);
    fill_peers(list, caches, &table);
    if (table.n_rows > 0) {
        fputc('\n', stdout);
        sattn_table_print(&table, stdout, true, 0);
        fputs(
            "\n"
            "vs best peer  speed-up over the fastest of the other libraries on one thread, in the\n"
            "              same rounds on the same buffers; ahead or behind where no figure is "
            "set\n\n",
            stdout);
    }
    sattn_table_free(&table);
}

/* Speed-ups over one peer, from least to most. */
typedef struct peer_range {
    double least, most;
    const char *least_shape;
    size_t n, n_measured;
    const char *version, *why;
} peer_range;

/* Our row at the peer's level. */
static const sattn_bench_row *ours_beside(const sattn_bench_job *job, const sattn_bench_row *peer)
{
    for (size_t r = 0; r < job->n_rows; ++r) {
        const sattn_bench_row *const row = &job->rows[r];
        if (!row->variant->peer && row->variant->needs == peer->variant->needs &&
            row->data == peer->data && row->threads == peer->threads &&
            row->state == SATTN_ROW_MEASURED)
            return row;
    }
    return NULL;
}

static void note_peer_row(const sattn_bench_job *job, const sattn_bench_row *row, peer_range *range)
{
    ++range->n;
    if (*row->version)
        range->version = row->version;
    if (row->state == SATTN_ROW_ABSENT)
        range->why = row->why;
    const sattn_bench_row *const ours = ours_beside(job, row);
    if (row->state != SATTN_ROW_MEASURED || !ours)
        return;
    const double over = sattn_measure_ratio(&ours->measured, &row->measured).median;
    if (range->n_measured == 0 || over < range->least) {
        range->least = over;
        range->least_shape = job->shape->name;
    }
    if (range->n_measured == 0 || over > range->most)
        range->most = over;
    ++range->n_measured;
}

static void print_peer(const sattn_bench_jobs *list, const char *peer)
{
    peer_range range = {.version = "", .why = ""};
    for (size_t j = 0; j < list->count; ++j)
        for (size_t r = 0; list->jobs[j].is_done && r < list->jobs[j].n_rows; ++r)
            if (strcmp(list->jobs[j].rows[r].variant->name, peer) == 0)
                note_peer_row(&list->jobs[j], &list->jobs[j].rows[r], &range);
    if (range.n == 0)
        return;
    if (range.n_measured == 0) {
        printf("%s: %s\n", peer, range.why);
        return;
    }
    printf("%s: %s\n  %zu of %zu rows; ours %.2f (%s) to %.2f times as fast\n", peer, range.version,
           range.n_measured, range.n, range.least, range.least_shape, range.most);
    if (*range.why)
        printf("  not measured, such as: %s\n", range.why);
}

void sattn_bench_print_goals_peers(const sattn_bench_jobs *list, const sattn_caches *caches)
{
    static const char *const caps[SATTN_PEER_CAPS] = {NULL, "avx2"};
    print_peer_table(list, caches);
    for (int c = 0; c < SATTN_PEER_CAPS; ++c)
        for (int p = 0; p < SATTN_PEERS; ++p)
            print_peer(list, sattn_peer_variant("fused", 0, p, caps[c])->name);
}
