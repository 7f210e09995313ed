/* SPDX-License-Identifier: MIT
 *
 * ragged_plan.c: see ragged_plan.h. */
#include "dispatch/ragged_plan.h"

#include "dispatch/attention_check.h"
#include "dispatch/choose.h"
#include "dispatch/dense.h"
#include "dispatch/ragged_check.h"
#include "dispatch/share.h"

static int phase_index(const sattn_ragged_plan *p, int64_t n_q)
{
    const sattn_attention_args *const a = &p->args;
    const sattn_phase phase =
        sattn_fused_phase(sattn_group_of(a), n_q, p->tile_rows, sattn_least_width(a));
    if (phase == SATTN_PHASE_FEW_QUERY)
        return sattn_are_several(sattn_cpu_this(), phase, sattn_group_of(a), n_q) ? 3 : 1;
    return phase == SATTN_PHASE_PREFILL ? 0 : 2;
}

const sattn_plan *sattn_ragged_plan_of(const sattn_ragged_plan *p, int64_t n_q)
{
    return &p->of_phase[phase_index(p, n_q)];
}

/* Row `row` of a tensor of n_rows rows, the stride of which is ignored where there is one. */
static const void *row_of(const void *data, int64_t n_rows, int64_t row, int64_t stride)
{
    return data && n_rows > 1 ? (const float *)data + row * stride : data;
}

sattn_attention_args sattn_ragged_sequence(const sattn_attention_args *a,
                                           const sattn_ragged *ragged, int64_t b)
{
    sattn_attention_args s = *a;
    s.n_q = sattn_ragged_queries(ragged, b);
    s.n_k = sattn_ragged_keys(ragged, b);
    /* Without rows a sequence may start behind the last row, which has no address. */
    const int64_t q0 = s.n_q > 0 ? ragged->q_starts[b] : 0;
    const int64_t k0 = s.n_k > 0 ? ragged->k_starts[b] : 0;
    s.q.data = row_of(a->q.data, a->n_q, q0, a->q.stride_t);
    s.k.data = row_of(a->k.data, a->n_k, k0, a->k.stride_t);
    s.v.data = row_of(a->v.data, a->n_k, k0, a->v.stride_t);
    s.o.data = (void *)(uintptr_t)row_of(a->o.data, a->n_q, q0, a->o.stride_t);
    s.lse = a->lse ? a->lse + q0 : NULL;
    s.causal_offset = a->causal_offset ? a->causal_offset + b : NULL;
    return s;
}

bool sattn_ragged_is_empty(const sattn_ragged_plan *p)
{
    bool has_queries = false;
    for (int64_t b = 0; b < p->n_sequences && !has_queries; ++b)
        has_queries = sattn_ragged_queries(&p->ragged, b) > 0;
    return !has_queries || sattn_attention_is_empty(&p->args);
}

/* The largest sequence of each phase; returns the work of all. */
static double survey(sattn_ragged_plan *p, sattn_computation computation, double *prefill_rows)
{
    double work = 0;
    for (int64_t b = 0; b < p->n_sequences; ++b) {
        const sattn_attention_args s = sattn_ragged_sequence(&p->args, &p->ragged, b);
        if (s.n_q == 0)
            continue;
        const int phase = phase_index(p, s.n_q);
        sattn_attention_args *const largest = &p->of_phase[phase].args;
        if (!p->has_phase[phase])
            *largest = s;
        p->has_phase[phase] = true;
        largest->n_q = s.n_q > largest->n_q ? s.n_q : largest->n_q;
        largest->n_k = s.n_k > largest->n_k ? s.n_k : largest->n_k;
        work += sattn_work_of(&s, computation);
        *prefill_rows += phase == 0 ? (double)s.n_q * (double)s.n_kv_heads : 0.0;
    }
    return work;
}

int64_t sattn_ragged_tasks(const sattn_ragged_plan *p, int64_t b)
{
    const int64_t n_q = sattn_ragged_queries(&p->ragged, b);
    if (n_q == 0)
        return 0;
    const int64_t rows = sattn_ragged_plan_of(p, n_q)->block_rows;
    return ((n_q - 1) / rows + 1) * p->args.n_kv_heads;
}

