/* SPDX-License-Identifier: MIT
 *
 * attention.c: the outputs of a whole call against the oracle (compare.h): all rows, or a sample
 * of them and a look at everything else. */
#include "bench/verify/attention_rows.h"
#include "bench/verify/attention_scan.h"
#include "bench/verify/inputs.h"

#include <stdlib.h>

enum {
    EDGES_MAX = 8 /* tile edges that a sample looks at, three rows each */
};

typedef struct verify_memory {
    double *weights, *logits, *dot_sizes; /* [n_k] */
    double *o, *magnitude, *bound;        /* [d_v] */
    int64_t *rows;                        /* selected query rows, ascending */
    int64_t n_rows;
} verify_memory;

static void verify_one(const sattn_attention_args *a, const sattn_bound_params *params,
                       int64_t batch, int64_t head, int64_t i, const verify_memory *memory,
                       sattn_verify_result *result)
{
    const sattn_ref_row_args row_args = sattn_verify_map_row(a, batch, head, i);
    sattn_ref_row_result row = {.o = memory->o,
                                .magnitude = memory->magnitude,
                                .weights = memory->weights,
                                .logits = memory->logits,
                                .dot_sizes = memory->dot_sizes};
    sattn_ref_row(&row_args, &row);
    const float *lse = NULL;
    if (a->lse)
        lse = a->lse + batch * sattn_verify_stride(a->batch, a->lse_stride_b) +
              head * sattn_verify_stride(a->n_q_heads, a->lse_stride_h) + i;
    const sattn_verify_place at = {.batch = batch, .head = head, .row = i};
    sattn_verify_row(&row_args, &row, params, sattn_verify_output_row(a, batch, head, i), lse, at,
                     memory->bound, result);
}

static int compare_rows(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a;
    const int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t random_below(int64_t n, uint64_t seed, uint64_t stream, int64_t counter)
{
    return (int64_t)(sattn_random_bits(seed, stream, (uint64_t)counter) % (uint64_t)n);
}

/* Rows of one head: the first, the last, around tile edges, and random ones; each once. */
static void select_rows(const sattn_attention_args *a, const sattn_verify_selection *s,
                        uint64_t stream, verify_memory *memory)
{
    const int64_t n_random = s->n_random > 0 ? s->n_random : 32;
    const int64_t last_edge = s->tile_queries > 0 ? (a->n_q - 1) / s->tile_queries : 0;
    int64_t n = 0;
    memory->rows[n++] = 0;
    memory->rows[n++] = a->n_q - 1;
    for (int64_t e = 0; e < EDGES_MAX && e < last_edge; ++e) {
        int64_t edge = e + 1;
        if (last_edge > EDGES_MAX && e >= EDGES_MAX / 4)
            edge = e == EDGES_MAX - 1 ? last_edge
                                      : 1 + random_below(last_edge, s->seed, stream, n_random + e);
        for (int64_t i = -1; i <= 1; ++i)
            if (edge * s->tile_queries + i < a->n_q)
                memory->rows[n++] = edge * s->tile_queries + i;
    }
    for (int64_t r = 0; r < n_random; ++r)
        memory->rows[n++] = random_below(a->n_q, s->seed, stream, r);
    qsort(memory->rows, (size_t)n, sizeof *memory->rows, compare_rows);
    memory->n_rows = 0;
    for (int64_t r = 0; r < n; ++r)
        if (r == 0 || memory->rows[r] != memory->rows[memory->n_rows - 1])
            memory->rows[memory->n_rows++] = memory->rows[r];
}

static void verify_all(const sattn_attention_args *a, const sattn_bound_params *params,
                       const verify_memory *memory, sattn_verify_result *result)
{
    for (int64_t batch = 0; batch < a->batch; ++batch)
        for (int64_t head = 0; head < a->n_q_heads; ++head)
            for (int64_t i = 0; i < a->n_q; ++i)
                verify_one(a, params, batch, head, i, memory, result);
}

static void verify_sample(const sattn_attention_args *a, const sattn_verify_selection *s,
                          const sattn_bound_params *params, verify_memory *memory,
                          sattn_verify_result *result)
{
    const int64_t n_pairs = a->batch * a->n_q_heads;
    const int64_t wanted = s->n_heads > 0 ? s->n_heads : 4;
    for (int64_t p = 0; p < wanted && p < n_pairs; ++p) {
        int64_t pair = p;
        if (p == wanted - 1)
            pair = n_pairs - 1;
        else if (p > 0 && wanted < n_pairs) /* one of each equal share, so none comes twice */
            pair = n_pairs * p / wanted +
                   random_below(n_pairs * (p + 1) / wanted - n_pairs * p / wanted, s->seed, 0, p);
        const int64_t batch = pair / a->n_q_heads;
        const int64_t head = pair % a->n_q_heads;
        select_rows(a, s, (uint64_t)p + 1, memory);
        for (int64_t r = 0; r < memory->n_rows; ++r)
            verify_one(a, params, batch, head, memory->rows[r], memory, result);
    }
    sattn_verify_scan(a, result);
}

static const char *cannot_verify(const sattn_attention_args *a)
{
    if (a->q.dtype != SATTN_F32 || a->k.dtype != SATTN_F32 || a->v.dtype != SATTN_F32 ||
        a->o.dtype != SATTN_F32)
        return "verify: dtype: only SATTN_F32 can be verified";
    if (a->scores)
        return "verify: scores cannot be verified";
    return NULL;
}

static void *array_of(int64_t n, size_t size)
{
    if (n < 0 || (uint64_t)n > SIZE_MAX / size - 1)
        return NULL;
    return malloc(((size_t)n + 1) * size);
}

sattn_status sattn_verify_attention(const sattn_attention_args *args,
                                    const sattn_verify_selection *selection,
                                    const sattn_bound_params *params, sattn_verify_result *result,
                                    const char **why)
{
    const char *text = cannot_verify(args);
    if (why)
        *why = text ? text : "";
    if (text)
        return SATTN_ERR_UNSUPPORTED;
    if (args->batch == 0 || args->n_q_heads == 0 || args->n_q == 0)
        return SATTN_OK;
    sattn_bound_params used = params ? *params : sattn_bound_defaults();
    if (!args->has_scale) /* 1 / sqrt(d) in float: a square root and a division */
        used.scale_roundings += 2;
    const int64_t n_random = selection->n_random > 0 ? selection->n_random : 32;
    verify_memory memory = {.weights = array_of(args->n_k, sizeof(double)),
                            .logits = array_of(args->n_k, sizeof(double)),
                            .dot_sizes = array_of(args->n_k, sizeof(double)),
                            .o = array_of(args->d_v, sizeof(double)),
                            .magnitude = array_of(args->d_v, sizeof(double)),
                            .bound = array_of(args->d_v, sizeof(double)),
                            .rows = array_of(n_random + 2 + 3 * EDGES_MAX, sizeof(int64_t))};
    sattn_status status = SATTN_ERR_MEMORY;
    if (memory.weights && memory.logits && memory.dot_sizes && memory.o && memory.magnitude &&
        memory.bound && memory.rows) {
        status = SATTN_OK;
        if (selection->all_rows)
            verify_all(args, &used, &memory, result);
        else
            verify_sample(args, selection, &used, &memory, result);
    } else if (why) {
        *why = "verify: no memory";
    }
    free(memory.weights);
    free(memory.logits);
    free(memory.dot_sizes);
    free(memory.o);
    free(memory.magnitude);
    free(memory.bound);
    free(memory.rows);
    return status;
}
