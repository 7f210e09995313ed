/* SPDX-License-Identifier: MIT
 *
 * tensors.h: checks of the tensors of a call that is no attention: a list of them, each with its
 * name, extents and memory, is refused or passed as a whole. */
#ifndef SATTN_DISPATCH_TENSORS_H
#define SATTN_DISPATCH_TENSORS_H

#include "dispatch/overlap.h"

typedef struct sattn_tensor {
    sattn_operand operand;
    const void *data;
    uintptr_t alignment; /* that the address must have, bytes */
    bool may_coincide;   /* of two with this, one may be exactly the other */
} sattn_tensor;

/* [batch, rows, columns] that is read or written; `pointer` names the field with its address. */
sattn_tensor sattn_tensor_read(const char *name, const char *pointer, const sattn_view *view,
                               int64_t batch, int64_t rows, int64_t columns);
sattn_tensor sattn_tensor_written(const char *name, const char *pointer, const sattn_mut_view *view,
                                  int64_t batch, int64_t rows, int64_t columns);

/* An array that is read, of elements of 4 or 8 bytes. */
sattn_tensor sattn_tensor_array(const char *name, const void *data, int64_t count,
                                int64_t element_size);

/* An extent of the call: `least` is 0 or 1, and 2^40 the most, so that sizes can be summed. */
typedef struct sattn_extent {
    const char *name;
    int64_t value, least;
} sattn_extent;

sattn_status sattn_extent_check(const char *name, int64_t value, int64_t least);
sattn_status sattn_extents_check(const sattn_extent *extents, int count);

/* Types and strides. */
sattn_status sattn_tensors_check_shapes(sattn_tensor *tensors, int count);

/* Addresses, and that what is written and the workspace meet nothing else. */
sattn_status sattn_tensors_check_data(const sattn_tensor *tensors, int count,
                                      const sattn_workspace *workspace);

/* Refuses a number of keys that is not in [0, n_k]. n_k_valid may be NULL. */
sattn_status sattn_lengths_check(const int64_t *n_k_valid, int64_t batch, int64_t n_k);

#endif
