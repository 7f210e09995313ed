/* SPDX-License-Identifier: MIT
 *
 * workload.c: layout and allocation of a shape's tensors. */
#if defined(__linux__)
#define _DEFAULT_SOURCE /* madvise */
#include <sys/mman.h>
#endif

#include "bench/workload.h"

#include "bench/workload_inputs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ALIGNMENT = 64,
    LARGE_PAGE = 1 << 21,
    GAP = 5 * ALIGNMENT, /* between tensors, so that they do not all start at one cache set */
};

static size_t round_up(size_t size, size_t unit)
{
    return (size + unit - 1) / unit * unit;
}

void *sattn_workload_allocate(size_t size)
{
    const size_t unit = size >= LARGE_PAGE ? LARGE_PAGE : ALIGNMENT;
    void *const memory = aligned_alloc(unit, round_up(size ? size : 1, unit));
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if (memory && unit == LARGE_PAGE)
        (void)madvise(memory, round_up(size, unit), MADV_HUGEPAGE); /* a wish, not a need */
#endif
    return memory;
}

/* Memory for sets; NULL: none left. */
static char *allocate_arena(sattn_workload *w, size_t size, bool is_shared)
{
    if (!is_shared)
        return sattn_workload_allocate(size);
    return sattn_shared_open(&w->shared, size) ? w->shared.base : NULL;
}

/* What a row of the output has: that of a decoder is its next state. */
static int64_t output_features(const sattn_shape *s)
{
    return s->kind == SATTN_SHAPE_DECODER ? s->d : s->d_v;
}

/* Bytes of each tensor, in the order of sattn_workload_tensor; 0 for those that are not wanted. */
static void size_tensors(const sattn_shape *s, unsigned tensors, size_t bytes[SATTN_TENSORS])
{
    const int64_t heads[SATTN_TENSORS] = {
        s->n_q_heads, s->n_kv_heads, s->n_kv_heads, s->n_q_heads, s->n_q_heads, s->n_q_heads, 1};
    const int64_t rows[SATTN_TENSORS] = {s->n_q, s->n_k, s->n_k, s->n_q, s->n_q, s->n_q, 1};
    const int64_t features[SATTN_TENSORS] = {
        s->d, s->d, s->d_v, s->n_k, s->n_k, output_features(s), sattn_shape_weights(s)};
    for (int t = 0; t < SATTN_TENSORS; ++t)
        bytes[t] = tensors >> t & 1 ? (size_t)s->batch * (size_t)heads[t] * (size_t)rows[t] *
                                          (size_t)features[t] * sizeof(float)
                                    : 0;
}

static void lay_out(sattn_workload *w, unsigned tensors)
{
    size_t at = 0;
    size_tensors(&w->shape, tensors, w->bytes);
    for (int t = 0; t < SATTN_TENSORS; ++t) {
        w->at[t] = at;
        if (w->bytes[t] > 0)
            at += round_up(w->bytes[t], ALIGNMENT) + GAP;
    }
    w->set_bytes = at;
}

sattn_view sattn_workload_view(const sattn_shape *s, int64_t heads, int64_t rows, int64_t features)
{
    const int64_t all = heads * rows * features;
    if (s->is_interleaved)
        return (sattn_view){NULL, SATTN_F32, all, features, heads * features};
    return (sattn_view){NULL, SATTN_F32, all, rows * features, features};
}

