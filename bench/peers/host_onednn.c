/* SPDX-License-Identifier: MIT
 *
 * host_onednn.c: oneDNN as a peer: its matmul and softmax primitives, of 2.x or 3.x.
 *
 * A primitive is made for one shape, which takes longer than to run it, so each worker keeps all
 * that it has met: under a causal limit there is one for each block of query rows. Product and
 * scale are one primitive. */
#define _GNU_SOURCE /* RTLD_DEFAULT */

#include "bench/peers/dnnl_common.h"
#include "bench/peers/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IMPLEMENTATION_SIZE = 64 };

/* ---- what 2.x and 3.x name differently */

#if DNNL_VERSION_MAJOR >= 3
static dnnl_status_t make_layout(dnnl_memory_desc_t *layout, int64_t rows, int64_t columns,
                                 int64_t row_stride, int64_t column_stride)
{
    const dnnl_dims_t extents = {rows, columns}, strides = {row_stride, column_stride};
    return dnnl_memory_desc_create_with_strides(layout, 2, extents, dnnl_f32, strides);
}

static void drop_layout(dnnl_memory_desc_t *layout)
{
    dnnl_memory_desc_destroy(*layout);
}

static dnnl_status_t make_memory(dnnl_memory_t *memory, dnnl_memory_desc_t *layout,
                                 dnnl_engine_t engine)
{
    return dnnl_memory_create(memory, *layout, engine, DNNL_MEMORY_NONE);
}

static dnnl_status_t append_factor(dnnl_post_ops_t after, float factor)
{
    return dnnl_post_ops_append_eltwise(after, dnnl_eltwise_linear, factor, 0);
}

static dnnl_status_t describe_product(dnnl_primitive_desc_t *description, dnnl_engine_t engine,
                                      dnnl_memory_desc_t layouts[3], dnnl_primitive_attr_t attr)
{
    return dnnl_matmul_primitive_desc_create(description, engine, layouts[0], layouts[1], NULL,
                                             layouts[2], attr);
}

static dnnl_status_t describe_softmax(dnnl_primitive_desc_t *description, dnnl_engine_t engine,
                                      dnnl_memory_desc_t *layout)
{
    return dnnl_softmax_forward_primitive_desc_create(description, engine, dnnl_forward_inference,
                                                      dnnl_softmax_accurate, *layout, *layout, 1,
                                                      NULL);
}
#else
static dnnl_status_t make_layout(dnnl_memory_desc_t *layout, int64_t rows, int64_t columns,
                                 int64_t row_stride, int64_t column_stride)
{
    const dnnl_dims_t extents = {rows, columns}, strides = {row_stride, column_stride};
    return dnnl_memory_desc_init_by_strides(layout, 2, extents, dnnl_f32, strides);
}

static void drop_layout(dnnl_memory_desc_t *layout)
{
    (void)layout;
}

static dnnl_status_t make_memory(dnnl_memory_t *memory, dnnl_memory_desc_t *layout,
                                 dnnl_engine_t engine)
{
    return dnnl_memory_create(memory, layout, engine, DNNL_MEMORY_NONE);
}

static dnnl_status_t append_factor(dnnl_post_ops_t after, float factor)
{
    return dnnl_post_ops_append_eltwise(after, 1, dnnl_eltwise_linear, factor, 0);
}

static dnnl_status_t describe_product(dnnl_primitive_desc_t *description, dnnl_engine_t engine,
                                      dnnl_memory_desc_t layouts[3], dnnl_primitive_attr_t attr)
{
    dnnl_matmul_desc_t operation;
    const dnnl_status_t status =
        dnnl_matmul_desc_init(&operation, &layouts[0], &layouts[1], NULL, &layouts[2]);
    return status ? status
                  : dnnl_primitive_desc_create(description, &operation, attr, engine, NULL);
}

static dnnl_status_t describe_softmax(dnnl_primitive_desc_t *description, dnnl_engine_t engine,
                                      dnnl_memory_desc_t *layout)
{
    dnnl_softmax_v2_desc_t operation;
    const dnnl_status_t status = dnnl_softmax_v2_forward_desc_init(
        &operation, dnnl_forward_inference, dnnl_softmax_accurate, layout, layout, 1);
    return status ? status
                  : dnnl_primitive_desc_create(description, &operation, NULL, engine, NULL);
}
#endif

/* ---- primitives of a worker */

typedef struct kept {
    sattn_host_product shape; /* without pointers; of a softmax m and n alone */
    bool is_softmax;
    dnnl_primitive_t primitive;
    dnnl_memory_t memories[3];
    char implementation[IMPLEMENTATION_SIZE];
    struct kept *next;
} kept;

typedef struct worker {
    dnnl_worker on;
    kept *list; /* the last one used comes first */
} worker;

static void close_worker(void *context)
{
    worker *const w = context;
    while (w->list) {
        kept *const k = w->list;
        w->list = k->next;
        dnnl_primitive_destroy(k->primitive);
        for (int i = 0; i < 3; ++i)
            dnnl_memory_destroy(k->memories[i]);
        free(k);
    }
    dnnl_close_worker(&w->on);
}

static void *open_worker(void)
{
    return dnnl_open_worker(sizeof(worker));
}

static bool is_same(const kept *k, const sattn_host_product *p, bool is_softmax)
{
    const sattn_host_product *const s = &k->shape;
    return k->is_softmax == is_softmax && s->m == p->m && s->n == p->n && s->k == p->k &&
           s->alpha == p->alpha && s->a_stride == p->a_stride && s->b_stride == p->b_stride &&
           s->c_stride == p->c_stride && s->b_is_transposed == p->b_is_transposed;
}

