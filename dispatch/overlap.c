/* SPDX-License-Identifier: MIT
 *
 * overlap.c: refuses a call whose outputs or workspace meet other memory of the call. First and
 * last bytes are looked at first, which is enough for nearly all calls and takes a few
 * instructions; interleaved tensors need the exact search of region.c, which also finds out what to
 * name. */
#include "dispatch/overlap.h"

#include "dispatch/error.h"

#include <string.h>

/* sattn_softmax in place. */
static bool scores_are_input(const sattn_attention_args *a, sattn_computation computation)
{
    return computation == SATTN_COMPUTE_SOFTMAX && a->scores == a->scores_in &&
           (a->batch <= 1 || a->scores_stride_b == a->scores_in_stride_b) &&
           (a->n_q_heads <= 1 || a->scores_stride_h == a->scores_in_stride_h) &&
           (a->n_q <= 1 || a->scores_stride_t == a->scores_in_stride_t);
}

static sattn_region mask_region(const sattn_attention_args *a)
{
    const int64_t size = a->mask.kind == SATTN_MASK_BOOL ? 1 : 4;
    sattn_region region = {.base = (uintptr_t)a->mask.data, .run = a->mask.extent[3] * size};
    for (int axis = 0; axis < SATTN_REGION_AXES; ++axis) {
        region.extent[axis] = a->mask.extent[axis];
        region.step[axis] = sattn_step_of(a->mask.extent[axis], a->mask.stride[axis], size);
    }
    return region;
}

static sattn_region array_region(const void *data, int64_t count, int64_t element_size)
{
    return (sattn_region){
        .base = (uintptr_t)data, .extent = {1, 1, 1}, .run = data ? count * element_size : 0};
}

enum { OTHER_REGIONS = 5 };

typedef struct named_region {
    const char *name;
    sattn_region region;
} named_region;

static sattn_status check_apart(const named_region *output, const named_region *other,
                                const char *hint)
{
    const sattn_meeting meeting = sattn_regions_meet(&output->region, &other->region);
    if (meeting == SATTN_APART)
        return SATTN_OK;
    return sattn_fail(SATTN_ERR_OVERLAP, "%s %s %s: expected memory of its own%s", output->name,
                      meeting == SATTN_MEET ? "overlaps" : "cannot be shown to be apart from",
                      other->name, hint);
}

/* What a call names beside its operands; returns how many regions it is. */
static int other_regions_of(const sattn_attention_args *a, sattn_computation computation,
                            named_region others[OTHER_REGIONS])
{
    int n = 0;
    if (sattn_computation_sees(computation) && a->mask.kind != SATTN_MASK_NONE)
        others[n++] = (named_region){"mask.data", mask_region(a)};
    if (sattn_computation_sees(computation) && a->causal_offset)
        others[n++] = (named_region){"causal_offset", array_region(a->causal_offset, a->batch, 8)};
    if (a->n_k_valid)
        others[n++] = (named_region){"n_k_valid", array_region(a->n_k_valid, a->batch, 8)};
    if (sattn_computation_weighs(computation) && a->alibi_slopes)
        others[n++] =
            (named_region){"alibi_slopes", array_region(a->alibi_slopes, a->n_q_heads, 4)};
    if (sattn_computation_weighs(computation) && a->sinks)
        others[n++] = (named_region){"sinks", array_region(a->sinks, a->n_q_heads, 4)};
    return n;
}

/* The memory of a call, and which of it may coincide. */
typedef struct call_memory {
    const sattn_operand *operands;
    const void *const *data; /* of each operand */
    const sattn_workspace *workspace;
    named_region others[OTHER_REGIONS];
    int n_others;
    bool o_is_q, scores_are_input;
} call_memory;

/* True where what is written and everything else lie in memory of their own from first to last
 * byte, as they mostly do. Of two that may coincide, one stands for both. */
