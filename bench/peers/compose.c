/* SPDX-License-Identifier: MIT
 *
 * compose.c: for each head and block of query rows S = scale Q K^T, our softmax of S in place, and
 * O = S V, so that the block's scores stay in the cache. Under a causal limit a block uses only the
 * keys up to its last row. Steps alone are cut in the same ways. */
#include "bench/peers/compose.h"

#include "bench/peers/compose_cut.h"
#include "dispatch/team.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- memory */

static void *allocate(size_t bytes)
{
    return aligned_alloc(ALIGNMENT, (bytes / ALIGNMENT + 1) * ALIGNMENT);
}

/* One block of rows as arguments of sattn_softmax. */
static sattn_attention_args softmax_args(const sattn_compose *compose, float *scores, int64_t rows,
                                         int64_t n_keys)
{
    const int64_t stride = sattn_compose_score_stride(compose, n_keys);
    return (sattn_attention_args){.batch = 1,
                                  .n_q_heads = 1,
                                  .n_kv_heads = 1,
                                  .n_q = rows,
                                  .n_k = n_keys,
                                  .d = 1,
                                  .d_v = 1,
                                  .scores_in = scores,
                                  .scores_in_stride_t = stride,
                                  .scores = scores,
                                  .scores_stride_t = stride};
}

bool sattn_compose_open(sattn_compose *compose, const sattn_attention_args *args, char *why,
                        size_t why_size)
{
    const sattn_compose_cut c = sattn_compose_cut_of(compose, args);
    const bool has_scores =
        compose->task == SATTN_COMPOSE_ATTENTION && !compose->library->attention;
    compose->workers = calloc((size_t)compose->threads, sizeof *compose->workers);
    bool good = compose->workers != NULL;
    if (has_scores) {
        const sattn_attention_args block = softmax_args(compose, NULL, c.block, args->n_k);
        const sattn_options options = {.isa = compose->cap};
        if (sattn_step_workspace_size(SATTN_STEP_SOFTMAX, &block, &options,
                                      &compose->workspace_size) != SATTN_OK) {
            snprintf(why, why_size, "sattn_softmax: %s", sattn_last_error());
            return false;
        }
    }
    for (int w = 0; good && w < compose->threads; ++w) {
        sattn_compose_worker *const worker = &compose->workers[w];
        worker->library = compose->library->open_worker();
        good = worker->library != NULL;
        if (has_scores) {
            worker->scores =
                allocate((size_t)c.block * (size_t)sattn_compose_score_stride(compose, args->n_k) *
                         sizeof(float));
            worker->workspace = allocate(compose->workspace_size);
            good = good && worker->scores && worker->workspace;
        }
    }
    if (!good)
        snprintf(why, why_size, "out of memory");
    return good;
}

void sattn_compose_close(sattn_compose *compose)
{
    for (int w = 0; compose->workers && w < compose->threads; ++w) {
        if (compose->workers[w].library)
            compose->library->close_worker(compose->workers[w].library);
        free(compose->workers[w].scores);
        free(compose->workers[w].workspace);
    }
    free(compose->workers);
    compose->workers = NULL;
}

/* ---- one run */

typedef struct run {
    const sattn_compose *compose;
    const sattn_attention_args *args;
    sattn_compose_cut cut;
    atomic_bool failed;
} run;

/* A block: rows [first, first + rows) of matrix `head` of batch entry `batch`, and its keys. */
typedef struct block {
    int64_t batch, head, first, rows, n_keys;
} block;

static const float *at(const sattn_view *view, int64_t b, int64_t h)
{
    return (const float *)view->data + b * view->stride_b + h * view->stride_h;
}

static bool scores_of(const run *r, const block *blk, sattn_compose_worker *worker, float *scores,
                      int64_t stride)
{
    const sattn_attention_args *const a = r->args;
    const int64_t q_stride = sattn_compose_row_stride(r->compose, a, a->q.stride_h, a->q.stride_t);
    const sattn_host_product product = {
        .m = blk->rows,
        .n = blk->n_keys,
        .k = a->d,
        .alpha = r->compose->scale,
        .a = at(&a->q, blk->batch, blk->head * r->cut.heads_apart) + blk->first * q_stride,
        .a_stride = q_stride,
        .b = at(&a->k, blk->batch, blk->head / r->cut.heads_per_kv),
        .b_stride = a->k.stride_t,
        .b_is_transposed = true,
        .c = scores,
        .c_stride = stride,
    };
    return r->compose->library->multiply(worker->library, &product);
}

