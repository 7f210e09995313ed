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
