/* SPDX-License-Identifier: MIT
 *
 * bench_split.c: one line for each ISA, one column for each part of the step. */
#include "bench/bench/bench_split.h"

#include "bench/ops/decoder.h"
#include "bench/table.h"

#include <math.h>
#include <stdio.h>

enum {
    COLUMN_ISA,
    COLUMN_STEP,
    COLUMN_PARTS, /* the first of them */
    COLUMN_REST = COLUMN_PARTS + SATTN_DECODER_PARTS,
    N_COLUMNS
};

/* Alignment first: the order of the lecture, then what it does not speak of. */
static const sattn_decoder_part order[SATTN_DECODER_PARTS] = {
    SATTN_PART_ALIGNMENT, SATTN_PART_SOFTMAX, SATTN_PART_CONTEXT,
    SATTN_PART_UPDATE,    SATTN_PART_OUTPUT,  SATTN_PART_EMBEDDING};

static const sattn_bench_row *part_of(const sattn_bench_job *job, const sattn_bench_row *step,
                                      sattn_decoder_part part)
{
    for (size_t r = 0; r < job->n_rows; ++r) {
        const sattn_bench_row *const row = &job->rows[r];
        if (row->variant->part && row->variant->part_number == (int)part &&
            row->variant->needs == step->variant->needs && row->threads == step->threads &&
            row->of_step.n > 0)
            return row;
    }
    return NULL;
}

static void add_step(sattn_table *table, const sattn_bench_job *job, const sattn_bench_row *step)
{
    char time[32];
    double rest = 1;
    sattn_table_set(table, COLUMN_ISA, "  %s", sattn_variant_isa(step->variant));
    sattn_format_time(step->time_ns, time, sizeof time);
    sattn_table_set(table, COLUMN_STEP, "%s", time);
    for (int p = 0; p < SATTN_DECODER_PARTS; ++p) {
        const sattn_bench_row *const row = part_of(job, step, order[p]);
        rest = row ? rest - row->of_step.median : (double)NAN;
        if (!row)
            continue;
        sattn_format_time(row->time_ns, time, sizeof time);
        sattn_table_set(table, COLUMN_PARTS + p, "%s %.1f%%", time, 100 * row->of_step.median);
    }
    if (isfinite(rest))
        sattn_table_set(table, COLUMN_REST, "%.1f%%", 100 * rest);
}

void sattn_bench_print_split(const sattn_bench_job *job)
{
    sattn_table_column columns[N_COLUMNS] = {
        {"  ISA", 8, false}, {"step", 7, true}, [COLUMN_REST] = {"rest", 5, true}};
    sattn_table table;
    bool any = false;
    for (int p = 0; p < SATTN_DECODER_PARTS; ++p)
        columns[COLUMN_PARTS + p] =
            (sattn_table_column){sattn_decoder_part_name(order[p]), 12, true};
    sattn_table_init(&table, columns, N_COLUMNS);
    for (size_t r = 0; r < job->n_rows; ++r) {
        const sattn_bench_row *const row = &job->rows[r];
        const bool is_step = !row->variant->part && !row->variant->peer &&
                             row->state == SATTN_ROW_MEASURED &&
                             part_of(job, row, SATTN_PART_ALIGNMENT);
        if (!is_step || !sattn_table_add_row(&table))
            continue;
        add_step(&table, job, row);
        any = true;
    }
    if (any) {
        fputc('\n', stdout);
        sattn_table_print(&table, stdout, true, 0);
    }
    sattn_table_free(&table);
}
