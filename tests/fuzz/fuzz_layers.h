/* SPDX-License-Identifier: MIT
 *
 * fuzz_layers.h: a call of a part of a layer, of a layer or of a decoder, made of a fuzzer's bytes.
 */
#ifndef SATTN_TESTS_FUZZ_LAYERS_H
#define SATTN_TESTS_FUZZ_LAYERS_H

#include "dispatch/simdattn.h"
#include "tests/fuzz/fuzz_bytes.h"
#include "tests/fuzz/fuzz_check.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BYTES_MAX = 1 << 18, BUFFERS = 19, OUTPUT = 0, MAPS = 4 };

/* Those up to RNN_CELL are verified. */
typedef enum entry { ADDITIVE, LINEAR, GRU, GRU_CELL, RNN_CELL, GENERAL, SELF, DECODER } entry;

typedef struct buffer {
    float *memory, *copy; /* as it was before the call */
    size_t size;          /* bytes */
} buffer;

typedef struct layer_call {
    entry entry;
    int64_t n_rows, n_columns, d, batch;
    sattn_view view[BUFFERS]; /* the output's first */
    buffer buffers[BUFFERS];
    int n_buffers;
    bool is_absent; /* too large: it has no memory */
    int64_t *n_k_valid;
    bool adds;                      /* of a linear map */
    int packing, damage_at, damage; /* whether weights are packed, and what is damaged of the tag */
    int room, half;                 /* whose workspace, and which tensor is of f16, if any */
    const float *packed;            /* of a linear map, or a cell's of its input; or NULL */
    void *workspace;
    sattn_align_kind align;
    int64_t n_heads;
    bool is_causal;
    sattn_options options;
} layer_call;

/* ---- what decoding is made of */

_Noreturn void fuzz_complain(const char *what);

/* Whole cache lines; size is not 0. */
void *fuzz_allocate(size_t size);

void fuzz_decode_options(layer_call *c, fuzz_bytes *bytes);

/* [batch, rows, columns], whatever their values. */
void fuzz_add_tensor(layer_call *c, fuzz_bytes *strides, fuzz_bytes *bytes, int64_t batch,
                     int64_t rows, int64_t columns);

/* Packs for the kernel of the call's options; a byte of the tag may be damaged. NULL: what cannot
 * be packed. */
const float *fuzz_pack(layer_call *c, const sattn_linear_weights *weights, int64_t n_rows);

/* None, one as large as it has to be, a cache line less, or not aligned. */
void fuzz_give_workspace(layer_call *c, size_t size);

/* Copies all buffers, as they are before a call. */
void fuzz_keep(const layer_call *c);

/* Makes a decoder and calls it. */
fuzz_outcome fuzz_decoder(layer_call *c, fuzz_bytes *bytes);

/* ---- what a call has left */

/* Weights of a linear map, or a cell's of its input, with what is packed of them. */
sattn_linear_weights fuzz_weights_of(const layer_call *c);

/* Weights of both maps of a cell. */
sattn_cell_weights fuzz_cell_of(const layer_call *c);

/* Row i of batch entry b of a tensor. */
static inline const float *fuzz_row_of(const layer_call *c, int tensor, int64_t b, int64_t i)
{
    const sattn_view *const view = &c->view[tensor];
    return (const float *)view->data + (c->batch > 1 ? b * view->stride_b : 0) +
           (i > 0 ? i * view->stride_t : 0);
}

/* Whether the output of an accepted call agrees with the oracle. */
bool fuzz_verify(const layer_call *c);

#endif
