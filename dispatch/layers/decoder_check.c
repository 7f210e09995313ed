/* SPDX-License-Identifier: MIT
 *
 * decoder_check.c: refuses what is wrong with a decoder, or with the memory of its calls. */
#include "dispatch/error.h"
#include "dispatch/gates.h"
#include "dispatch/layers/decoder.h"

#include <inttypes.h>
#include <string.h>

const sattn_linear_names sattn_decoder_names[SATTN_DECODER_MAPS] = {
    [SATTN_DECODER_STATE] = SATTN_LINEAR_NAMES("w_state"),
    [SATTN_DECODER_ENCODED] = SATTN_LINEAR_NAMES("w_encoded"),
    [SATTN_DECODER_EMBEDDED] = SATTN_LINEAR_NAMES("w_embedded"),
    [SATTN_DECODER_CONTEXT] = SATTN_LINEAR_NAMES("w_context"),
    [SATTN_DECODER_HIDDEN] = SATTN_LINEAR_NAMES("w_hidden"),
    [SATTN_DECODER_OUT] = SATTN_LINEAR_NAMES("w_out"),
    [SATTN_DECODER_START] = SATTN_LINEAR_NAMES("w_start")};

const sattn_linear_weights *sattn_decoder_map_of(const sattn_decoder_args *a, sattn_decoder_map map)
{
    switch (map) {
    case SATTN_DECODER_STATE:
        return &a->w_state;
    case SATTN_DECODER_ENCODED:
        return &a->w_encoded;
    case SATTN_DECODER_EMBEDDED:
        return &a->w_embedded;
    case SATTN_DECODER_CONTEXT:
        return &a->w_context;
    case SATTN_DECODER_HIDDEN:
        return &a->w_hidden;
    case SATTN_DECODER_OUT:
        return &a->w_out;
    case SATTN_DECODER_START:
        return a->w_start.n_out == 0 ? NULL : &a->w_start;
    case SATTN_DECODER_MAPS:
        break;
    }
    return NULL;
}

/* ---- shapes */

/* What the extents of one map say of those of another. */
static sattn_status check_maps(const sattn_decoder_args *a)
{
    const bool has_start = sattn_decoder_map_of(a, SATTN_DECODER_START) != NULL;
    const int64_t n_hidden = a->w_hidden.n_in;
    const int64_t n_gates = (a->cell == SATTN_CELL_GRU ? SATTN_GRU_PARTS : 1) * n_hidden;
    const char *const gates = a->cell == SATTN_CELL_GRU ? "3 w_hidden.n_in" : "w_hidden.n_in";
    const struct {
        const char *name;
        int64_t value;
        const char *other;
        int64_t expected;
        bool counts;
    } pairs[] = {
        {"w_hidden.n_out", a->w_hidden.n_out, gates, n_gates, true},
        {"w_embedded.n_out", a->w_embedded.n_out, gates, n_gates, true},
        {"w_context.n_out", a->w_context.n_out, gates, n_gates, true},
        {"w_context.n_in", a->w_context.n_in, "w_encoded.n_in", a->w_encoded.n_in, true},
        {"w_state.n_in", a->w_state.n_in, "w_hidden.n_in", n_hidden, true},
        {"w_state.n_out", a->w_state.n_out, "w_encoded.n_out", a->w_encoded.n_out, true},
        {"w_out.n_in", a->w_out.n_in, "w_hidden.n_in", n_hidden, true},
        {"w_start.n_in", a->w_start.n_in, "w_encoded.n_in", a->w_encoded.n_in, has_start},
        {"w_start.n_out", a->w_start.n_out, "w_hidden.n_in", n_hidden, has_start},
    };
    sattn_status status = SATTN_OK;
    for (size_t i = 0; status == SATTN_OK && i < sizeof pairs / sizeof pairs[0]; ++i)
        if (pairs[i].counts)
            status = sattn_layer_check_equal(pairs[i].name, pairs[i].value, pairs[i].other,
                                             pairs[i].expected);
    return status;
}

static sattn_tensor encoder_states(const sattn_decoder_args *a, const void *data)
{
    const sattn_view h = {
        .data = data, .dtype = a->h.dtype, .stride_b = a->h.stride_b, .stride_t = a->h.stride_t};
    return sattn_tensor_read("h", "h", &h, a->batch, a->n_k, a->w_encoded.n_in);
}

