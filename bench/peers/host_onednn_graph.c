/* SPDX-License-Identifier: MIT
 *
 * host_onednn_graph.c: oneDNN's graph interface as a peer, which comes with version 3: attention as
 * a graph of four operations, softmax(Q K^T * scale) V, if the library takes them as one partition.
 * The heads of a group are rows of one head, so that K and V are read once. */
#define _GNU_SOURCE /* RTLD_DEFAULT */

#include "bench/peers/dnnl_common.h"
#include "bench/peers/host.h"

#include <oneapi/dnnl/dnnl_graph.h>
#include <stdio.h>
#include <string.h>

enum { AXES = 4, OPERATIONS = 4, INPUTS = 4 };

typedef enum value { Q, K, SCALE, V, O, SCORES, SCALED, WEIGHTS, VALUES } value;

typedef struct worker {
    dnnl_worker on;
    dnnl_graph_compiled_partition_t compiled; /* NULL: not yet made */
    dnnl_graph_tensor_t tensors[VALUES];      /* of inputs and output */
    value inputs[INPUTS];                     /* in the order of the partition */
    float scale;
} worker;

static void close_worker(void *context)
{
    worker *const w = context;
    for (int v = 0; v < VALUES; ++v)
        if (w->tensors[v])
            dnnl_graph_tensor_destroy(w->tensors[v]);
    if (w->compiled)
        dnnl_graph_compiled_partition_destroy(w->compiled);
    dnnl_close_worker(&w->on);
}

static void *open_worker(void)
{
    return dnnl_open_worker(sizeof(worker));
}

/* ---- the graph */

typedef struct extents {
    dnnl_dims_t n, strides;
} extents;

static bool describe_value(dnnl_graph_logical_tensor_t *tensor, value v, const extents *e)
{
    return dnnl_graph_logical_tensor_init_with_strides(
               tensor, (size_t)v, dnnl_f32, AXES, e->n, e->strides,
               dnnl_graph_tensor_property_variable) == dnnl_success;
}

/* The layout of what only lies between two operations is the library's to choose. */
static bool describe_inner(dnnl_graph_logical_tensor_t *tensor, value v, const extents *e)
{
    return dnnl_graph_logical_tensor_init_with_dims(
               tensor, (size_t)v, dnnl_f32, AXES, e->n, dnnl_graph_layout_type_strided,
               dnnl_graph_tensor_property_variable) == dnnl_success;
}

static bool describe_values(const sattn_attention_args *a, dnnl_graph_logical_tensor_t t[VALUES])
{
    const int64_t b = a->batch, h = a->n_kv_heads, rows = a->n_q_heads / h * a->n_q;
    const int64_t group = a->n_q_heads / h;
    const int64_t q_row = a->n_q == 1 ? a->q.stride_h : a->q.stride_t;
    const int64_t o_row = a->n_q == 1 ? a->o.stride_h : a->o.stride_t;
    const extents q = {{b, h, rows, a->d}, {a->q.stride_b, group * a->q.stride_h, q_row, 1}};
    const extents k = {{b, h, a->n_k, a->d}, {a->k.stride_b, a->k.stride_h, a->k.stride_t, 1}};
    const extents v = {{b, h, a->n_k, a->d_v}, {a->v.stride_b, a->v.stride_h, a->v.stride_t, 1}};
    const extents o = {{b, h, rows, a->d_v}, {a->o.stride_b, group * a->o.stride_h, o_row, 1}};
    const extents one = {{1, 1, 1, 1}, {1, 1, 1, 1}};
    const extents scores = {{b, h, rows, a->n_k}, {0}};
    return describe_value(&t[Q], Q, &q) && describe_value(&t[K], K, &k) &&
           describe_value(&t[V], V, &v) && describe_value(&t[O], O, &o) &&
           describe_value(&t[SCALE], SCALE, &one) && describe_inner(&t[SCORES], SCORES, &scores) &&
           describe_inner(&t[SCALED], SCALED, &scores) &&
           describe_inner(&t[WEIGHTS], WEIGHTS, &scores);
}

typedef struct operation {
    dnnl_graph_op_kind_t kind;
    const char *name;
    value inputs[2];
    int n_inputs;
    value output;
} operation;

static const operation operations[OPERATIONS] = {
    {dnnl_graph_op_matmul, "scores", {Q, K}, 2, SCORES},
    {dnnl_graph_op_multiply, "scale", {SCORES, SCALE}, 2, SCALED},
    {dnnl_graph_op_softmax, "softmax", {SCALED}, 1, WEIGHTS},
    {dnnl_graph_op_matmul, "output", {WEIGHTS, V}, 2, O},
};

