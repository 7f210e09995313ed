/* SPDX-License-Identifier: MIT
 *
 * decoder.h: a decoder's step (simdattn_layers.h), as a whole and part by part. The parts are run
 * by the functions that the step itself runs, one after the other with a clock between them: so
 * each meets the caches as the parts before it leave them, which it would not in a window of its
 * own. */
#ifndef SATTN_BENCH_OPS_DECODER_H
#define SATTN_BENCH_OPS_DECODER_H

#include "bench/shapes.h"
#include "dispatch/layers/decoder.h"

typedef struct sattn_bench_decoder {
    sattn_decoder *decoder;
    sattn_decoder_source source;
    sattn_decoder_step_args step;
    int64_t token; /* the step's input */
    float *logits;
    int64_t part_ns[SATTN_DECODER_PARTS]; /* since they were last set to 0 */
} sattn_bench_decoder;

/* The word that every step has as its input. */
enum { SATTN_DECODER_TOKEN = SATTN_SHAPE_WORDS / 2 };

/* A decoder of a shape with these weights, one behind the other: W, U, the cell's map of its input
 * and that of its state, the output layer, whose rows are the embeddings, and v. */
sattn_decoder_args sattn_bench_decoder_args(const sattn_shape *shape, const float *weights);

/* "alignment" and so on. */
const char *sattn_decoder_part_name(sattn_decoder_part part);

/* One step; adds to part_ns. */
void sattn_bench_decoder_parts(sattn_bench_decoder *decoder, unsigned char *workspace);

/* NULL is legal. */
void sattn_bench_decoder_close(sattn_bench_decoder *decoder);

#endif