static sattn_tensor embedding_of(const sattn_decoder_args *a)
{
    return sattn_tensor_read("embedding", "embedding.data", &a->embedding, 1, a->w_out.n_out,
                             a->w_embedded.n_in);
}

sattn_status sattn_decoder_check_shape(const sattn_decoder_args *a)
{
    sattn_status status = sattn_extent_check("batch", a->batch, 1);
    if (status == SATTN_OK)
        status = sattn_extent_check("n_k", a->n_k, 1);
    if (status == SATTN_OK && a->cell != SATTN_CELL_GRU && a->cell != SATTN_CELL_RNN)
        status = sattn_fail(SATTN_ERR_ARGUMENT, "cell = %d: expected a value of sattn_cell_kind",
                            (int)a->cell);
    for (int map = 0; status == SATTN_OK && map < SATTN_DECODER_MAPS; ++map) {
        const sattn_linear_weights *const w = sattn_decoder_map_of(a, (sattn_decoder_map)map);
        if (w)
            status = sattn_linear_check_shape(w, &sattn_decoder_names[map], a->batch);
    }
    if (status == SATTN_OK)
        status = check_maps(a);
    if (status != SATTN_OK)
        return status;
    sattn_tensor tensors[] = {encoder_states(a, NULL), embedding_of(a)};
    return sattn_tensors_check_shapes(tensors, a->embedding.data ? 2 : 1);
}

/* ---- calls */

sattn_status sattn_decoder_check_call(const sattn_decoder *decoder,
                                      const sattn_decoder_source *source, const char *name,
                                      const void *args)
{
    if (!decoder)
        return sattn_fail(SATTN_ERR_ARGUMENT, "decoder is NULL: expected a decoder");
    if (!source)
        return sattn_fail(SATTN_ERR_ARGUMENT, "source is NULL: expected what is to be decoded");
    return args ? SATTN_OK : sattn_fail(SATTN_ERR_ARGUMENT, "%s is NULL", name);
}

sattn_status sattn_decoder_check_weights(sattn_decoder *decoder)
{
    const sattn_decoder_args *const a = &decoder->args;
    int n = 0;
    decoder->weights[n++] = sattn_tensor_array("v", a->v, decoder->n_align, sizeof(float));
    if (a->embedding.data)
        decoder->weights[n++] = embedding_of(a);
    for (int map = 0; map < SATTN_DECODER_MAPS; ++map) {
        const sattn_linear_weights *const w = sattn_decoder_map_of(a, (sattn_decoder_map)map);
        if (w)
            n += sattn_linear_tensors_of(w, &sattn_decoder_names[map],
                                         decoder->maps[map].packed_size, decoder->weights + n);
    }
    decoder->n_weights = n;
    return sattn_tensors_check_data(decoder->weights, n, &(sattn_workspace){NULL, 0});
}

sattn_status sattn_decoder_check_data(const sattn_decoder *decoder,
                                      const sattn_decoder_source *source, sattn_decoder_keys keys,
                                      sattn_decoder_tensors *tensors, const sattn_workspace *used)
{
    const sattn_decoder_args *const a = &decoder->args;
    const sattn_mut_view all = {.data = source->keys,
                                .stride_b = sattn_layer_product(a->n_k, decoder->n_align),
                                .stride_t = decoder->n_align};
    int n = tensors->n;
    tensors->list[n++] = encoder_states(a, source->h);
    if (keys != SATTN_KEYS_UNUSED) {
        tensors->list[n] =
            sattn_tensor_written("keys", "keys", &all, a->batch, a->n_k, decoder->n_align);
        tensors->list[n++].operand.written = keys == SATTN_KEYS_WRITTEN;
    }
    if (source->n_k_valid)
        tensors->list[n++] =
            sattn_tensor_array("n_k_valid", source->n_k_valid, a->batch, sizeof(int64_t));
    sattn_status status = sattn_tensors_check_shapes(tensors->list, n);
    if (status != SATTN_OK)
        return status;
    memcpy(tensors->list + n, decoder->weights,
           (size_t)decoder->n_weights * sizeof decoder->weights[0]);
    status = sattn_tensors_check_data(tensors->list, n + decoder->n_weights, used);
    return status == SATTN_OK ? sattn_lengths_check(source->n_k_valid, a->batch, a->n_k) : status;
}
