/* SPDX-License-Identifier: MIT
 *
 * attend.c: see attend.h. With one range of keys and no sinks the kernel finishes its rows itself;
 * else it leaves them unnormalised, and merge.c finishes them. */
#include "dispatch/attend.h"

#include "dispatch/merge.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

typedef struct fused_context {
    const sattn_plan *plan;
    const sattn_unit *rows;
    const sattn_unit_memory *memory; /* statistics of [splits] parts */
    const sattn_fused_args *args;    /* of the whole, not partial */
    int64_t splits;
    bool o_is_q;
    bool hides; /* some key from some row */
} fused_context;

/* Every field is named, as in unit.c. */
static sattn_fused_args fused_args_of(const sattn_plan *plan, const sattn_unit *unit,
                                      const sattn_unit_memory *memory)
{
    const bool has_stats = unit->lse || unit->sinks;
    const sattn_key_rows k = sattn_unit_k(unit), v = sattn_unit_v(unit);
    return (sattn_fused_args){.q = unit->q,
                              .k = k.data,
                              .v = v.data,
                              .o = unit->o,
                              .q_stride = unit->q_stride,
                              .k_stride = k.stride,
                              .v_stride = v.stride,
                              .o_stride = unit->o_stride,
                              .q_group_stride = unit->q_group_stride,
                              .o_group_stride = unit->o_group_stride,
                              .n_group = unit->n_group,
                              .i0 = 0,
                              .i1 = unit->n_q,
                              .j0 = 0,
                              .j1 = unit->visible.n_k,
                              .d = unit->d,
                              .d_v = unit->d_v,
                              .scale = plan->scale,
                              .softcap = plan->args.softcap,
                              .partial = false,
                              .visible = unit->visible,
                              .row_max = has_stats ? memory->row_max : NULL,
                              .row_sum = has_stats ? memory->row_sum : NULL,
                              .stat_group_stride = unit->n_q,
                              .scratch = memory->scratch,
                              .kv_bytes = unit->kv_bytes,
                              .rows_are_followed = plan->rows_are_followed};
}

/* Finishes the rows from n_parts unnormalised outputs: in `parts`, or in place where there is one.
 */
static void merge_rows(const fused_context *c, const sattn_fused_args *unit, const float *parts,
                       int64_t n_parts)
{
    const int64_t rows = unit->n_group * unit->i1;
    float *const row_max = c->memory->row_max, *const row_sum = c->memory->row_sum;
    for (int64_t g = 0; g < unit->n_group; ++g)
        for (int64_t i = 0; i < unit->i1; ++i) {
            const int64_t row = g * unit->i1 + i;
            float *const out = unit->o + g * unit->o_group_stride + i * unit->o_stride;
            const sattn_row_parts of_row = {.o = parts ? parts + row * unit->d_v : out,
                                            .row_max = row_max + row,
                                            .row_sum = row_sum + row,
                                            .o_step = rows * unit->d_v,
                                            .stat_step = rows,
                                            .n_parts = n_parts,
                                            .d_v = unit->d_v};
            const sattn_row_statistics merged =
                sattn_merge_row(&of_row, c->rows->sinks ? c->rows->sinks[g] : -INFINITY, out);
            row_max[row] = merged.max;
            row_sum[row] = merged.sum;
        }
}

void sattn_attend_rows(const sattn_plan *plan, const sattn_fused_args *args, int64_t n_rest)
{
    if (n_rest == 0) {
        plan->kernels[SATTN_OP_fused]->fn.fused(args);
        return;
    }
    sattn_fused_args rows = *args;
    rows.i1 = args->i1 - n_rest;
    if (rows.i1 > rows.i0) {
        plan->kernels[SATTN_OP_fused]->fn.fused(&rows);
        rows.kv_bytes = 0; /* K and V have just been read */
    }
    rows.i0 = rows.i1;
    rows.i1 = args->i1;
    if (rows.i0 < rows.i1)
        plan->rest_kernel->fn.fused(&rows);
}

static void run_kernels(const fused_context *c, const sattn_fused_args *args)
{
    sattn_attend_rows(c->plan, args, c->rows->n_rest);
}

/* One of the key ranges, cut at multiples of the key block. What is cut are the keys that the whole
 * unit may see: the ranges, and so a row's bits, do not depend on its block. */
static void run_part(const fused_context *c, const sattn_fused_args *unit, int64_t part)
{
    const int64_t rows = unit->n_group * unit->i1, end = c->rows->keys.end;
    const int64_t begin = c->rows->keys.begin - c->rows->keys.begin % SATTN_KEY_BLOCK;
    const int64_t blocks = (end - begin + SATTN_KEY_BLOCK - 1) / SATTN_KEY_BLOCK;
    const int64_t range = (blocks + c->splits - 1) / c->splits * SATTN_KEY_BLOCK;
    sattn_fused_args piece = *unit;
    piece.j0 = begin + part * range < end ? begin + part * range : end;
    piece.j1 = end - piece.j0 > range ? piece.j0 + range : end;
    piece.partial = true;
    piece.o = c->memory->parts + part * rows * unit->d_v;
    piece.o_stride = unit->d_v;
    piece.o_group_stride = unit->i1 * unit->d_v;
    piece.row_max = c->memory->row_max + part * rows;
    piece.row_sum = c->memory->row_sum + part * rows;
    run_kernels(c, &piece);
}

