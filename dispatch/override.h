/* SPDX-License-Identifier: MIT
 *
 * override.h: what the user asks for by SATTN_ISA, SATTN_KERNEL, SATTN_LOG or by options. A wrong
 * value is an error that lists the right ones, never a silent default. */
#ifndef SATTN_DISPATCH_OVERRIDE_H
#define SATTN_DISPATCH_OVERRIDE_H

#include "dispatch/profile.h"
#include "dispatch/simdattn.h"

typedef struct sattn_overrides {
    sattn_features usable;                      /* under the cap */
    const char *isa;                            /* name of the cap, NULL = none */
    const sattn_kernel *forced[SATTN_OP_COUNT]; /* NULL: none is named */
    const sattn_profile *profile;               /* NULL: none is in use */
    bool log;
} sattn_overrides;

/* Where a value came from, for the message: "SATTN_ISA" or "options.isa". */
sattn_status sattn_override_isa(sattn_overrides *overrides, const char *source, const char *value,
                                sattn_features usable);
/* Comma list of kernel names, at most one per op; each must run with overrides->usable. */
sattn_status sattn_override_kernels(sattn_overrides *overrides, const char *source,
                                    const char *value);

/* The environment, read once per process, then what `options` (may be NULL) says over it. */
sattn_status sattn_overrides_get(const sattn_options *options, sattn_overrides *overrides);

/* Prints for SATTN_LOG=1, once per process for each row and phase, how the choice came about. */
void sattn_overrides_log(const sattn_overrides *overrides, sattn_phase phase, bool is_several,
                         const sattn_kernel *chosen, sattn_decision decision);

#endif
