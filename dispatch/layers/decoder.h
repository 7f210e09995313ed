/* SPDX-License-Identifier: MIT
 *
 * decoder.h: a planned decoder, and what its calls share. */
#ifndef SATTN_DISPATCH_LAYERS_DECODER_H
#define SATTN_DISPATCH_LAYERS_DECODER_H

#include "dispatch/additive.h"
#include "dispatch/layers/layer.h"

typedef enum sattn_decoder_map {
    SATTN_DECODER_STATE,
    SATTN_DECODER_ENCODED,
    SATTN_DECODER_EMBEDDED,
    SATTN_DECODER_CONTEXT,
    SATTN_DECODER_HIDDEN,
    SATTN_DECODER_OUT,
    SATTN_DECODER_START,
    SATTN_DECODER_MAPS
} sattn_decoder_map;

enum {
    SATTN_DECODER_WEIGHTS = 2 + SATTN_DECODER_MAPS * SATTN_LINEAR_TENSORS, /* tensors, at most */
    SATTN_DECODER_DATA = 12, /* tensors of one call beside them, at most */
    SATTN_DECODER_NAMES = 512,
};

extern const sattn_linear_names sattn_decoder_names[SATTN_DECODER_MAPS];

/* What lies in the workspace, of all sequences, dense. */
typedef enum sattn_decoder_place {
    SATTN_PLACE_QUERY,    /* W s + b                               [batch, n_align] */
    SATTN_PLACE_SCORES,   /* scores, then weights                  [batch, n_k] */
    SATTN_PLACE_CONTEXT,  /*                                       [batch, n_enc] */
    SATTN_PLACE_EMBEDDED, /*                                       [batch, n_embed] */
    SATTN_PLACE_GATES_X,  /* the cell's maps of its input          [batch, m n_hidden] */
    SATTN_PLACE_GATES_H,  /* and of its state, of a GRU            [batch, m n_hidden] */
    SATTN_PLACE_STATE,    /* of greedy decoding                    [batch, n_hidden] */
    SATTN_PLACE_LOGITS,   /*                                       [batch, n_vocab] */
    SATTN_PLACE_TOKENS,   /* its next inputs, int64_t              [batch] */
    SATTN_PLACE_LENGTHS,  /* n_k_valid where the caller has none   [batch] */
    SATTN_PLACES
} sattn_decoder_place;

struct sattn_decoder {
    sattn_decoder_args args;
    int64_t n_hidden, n_enc, n_align, n_embed, n_vocab, n_gates;
    bool has_start;
    sattn_linear_plan maps[SATTN_DECODER_MAPS]; /* of `batch` rows */
    sattn_projection encoded;                   /* U h_j */
    sattn_alignment_plan alignment;
    sattn_weighing_plan weighing;
    const sattn_kernel *gru, *tanh;
    int threads;
    size_t at[SATTN_PLACES], shared_at, size; /* in the workspace, bytes */
    sattn_tensor weights[SATTN_DECODER_WEIGHTS];
    int n_weights;
    char names[SATTN_DECODER_NAMES]; /* of the kernels that run */
};

/* The map's weights, or NULL where the decoder does without. */
const sattn_linear_weights *sattn_decoder_map_of(const sattn_decoder_args *args,
                                                 sattn_decoder_map map);

/* Extents, strides and types. */
sattn_status sattn_decoder_check_shape(const sattn_decoder_args *args);

/* Fills decoder->weights, and refuses those that are not there. */
sattn_status sattn_decoder_check_weights(sattn_decoder *decoder);

/* Structs of a call that are missing; `args` is called `name`. */
sattn_status sattn_decoder_check_call(const sattn_decoder *decoder,
                                      const sattn_decoder_source *source, const char *name,
                                      const void *args);

/* Tensors of a call: the first n are its own, behind them there is room for source and weights. */
typedef struct sattn_decoder_tensors {
    sattn_tensor list[SATTN_DECODER_DATA + SATTN_DECODER_WEIGHTS];
    int n;
} sattn_decoder_tensors;

/* What a call does with the source's keys. */
typedef enum sattn_decoder_keys {
    SATTN_KEYS_UNUSED,
    SATTN_KEYS_READ,
    SATTN_KEYS_WRITTEN
} sattn_decoder_keys;

/* Shapes of the call's own tensors, and the memory of all. */
sattn_status sattn_decoder_check_data(const sattn_decoder *decoder,
                                      const sattn_decoder_source *source, sattn_decoder_keys keys,
                                      sattn_decoder_tensors *tensors, const sattn_workspace *used);

/* What a step consists of, in this order. */
typedef enum sattn_decoder_part {
    SATTN_PART_EMBEDDING, /* rows of the table */
    SATTN_PART_ALIGNMENT, /* W s + b, scores */
    SATTN_PART_SOFTMAX,   /* weights */
    SATTN_PART_CONTEXT,
    SATTN_PART_UPDATE, /* the cell's maps, and the next state of them */
    SATTN_PART_OUTPUT, /* logits, and copies of what else is returned */
    SATTN_DECODER_PARTS
} sattn_decoder_part;

/* Sets of parts, 1 << part each, and of the calls beside steps. */
enum {
    SATTN_PARTS_OF_STEP = (1 << SATTN_DECODER_PARTS) - 1,
    SATTN_PARTS_OF_PREPARE = 1 << SATTN_DECODER_PARTS,
    SATTN_PARTS_OF_START = 2 << SATTN_DECODER_PARTS,
    SATTN_PARTS_ALL = SATTN_PARTS_OF_STEP | SATTN_PARTS_OF_PREPARE | SATTN_PARTS_OF_START
};

/* The kernels of a set of parts, as a comma list, each once. */
void sattn_decoder_print_kernels(const sattn_decoder *decoder, unsigned parts, char *names,
                                 size_t size);

/* One part of a step whose arguments have passed; those before it were run on this workspace. */
void sattn_decoder_run_part(const sattn_decoder *decoder, const sattn_decoder_source *source,
                            const sattn_decoder_step_args *args, sattn_decoder_part part,
                            unsigned char *workspace);

/* All parts. */
void sattn_decoder_run_step(const sattn_decoder *decoder, const sattn_decoder_source *source,
                            const sattn_decoder_step_args *args, unsigned char *workspace);

static inline void *sattn_decoder_at(const sattn_decoder *decoder, unsigned char *workspace,
                                     sattn_decoder_place place)
{
    return workspace + decoder->at[place];
}

#endif
