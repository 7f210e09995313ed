/* SPDX-License-Identifier: MIT
 *
 * conform_shapes.c: what the extents of a test make of the shapes of its tensors, and which of its
 * operands go together. */
#include "bench/conform/conform_manifest.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool is_float(const sattn_conform_tensor *tensor)
{
    return tensor->type == SATTN_NPY_F2 || tensor->type == SATTN_NPY_F4 ||
           tensor->type == SATTN_NPY_F8;
}

static bool expect(const sattn_conform_reader *reader, const char *name,
                   const sattn_conform_tensor *tensor, int rank, const int64_t *shape)
{
    if (!tensor->data)
        return true;
    if (tensor->rank == rank && memcmp(tensor->shape, shape, (size_t)rank * sizeof *shape) == 0)
        return true;
    char text[160] = "";
    int at = 0;
    for (int axis = 0; axis < rank; ++axis)
        at += snprintf(text + at, sizeof text - (size_t)at, "%s%" PRId64, axis ? ", " : "",
                       shape[axis]);
    return sattn_conform_refuse(reader, "%s: from dims and layout the shape should be [%s]", name,
                                text);
}

/* [batch, heads, rows, width], or [batch, rows, heads * width]. */
static bool expect_heads(const sattn_conform_reader *reader, const char *name,
                         const sattn_conform_tensor *tensor, bool is_3d, const int64_t extents[4])
{
    const int64_t joined[3] = {extents[0], extents[2], extents[1] * extents[3]};
    return is_3d ? expect(reader, name, tensor, 3, joined)
                 : expect(reader, name, tensor, 4, extents);
}

static bool heads_agree(const sattn_conform_reader *reader, const sattn_conform_test *test)
{
    const sattn_conform_dims *const n = &test->dims;
    const sattn_conform_tensor *const in = test->inputs, *const out = test->outputs;
    const int64_t q[4] = {n->batch, n->q_heads, n->n_q, n->d};
    const int64_t k[4] = {n->batch, n->kv_heads, n->n_new, n->d};
    const int64_t v[4] = {n->batch, n->kv_heads, n->n_new, n->d_v};
    const int64_t y[4] = {n->batch, n->q_heads, n->n_q, n->d_v};
    const int64_t past_k[4] = {n->batch, n->kv_heads, n->n_past, n->d};
    const int64_t past_v[4] = {n->batch, n->kv_heads, n->n_past, n->d_v};
    const int64_t present_k[4] = {n->batch, n->kv_heads, n->n_k, n->d};
    const int64_t present_v[4] = {n->batch, n->kv_heads, n->n_k, n->d_v};
    const int64_t scores[4] = {n->batch, n->q_heads, n->n_q, n->n_k};
    return expect_heads(reader, "q", &in[SATTN_CONFORM_Q], test->is_3d, q) &&
           expect_heads(reader, "k", &in[SATTN_CONFORM_K], test->is_3d, k) &&
           expect_heads(reader, "v", &in[SATTN_CONFORM_V], test->is_3d, v) &&
           expect_heads(reader, "y", &out[SATTN_CONFORM_Y], test->is_3d, y) &&
           expect(reader, "past_k", &in[SATTN_CONFORM_PAST_K], 4, past_k) &&
           expect(reader, "past_v", &in[SATTN_CONFORM_PAST_V], 4, past_v) &&
           expect(reader, "present_k", &out[SATTN_CONFORM_PRESENT_K], 4, present_k) &&
           expect(reader, "present_v", &out[SATTN_CONFORM_PRESENT_V], 4, present_v) &&
           expect(reader, "nonpad_kv_seqlen", &in[SATTN_CONFORM_NONPAD], 1, &n->batch) &&
           expect(reader, "qk", &out[SATTN_CONFORM_QK], 4, scores);
}

/* Right-aligned and broadcast to [batch, heads, queries, keys]; the last extent may be shorter. */
static bool mask_agrees(const sattn_conform_reader *reader, const sattn_conform_test *test)
{
    const sattn_conform_dims *const n = &test->dims;
    const sattn_conform_tensor *const mask = &test->inputs[SATTN_CONFORM_MASK];
    const int64_t full[4] = {n->batch, n->q_heads, n->n_q, n->n_k};
    if (!mask->data)
        return true;
    if (mask->rank > 4)
        return sattn_conform_refuse(reader, "mask: expected at most 4 extents");
    for (int axis = 0; axis < mask->rank; ++axis) {
        const int64_t extent = mask->shape[axis], limit = full[4 - mask->rank + axis];
        const bool is_last = axis == mask->rank - 1;
        if (extent != 1 && extent != limit && !(is_last && extent > 0 && extent < limit))
            return sattn_conform_refuse(reader,
                                        "mask: extent %" PRId64 " of axis %d does not "
                                        "broadcast to %" PRId64,
                                        extent, axis, limit);
    }
    return true;
}

