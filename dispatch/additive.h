/* SPDX-License-Identifier: MIT
 *
 * additive.h: additive alignment with its kernel chosen and its work shared out. */
#ifndef SATTN_DISPATCH_ADDITIVE_H
#define SATTN_DISPATCH_ADDITIVE_H

#include "dispatch/choose.h"
#include "dispatch/share.h"

/* Shapes, types and strides. */
sattn_status sattn_alignment_check_shape(const sattn_alignment_args *args);

/* The class of a call that has passed that check. */
sattn_shape_class sattn_alignment_class(const sattn_alignment_args *args,
                                        const sattn_options *options);

#endif