/* Kernels and blocks of each phase, and the number of workers. */
static sattn_status plan_phases(sattn_ragged_plan *p, sattn_computation computation, int threads,
                                double prefill_rows)
{
    for (int phase = 0; phase < SATTN_PHASES; ++phase) {
        if (!p->has_phase[phase])
            continue;
        sattn_plan *const plan = &p->of_phase[phase];
        const sattn_status status =
            sattn_plan_begin(plan, computation, false, &p->overrides, p->options);
        if (status != SATTN_OK)
            return status;
        if (threads > 1 && phase == 0) {
            const int64_t rows =
                sattn_block_rows(prefill_rows, plan->n_group, sattn_plan_tile_rows(plan), threads);
            plan->block_rows = rows < plan->block_rows ? rows : plan->block_rows;
        }
    }
    int64_t tasks = 0;
    for (int64_t b = 0; b < p->n_sequences && tasks < threads; ++b)
        tasks += sattn_ragged_tasks(p, b);
    p->workers = tasks < threads ? (int)tasks : threads;
    p->workers = p->workers > 0 ? p->workers : 1;
    if (p->has_phase[0]) {
        p->of_phase[0].workers = p->workers;
        p->of_phase[0].n_dense =
            sattn_dense_count(&p->of_phase[0], p->n_sequences * p->args.n_kv_heads, 1);
    }
    return SATTN_OK;
}

/* A worker's memory serves sequences of all phases; there is one set of dense copies. */
static sattn_status lay_out(sattn_ragged_plan *p)
{
    size_t worker_size = 0, shared_size = 0;
    for (int phase = 0; phase < SATTN_PHASES; ++phase) {
        sattn_workspace_layout *const at = &p->of_phase[phase].layout;
        const sattn_status status =
            p->has_phase[phase] ? sattn_layout_parts(&p->of_phase[phase]) : SATTN_OK;
        if (status != SATTN_OK)
            return status;
        worker_size = at->worker_size > worker_size ? at->worker_size : worker_size;
        shared_size = at->shared_size > shared_size ? at->shared_size : shared_size;
    }
    for (int phase = 0; phase < SATTN_PHASES; ++phase) {
        sattn_workspace_layout *const at = &p->of_phase[phase].layout;
        at->worker_size = worker_size;
        at->shared_size = shared_size;
        at->dense_size = p->of_phase[0].layout.dense_size;
        at->n_dense = p->of_phase[0].layout.n_dense;
        const sattn_status status = sattn_layout_places(at, p->workers, 0);
        if (status != SATTN_OK)
            return status;
        p->order = at->size;
    }
    p->first_tasks = p->order + (size_t)p->n_sequences * sizeof(int64_t);
    p->size = (p->first_tasks + ((size_t)p->n_sequences + 1) * sizeof(int64_t) + 63) / 64 * 64;
    return SATTN_OK;
}

sattn_status sattn_ragged_plan_make(sattn_ragged_plan *p, const sattn_attention_args *args,
                                    const sattn_ragged *ragged, const sattn_options *options)
{
    sattn_computation computation;
    bool is_open; /* but all sequences are computed alike */
    double prefill_rows = 0;
    sattn_status status = sattn_ragged_check(args, ragged);
    if (status == SATTN_OK)
        status = sattn_choose_computation(args, options, &computation, &is_open);
    if (status != SATTN_OK)
        return status;
    *p = (sattn_ragged_plan){.args = *args,
                             .ragged = *ragged,
                             .n_sequences = args->batch,
                             .options = options,
                             .workers = 1};
    p->args.batch = 1;
    status = sattn_plan_check(&p->args, computation, options, p->operands);
    if (status == SATTN_OK)
        status = sattn_overrides_get(options, &p->overrides);
    if (status != SATTN_OK)
        return status;
    if (sattn_ragged_is_empty(p)) { /* wrong options are refused all the same */
        p->of_phase[0].args = p->args;
        return sattn_plan_begin(&p->of_phase[0], computation, false, &p->overrides, options);
    }
    p->tile_rows = computation == SATTN_COMPUTE_FUSED ? sattn_prefill_tile_rows(&p->overrides) : 0;
    const double work = survey(p, computation, &prefill_rows);
    const int threads = sattn_threads_for(work, sattn_threads_asked(options));
    status = plan_phases(p, computation, threads, prefill_rows);
    return status == SATTN_OK ? lay_out(p) : status;
}