static bool outputs_of(const run *r, const block *blk, sattn_compose_worker *worker,
                       const float *weights, int64_t stride)
{
    const sattn_attention_args *const a = r->args;
    const int64_t o_stride = sattn_compose_row_stride(r->compose, a, a->o.stride_h, a->o.stride_t);
    float *const o = (float *)a->o.data + blk->batch * a->o.stride_b +
                     blk->head * r->cut.heads_apart * a->o.stride_h + blk->first * o_stride;
    if (blk->n_keys == 0) {
        for (int64_t i = 0; i < blk->rows; ++i)
            memset(o + i * o_stride, 0, (size_t)a->d_v * sizeof(float));
        return true;
    }
    const sattn_host_product product = {
        .m = blk->rows,
        .n = a->d_v,
        .k = blk->n_keys,
        .alpha = 1,
        .a = weights,
        .a_stride = stride,
        .b = at(&a->v, blk->batch, blk->head / r->cut.heads_per_kv),
        .b_stride = a->v.stride_t,
        .c = o,
        .c_stride = o_stride,
    };
    return r->compose->library->multiply(worker->library, &product);
}

static bool weights_of(const run *r, const block *blk, const sattn_compose_worker *worker)
{
    const sattn_compose *const c = r->compose;
    const int64_t offset = c->offset + blk->first;
    sattn_attention_args args = softmax_args(c, worker->scores, blk->rows, blk->n_keys);
    args.causal = r->args->causal && r->args->n_q > 1; /* else n_keys says it all */
    args.causal_offset = args.causal ? &offset : NULL;
    const sattn_options options = {.isa = c->cap,
                                   .threads = c->way.inside ? c->threads : 1,
                                   .workspace = c->way.inside ? NULL : worker->workspace,
                                   .workspace_size = c->way.inside ? 0 : c->workspace_size};
    return sattn_softmax(&args, &options) == SATTN_OK;
}

static bool attention_of(const run *r, const block *blk, sattn_compose_worker *worker)
{
    const int64_t stride = sattn_compose_score_stride(r->compose, blk->n_keys);
    if (blk->n_keys > 0 &&
        (!scores_of(r, blk, worker, worker->scores, stride) || !weights_of(r, blk, worker)))
        return false;
    return outputs_of(r, blk, worker, worker->scores, stride);
}

static void run_block(void *context, int64_t index, int number)
{
    run *const r = context;
    const sattn_attention_args *const a = r->args;
    sattn_compose_worker *const worker = &r->compose->workers[number];
    /* Last rows first: under a causal limit they see most keys. */
    block blk = {.first = (r->cut.blocks - 1 - index % r->cut.blocks) * r->cut.block,
                 .head = index / r->cut.blocks % r->cut.heads,
                 .batch = index / r->cut.blocks / r->cut.heads,
                 .n_keys = a->n_k};
    blk.rows = smaller(r->cut.block, r->cut.rows - blk.first);
    const int64_t last = a->n_q == 1 ? 0 : blk.first + blk.rows - 1;
    if (a->causal && r->compose->task != SATTN_COMPOSE_QK)
        blk.n_keys = smaller(a->n_k, last + r->compose->offset + 1);
    if (blk.n_keys < 0)
        blk.n_keys = 0;
    const int64_t head = blk.head * r->cut.heads_apart;
    bool good = true;
    if (r->compose->task == SATTN_COMPOSE_ATTENTION) {
        good = attention_of(r, &blk, worker);
    } else if (r->compose->task == SATTN_COMPOSE_QK) {
        const int64_t stride =
            sattn_compose_row_stride(r->compose, a, a->scores_stride_h, a->scores_stride_t);
        good = scores_of(r, &blk, worker,
                         a->scores + blk.batch * a->scores_stride_b + head * a->scores_stride_h +
                             blk.first * stride,
                         stride);
    } else {
        const int64_t stride =
            sattn_compose_row_stride(r->compose, a, a->scores_in_stride_h, a->scores_in_stride_t);
        good = outputs_of(r, &blk, worker,
                          a->scores_in + blk.batch * a->scores_in_stride_b +
                              head * a->scores_in_stride_h + blk.first * stride,
                          stride);
    }
    if (!good)
        atomic_store(&r->failed, true);
}

bool sattn_compose_run(sattn_compose *compose, const sattn_attention_args *args)
{
    run r = {.compose = compose, .args = args, .cut = sattn_compose_cut_of(compose, args)};
    atomic_init(&r.failed, false);
    compose->library->set_threads(compose->way.inside ? compose->threads : 1);
    if (compose->library->attention)
        return compose->library->attention(compose->workers[0].library, args, compose->scale);
    if (compose->task == SATTN_COMPOSE_SOFTMAX)
        return compose->library->softmax(compose->workers[0].library, args->scores_in, args->scores,
                                         args->batch * args->n_q_heads * args->n_q, args->n_k);
    sattn_team_run(compose->way.inside ? 1 : compose->threads,
                   args->batch * r.cut.heads * r.cut.blocks, run_block, &r);
    return !atomic_load(&r.failed);
}
