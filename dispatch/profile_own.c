/* SPDX-License-Identifier: MIT
 *
 * profile_own.c: see profile_own.h. */
#define _POSIX_C_SOURCE 200809L /* stat */

#include "dispatch/profile_own.h"

#include "dispatch/profile_read.h"
#include "dispatch/warning.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#if defined(__linux__)
#include <sys/auxv.h>
#endif

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

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char path[SATTN_PROFILE_PATH], problem[SATTN_PROFILE_REMARK];
static sattn_own_profile own = {.path = path, .problem = problem};
static atomic_bool is_to_warn;

/* Of the place where one may lie: what cannot be reached there was not put there for this user. */
static bool means_none(int error)
{
    return error == ENOENT || error == ENOTDIR || error == EACCES || error == ELOOP ||
           error == ENAMETOOLONG;
}

/* Whether the process has more rights than its user, whose environment then decides nothing. */
static bool is_privileged(void)
{
#if defined(__linux__)
    return getauxval(AT_SECURE) != 0;
#else
    return false;
#endif
}

/* The file to read, in `path`; false: none, `problem` says why. */
static bool find(void)
{
    const char *const named = getenv("SATTN_PROFILE");
    struct stat facts;
    if (is_privileged()) {
        snprintf(problem, sizeof problem, "the process has more rights than its user");
        return false;
    }
    if (named && strcmp(named, "none") == 0) {
        snprintf(problem, sizeof problem, "SATTN_PROFILE=none");
        return false;
    }
    if (named && named[0] != '\0') {
        const int length = snprintf(path, sizeof path, "%s", named);
        return length >= 0;
    }
    if (SATTN_PROFILES && sattn_profile_default_path(path) &&
        (stat(path, &facts) == 0 || !means_none(errno)))
        return true;
    path[0] = '\0';
    snprintf(problem, sizeof problem, "there is no profile");
    return false;
}

static void read_own(void)
{
    sattn_identity here;
    sattn_profile *profile;
    const char *const strict = getenv("SATTN_PROFILE_STRICT");
    const bool is_strict = strict && strcmp(strict, "1") == 0;
    if (strict && !is_strict && strcmp(strict, "") != 0 && strcmp(strict, "0") != 0) {
        snprintf(problem, sizeof problem, "SATTN_PROFILE_STRICT = \"%.40s\": expected 0 or 1",
                 strict);
        own.status = SATTN_ERR_ENVIRONMENT;
        return;
    }
    if (!find())
        return;
    sattn_identity_read(&here);
    sattn_profile_read_file(&profile, path, &here, problem); /* what is wrong is in `problem` */
    if (problem[0] != '\0' && is_strict) {
        own.status = SATTN_ERR_PROFILE;
        sattn_profile_destroy(profile);
        return;
    }
    own.profile = profile;
    atomic_store(&is_to_warn, problem[0] != '\0');
}

/* The warning comes after the reading: a handler that calls the library must not wait for itself.
 */
const sattn_own_profile *sattn_profile_own(void)
{
    pthread_once(&once, read_own);
    if (atomic_load_explicit(&is_to_warn, memory_order_relaxed) &&
        atomic_exchange(&is_to_warn, false))
        sattn_warn("profile %.300s%s: %s", path, own.profile ? "" : " is not used", problem);
    return &own;
}
