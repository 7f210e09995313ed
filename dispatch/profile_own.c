/* SPDX-License-Identifier: MIT
 *
 * profile_own.c: see profile_own.h. */
#include "dispatch/profile_own.h"

const sattn_own_profile *sattn_profile_own(void)
{
    static const sattn_own_profile none = {NULL, "", "no profile", SATTN_OK};
    return &none;
}
