/* SPDX-License-Identifier: MIT
 *
 * npy.h: reads NumPy's .npy files, strictly.
 *
 * Versions 1.0 and 2.0, little-endian, C order, of the element types below. Anything else, and any
 * damage, is refused with a text that names the file, the byte offset, what stood there and what
 * was expected. */
#ifndef SATTN_BENCH_VERIFY_NPY_H
#define SATTN_BENCH_VERIFY_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SATTN_NPY_RANK_MAX = 8 };

typedef enum sattn_npy_type {
    SATTN_NPY_F4, /* '<f4', float                             */
    SATTN_NPY_I8, /* '<i8', int64_t                           */
    SATTN_NPY_F2, /* '<f2', uint16_t: the bits of a binary16  */
    SATTN_NPY_F8, /* '<f8', double                            */
    SATTN_NPY_B1, /* '|b1', uint8_t: 0 or 1, nothing else     */
} sattn_npy_type;

/* Bytes of an element. */
size_t sattn_npy_size(sattn_npy_type type);

typedef struct sattn_npy {
    sattn_npy_type type;
    int rank;
    int64_t shape[SATTN_NPY_RANK_MAX];
    int64_t n_elements;
    void *data; /* n_elements of the type; never NULL, also if there are none */
} sattn_npy;

/* Reads an array of the given type and rank; rank -1 takes any. On failure `array` holds nothing
 * and `error` (of error_size bytes, cut if need be) the reason. */
bool sattn_npy_read(const char *path, sattn_npy_type type, int rank, sattn_npy *array, char *error,
                    size_t error_size);
void sattn_npy_free(sattn_npy *array);

#endif
