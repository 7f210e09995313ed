/* SPDX-License-Identifier: MIT
 *
 * explain.h: what is told of a call whose recipes have been listed. */
#ifndef SATTN_DISPATCH_EXPLAIN_H
#define SATTN_DISPATCH_EXPLAIN_H

#include "dispatch/candidates.h"

/* For sattn_explanation_destroy. */
sattn_status sattn_explanation_make(sattn_explanation **made, const sattn_recipe_list *list,
                                    const sattn_options *options);

#endif
