/* SPDX-License-Identifier: MIT
 *
 * softmax_turn.h: one step each of up to three whole rows, for all ISAs. Each combination of steps
 * has code of its own, made from the turn_of that the including header defines before it. */
#ifndef SATTN_KERNELS_SOFTMAX_TURN_H
#define SATTN_KERNELS_SOFTMAX_TURN_H

#include "kernels/softmax/softmax_steps.h"

SATTN_NOINLINE void turn(softmax_turn *t)
{
    if (t->p && t->next)
        t->done ? turn_of(t, true, true, true) : turn_of(t, true, true, false);
    else if (t->p)
        t->done ? turn_of(t, false, true, true) : turn_of(t, false, true, false);
    else if (t->next)
        turn_of(t, true, false, false);
    else if (t->done)
        turn_of(t, false, false, true);
}

#endif
