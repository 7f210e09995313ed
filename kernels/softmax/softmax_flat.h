/* SPDX-License-Identifier: MIT
 *
 * softmax_flat.h: one step each of up to three runs of whole rows, for all ISAs, made from the
 * flat_* steps that the including file defines before it.
 *
 * NaN and infinities need no care here: every weight is seen, and a multiple of 1 / NaN, or 0 / 0.
 * Sums load what has been stored last but one: their loads, which lie across two stores each, wait
 * until those have left the store buffer. */
#ifndef SATTN_KERNELS_SOFTMAX_FLAT_H
#define SATTN_KERNELS_SOFTMAX_FLAT_H

#include "kernels/softmax/softmax_steps.h"

SATTN_NOINLINE void flat(const softmax_flat *t)
{
    flat_memory *const m = t->scratch;
    if (t->p)
        t->done ? flat_weigh(t, m, true, true) : flat_weigh(t, m, true, false);
    else if (t->done)
        flat_weigh(t, m, false, true);
    else
        flat_rows(m->row_of, t->n);
    if (t->next)
        flat_open(t, m);
    if (t->p)
        flat_close(t, m);
}

#endif
