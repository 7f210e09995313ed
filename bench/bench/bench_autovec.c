/* SPDX-License-Identifier: MIT
 *
 * bench_autovec.c: the verdicts of bench_autovec.h, from ratios within rounds. */
#include "bench/bench/bench_autovec.h"

sattn_against sattn_bench_against_autovec(const sattn_bench_row *row)
{
    if (row->variant->kind != SATTN_ROW_HAND || row->state != SATTN_ROW_MEASURED || !row->autovec)
        return SATTN_AGAINST_NOTHING;
    switch (sattn_stat_side(&row->over_autovec, 1)) {
    case SATTN_SIDE_ABOVE:
        return SATTN_AGAINST_FASTER;
    case SATTN_SIDE_BELOW:
        return SATTN_AGAINST_SLOWER;
    case SATTN_SIDE_OPEN:
        break;
    }
    return SATTN_AGAINST_OPEN;
}

const char *sattn_against_name(sattn_against against)
{
    switch (against) {
    case SATTN_AGAINST_FASTER:
        return "faster";
    case SATTN_AGAINST_SLOWER:
        return "slower";
    case SATTN_AGAINST_OPEN:
        return "undecided";
    case SATTN_AGAINST_NOTHING:
    case SATTN_AGAINST_COUNT:
        break;
    }
    return NULL;
}

static bool is_tainted(const sattn_bench_row *row)
{
    return row->measured.status == SATTN_MEASURE_TAINTED;
}

static void print_slower(const sattn_bench_row *row, FILE *file)
{
    const sattn_stat *const ratio = &row->over_autovec;
    fprintf(file, "SLOWER: %s at %s%.3fx the speed of %s (95 %% interval %.3f to %.3f, %d rounds",
            row->name, is_tainted(row) || is_tainted(row->autovec) ? "~" : "", ratio->median,
            row->autovec->variant->name, ratio->low, ratio->high, ratio->n);
    if (*row->autovec->part)
        fprintf(file, "; scaled from %s", row->autovec->part);
    if (!row->is_ranked)
        fputs("; run by name, not ranked for this shape", file);
    fputs(")\n", file);
}

void sattn_bench_print_autovec(const sattn_bench_jobs *list, FILE *file)
{
    size_t count[SATTN_AGAINST_COUNT] = {0};
    for (size_t j = 0; j < list->count; ++j)
        for (size_t r = 0; r < list->jobs[j].n_rows; ++r)
            ++count[sattn_bench_against_autovec(&list->jobs[j].rows[r])];
    const size_t faster = count[SATTN_AGAINST_FASTER], slower = count[SATTN_AGAINST_SLOWER];
    const size_t open = count[SATTN_AGAINST_OPEN];
    if (faster + slower + open == 0)
        return;
    fprintf(file, "hand-written against autovec: %zu faster", faster);
    if (slower)
        fprintf(file, ", %zu SLOWER", slower);
    else
        fputs(", none slower", file);
    if (open)
        fprintf(file, ", %zu undecided (no 95 %% interval that excludes equal speed)", open);
    fputc('\n', file);
    for (size_t j = 0; j < list->count; ++j)
        for (size_t r = 0; r < list->jobs[j].n_rows; ++r)
            if (sattn_bench_against_autovec(&list->jobs[j].rows[r]) == SATTN_AGAINST_SLOWER)
                print_slower(&list->jobs[j].rows[r], file);
}
