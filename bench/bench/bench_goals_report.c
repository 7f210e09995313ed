/* SPDX-License-Identifier: MIT
 *
 * bench_goals_report.c: the table of goals, one line for a goal with the ISAs side by side. Its
 * widths are fixed, since lines are printed as their jobs end, and fit a terminal of 100 columns.
 */
#include "bench/bench/bench_goals_report.h"

#include "bench/table.h"

#include <stdio.h>
#include <string.h>

enum {
    COLUMN_WORKLOAD,
    COLUMN_OF,
    COLUMN_FIRST, /* of the first ISA */
    COLUMN_GOAL = 0,
    COLUMN_VALUE,
    COLUMN_MARK,
    COLUMNS_EACH,
    N_COLUMNS = COLUMN_FIRST + SATTN_GOAL_ISAS * COLUMNS_EACH
};

static const char *short_unit(sattn_goal_measure measure)
{
    switch (measure) {
    case SATTN_GOAL_FMA:
        return "% fma";
    case SATTN_GOAL_READ:
        return "% read";
    case SATTN_GOAL_EASY:
    case SATTN_GOAL_NEIGHBOUR:
        return "points";
    case SATTN_GOAL_PER_CYCLE:
        return "el/cyc";
    case SATTN_GOAL_TIME:
        return "ps/el";
    case SATTN_GOAL_SPEEDUP:
        break;
    }
    return "x t1";
}

static int decimals_of(sattn_goal_measure measure)
{
    return measure == SATTN_GOAL_TIME ? 0 : measure >= SATTN_GOAL_PER_CYCLE ? 2 : 1;
}

static void set_result(sattn_table *table, const sattn_goal_result *result)
{
    const int first = COLUMN_FIRST + result->isa * COLUMNS_EACH;
    const sattn_goal_measure measure = result->goal->measure;
    const sattn_stat *const value = &result->value;
    char figures[SATTN_GOAL_TEXT_SIZE];
    sattn_goal_print(&result->goal->figures[result->isa], figures, sizeof figures);
    sattn_table_set(table, first + COLUMN_GOAL, "%s", figures);
    if (value->n > 0) {
        const bool is_fma = measure == SATTN_GOAL_READ && result->bound == SATTN_LIMIT_FMA;
        const bool is_tainted = result->row->measured.status == SATTN_MEASURE_TAINTED;
        const int decimals = decimals_of(measure);
        sattn_table_set(table, first + COLUMN_VALUE, "%.*f%s %s%.*f", decimals, value->median,
                        is_fma ? "f" : "", is_tainted ? "~" : "±", decimals,
                        (value->p90 - value->p10) / 2);
    }
    sattn_table_set(table, first + COLUMN_MARK, "%s%s%s", sattn_mark_name(result->mark),
                    result->is_open ? "?" : "", result->is_wide ? " w" : "");
}

static void print_lines(const sattn_bench_jobs *list, size_t job, const sattn_caches *caches,
                        sattn_table *table)
{
    size_t n_goals;
    const sattn_goal *const goals = sattn_goals(&n_goals);
    for (size_t g = 0; g < n_goals; ++g) {
        if (!sattn_goal_is_ended_by(&goals[g], list, job))
            continue;
        sattn_goal_result results[SATTN_GOAL_ISAS];
        bool is_asked = false;
        for (int i = 0; i < SATTN_GOAL_ISAS; ++i) {
            results[i] = sattn_goal_judge(&goals[g], i, list, caches);
            is_asked = is_asked || results[i].mark != SATTN_MARK_NOT_ASKED;
        }
        if (!is_asked || !sattn_table_add_row(table))
            continue;
        sattn_table_set(table, COLUMN_WORKLOAD, "%s", goals[g].workload);
        sattn_table_set(table, COLUMN_OF, "%s", short_unit(goals[g].measure));
        for (int i = 0; i < SATTN_GOAL_ISAS; ++i)
            set_result(table, &results[i]);
    }
}

void sattn_bench_print_goals_of(const sattn_bench_jobs *list, size_t job,
                                const sattn_caches *caches)
{
    sattn_table_column columns[N_COLUMNS] = {
        [COLUMN_WORKLOAD] = {"workload", 27, false}, [COLUMN_OF] = {"in", 6, false}};
    for (int i = 0; i < SATTN_GOAL_ISAS; ++i) {
        sattn_table_column *const own = &columns[COLUMN_FIRST + i * COLUMNS_EACH];
        own[COLUMN_GOAL] = (sattn_table_column){"goal", 9, true};
        own[COLUMN_VALUE] = (sattn_table_column){sattn_goal_isa(i), 10, true};
        own[COLUMN_MARK] = (sattn_table_column){"mark", 7, false};
    }
    sattn_table table;
    sattn_table_init(&table, columns, N_COLUMNS);
    print_lines(list, job, caches, &table);
    if (job == 0)
        fputc('\n', stdout);
    sattn_table_print(&table, stdout, job == 0, 0);
    sattn_table_free(&table);
    fflush(stdout);
}