static bool types_agree(const sattn_conform_reader *reader, const sattn_conform_test *test)
{
    const sattn_conform_tensor *const in = test->inputs, *const out = test->outputs;
    for (int i = 0; i < SATTN_CONFORM_INPUTS; ++i) {
        const bool is_mask = i == SATTN_CONFORM_MASK;
        if (!in[i].data || (is_mask && in[i].type == SATTN_NPY_B1))
            continue;
        if (i == SATTN_CONFORM_NONPAD ? in[i].type != SATTN_NPY_I8 : !is_float(&in[i]) && !is_mask)
            return sattn_conform_refuse(reader, "%s: dtype %s is not legal",
                                        sattn_conform_input_name((sattn_conform_input)i),
                                        sattn_conform_type_name(in[i].type));
    }
    for (int o = 0; o < SATTN_CONFORM_OUTPUTS; ++o)
        if (out[o].data && !is_float(&out[o]))
            return sattn_conform_refuse(reader, "%s: dtype %s is not legal",
                                        sattn_conform_output_name((sattn_conform_output)o),
                                        sattn_conform_type_name(out[o].type));
    const struct {
        sattn_conform_input of, past;
        sattn_conform_output present;
    } caches[] = {{SATTN_CONFORM_K, SATTN_CONFORM_PAST_K, SATTN_CONFORM_PRESENT_K},
                  {SATTN_CONFORM_V, SATTN_CONFORM_PAST_V, SATTN_CONFORM_PRESENT_V}};
    for (int c = 0; c < 2; ++c)
        if ((in[caches[c].past].data && in[caches[c].past].type != in[caches[c].of].type) ||
            (out[caches[c].present].data && out[caches[c].present].type != in[caches[c].of].type))
            return sattn_conform_refuse(reader, "past and present: expected the dtype of %s",
                                        sattn_conform_input_name(caches[c].of));
    return true;
}

static bool operands_agree(const sattn_conform_reader *reader, const sattn_conform_test *test)
{
    const sattn_conform_dims *const n = &test->dims;
    const sattn_conform_attributes *const a = &test->attributes;
    const sattn_conform_tensor *const in = test->inputs, *const out = test->outputs;
    const bool has_past = in[SATTN_CONFORM_PAST_K].data != NULL;
    const bool has_present = out[SATTN_CONFORM_PRESENT_K].data != NULL;
    if (n->q_heads % n->kv_heads != 0)
        return sattn_conform_refuse(reader, "dims: Hq is no multiple of Hkv");
    if (n->n_k != n->n_past + n->n_new)
        return sattn_conform_refuse(reader, "dims: Ttotal is not Tpast + Tk");
    if (has_past != (in[SATTN_CONFORM_PAST_V].data != NULL) ||
        has_present != (out[SATTN_CONFORM_PRESENT_V].data != NULL))
        return sattn_conform_refuse(reader, "past and present: of K and V, or of neither");
    if (has_past != (n->n_past > 0))
        return sattn_conform_refuse(reader,
                                    "dims: Tpast is more than 0 just where there is a past");
    if (in[SATTN_CONFORM_NONPAD].data && (has_past || has_present))
        return sattn_conform_refuse(reader, "nonpad_kv_seqlen: not together with past and present");
    if (in[SATTN_CONFORM_NONPAD].data && test->opset < 24)
        return sattn_conform_refuse(reader, "nonpad_kv_seqlen: not in opset %d, only since 24",
                                    test->opset);
    if (test->is_3d ? a->q_num_heads != n->q_heads || a->kv_num_heads != n->kv_heads
                    : (a->q_num_heads && a->q_num_heads != n->q_heads) ||
                          (a->kv_num_heads && a->kv_num_heads != n->kv_heads))
        return sattn_conform_refuse(reader, "q_num_heads, kv_num_heads: expected those of dims");
    if (!out[SATTN_CONFORM_QK].data && a->qk_matmul_output_mode)
        return sattn_conform_refuse(reader, "qk_matmul_output_mode: there is no output qk");
    return true;
}

bool sattn_conform_shapes_agree(const sattn_conform_reader *reader, const sattn_conform_test *test)
{
    const sattn_conform_tensor *const x = &test->inputs[SATTN_CONFORM_X];
    if (!types_agree(reader, test))
        return false;
    if (sattn_conform_is_attention(test->op))
        return operands_agree(reader, test) && heads_agree(reader, test) &&
               mask_agrees(reader, test);
    if (test->attributes.axis < -x->rank || test->attributes.axis >= x->rank)
        return sattn_conform_refuse(reader, "axis: x has %d axes", x->rank);
    if (x->n_elements == 0)
        return sattn_conform_refuse(reader, "x: there is nothing in it");
    return expect(reader, "y", &test->outputs[SATTN_CONFORM_Y], x->rank, x->shape);
}
