/* SPDX-License-Identifier: MIT
 *
 * real.h: attention tensors captured from a real model (tests/data/minilm), one layer at a time.
 *
 * A directory holds lengths.npy, int64 [batch], and for each layer L and batch entry b the files
 * layer{L}_entry{b}_{q,k,v,o}.npy, float32 [heads, tokens, d], padded to the longest entry. */
#ifndef SATTN_BENCH_VERIFY_REAL_H
#define SATTN_BENCH_VERIFY_REAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All four tensors are dense, [batch, n_heads, n_tokens, d]. */
typedef struct sattn_real_layer {
    int64_t batch, n_heads, n_tokens, d;
    int64_t *lengths; /* [batch] keys that are not padding */
    float *q, *k, *v;
    float *o; /* what the model itself computed from them, in f32 */
} sattn_real_layer;

/* The captured layers of this project's own source tree. */
const char *sattn_real_default_directory(void);

/* On failure `layer` holds nothing and `error` says which file is wrong, and how. */
bool sattn_real_load(const char *directory, int number, sattn_real_layer *layer, char *error,
                     size_t error_size);
void sattn_real_free(sattn_real_layer *layer);

#endif
