/* SPDX-License-Identifier: MIT
 *
 * profile_own.h: the profile of calls that name none: found and read once, at the first call. */
#ifndef SATTN_DISPATCH_PROFILE_OWN_H
#define SATTN_DISPATCH_PROFILE_OWN_H

#include "dispatch/profile.h"

typedef struct sattn_own_profile {
    const sattn_profile *profile; /* NULL: calls do without */
    const char *path;             /* of the file that was found or named, or "" */
    /* Why there is none, naming the field that differs: "no profile", "SATTN_PROFILE=none",
     * "stale: cpu_model is 97, here 68"; "" where there is one. */
    const char *problem;
    /* SATTN_ERR_PROFILE: SATTN_PROFILE_STRICT=1, and the file cannot be used. */
    sattn_status status;
} sattn_own_profile;

/* Never NULL. Warns of a file that cannot be used. Safe from any thread. */
const sattn_own_profile *sattn_profile_own(void);

#endif
