/* SPDX-License-Identifier: MIT
 *
 * av_span.h: sums over rows of very many keys, for all ISAs.
 *
 * Keys go by spans of AV_SPAN, from absolute key 0. The blocks of a row's first span are added to
 * the output; those of each later span to a row of working memory, its part, and that to the
 * output, with the rounding error of this addition left in the part (Knuth 1969, TwoSum). The next
 * span begins with it, so the error does not grow with the number of spans. A span without a
 * visible key changes nothing: the sum of output and part was rounded before, and rounds to the
 * same number again. */
#ifndef SATTN_KERNELS_AV_SPAN_H
#define SATTN_KERNELS_AV_SPAN_H

#include "kernels/contract.h"

#include <math.h>

enum { AV_SPAN = 64 * SATTN_KEY_BLOCK }; /* keys */

/* Floats from one part to the next, so that each is aligned as scratch is. */
static inline int64_t av_part_stride(int64_t d_v)
{
    return (d_v + 15) / 16 * 16;
}

/* o += part; part = what this addition lost, exactly; of a sum that is not finite, nothing. */
static inline void av_carry(float *o, float *part, int64_t d_v)
{
    for (int64_t y = 0; y < d_v; ++y) {
        const float sum = o[y] + part[y];
        const float kept_o = sum - part[y];
        const float kept_part = sum - kept_o;
        const float lost = (o[y] - kept_o) + (part[y] - kept_part);
        part[y] = isnan(lost) ? 0.0f : lost;
        o[y] = sum;
    }
}

#endif
