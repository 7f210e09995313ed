/* SPDX-License-Identifier: MIT
 *
 * profile_own.h: the profile of calls that name none: found and read once, at the first call. */
#ifndef SATTN_DISPATCH_PROFILE_OWN_H
#define SATTN_DISPATCH_PROFILE_OWN_H

#include "dispatch/profile.h"

typedef struct sattn_own_profile {
    const sattn_profile *profile; /* NULL: calls do without */
    const char *path;             /* of the file that was found or named, or "" */
    /* Why there is none, naming the field that differs: "there is no profile",
     * "SATTN_PROFILE=none", "stale: cpu_model is 97, here 68"; or what of it is left out. "" where
     * all is used. */
    const char *problem;
    /* What every call returns: SATTN_ERR_PROFILE under SATTN_PROFILE_STRICT=1 where the file cannot
     * be used, SATTN_ERR_ENVIRONMENT where that variable has another value. */
    sattn_status status;
} sattn_own_profile;

/* Never NULL. Warns of its problem, once per process. Safe from any thread, but for where a lock is
 * held that a call takes: a handler of warnings may make one. */
const sattn_own_profile *sattn_profile_own(void);

/* $XDG_CONFIG_HOME/simdattn/profile.json, else $HOME/.config/simdattn/profile.json. False: neither
 * variable has an absolute path, or it is too long. */
enum { SATTN_PROFILE_PATH = 4096 };
bool sattn_profile_default_path(char path[SATTN_PROFILE_PATH]);

#endif