/* What was made for this shape, moved to the front of the list; NULL: nothing yet. */
static kept *look_up(worker *w, const sattn_host_product *p, bool is_softmax)
{
    for (kept **at = &w->list; *at; at = &(*at)->next)
        if (is_same(*at, p, is_softmax)) {
            kept *const found = *at;
            *at = found->next;
            found->next = w->list;
            w->list = found;
            return found;
        }
    return NULL;
}

static bool describe_scaled(worker *w, const sattn_host_product *p, dnnl_memory_desc_t layouts[3],
                            dnnl_primitive_desc_t *description)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_post_ops_t after = NULL;
    const bool good = dnnl_primitive_attr_create(&attr) == dnnl_success &&
                      dnnl_post_ops_create(&after) == dnnl_success &&
                      (p->alpha == 1 || append_factor(after, p->alpha) == dnnl_success) &&
                      dnnl_primitive_attr_set_post_ops(attr, after) == dnnl_success &&
                      describe_product(description, w->on.engine, layouts, attr) == dnnl_success;
    if (after)
        dnnl_post_ops_destroy(after);
    if (attr)
        dnnl_primitive_attr_destroy(attr);
    return good;
}

/* Makes primitive and memories; an element of the list that is only half made is dropped with it.
 */
static kept *make(worker *w, const sattn_host_product *p, bool is_softmax)
{
    kept *const k = calloc(1, sizeof *k);
    dnnl_memory_desc_t layouts[3];
    dnnl_primitive_desc_t description = NULL;
    if (!k)
        return NULL;
    k->shape = *p;
    k->is_softmax = is_softmax;
    k->next = w->list;
    w->list = k;
    const bool transposed = p->b_is_transposed;
    const int n = is_softmax ? 2 : 3;
    bool good =
        make_layout(&layouts[0], p->m, is_softmax ? p->n : p->k, p->a_stride, 1) == dnnl_success &&
        make_layout(&layouts[n - 1], p->m, p->n, p->c_stride, 1) == dnnl_success &&
        (is_softmax || make_layout(&layouts[1], p->k, p->n, transposed ? 1 : p->b_stride,
                                   transposed ? p->b_stride : 1) == dnnl_success);
    good = good &&
           (is_softmax ? describe_softmax(&description, w->on.engine, &layouts[0]) == dnnl_success
                       : describe_scaled(w, p, layouts, &description)) &&
           dnnl_primitive_create(&k->primitive, description) == dnnl_success;
    for (int i = 0; good && i < n; ++i)
        good = make_memory(&k->memories[i], &layouts[i], w->on.engine) == dnnl_success;
    if (good) {
        const char *name = "";
        dnnl_primitive_desc_query(description, dnnl_query_impl_info_str, 0, (void *)&name);
        snprintf(k->implementation, sizeof k->implementation, "%s", name);
        for (int i = 0; i < n; ++i)
            drop_layout(&layouts[i]);
    }
    if (description)
        dnnl_primitive_desc_destroy(description);
    if (!good)
        fprintf(stderr, "oneDNN makes no %s of %lld x %lld\n",
                is_softmax ? "softmax" : "matrix product", (long long)p->m, (long long)p->n);
    return good ? k : NULL;
}

static bool execute(worker *w, const kept *k, int n, void *const data[3])
{
    static const int places[2][3] = {{DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST},
                                     {DNNL_ARG_SRC, DNNL_ARG_DST, 0}};
    dnnl_exec_arg_t arguments[3];
    for (int i = 0; i < n; ++i) {
        if (dnnl_memory_set_data_handle(k->memories[i], data[i]) != dnnl_success)
            return false;
        arguments[i] = (dnnl_exec_arg_t){places[k->is_softmax][i], k->memories[i]};
    }
    return dnnl_primitive_execute(k->primitive, w->on.stream, n, arguments) == dnnl_success &&
           dnnl_stream_wait(w->on.stream) == dnnl_success;
}

/* ---- the library */

static bool multiply(void *context, const sattn_host_product *p)
{
    worker *const w = context;
    const kept *k = look_up(w, p, false);
    if (!k && !(k = make(w, p, false)))
        return false;
    /* oneDNN takes its inputs without const. */
    void *const data[3] = {(void *)(uintptr_t)p->a, (void *)(uintptr_t)p->b, p->c};
    return execute(w, k, 3, data);
}

static bool softmax(void *context, const float *x, float *y, int64_t rows, int64_t columns)
{
    worker *const w = context;
    const sattn_host_product shape = {
        .m = rows, .n = columns, .a_stride = columns, .c_stride = columns};
    const kept *k = look_up(w, &shape, true);
    if (!k && !(k = make(w, &shape, true)))
        return false;
    void *const data[3] = {(void *)(uintptr_t)x, y, NULL};
    return execute(w, k, 2, data);
}

/* The implementations of the last two shapes: of both products of an attention. */
static void describe(void *context, char *text, size_t size)
{
    const worker *const w = context;
    const kept *const last = w->list, *const before = last ? last->next : NULL;
    if (!last)
        snprintf(text, size, "%s", "");
    else if (last->is_softmax)
        snprintf(text, size, "softmax %s", last->implementation);
    else if (before && strcmp(before->implementation, last->implementation) != 0)
        snprintf(text, size, "matmul %s and %s", before->implementation, last->implementation);
    else
        snprintf(text, size, "matmul %s", last->implementation);
}

int main(void)
{
    const sattn_host_library library = {.load = dnnl_load,
                                        .set_threads = dnnl_set_threads,
                                        .open_worker = open_worker,
                                        .close_worker = close_worker,
                                        .multiply = multiply,
                                        .softmax = softmax,
                                        .describe = describe};
    return sattn_host_main(&library);
}
