/* SPDX-License-Identifier: MIT
 *
 * profile_own.c: see profile_own.h. */
#include "dispatch/profile_own.h"

#include <stdio.h>
#include <stdlib.h>

const sattn_own_profile *sattn_profile_own(void)
{
    static const sattn_own_profile none = {NULL, "", "no profile", SATTN_OK};
    return &none;
}

/* The XDG base directory specification: a path that is not absolute counts as unset. */
bool sattn_profile_default_path(char path[SATTN_PROFILE_PATH])
{
    const char *directory = getenv("XDG_CONFIG_HOME"), *below = "";
    if (!directory || directory[0] != '/') {
        directory = getenv("HOME");
        below = "/.config";
    }
    if (!directory || directory[0] != '/')
        return false;
    const int length =
        snprintf(path, SATTN_PROFILE_PATH, "%s%s/simdattn/profile.json", directory, below);
    return length > 0 && length < SATTN_PROFILE_PATH;
}
