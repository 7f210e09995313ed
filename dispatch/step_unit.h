/* SPDX-License-Identifier: MIT
 *
 * step_unit.h: one step of attention (qk, softmax or av) on the rows of a unit. */
#ifndef SATTN_DISPATCH_STEP_UNIT_H
#define SATTN_DISPATCH_STEP_UNIT_H

#include "dispatch/rows.h"

void sattn_step_run(const sattn_plan *plan, const sattn_unit *rows,
                    const sattn_unit_memory *memory);

#endif