/* Without the tensors' data. */
static sattn_attention_args args_of(const sattn_workload *w)
{
    const sattn_shape *const s = &w->shape;
    const int64_t score_rows = s->n_q * s->n_k;
    const sattn_view o = sattn_workload_view(s, s->n_q_heads, s->n_q, output_features(s));
    sattn_attention_args args = {
        .batch = s->batch,
        .n_q_heads = s->n_q_heads,
        .n_kv_heads = s->n_kv_heads,
        .n_q = s->n_q,
        .n_k = s->n_k,
        .d = s->d,
        .d_v = s->d_v,
        .q = sattn_workload_view(s, s->n_q_heads, s->n_q, s->d),
        .k = sattn_workload_view(s, s->n_kv_heads, s->n_k, s->d),
        .v = sattn_workload_view(s, s->n_kv_heads, s->n_k, s->d_v),
        .o = {NULL, o.dtype, o.stride_b, o.stride_h, o.stride_t},
        .has_scale = s->scale != 0,
        .scale = (float)s->scale,
        .softcap = (float)s->softcap,
        .causal = s->causal,
        .has_window = s->window > 0,
        .window_left = s->window - 1,
        .window_right = 0,
        .alibi_slopes = s->has_alibi ? w->slopes_and_sinks : NULL,
        .sinks = s->has_sinks && w->slopes_and_sinks ? w->slopes_and_sinks + s->n_q_heads : NULL,
        .n_k_valid = w->n_k_valid,
        .scores_stage = SATTN_SCORES_SOFTCAPPED,
        .scores_stride_b = s->n_q_heads * score_rows,
        .scores_stride_h = score_rows,
        .scores_stride_t = s->n_k,
        .scores_in_stride_b = s->n_q_heads * score_rows,
        .scores_in_stride_h = score_rows,
        .scores_in_stride_t = s->n_k,
    };
    if (w->mask) {
        const sattn_shape_mask *const m = &s->mask;
        const int64_t extent[4] = {m->per_batch ? s->batch : 1, m->per_head ? s->n_q_heads : 1,
                                   m->per_query ? s->n_q : 1, s->n_k};
        args.mask.kind = m->kind;
        args.mask.data = w->mask;
        int64_t stride = 1;
        for (int axis = 3; axis >= 0; --axis) {
            args.mask.extent[axis] = extent[axis];
            args.mask.stride[axis] = stride;
            stride *= extent[axis];
        }
    }
    return args;
}

sattn_attention_args sattn_workload_args(const sattn_shape *shape)
{
    int anything; /* a mask is described where there is one */
    const sattn_workload w = {.shape = *shape,
                              .mask = shape->mask.kind == SATTN_MASK_NONE ? NULL : &anything};
    sattn_attention_args args = args_of(&w);
    args.mask.data = NULL;
    return args;
}

/* Takes sizes, lengths and later the tensors from the captured layer. */
static void adopt_layer(sattn_workload *w, sattn_real_layer *layer)
{
    sattn_shape *const s = &w->shape;
    s->batch = layer->batch;
    s->n_q_heads = s->n_kv_heads = layer->n_heads;
    s->n_q = s->n_k = layer->n_tokens;
    s->d = s->d_v = layer->d;
    w->n_k_valid = layer->lengths;
    layer->lengths = NULL;
}

/* Bytes of a set but for rows of K and V that no query can see, which calls may leave untouched. */
static size_t touched_bytes(const sattn_workload *w)
{
    const sattn_attention_args args = args_of(w);
    const double existing = sattn_existing_keys(&args);
    const double unseen = existing > 0 ? 1 - sattn_readable_keys(&args) / existing : 0;
    return w->set_bytes - (size_t)(unseen * (double)(w->bytes[1] + w->bytes[2])); /* K, V */
}

static int64_t sets_for(size_t cold_bytes, const sattn_workload *w)
{
    const size_t bytes = touched_bytes(w);
    return cold_bytes > bytes ? (int64_t)((cold_bytes + bytes - 1) / bytes) : 1;
}

size_t sattn_workload_bytes(const sattn_workload_request *request)
{
    sattn_workload w = {.shape = *request->shape};
    lay_out(&w, request->tensors);
    return (size_t)sets_for(request->cold_bytes, &w) * w.set_bytes;
}

static bool open_sets(sattn_workload *w, const sattn_workload_request *request,
                      const sattn_real_layer *layer, char *error, size_t error_size)
{
    lay_out(w, request->tensors);
    w->n_sets = sets_for(request->cold_bytes, w);
    w->arena = allocate_arena(w, (size_t)w->n_sets * w->set_bytes, request->is_shared);
    if (!w->arena || !sattn_workload_make_mask(w, request->data->input) ||
        !sattn_workload_make_slopes_and_sinks(w)) {
        snprintf(error, error_size, "%s: out of memory for %.1f MB of tensors", w->shape.name,
                 (double)w->n_sets * (double)w->set_bytes / 1e6);
        return false;
    }
    w->args = args_of(w);
    if (!sattn_workload_fill(w, request, layer, error, error_size))
        return false;
    for (int64_t set = 1; set < w->n_sets; ++set)
        memcpy(w->arena + (size_t)set * w->set_bytes, w->arena, w->set_bytes);
    sattn_workload_place(w, 0, &w->args);
    return true;
}

