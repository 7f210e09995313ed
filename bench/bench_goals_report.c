/* SPDX-License-Identifier: MIT
 *
 * bench_goals_report.c: one line for a goal, the ISAs side by side. */
#include "bench/bench_goals_report.h"

#include "bench/table.h"

#include <stdio.h>
#include <string.h>

enum {
    COLUMN_WORKLOAD,
    COLUMN_OF,
    COLUMN_FIRST, /* of the first ISA */
    COLUMN_GOAL = 0,
    COLUMN_STRETCH,
    COLUMN_VALUE,
    COLUMN_SPREAD,
    COLUMN_MARK,
    COLUMN_PEER,
    COLUMNS_EACH,
    N_COLUMNS = COLUMN_FIRST + SATTN_GOAL_ISAS * COLUMNS_EACH
};

static const char *short_unit(const sattn_goal_result *result)
{
    switch (result->goal->measure) {
    case SATTN_GOAL_FMA:
        return "% fma";
    case SATTN_GOAL_READ:
        return "% read";
    case SATTN_GOAL_EASY:
    case SATTN_GOAL_NEIGHBOUR:
        return "points";
    case SATTN_GOAL_PER_CYCLE:
        return "el/cycle";
    case SATTN_GOAL_NS:
        return "ns/el";
    case SATTN_GOAL_SPEEDUP:
        break;
    }
    return "x t1";
}

static int decimals_of(sattn_goal_measure measure)
{
    return measure == SATTN_GOAL_NS ? 3 : measure >= SATTN_GOAL_PER_CYCLE ? 2 : 1;
}

/* As in the table of goals: no more digits than it has. */
static void format_figure(double figure, char *text, size_t size)
{
    if (figure < 0 || figure > 0)
        snprintf(text, size, "%.4g", figure);
    else
        snprintf(text, size, "-");
}

/* "1.31x onednn", and the figure where it is missed. */
static void set_peer(sattn_table *table, int column, const sattn_goal_result *result)
{
    const sattn_bench_row *const row = result->row;
    const double goal = result->goal->figures[result->isa].peer;
    char missed[32] = "";
    if (goal > 0 && !(row->over_peer.median >= goal))
        snprintf(missed, sizeof missed, ", below %.4g", goal);
    sattn_table_set(table, column, "%.2fx %s%s", row->over_peer.median, row->peer->variant->peer,
                    missed);
}

static bool has_peers(const sattn_bench_jobs *list)
{
    bool found = false;
    for (size_t j = 0; j < list->count; ++j)
        for (size_t r = 0; r < list->jobs[j].n_rows; ++r)
            found = found || list->jobs[j].rows[r].peer;
    return found;
}

static void set_result(sattn_table *table, const sattn_goal_result *result)
{
    const int first = COLUMN_FIRST + result->isa * COLUMNS_EACH;
    const sattn_goal_figures *const figures = &result->goal->figures[result->isa];
    const int decimals = decimals_of(result->goal->measure);
    char text[32];
    format_figure(figures->goal, text, sizeof text);
    sattn_table_set(table, first + COLUMN_GOAL, "%s", text);
    format_figure(figures->stretch, text, sizeof text);
    sattn_table_set(table, first + COLUMN_STRETCH, "%s", text);
    if (result->value.n > 0) {
        const bool is_fma =
            result->goal->measure == SATTN_GOAL_READ && result->bound == SATTN_LIMIT_FMA;
        const bool is_tainted = result->row->measured.status == SATTN_MEASURE_TAINTED;
        sattn_table_set(table, first + COLUMN_VALUE, "%.*f%s", decimals, result->value.median,
                        is_fma ? "f" : "");
        sattn_table_set(table, first + COLUMN_SPREAD, "%s%.*f", is_tainted ? "~" : "", decimals,
                        result->value.p90 - result->value.p10);
    }
    if (result->row && result->row->peer)
        set_peer(table, first + COLUMN_PEER, result);
    sattn_table_set(table, first + COLUMN_MARK, "%s%s%s", sattn_mark_name(result->mark),
                    result->is_open ? "?" : "", result->is_wide ? ", wide" : "");
}

static void print_table(const sattn_bench_jobs *list, const sattn_caches *caches)
{
    sattn_table_column columns[N_COLUMNS] = {
        [COLUMN_WORKLOAD] = {"workload", 32, false}, [COLUMN_OF] = {"in", 0, false}};
    for (int i = 0; i < SATTN_GOAL_ISAS; ++i) {
        sattn_table_column *const own = &columns[COLUMN_FIRST + i * COLUMNS_EACH];
        own[COLUMN_GOAL] = (sattn_table_column){"goal", 5, true};
        own[COLUMN_STRETCH] = (sattn_table_column){"stretch", 0, true};
        own[COLUMN_VALUE] = (sattn_table_column){sattn_goal_isa(i), 6, true};
        own[COLUMN_SPREAD] = (sattn_table_column){"spread", 6, true};
        own[COLUMN_MARK] = (sattn_table_column){"mark", 14, false};
        own[COLUMN_PEER] = (sattn_table_column){has_peers(list) ? "vs best peer" : "", 0, false};
    }
    sattn_table table;
    size_t n_goals;
    const sattn_goal *const goals = sattn_goals(&n_goals);
    sattn_table_init(&table, columns, N_COLUMNS);
    for (size_t g = 0; g < n_goals; ++g) {
        sattn_goal_result results[SATTN_GOAL_ISAS];
        bool is_asked = false;
        for (int i = 0; i < SATTN_GOAL_ISAS; ++i) {
            results[i] = sattn_goal_judge(&goals[g], i, list, caches);
            is_asked = is_asked || results[i].mark != SATTN_MARK_NOT_ASKED;
        }
        if (!is_asked || !sattn_table_add_row(&table))
            continue;
        sattn_table_set(&table, COLUMN_WORKLOAD, "%s", goals[g].workload);
        sattn_table_set(&table, COLUMN_OF, "%s", short_unit(&results[0]));
        for (int i = 0; i < SATTN_GOAL_ISAS; ++i)
            set_result(&table, &results[i]);
    }
    sattn_table_print(&table, stdout, true, 0);
    sattn_table_free(&table);
}