static bool spans_are_apart(const call_memory *m)
{
    sattn_span spans[SATTN_OPERAND_COUNT + OTHER_REGIONS + 1];
    int n = 0;
    if (m->workspace->memory && m->workspace->size > 0)
        spans[n++] = (sattn_span){(uintptr_t)m->workspace->memory, m->workspace->size};
    int n_written = n;
    for (int i = SATTN_OPERAND_COUNT - 1; i >= 0; --i) { /* the outputs first */
        if ((i == SATTN_OPERAND_Q && m->o_is_q) ||
            (i == SATTN_OPERAND_SCORES_IN && m->scores_are_input))
            continue;
        if (m->operands[i].bytes > 0)
            spans[n++] = (sattn_span){(uintptr_t)m->data[i], (uint64_t)m->operands[i].bytes};
        if (i >= SATTN_OPERAND_LSE)
            n_written = n;
    }
    for (int i = 0; i < m->n_others; ++i) {
        const sattn_span span = sattn_region_span(&m->others[i].region);
        if (span.bytes > 0)
            spans[n++] = span;
    }
    for (int written = 0; written < n_written; ++written)
        for (int other = written + 1; other < n; ++other)
            if (sattn_spans_meet(&spans[written], &spans[other]))
                return false;
    return true;
}

/* Each output against each input and the outputs before it, and the workspace against all. Two
 * pairs may coincide: o and q of an attention, scores and scores_in of a softmax. */
static sattn_status check_elements_apart(const call_memory *m)
{
    named_region tensors[SATTN_OPERAND_COUNT + OTHER_REGIONS];
    const named_region workspace = {
        "workspace", array_region(m->workspace->memory, (int64_t)m->workspace->size, 1)};
    const int n = SATTN_OPERAND_COUNT + m->n_others;
    for (int i = 0; i < SATTN_OPERAND_COUNT; ++i)
        tensors[i] = (named_region){m->operands[i].pointer,
                                    sattn_operand_region(&m->operands[i], m->data[i])};
    memcpy(tensors + SATTN_OPERAND_COUNT, m->others, (size_t)m->n_others * sizeof m->others[0]);
    for (int i = 0; i < n; ++i) {
        const sattn_status status = check_apart(&workspace, &tensors[i], "");
        if (status != SATTN_OK)
            return status;
    }
    for (int output = SATTN_OPERAND_O; output >= SATTN_OPERAND_LSE; --output)
        for (int other = 0; other < n; ++other) {
            const bool on_queries = output == SATTN_OPERAND_O && other == SATTN_OPERAND_Q;
            const bool on_input =
                output == SATTN_OPERAND_SCORES && other == SATTN_OPERAND_SCORES_IN;
            if ((other >= output && other < SATTN_OPERAND_COUNT) || (on_queries && m->o_is_q) ||
                (on_input && m->scores_are_input))
                continue;
            const char *const hint = on_queries ? ", or exactly q with equal strides and d == d_v"
                                     : on_input ? ", or exactly scores_in with equal strides"
                                                : "";
            const sattn_status status = check_apart(&tensors[output], &tensors[other], hint);
            if (status != SATTN_OK)
                return status;
        }
    return SATTN_OK;
}

sattn_status sattn_overlap_check(const sattn_attention_args *a, sattn_computation computation,
                                 const sattn_operand operands[SATTN_OPERAND_COUNT],
                                 const void *const data[SATTN_OPERAND_COUNT],
                                 const sattn_workspace *workspace, bool o_is_q)
{
    call_memory memory;
    memory.operands = operands;
    memory.data = data;
    memory.workspace = workspace;
    memory.n_others = other_regions_of(a, computation, memory.others);
    memory.o_is_q = o_is_q;
    memory.scores_are_input = scores_are_input(a, computation);
    return spans_are_apart(&memory) ? SATTN_OK : check_elements_apart(&memory);
}

sattn_status sattn_overlap_check_array(const sattn_attention_args *a,
                                       const sattn_operand operands[SATTN_OPERAND_COUNT],
                                       const char *name, const void *array, int64_t bytes)
{
    const void *data[SATTN_OPERAND_COUNT];
    const named_region input = {name, array_region(array, bytes, 1)};
    sattn_operands_locate(a, data);
    for (int i = SATTN_OPERAND_LSE; i <= SATTN_OPERAND_O; ++i) {
        const named_region output = {operands[i].pointer,
                                     sattn_operand_region(&operands[i], data[i])};
        const sattn_status status = check_apart(&output, &input, "");
        if (status != SATTN_OK)
            return status;
    }
    return SATTN_OK;
}