bool sattn_workload_open(sattn_workload *workload, const sattn_workload_request *request,
                         char *error, size_t error_size)
{
    sattn_workload w = {.shape = *request->shape};
    sattn_real_layer layer = {0};
    *workload = (sattn_workload){0};
    if (w.shape.real_layer >= 0) {
        if (!sattn_real_load(request->dataset, w.shape.real_layer, &layer, error, error_size))
            return false;
        adopt_layer(&w, &layer);
    }
    const sattn_mask_kind mask = sattn_input_mask_kind(request->data->input);
    if (mask != SATTN_MASK_NONE)
        w.shape.mask = (sattn_shape_mask){SATTN_CONTENT_INPUT, mask, .per_query = true};
    const bool good = open_sets(&w, request, &layer, error, error_size);
    if (good)
        *workload = w;
    else
        sattn_workload_close(&w);
    sattn_real_free(&layer);
    return good;
}

void sattn_workload_close(sattn_workload *workload)
{
    if (workload->shared.base)
        sattn_shared_close(&workload->shared);
    else if (!workload->borrows_arena)
        free(workload->arena);
    free(workload->pristine);
    free(workload->mask);
    free(workload->slopes_and_sinks);
    free(workload->n_k_valid);
    *workload = (sattn_workload){0};
}

bool sattn_workload_share(sattn_workload *workloads, size_t count, bool is_shared)
{
    char *const arena = allocate_arena(&workloads[0], workloads[0].set_bytes, is_shared);
    if (!arena)
        return false;
    for (size_t w = 0; w < count; ++w) {
        workloads[w].pristine = workloads[w].arena;
        workloads[w].arena = arena;
        workloads[w].borrows_arena = w > 0;
        sattn_workload_place(&workloads[w], 0, &workloads[w].args);
    }
    return true;
}

void sattn_workload_restore(const sattn_workload *workload)
{
    if (workload->pristine)
        memcpy(workload->arena, workload->pristine, workload->set_bytes);
}

void *sattn_workload_piece(const sattn_workload *workload, int64_t set, unsigned tensors,
                           size_t *bytes)
{
    int first = SATTN_TENSORS, last = 0;
    for (int t = 0; t < SATTN_TENSORS; ++t)
        if (tensors >> t & 1 && workload->bytes[t] > 0) {
            first = t < first ? t : first;
            last = t;
        }
    if (first == SATTN_TENSORS) {
        *bytes = 0;
        return NULL;
    }
    *bytes = workload->at[last] + workload->bytes[last] - workload->at[first];
    return workload->arena + (size_t)set * workload->set_bytes + workload->at[first];
}

static void *tensor_of(const sattn_workload *w, int64_t set, sattn_workload_tensor tensor)
{
    size_t bytes;
    return sattn_workload_piece(w, set, tensor, &bytes);
}

sattn_linear_weights sattn_workload_matrix(const sattn_workload *workload, int number)
{
    const int64_t d = workload->args.d;
    const float *const all = tensor_of(workload, 0, SATTN_TENSOR_WEIGHTS);
    return (sattn_linear_weights){
        .n_in = d, .n_out = d, .w = {.data = all + number * d * d, .stride_t = d}};
}

void sattn_workload_place(const sattn_workload *workload, int64_t set, sattn_attention_args *args)
{
    args->q.data = tensor_of(workload, set, SATTN_TENSOR_Q);
    args->k.data = tensor_of(workload, set, SATTN_TENSOR_K);
    args->v.data = tensor_of(workload, set, SATTN_TENSOR_V);
    args->scores_in = tensor_of(workload, set, SATTN_TENSOR_SCORES_IN);
    args->scores = tensor_of(workload, set, SATTN_TENSOR_SCORES);
    args->o.data = tensor_of(workload, set, SATTN_TENSOR_O);
}

bool sattn_workload_can_cut_rows(const sattn_workload *workload)
{
    const sattn_attention_args *const a = &workload->args;
    return !a->causal && !a->has_window && !a->alibi_slopes && a->mask.kind == SATTN_MASK_NONE;
}

sattn_attention_args sattn_workload_part(const sattn_workload *workload, int64_t n_kv_heads,
                                         int64_t n_rows)
{
    sattn_attention_args part = workload->args;
    const int64_t group = part.n_q_heads / part.n_kv_heads;
    part.batch = 1;
    part.n_kv_heads = n_kv_heads;
    part.n_q_heads = n_kv_heads * group;
    part.n_q = n_rows;
    if (part.mask.extent[0] > 1)
        part.mask.extent[0] = 1;
    if (part.mask.extent[1] > 1)
        part.mask.extent[1] = part.n_q_heads;
    return part;
}
