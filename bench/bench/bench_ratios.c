/* SPDX-License-Identifier: MIT
 *
 * bench_ratios.c: which row is compared with which, and by how much they differ. */
#include "bench/bench/bench_ratios.h"

/* Whether two rows differ in their variants only, and `other` has a time. */
static bool is_beside(const sattn_bench_row *row, const sattn_bench_row *other)
{
    return other->data == row->data && other->threads == row->threads &&
           other->state == SATTN_ROW_MEASURED;
}

static const sattn_bench_row *baseline_of(const sattn_bench_job *job, const sattn_bench_row *row,
                                          sattn_row_kind kind)
{
    for (size_t r = 0; r < job->n_rows; ++r) {
        const sattn_bench_row *const other = &job->rows[r];
        if (other->variant->kind != kind || other->variant->op != row->variant->op ||
            !is_beside(row, other))
            continue;
        if (kind == SATTN_ROW_SCALAR || other->variant->needs == row->variant->needs)
            return other;
    }
    return NULL;
}

/* How often `row` does the work of `other` in the other's time. */
static sattn_stat speedup(const sattn_bench_row *row, const sattn_bench_row *other)
{
    if (!other)
        return sattn_stat_of(NULL, 0);
    const sattn_stat by_time = sattn_measure_ratio(&row->measured, &other->measured);
    const double amount = sattn_work_amount(&row->work), less = sattn_work_amount(&other->work);
    return sattn_stat_scaled(by_time, amount > 0 && less > 0 ? amount / less : 1);
}

/* The fused kernel beside a chain of the same level. */
static const sattn_bench_row *fused_of(const sattn_bench_job *job, const sattn_bench_row *row)
{
    for (size_t r = 0; r < job->n_rows; ++r) {
        const sattn_bench_row *const other = &job->rows[r];
        if (other->variant->op != row->variant->op && other->variant->kind == row->variant->kind &&
            other->variant->needs == row->variant->needs && is_beside(row, other) &&
            row->variant->isa)
            return other;
    }
    return NULL;
}

/* The kernels alone, beside a call of the same level. */
static const sattn_bench_row *kernel_of(const sattn_bench_job *job, const sattn_bench_row *row)
{
    for (size_t r = 0; r < job->n_rows; ++r) {
        const sattn_bench_row *const other = &job->rows[r];
        if (other->variant->way == SATTN_WAY_KERNEL && row->variant->way > SATTN_WAY_KERNEL &&
            other->variant->needs == row->variant->needs && is_beside(row, other))
            return other;
    }
    return NULL;
}

/* The same on one thread. */
static const sattn_bench_row *one_thread_of(const sattn_bench_job *job, const sattn_bench_row *row)
{
    for (size_t r = 0; r < job->n_rows; ++r) {
        const sattn_bench_row *const other = &job->rows[r];
        if (other->variant == row->variant && other->data == row->data && other->threads == 1 &&
            row->threads > 1 && other->state == SATTN_ROW_MEASURED)
            return other;
    }
    return NULL;
}

/* The fastest other library at the row's level, of a layer with the same alignment. */
static const sattn_bench_row *peer_of(const sattn_bench_job *job, const sattn_bench_row *row)
{
    const sattn_bench_row *best = NULL;
    for (size_t r = 0; r < job->n_rows && !row->variant->peer && !row->variant->part; ++r) {
        const sattn_bench_row *const other = &job->rows[r];
        if (other->variant->peer && other->variant->needs == row->variant->needs &&
            other->variant->align == row->variant->align && is_beside(row, other) &&
            (!best || other->time_ns < best->time_ns))
            best = other;
    }
    return best;
}

/* How much longer the whole shape takes than on the easy data. */
static sattn_stat slowdown(const sattn_bench_job *job, const sattn_bench_row *row)
{
    for (size_t r = 0; r < job->n_rows; ++r) {
        const sattn_bench_row *const easy = &job->rows[r];
        if (easy->variant == row->variant && easy->data == 0 && row->data != 0 &&
            easy->threads == row->threads && easy->state == SATTN_ROW_MEASURED)
            return sattn_stat_scaled(sattn_measure_ratio(&easy->measured, &row->measured),
                                     sattn_bench_row_scale(row) / sattn_bench_row_scale(easy));
    }
    return sattn_stat_of(NULL, 0);
}

/* The whole step of a part. */
static const sattn_bench_row *step_of(const sattn_bench_job *job, const sattn_bench_row *row)
{
    for (size_t r = 0; r < job->n_rows && row->variant->part; ++r) {
        const sattn_bench_row *const other = &job->rows[r];
        if (!other->variant->part && !other->variant->peer &&
            other->variant->needs == row->variant->needs && is_beside(row, other))
            return other;
    }
    return NULL;
}

void sattn_bench_set_ratios(sattn_bench_job *job)
{
    for (size_t r = 0; r < job->n_rows; ++r) {
        sattn_bench_row *const row = &job->rows[r];
        if (row->state != SATTN_ROW_MEASURED)
            continue;
        row->over_scalar = speedup(row, baseline_of(job, row, SATTN_ROW_SCALAR));
        row->autovec = baseline_of(job, row, SATTN_ROW_AUTOVEC);
        row->over_autovec = speedup(row, row->autovec);
        row->over_fused = speedup(row, fused_of(job, row));
        const sattn_bench_row *const kernel = kernel_of(job, row);
        if (kernel)
            row->over_kernel_ns = sattn_measure_difference(&row->measured, &kernel->measured);
        const sattn_bench_row *const step = step_of(job, row);
        if (step)
            row->of_step = sattn_measure_ratio(&step->measured, &row->measured);
        row->over_one_thread = speedup(row, one_thread_of(job, row));
        row->peer = peer_of(job, row);
        row->over_peer = speedup(row, row->peer);
        row->slowdown = slowdown(job, row);
    }
}
