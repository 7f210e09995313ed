/* SPDX-License-Identifier: MIT
 *
 * decoder.c: makes decoders: checks, kernels of each part and their names, and where what lies in
 * the workspace. */
#include "dispatch/layers/decoder.h"

#include "dispatch/error.h"
#include "dispatch/gates.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* U is planned for all encoder states, the other maps for one row of each sequence. */
static sattn_status plan_map(sattn_decoder *decoder, sattn_decoder_map map,
                             const sattn_linear_weights *w, const sattn_overrides *overrides,
                             const sattn_options *options)
{
    const sattn_decoder_args *const a = &decoder->args;
    const sattn_linear_names *const names = &sattn_decoder_names[map];
    const sattn_mut_view keys = sattn_dense_written(NULL, a->n_k, decoder->n_align);
    if (map != SATTN_DECODER_ENCODED)
        return sattn_linear_plan_make(&decoder->maps[map], w, names, a->batch, overrides, options);
    const sattn_status status = sattn_projection_make(&decoder->encoded, w, names, a->batch, a->n_k,
                                                      &a->h, &keys, overrides, options);
    decoder->maps[map] = decoder->encoded.linear;
    return status;
}

static sattn_status plan_maps(sattn_decoder *decoder, sattn_room *room,
                              const sattn_overrides *overrides, const sattn_options *options)
{
    sattn_status status = SATTN_OK;
    for (int map = 0; status == SATTN_OK && map < SATTN_DECODER_MAPS; ++map) {
        const sattn_linear_weights *const w =
            sattn_decoder_map_of(&decoder->args, (sattn_decoder_map)map);
        if (!w)
            continue;
        status = plan_map(decoder, (sattn_decoder_map)map, w, overrides, options);
        if (status == SATTN_OK)
            sattn_room_share(room, sattn_linear_plan_size(&decoder->maps[map]));
    }
    return status;
}

static sattn_status plan_attention(sattn_decoder *decoder, sattn_room *room,
                                   const sattn_overrides *overrides, const sattn_options *options)
{
    static const int64_t present = 0;
    const sattn_decoder_args *const a = &decoder->args;
    const sattn_alignment_args alignment = {.batch = a->batch,
                                            .n_q = 1,
                                            .n_k = a->n_k,
                                            .d = decoder->n_align,
                                            .k = {.stride_t = decoder->n_align}};
    const sattn_weighing weighing = {.batch = a->batch,
                                     .n_q = 1,
                                     .n_k = a->n_k,
                                     .d_v = decoder->n_enc,
                                     .v = a->h,
                                     .o = sattn_dense_written(NULL, 1, decoder->n_enc),
                                     .scores = sattn_dense_written(NULL, 1, a->n_k),
                                     .n_k_valid = &present};
    sattn_status status =
        sattn_alignment_plan_make(&decoder->alignment, &alignment, overrides, options);
    if (status == SATTN_OK)
        status = sattn_weighing_plan_make(&decoder->weighing, &weighing, options);
    if (status != SATTN_OK)
        return status;
    sattn_room_share(room, sattn_alignment_plan_size(&decoder->alignment));
    sattn_room_share(room, sattn_weighing_plan_size(&decoder->weighing));
    return SATTN_OK;
}

static sattn_status choose_functions(sattn_decoder *decoder, const sattn_overrides *overrides,
                                     const sattn_options *options)
{
    const int64_t batch = decoder->args.batch, n_hidden = decoder->n_hidden;
    const sattn_shape_class gates = sattn_gate_class(batch, n_hidden, options);
    const sattn_shape_class array = sattn_class_of_array(SATTN_OP_tanh, n_hidden, 1);
    sattn_decision decision;
    sattn_status status = SATTN_OK;
    if (decoder->args.cell == SATTN_CELL_GRU)
        status = sattn_choose_apart(&gates, overrides, &decoder->gru, &decision);
    if (status == SATTN_OK && (decoder->has_start || decoder->args.cell == SATTN_CELL_RNN))
        status = sattn_choose_apart(&array, overrides, &decoder->tanh, &decision);
    return status;
}

static void lay_out(sattn_decoder *decoder, sattn_room *room)
{
    const struct {
        int64_t columns;
        size_t element_size;
    } places[SATTN_PLACES] = {[SATTN_PLACE_QUERY] = {decoder->n_align, sizeof(float)},
                              [SATTN_PLACE_SCORES] = {decoder->args.n_k, sizeof(float)},
                              [SATTN_PLACE_CONTEXT] = {decoder->n_enc, sizeof(float)},
                              [SATTN_PLACE_EMBEDDED] = {decoder->n_embed, sizeof(float)},
                              [SATTN_PLACE_GATES_X] = {decoder->n_gates, sizeof(float)},
                              [SATTN_PLACE_GATES_H] = {decoder->n_gates, sizeof(float)},
                              [SATTN_PLACE_STATE] = {decoder->n_hidden, sizeof(float)},
                              [SATTN_PLACE_LOGITS] = {decoder->n_vocab, sizeof(float)},
                              [SATTN_PLACE_TOKENS] = {1, sizeof(int64_t)},
                              [SATTN_PLACE_LENGTHS] = {1, sizeof(int64_t)}};
    for (int place = 0; place < SATTN_PLACES; ++place)
        decoder->at[place] = sattn_room_take(room, decoder->args.batch, places[place].columns,
                                             places[place].element_size);
}