static void print_legend(bool with_peers)
{
    fputs(
        "\n"
        "% fma       percent of a loop of multiply-adds on registers, at the kernel's ISA\n"
        "% read      percent of a loop that reads the same K and V; at avx2 of the tighter bound,\n"
        "            marked f where that is the loop of multiply-adds\n"
        "points      above (below: negative) the easy neighbour, both in percent of that loop\n"
        "el/cycle    elements per cycle of the core's clock;  ns/el nanoseconds per element\n"
        "x t1        speed-up over one thread\n"
        "spread      10th to 90th percentile of the rounds; ~ too few were free of preemption,\n"
        "            throttling and steal\n"
        "mark        stretch: that too; ?: the 95 % interval of the median has the goal in it;\n"
        "            wide: the spread is too large for the mark to mean much\n",
        stdout);
    if (with_peers)
        fputs(
            "vs best peer\n"
            "            speed-up over the fastest of the other libraries on one thread, and the\n"
            "            figure where it is missed\n",
            stdout);
}

static bool is_usable(int isa)
{
    const sattn_isa *const level = sattn_isa_by_name(sattn_goal_isa(isa));
    return level && !(level->needs & ~sattn_cpu_this()->usable);
}

static void print_counts(const sattn_bench_jobs *list, const sattn_caches *caches)
{
    size_t n_goals;
    const sattn_goal *const goals = sattn_goals(&n_goals);
    for (int i = 0; i < SATTN_GOAL_ISAS; ++i) {
        int count[SATTN_MARKS] = {0};
        if (!is_usable(i)) {
            printf("%s: cannot be used here\n", sattn_goal_isa(i));
            continue;
        }
        for (size_t g = 0; g < n_goals; ++g)
            ++count[sattn_goal_judge(&goals[g], i, list, caches).mark];
        printf(
            "%s: %d goals reached, %d of them the stretch too; %d below, %d not measurable here\n",
            sattn_goal_isa(i), count[SATTN_MARK_REACHED] + count[SATTN_MARK_STRETCH],
            count[SATTN_MARK_STRETCH], count[SATTN_MARK_BELOW], count[SATTN_MARK_NOT_HERE]);
    }
}

static void print_reasons(const sattn_bench_jobs *list, const sattn_caches *caches)
{
    size_t n_goals;
    const sattn_goal *const goals = sattn_goals(&n_goals);
    for (size_t g = 0; g < n_goals; ++g)
        for (int i = 0; i < SATTN_GOAL_ISAS; ++i) {
            const sattn_goal_result result = sattn_goal_judge(&goals[g], i, list, caches);
            if (*result.why && is_usable(i))
                printf("  %s, %s: %s\n", goals[g].workload, sattn_goal_isa(i), result.why);
        }
}

/* A peer's version, how many of its rows were measured, and why one was not. */
static void print_peer(const sattn_bench_jobs *list, const char *peer)
{
    const char *version = "", *why = "";
    size_t n = 0, n_measured = 0;
    for (size_t j = 0; j < list->count; ++j)
        for (size_t r = 0; r < list->jobs[j].n_rows; ++r) {
            const sattn_bench_row *const row = &list->jobs[j].rows[r];
            if (strcmp(row->variant->name, peer) != 0)
                continue;
            ++n;
            n_measured += row->state == SATTN_ROW_MEASURED;
            version = *row->version ? row->version : version;
            why = row->state == SATTN_ROW_ABSENT ? row->why : why;
        }
    if (n > 0)
        printf("  %s: %s%s%zu of %zu rows%s%s\n", peer, version, *version ? ", " : "", n_measured,
               n, *why ? "; not measured, such as: " : "", why);
}

static void print_peers(const sattn_bench_jobs *list)
{
    static const char *const caps[SATTN_PEER_CAPS] = {NULL, "avx2"};
    for (int c = 0; c < SATTN_PEER_CAPS; ++c)
        for (int p = 0; p < SATTN_PEERS; ++p)
            print_peer(list, sattn_peer_variant("fused", p, caps[c])->name);
}

void sattn_bench_print_goals(const sattn_bench_jobs *list, const sattn_caches *caches)
{
    fputc('\n', stdout);
    print_table(list, caches);
    print_legend(has_peers(list));
    fputc('\n', stdout);
    print_counts(list, caches);
    print_reasons(list, caches);
    print_peers(list);
}