static void run_fused(const fused_context *c, const sattn_fused_args *unit)
{
    if (c->splits > 1) {
        for (int64_t part = 0; part < c->splits; ++part)
            run_part(c, unit, part);
        merge_rows(c, unit, c->memory->parts, c->splits);
    } else if (c->rows->sinks) {
        sattn_fused_args piece = *unit;
        piece.partial = true;
        run_kernels(c, &piece);
        merge_rows(c, unit, NULL, 1);
    } else {
        run_kernels(c, unit);
    }
}

/* Keeps the queries of a unit whose output takes their place: the repair needs them again. */
static void copy_queries(const sattn_fused_args *unit, float *copy)
{
    for (int64_t g = 0; g < unit->n_group; ++g)
        for (int64_t i = 0; i < unit->i1; ++i)
            memcpy(copy + (g * unit->i1 + i) * unit->d,
                   unit->q + g * unit->q_group_stride + i * unit->q_stride,
                   (size_t)unit->d * sizeof(float));
}

static void repair_fused(const fused_context *c, const sattn_averaged *averaged)
{
    const sattn_repair_memory *const memory = &c->memory->repair;
    sattn_fused_args again = *c->args;
    const int64_t n_keys = sattn_list_non_finite_keys(averaged, memory->v_keys);
    if (n_keys == 0) /* what is not finite comes from Q, K, the mask or a sink */
        return;
    if (c->o_is_q) {
        again.q = c->memory->q_copy;
        again.q_stride = again.d;
        again.q_group_stride = again.i1 * again.d;
    }
    sattn_copy_finite(averaged, memory->v_copy);
    again.v = memory->v_copy;
    again.v_stride = again.d_v;
    again.o = memory->repaired;
    again.o_stride = again.d_v;
    again.o_group_stride = again.i1 * again.d_v;
    run_fused(c, &again);
    sattn_take_repaired(averaged, memory->repaired, memory->v_keys, n_keys);
}

static fused_context context_of(const sattn_plan *plan, const sattn_unit *rows, int64_t splits,
                                const sattn_unit_memory *memory, const sattn_fused_args *args,
                                bool o_is_q)
{
    return (fused_context){.plan = plan,
                           .rows = rows,
                           .memory = memory,
                           .args = args,
                           .splits = splits,
                           .o_is_q = o_is_q,
                           .hides = plan->may_hide && sattn_may_hide(&rows->visible, rows->n_q)};
}

/* What is left once the output is written. */
static void finish(const fused_context *c)
{
    const sattn_averaged averaged = {.visible = &c->args->visible,
                                     .v = c->rows->v, /* a dense copy may lack hidden rows */
                                     .o = c->args->o,
                                     .v_stride = c->rows->v_stride,
                                     .o_stride = c->args->o_stride,
                                     .o_group_stride = c->args->o_group_stride,
                                     .n_group = c->args->n_group,
                                     .n_rows = c->args->i1,
                                     .d_v = c->args->d_v};
    if (c->hides && sattn_output_is_suspect(&averaged)) {
        sattn_repair_begin(&c->memory->repair);
        repair_fused(c, &averaged);
        sattn_repair_end(&c->memory->repair);
    }
    if (c->rows->lse)
        sattn_write_lse(c->rows, c->memory->row_max, c->memory->row_sum);
}

void sattn_attend(const sattn_plan *plan, const sattn_unit *rows, int64_t splits,
                  const sattn_unit_memory *memory, bool o_is_q)
{
    const sattn_fused_args args = fused_args_of(plan, rows, memory);
    const fused_context c = context_of(plan, rows, splits, memory, &args, o_is_q);
    if (c.hides && o_is_q)
        copy_queries(&args, memory->q_copy);
    run_fused(&c, &args);
    finish(&c);
}

void sattn_attend_part(const sattn_plan *plan, const sattn_unit *rows, int64_t part,
                       const sattn_unit_memory *memory, bool o_is_q)
{
    const sattn_fused_args args = fused_args_of(plan, rows, memory);
    const fused_context c = context_of(plan, rows, plan->splits, memory, &args, o_is_q);
    _Atomic int64_t *const pending = memory->pending;
    run_part(&c, &args, part);
    /* Release: this part's results; acquire, for the last one: those of all others. */
    if (atomic_fetch_sub_explicit(pending, 1, memory_order_acq_rel) > 1)
        return;
    if (c.hides && o_is_q)
        copy_queries(&args, memory->q_copy);
    merge_rows(&c, &args, memory->parts, plan->splits);
    finish(&c);
}

void sattn_attend_expect_parts(const sattn_plan *plan, unsigned char *workspace, int64_t n_blocks)
{
    for (int64_t block = 0; block < n_blocks; ++block) {
        const sattn_unit_memory memory =
            sattn_unit_memory_of(&plan->layout, workspace, 0, block, NULL);
        atomic_init(memory.pending, plan->splits);
    }
}