void sattn_decoder_print_kernels(const sattn_decoder *decoder, unsigned parts, char *names,
                                 size_t size)
{
    const sattn_linear_plan *const maps = decoder->maps;
    const struct {
        unsigned parts;
        const sattn_kernel *kernel; /* NULL where the decoder does without */
    } runs[] = {
        {SATTN_PARTS_OF_PREPARE, maps[SATTN_DECODER_ENCODED].kernel},
        {1 << SATTN_PART_ALIGNMENT, maps[SATTN_DECODER_STATE].kernel},
        {1 << SATTN_PART_ALIGNMENT, decoder->alignment.kernel},
        {1 << SATTN_PART_SOFTMAX, decoder->weighing.softmax.kernels[SATTN_OP_softmax]},
        {1 << SATTN_PART_CONTEXT | SATTN_PARTS_OF_START, decoder->weighing.av.kernels[SATTN_OP_av]},
        {1 << SATTN_PART_UPDATE, maps[SATTN_DECODER_EMBEDDED].kernel},
        {1 << SATTN_PART_UPDATE, maps[SATTN_DECODER_CONTEXT].kernel},
        {1 << SATTN_PART_UPDATE, maps[SATTN_DECODER_HIDDEN].kernel},
        {1 << SATTN_PART_UPDATE, decoder->gru ? decoder->gru : decoder->tanh},
        {1 << SATTN_PART_OUTPUT, maps[SATTN_DECODER_OUT].kernel},
        {SATTN_PARTS_OF_START, maps[SATTN_DECODER_START].kernel},
        {SATTN_PARTS_OF_START, decoder->has_start ? decoder->tanh : NULL}};
    *names = '\0';
    for (size_t r = 0; r < sizeof runs / sizeof runs[0]; ++r) {
        bool is_new = runs[r].kernel && (runs[r].parts & parts);
        for (size_t other = 0; other < r; ++other)
            is_new =
                is_new && !((runs[other].parts & parts) && runs[other].kernel == runs[r].kernel);
        const size_t used = strlen(names);
        if (is_new)
            snprintf(names + used, size - used, "%s%s", used ? "," : "", runs[r].kernel->name);
    }
}

static sattn_status make(sattn_decoder *decoder, const sattn_decoder_args *args,
                         const sattn_overrides *overrides, const sattn_options *options)
{
    const sattn_options inner = sattn_layer_options(options);
    sattn_room room = {0};
    *decoder = (sattn_decoder){.args = *args,
                               .n_hidden = args->w_hidden.n_in,
                               .n_enc = args->w_encoded.n_in,
                               .n_align = args->w_encoded.n_out,
                               .n_embed = args->w_embedded.n_in,
                               .n_vocab = args->w_out.n_out,
                               .n_gates = args->w_hidden.n_out,
                               .threads = sattn_threads_asked(options)};
    decoder->args.h.data = NULL;
    decoder->has_start = sattn_decoder_map_of(args, SATTN_DECODER_START) != NULL;
    lay_out(decoder, &room);
    sattn_status status = sattn_room_check(&room);
    if (status == SATTN_OK)
        status = plan_maps(decoder, &room, overrides, &inner);
    if (status == SATTN_OK)
        status = plan_attention(decoder, &room, overrides, &inner);
    if (status == SATTN_OK)
        status = choose_functions(decoder, overrides, &inner);
    if (status == SATTN_OK)
        status = sattn_room_close(&room, &decoder->shared_at, &decoder->size);
    if (status == SATTN_OK)
        sattn_decoder_print_kernels(decoder, SATTN_PARTS_ALL, decoder->names,
                                    sizeof decoder->names);
    return status == SATTN_OK ? sattn_decoder_check_weights(decoder) : status;
}

sattn_status sattn_decoder_create(sattn_decoder **decoder, const sattn_decoder_args *args,
                                  const sattn_options *options)
{
    sattn_overrides overrides;
    if (!decoder)
        return sattn_fail(SATTN_ERR_ARGUMENT, "decoder is NULL: expected where to put the decoder");
    *decoder = NULL;
    if (!args)
        return sattn_fail(SATTN_ERR_ARGUMENT, "args is NULL: expected arguments");
    sattn_status status = sattn_decoder_check_shape(args);
    if (status == SATTN_OK)
        status = sattn_layer_check_options(options, &(sattn_mut_view){.data = NULL});
    if (status == SATTN_OK)
        status = sattn_overrides_get(options, &overrides);
    if (status != SATTN_OK)
        return status;
    sattn_decoder *const made = malloc(sizeof *made); /* in place: its plans point into it */
    if (!made)
        return sattn_fail(SATTN_ERR_MEMORY, "could not allocate a decoder");
    status = make(made, args, &overrides, options);
    if (status == SATTN_OK)
        *decoder = made;
    else
        free(made);
    return status;
}

void sattn_decoder_destroy(sattn_decoder *decoder)
{
    free(decoder);
}

size_t sattn_decoder_workspace_size(const sattn_decoder *decoder)
{
    return decoder->size;
}

const char *sattn_decoder_kernels(const sattn_decoder *decoder)
{
    return decoder->names;
}
