/* SPDX-License-Identifier: MIT
 *
 * compose_cut.c: the ways to cut a composed call into matrices and blocks of rows. */
#include "bench/peers/compose_cut.h"

enum { LINE = 64 / (int)sizeof(float), PAGE = 1024 /* floats */ };

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static bool is_stackable(const sattn_attention_args *args, int64_t stride_h, int64_t stride_t)
{
    return args->n_q == 1 || stride_h == args->n_q * stride_t;
}

bool sattn_compose_may_stack(sattn_compose_task task, const sattn_attention_args *args)
{
    if (args->causal && args->n_q > 1)
        return false;
    const bool has_q = task != SATTN_COMPOSE_AV, has_o = task != SATTN_COMPOSE_QK;
    return (!has_q || is_stackable(args, args->q.stride_h, args->q.stride_t)) &&
           (!has_o || is_stackable(args, args->o.stride_h, args->o.stride_t)) &&
           (task != SATTN_COMPOSE_QK ||
            is_stackable(args, args->scores_stride_h, args->scores_stride_t)) &&
           (task != SATTN_COMPOSE_AV ||
            is_stackable(args, args->scores_in_stride_h, args->scores_in_stride_t));
}

sattn_compose_cut sattn_compose_cut_of(const sattn_compose *compose,
                                       const sattn_attention_args *args)
{
    const int64_t group = args->n_q_heads / args->n_kv_heads;
    const bool stacked = compose->way.stack_group;
    sattn_compose_cut c = {.heads = stacked ? args->n_kv_heads : args->n_q_heads,
                           .heads_per_kv = stacked ? 1 : group,
                           .heads_apart = stacked ? group : 1,
                           .rows = stacked ? group * args->n_q : args->n_q};
    c.block = compose->way.block > 0 ? smaller(compose->way.block, c.rows) : c.rows;
    c.blocks = (c.rows + c.block - 1) / c.block;
    return c;
}

int64_t sattn_compose_row_stride(const sattn_compose *compose, const sattn_attention_args *args,
                                 int64_t stride_h, int64_t stride_t)
{
    return compose->way.stack_group && args->n_q == 1 ? stride_h : stride_t;
}

int64_t sattn_compose_score_stride(const sattn_compose *compose, int64_t n_keys)
{
    const int64_t lines = (n_keys + LINE - 1) / LINE * LINE;
    if (!compose->way.is_padded)
        return n_keys;
    return lines % (PAGE / 2) == 0 ? lines + LINE : lines;
}

int sattn_compose_ways(const sattn_compose *compose, const sattn_attention_args *args,
                       sattn_compose_way ways[SATTN_COMPOSE_WAYS])
{
    static const int64_t blocks[] = {0, 128, 256};
    const int64_t group = args->n_q_heads / args->n_kv_heads;
    const bool has_scores = compose->task == SATTN_COMPOSE_ATTENTION;
    const bool may_stack = group > 1 && sattn_compose_may_stack(compose->task, args);
    int n = 0;
    if (compose->library->attention || compose->task == SATTN_COMPOSE_SOFTMAX) {
        ways[n++] = (sattn_compose_way){.inside = true};
        return n;
    }
    for (int stack = 0; stack <= may_stack; ++stack)
        for (int inside = 0; inside <= (compose->threads > 1); ++inside)
            for (int pad = 0; pad <= has_scores; ++pad)
                for (int b = 0; b < 3; ++b)
                    if (b == 0 || blocks[b] < (stack ? group : 1) * args->n_q)
                        ways[n++] =
                            (sattn_compose_way){blocks[b], stack != 0, pad != 0, inside != 0};
    return n;
}
