/* SPDX-License-Identifier: MIT
 *
 * real.c: stacks the files of one captured layer into dense batch tensors. Every file must have the
 * same shape; lengths must lie within it. */
#include "bench/verify/real.h"

#include "bench/verify/npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef SATTN_DATASET_DIR
#error "the build defines SATTN_DATASET_DIR, the directory of tests/data/minilm"
#endif

enum { PATH_SIZE = 4096 };

const char *sattn_real_default_directory(void)
{
    return SATTN_DATASET_DIR;
}

static bool read_lengths(const char *directory, sattn_real_layer *layer, char *error, size_t size)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/lengths.npy", directory);
    sattn_npy array;
    if (!sattn_npy_read(path, SATTN_NPY_I8, 1, &array, error, size))
        return false;
    layer->batch = array.shape[0];
    layer->lengths = array.data; /* ours from here on, freed with free() as sattn_npy_free does */
    if (layer->batch > 0)
        return true;
    snprintf(error, size, "%s: no entries", path);
    return false;
}

/* Copies one file into entry `b` of *tensor, which the first file of all makes. */
static bool read_entry(const char *path, int64_t b, sattn_real_layer *layer, float **tensor,
                       char *error, size_t size)
{
    sattn_npy array;
    if (!sattn_npy_read(path, SATTN_NPY_F4, 3, &array, error, size))
        return false;
    bool good = true;
    if (layer->n_heads == 0) {
        layer->n_heads = array.shape[0];
        layer->n_tokens = array.shape[1];
        layer->d = array.shape[2];
    }
    const int64_t want[3] = {layer->n_heads, layer->n_tokens, layer->d};
    if (array.n_elements == 0 || memcmp(array.shape, want, sizeof want) != 0) {
        snprintf(error, size, "%s: shape [%lld, %lld, %lld], expected [%lld, %lld, %lld]", path,
                 (long long)array.shape[0], (long long)array.shape[1], (long long)array.shape[2],
                 (long long)want[0], (long long)want[1], (long long)want[2]);
        good = false;
    }
    const size_t bytes = (size_t)array.n_elements * sizeof(float);
    if (good && !*tensor) {
        *tensor = calloc((size_t)layer->batch, bytes);
        if (!*tensor) {
            snprintf(error, size, "%s: out of memory", path);
            good = false;
        }
    }
    if (good)
        memcpy((char *)*tensor + (size_t)b * bytes, array.data, bytes);
    sattn_npy_free(&array);
    return good;
}

bool sattn_real_load(const char *directory, int number, sattn_real_layer *layer, char *error,
                     size_t error_size)
{
    *layer = (sattn_real_layer){0};
    bool good = read_lengths(directory, layer, error, error_size);
    const struct {
        char letter;
        float **tensor;
    } tensors[] = {{'q', &layer->q}, {'k', &layer->k}, {'v', &layer->v}, {'o', &layer->o}};
    for (size_t t = 0; good && t < sizeof tensors / sizeof tensors[0]; ++t) {
        for (int64_t b = 0; good && b < layer->batch; ++b) {
            char path[PATH_SIZE];
            snprintf(path, sizeof path, "%s/layer%d_entry%lld_%c.npy", directory, number,
                     (long long)b, tensors[t].letter);
            good = read_entry(path, b, layer, tensors[t].tensor, error, error_size);
        }
    }
    for (int64_t b = 0; good && b < layer->batch; ++b) {
        if (layer->lengths[b] >= 0 && layer->lengths[b] <= layer->n_tokens)
            continue;
        snprintf(error, error_size, "%s/lengths.npy: entry %lld is %lld, expected 0 to %lld",
                 directory, (long long)b, (long long)layer->lengths[b], (long long)layer->n_tokens);
        good = false;
    }
    if (!good)
        sattn_real_free(layer);
    return good;
}

void sattn_real_free(sattn_real_layer *layer)
{
    free(layer->lengths);
    free(layer->q);
    free(layer->k);
    free(layer->v);
    free(layer->o);
    *layer = (sattn_real_layer){0};
}
