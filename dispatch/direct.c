/* SPDX-License-Identifier: MIT
 *
 * direct.c: see direct.h. */
#include "dispatch/direct.h"

#include "dispatch/attend.h"
#include "dispatch/attention_check.h"
#include "dispatch/choose.h"
#include "dispatch/execute.h"

bool sattn_plan_is_direct(const sattn_plan *plan)
{
    const sattn_attention_args *const a = &plan->args;
    return plan->computation == SATTN_COMPUTE_FUSED && !plan->may_hide && plan->workers == 1 &&
           plan->n_blocks == 1 && plan->splits == 1 && plan->n_dense == 0 && !a->lse &&
           !a->scores && !a->n_k_valid && !a->causal_offset && !a->alibi_slopes && !a->sinks &&
           a->n_k > 0 && !sattn_attention_is_empty(a);
}

static sattn_span span_of(const sattn_plan *plan, sattn_operand_id id, const void *data)
{
    return (sattn_span){(uintptr_t)data, (uint64_t)plan->operands[id].bytes};
}

/* As attention_check.c and overlap.c would find, without a look at what is there. */
static bool memory_is_right(const sattn_plan *plan, const sattn_pointers *p, void *workspace,
                            size_t workspace_size)
{
    const uintptr_t bits = (uintptr_t)p->q | (uintptr_t)p->k | (uintptr_t)p->v | (uintptr_t)p->o;
    const sattn_span q = span_of(plan, SATTN_OPERAND_Q, p->q);
    const sattn_span k = span_of(plan, SATTN_OPERAND_K, p->k);
    const sattn_span v = span_of(plan, SATTN_OPERAND_V, p->v);
    const sattn_span o = span_of(plan, SATTN_OPERAND_O, p->o);
    const sattn_span work = {(uintptr_t)workspace, plan->layout.size};
    const bool is_there = p->q && p->k && p->v && p->o && workspace && !p->mask && !p->lse &&
                          !p->scores && !p->n_k_valid && !p->causal_offset && !p->alibi_slopes &&
                          !p->sinks;
    return is_there && bits % sizeof(float) == 0 &&
           (uintptr_t)workspace % SATTN_WORKSPACE_ALIGNMENT == 0 &&
           workspace_size >= plan->layout.size && !sattn_spans_meet(&o, &q) &&
           !sattn_spans_meet(&o, &k) && !sattn_spans_meet(&o, &v) && !sattn_spans_meet(&work, &q) &&
           !sattn_spans_meet(&work, &k) && !sattn_spans_meet(&work, &v) &&
           !sattn_spans_meet(&work, &o);
}

/* Every field is named, as in unit.c, where strides of an extent of 1 are 0 for the same reason. */
static void set_args(const sattn_plan *plan, void *workspace, sattn_fused_args *args)
{
    const sattn_attention_args *const a = &plan->args;
    const bool one_row = a->n_q == 1, one_key = a->n_k == 1, one_head = plan->n_group == 1;
    args->q_stride = one_row ? 0 : a->q.stride_t;
    args->k_stride = one_key ? 0 : a->k.stride_t;
    args->v_stride = one_key ? 0 : a->v.stride_t;
    args->o_stride = one_row ? 0 : a->o.stride_t;
    args->q_group_stride = one_head ? 0 : a->q.stride_h;
    args->o_group_stride = one_head ? 0 : a->o.stride_h;
    args->n_group = plan->n_group;
    args->i0 = args->j0 = 0;
    args->i1 = a->n_q;
    args->j1 = a->n_k;
    args->d = a->d;
    args->d_v = a->d_v;
    args->scale = plan->scale;
    args->softcap = a->softcap;
    args->partial = false;
    args->visible = (sattn_visibility){.n_k = a->n_k};
    args->row_max = args->row_sum = NULL;
    args->stat_group_stride = a->n_q;
    args->scratch = workspace;
    args->kv_bytes = plan->kv_bytes;
    args->rows_are_followed = plan->rows_are_followed;
}

/* Of the heads' strides those of one head may hold anything. */
static int64_t moved(int64_t b, int64_t stride_b, int64_t h, int64_t stride_h)
{
    return (b > 0 ? b * stride_b : 0) + (h > 0 ? h * stride_h : 0);
}

bool sattn_direct_run(const sattn_plan *plan, const sattn_pointers *p, void *workspace,
                      size_t workspace_size)
{
    const sattn_attention_args *const a = &plan->args;
    sattn_fused_args args;
    if (!memory_is_right(plan, p, workspace, workspace_size))
        return false;
    const int64_t n_rest = sattn_plan_rest_rows(plan, a->n_q);
    set_args(plan, workspace, &args);
    for (int64_t b = 0; b < a->batch; ++b)
        for (int64_t kv = 0; kv < a->n_kv_heads; ++kv) {
            const int64_t head = kv * plan->n_group;
            args.q = (const float *)p->q + moved(b, a->q.stride_b, head, a->q.stride_h);
            args.k = (const float *)p->k + moved(b, a->k.stride_b, kv, a->k.stride_h);
            args.v = (const float *)p->v + moved(b, a->v.stride_b, kv, a->v.stride_h);
            args.o = (float *)p->o + moved(b, a->o.stride_b, head, a->o.stride_h);
            sattn_attend_rows(plan, &args, n_rest);
        }
    return true;
}
