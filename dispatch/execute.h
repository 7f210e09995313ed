/* SPDX-License-Identifier: MIT
 *
 * execute.h: the rows of a block by whatever the plan runs. */
#ifndef SATTN_DISPATCH_EXECUTE_H
#define SATTN_DISPATCH_EXECUTE_H

#include "dispatch/rows.h"

/* `splits` as in the plan, or fewer. */
void sattn_run_rows(const sattn_plan *plan, const sattn_unit *rows, int64_t splits,
                    const sattn_unit_memory *memory, bool o_is_q);

#endif
