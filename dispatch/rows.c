/* SPDX-License-Identifier: MIT
 *
 * rows.c: see rows.h. */
#include "dispatch/rows.h"

#include "dispatch/merge.h"
#include "kernels/visibility.h"

#include <math.h>

static float *floats_at(unsigned char *workspace, size_t offset)
{
    return (float *)(void *)(workspace + offset);
}

sattn_unit_memory sattn_unit_memory_of(const sattn_workspace_layout *at, unsigned char *workspace,
                                       int worker, int64_t block, pthread_mutex_t *lock)
{
    unsigned char *const own = workspace + (size_t)worker * at->worker_size;
    unsigned char *const shared = workspace + at->shared;
    unsigned char *const parts =
        block >= 0 ? workspace + at->blocks + (size_t)block * at->block_size : own;
    _Atomic int64_t *const pending = (_Atomic int64_t *)(void *)(workspace + at->pending);
    return (sattn_unit_memory){.scratch = own + at->scratch,
                               .scores = floats_at(own, at->scores),
                               .q_copy = floats_at(own, at->q_copy),
                               .row_max = floats_at(parts, at->row_max),
                               .row_sum = floats_at(parts, at->row_sum),
                               .parts = floats_at(parts, at->parts),
                               .pending = block >= 0 ? pending + block : NULL,
                               .repair = {.v_copy = floats_at(shared, at->v_copy),
                                          .v_keys = (int64_t *)(void *)(shared + at->v_keys),
                                          .repaired = floats_at(shared, at->repaired),
                                          .lock = lock}};
}

/* The same average from a copy of V without non-finite values, where that helps. */
static void repair_average(const sattn_plan *plan, const sattn_av_args *args,
                           const sattn_averaged *averaged, const sattn_repair_memory *memory)
{
    sattn_av_args again = *args;
    const int64_t n_keys = sattn_list_non_finite_keys(averaged, memory->v_keys);
    if (n_keys == 0) /* what is not finite comes from the weights */
        return;
    sattn_copy_finite(averaged, memory->v_copy);
    again.v = memory->v_copy;
    again.v_stride = args->d_v;
    again.o = memory->repaired;
    again.o_stride = args->d_v;
    again.o_group_stride = args->i1 * args->d_v;
    plan->kernels[SATTN_OP_av]->fn.av(&again);
    sattn_take_repaired(averaged, memory->repaired, memory->v_keys, n_keys);
}

void sattn_average(const sattn_plan *plan, const sattn_av_args *args, sattn_key_rows given,
                   const sattn_repair_memory *memory)
{
    const sattn_averaged averaged = {.visible = &args->visible,
                                     .v = given.data,
                                     .o = args->o,
                                     .v_stride = given.stride,
                                     .o_stride = args->o_stride,
                                     .o_group_stride = args->o_group_stride,
                                     .n_group = args->n_group,
                                     .n_rows = args->i1,
                                     .d_v = args->d_v};
    plan->kernels[SATTN_OP_av]->fn.av(args);
    if (!plan->may_hide || !sattn_may_hide(&args->visible, args->i1) ||
        !sattn_output_is_suspect(&averaged))
        return;
    sattn_repair_begin(memory);
    repair_average(plan, args, &averaged, memory);
    sattn_repair_end(memory);
}

/* Weights of row i of head g times `share`. */
static void scale_weights(const sattn_softmax_args *a, int64_t g, int64_t i, float share)
{
    float *const p = a->p + g * a->p_group_stride + i * a->p_stride;
    const sattn_key_range keys = sattn_visible_range(&a->visible, i);
    if (share == 0.0f) { /* the weights of nothing but -inf are NaN */
        for (int64_t j = keys.begin; j < keys.end; ++j)
            p[j] = 0.0f;
    } else if (share > 0.0f) {
        for (int64_t j = keys.begin; j < keys.end; ++j)
            p[j] *= share;
    } else {
        for (int64_t j = keys.begin; j < keys.end; ++j)
            p[j] = sattn_mask_lets_through(&a->visible, g, i, j) ? NAN : 0.0f;
    }
}

void sattn_weigh_sinks(const sattn_softmax_args *a, const float *sinks)
{
    for (int64_t g = 0; g < a->n_group; ++g) {
        if (sinks[g] == -INFINITY)
            continue;
        for (int64_t i = 0; i < a->i1; ++i) {
            const int64_t stat = g * a->stat_group_stride + i;
            scale_weights(a, g, i, sattn_add_sink(&a->row_max[stat], &a->row_sum[stat], sinks[g]));
        }
    }
}

void sattn_spoil_by_sinks(const sattn_unit *unit)
{
    for (int64_t g = 0; g < unit->n_group; ++g) {
        if (unit->sinks[g] < INFINITY)
            continue;
        for (int64_t i = 0; i < unit->n_q; ++i)
            for (int64_t y = 0; y < unit->d_v; ++y)
                unit->o[g * unit->o_group_stride + i * unit->o_stride + y] = NAN;
    }
}

void sattn_write_lse(const sattn_unit *unit, const float *row_max, const float *row_sum)
{
    for (int64_t g = 0; g < unit->n_group; ++g)
        for (int64_t i = 0; i < unit->n_q; ++i)
            unit->lse[g * unit->lse_group_stride + i] =
                sattn_log_sum_exp(row_max[g * unit->n_q + i], row_sum[g * unit->n_q + i]);
}

void sattn_fill_missing(const sattn_unit *unit)
{
    for (int64_t g = 0; g < unit->n_group; ++g)
        for (int64_t i = 0; i < unit->n_q; ++i)
            for (int64_t j = unit->visible.n_k; j < unit->n_k; ++j)
                unit->scores[g * unit->scores_group_stride + i * unit->scores_stride + j] =
                    -INFINITY;
}
