/* SPDX-License-Identifier: MIT
 *
 * region.h: the memory that a strided tensor covers, and whether two of them meet. */
#ifndef SATTN_DISPATCH_REGION_H
#define SATTN_DISPATCH_REGION_H

#include <stdbool.h>
#include <stdint.h>

enum { SATTN_REGION_AXES = 3 };

/* The bytes of a tensor: runs of `run` bytes at base + sum over axes of index * step. */
typedef struct sattn_region {
    uintptr_t base;
    int64_t extent[SATTN_REGION_AXES]; /* >= 0; any 0: an empty region */
    int64_t step[SATTN_REGION_AXES];   /* bytes, >= 0; ignored where the extent is 1 */
    int64_t run;                       /* bytes; 0: an empty region */
} sattn_region;

/* All bytes from a region's first to its last; 0 bytes: none. */
typedef struct sattn_span {
    uintptr_t begin;
    uint64_t bytes;
} sattn_span;

/* For a region that ends within the address space. */
static inline sattn_span sattn_region_span(const sattn_region *region)
{
    int64_t bytes = region->run;
    for (int axis = 0; axis < SATTN_REGION_AXES; ++axis) {
        if (bytes == 0 || region->extent[axis] == 0)
            return (sattn_span){0};
        if (region->extent[axis] > 1)
            bytes += region->step[axis] * (region->extent[axis] - 1);
    }
    return (sattn_span){region->base, (uint64_t)bytes};
}

/* Where spans are apart, so are regions; which does not hold for spans that meet. Neither may be
 * empty. */
static inline bool sattn_spans_meet(const sattn_span *a, const sattn_span *b)
{
    return a->begin >= b->begin ? a->begin - b->begin < b->bytes : b->begin - a->begin < a->bytes;
}

typedef enum sattn_meeting {
    SATTN_APART,
    SATTN_MEET,
    SATTN_UNDECIDED, /* strides so entangled that the search was given up */
} sattn_meeting;

/* Whether a byte belongs to both, exactly: interleaved tensors whose ranges overlap but whose
 * elements do not are apart. */
sattn_meeting sattn_regions_meet(const sattn_region *a, const sattn_region *b);

/* Whether two different indices of one region share a byte. */
sattn_meeting sattn_region_meets_itself(const sattn_region *region);

#endif