/* An operation is copied into the graph. */
static bool add_operation(dnnl_graph_graph_t graph, int number,
                          const dnnl_graph_logical_tensor_t t[VALUES])
{
    const operation *const o = &operations[number];
    const uint8_t is_transposed = number == 0;
    const int64_t axis = AXES - 1;
    dnnl_graph_op_t op = NULL;
    bool good = dnnl_graph_op_create(&op, (size_t)number, o->kind, o->name) == dnnl_success;
    for (int i = 0; good && i < o->n_inputs; ++i)
        good = dnnl_graph_op_add_input(op, &t[o->inputs[i]]) == dnnl_success;
    good = good && dnnl_graph_op_add_output(op, &t[o->output]) == dnnl_success;
    if (good && o->kind == dnnl_graph_op_matmul)
        good = dnnl_graph_op_set_attr_bool(op, dnnl_graph_op_attr_transpose_b, &is_transposed, 1) ==
               dnnl_success;
    if (good && o->kind == dnnl_graph_op_softmax)
        good = dnnl_graph_op_set_attr_s64(op, dnnl_graph_op_attr_axis, &axis, 1) == dnnl_success;
    good = good && dnnl_graph_add_op(graph, op) == dnnl_success;
    if (op)
        dnnl_graph_op_destroy(op);
    return good;
}

static bool compile(worker *w, dnnl_graph_partition_t partition,
                    const dnnl_graph_logical_tensor_t t[VALUES])
{
    dnnl_graph_logical_tensor_t ports[INPUTS];
    size_t n = 0;
    if (dnnl_graph_partition_get_input_ports_num(partition, &n) != dnnl_success || n != INPUTS ||
        dnnl_graph_partition_get_input_ports(partition, n, ports) != dnnl_success)
        return false;
    const dnnl_graph_logical_tensor_t *inputs[INPUTS], *output = &t[O];
    for (size_t i = 0; i < INPUTS; ++i) {
        w->inputs[i] = (value)ports[i].id;
        inputs[i] = &t[ports[i].id];
    }
    return dnnl_graph_compiled_partition_create(&w->compiled, partition) == dnnl_success &&
           dnnl_graph_partition_compile(partition, w->compiled, INPUTS, inputs, 1, &output,
                                        w->on.engine) == dnnl_success;
}

/* The graph's only partition, if it is all of it. */
static dnnl_graph_partition_t whole_partition(dnnl_graph_graph_t graph)
{
    dnnl_graph_partition_t partition = NULL;
    size_t n = 0;
    if (dnnl_graph_graph_filter(graph, dnnl_graph_partition_policy_fusion) == dnnl_success &&
        dnnl_graph_graph_get_partition_num(graph, &n) == dnnl_success && n == 1 &&
        dnnl_graph_graph_get_partitions(graph, 1, &partition) == dnnl_success &&
        dnnl_graph_partition_get_op_num(partition, &n) == dnnl_success && n == OPERATIONS)
        return partition;
    fprintf(stderr, "oneDNN does not take the four operations as one\n");
    if (partition)
        dnnl_graph_partition_destroy(partition);
    return NULL;
}

static bool make(worker *w, const sattn_attention_args *args)
{
    dnnl_graph_logical_tensor_t t[VALUES];
    dnnl_graph_graph_t graph = NULL;
    bool good =
        describe_values(args, t) && dnnl_graph_graph_create(&graph, dnnl_cpu) == dnnl_success;
    for (int i = 0; good && i < OPERATIONS; ++i)
        good = add_operation(graph, i, t);
    good = good && dnnl_graph_graph_finalize(graph) == dnnl_success;
    dnnl_graph_partition_t const partition = good ? whole_partition(graph) : NULL;
    good = partition && compile(w, partition, t);
    for (int v = Q; good && v <= O; ++v)
        good = dnnl_graph_tensor_create(&w->tensors[v], &t[v], w->on.engine, NULL) == dnnl_success;
    if (partition)
        dnnl_graph_partition_destroy(partition);
    if (graph)
        dnnl_graph_graph_destroy(graph);
    return good;
}

/* ---- the library */

static bool attention(void *context, const sattn_attention_args *args, float scale)
{
    worker *const w = context;
    if (!w->compiled && !make(w, args))
        return false;
    w->scale = scale;
    /* oneDNN takes its inputs without const. */
    void *const data[] = {[Q] = (void *)(uintptr_t)args->q.data,
                          [K] = (void *)(uintptr_t)args->k.data,
                          [SCALE] = &w->scale,
                          [V] = (void *)(uintptr_t)args->v.data,
                          [O] = args->o.data};
    for (int v = Q; v <= O; ++v)
        if (dnnl_graph_tensor_set_data_handle(w->tensors[v], data[v]) != dnnl_success)
            return false;
    const_dnnl_graph_tensor_t inputs[INPUTS], output = w->tensors[O];
    for (int i = 0; i < INPUTS; ++i)
        inputs[i] = w->tensors[w->inputs[i]];
    return dnnl_graph_compiled_partition_execute(w->compiled, w->on.stream, INPUTS, inputs, 1,
                                                 &output) == dnnl_success &&
           dnnl_stream_wait(w->on.stream) == dnnl_success;
}

static void describe(void *context, char *text, size_t size)
{
    (void)context;
    snprintf(text, size, "one partition of matmul, multiply, softmax, matmul");
}

int main(void)
{
    const sattn_host_library library = {.load = dnnl_load,
                                        .set_threads = dnnl_set_threads,
                                        .open_worker = open_worker,
                                        .close_worker = close_worker,
                                        .attention = attention,
                                        .describe = describe};
    return sattn_host_main(&library);
}
