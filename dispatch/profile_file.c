/* SPDX-License-Identifier: MIT
 *
 * profile_file.c: profiles from files and from a caller's memory. Nothing but a regular file is
 * read: opening a pipe must not wait, and a device might never end. */
#define _POSIX_C_SOURCE 200809L /* open, fstat, O_CLOEXEC */

#include "dispatch/error.h"
#include "dispatch/profile_read.h"
#include "dispatch/warning.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Up to one byte more than a profile may have, so that too many show. NULL: `remark` says why. */
static char *read_all(int file, size_t *size, char remark[SATTN_PROFILE_REMARK])
{
    size_t room = 0;
    char *text = NULL;
    for (*size = 0; *size <= SATTN_PROFILE_MOST_BYTES;) {
        if (*size == room) {
            room = room ? 2 * room : 1 << 16;
            char *const larger = realloc(text, room);
            if (!larger) {
                snprintf(remark, SATTN_PROFILE_REMARK, "out of memory");
                free(text);
                return NULL;
            }
            text = larger;
        }
        const ssize_t n = read(file, text + *size, room - *size);
        if (n == 0)
            break;
        if (n > 0) {
            *size += (size_t)n;
        } else if (errno != EINTR) {
            snprintf(remark, SATTN_PROFILE_REMARK, "it cannot be read: %s", strerror(errno));
            free(text);
            return NULL;
        }
    }
    return text;
}

sattn_status sattn_profile_read_file(sattn_profile **profile, const char *path,
                                     const sattn_identity *here, char remark[SATTN_PROFILE_REMARK])
{
    struct stat facts;
    size_t size;
    *profile = NULL;
    if (!SATTN_PROFILES)
        return sattn_profile_read(profile, "", 0, path, here, remark);
    const int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (file < 0 || fstat(file, &facts) != 0) {
        snprintf(remark, SATTN_PROFILE_REMARK, "it cannot be read: %s", strerror(errno));
        if (file >= 0)
            close(file);
        return SATTN_ERR_PROFILE;
    }
    sattn_status status = SATTN_ERR_PROFILE;
    if (S_ISREG(facts.st_mode)) {
        char *const text = read_all(file, &size, remark);
        if (text)
            status = sattn_profile_read(profile, text, size, path, here, remark);
        free(text);
    } else {
        snprintf(remark, SATTN_PROFILE_REMARK, "it is %s; expected a regular file",
                 S_ISDIR(facts.st_mode) ? "a directory" : "a pipe or device");
    }
    close(file);
    return status;
}

/* Tells the caller what is wrong, or the handler of warnings what is passed over. */
static sattn_status conclude(sattn_status status, const char *source, const char *remark)
{
    if (status != SATTN_OK)
        return sattn_fail(status, "profile %s: %s", source, remark);
    if (remark[0] != '\0')
        sattn_warn("profile %s: %s", source, remark);
    return SATTN_OK;
}

sattn_status sattn_profile_load(sattn_profile **profile, const char *path)
{
    sattn_identity here;
    char remark[SATTN_PROFILE_REMARK];
    if (!profile || !path) {
        if (profile)
            *profile = NULL;
        return sattn_fail(SATTN_ERR_ARGUMENT, "%s is NULL", profile ? "path" : "profile");
    }
    sattn_identity_read(&here);
    const sattn_status status = sattn_profile_read_file(profile, path, &here, remark);
    return conclude(status, path, remark);
}

sattn_status sattn_profile_load_buffer(sattn_profile **profile, const void *data, size_t size)
{
    sattn_identity here;
    char remark[SATTN_PROFILE_REMARK];
    if (!profile || !data) {
        if (profile)
            *profile = NULL;
        return sattn_fail(SATTN_ERR_ARGUMENT, "%s is NULL", profile ? "data" : "profile");
    }
    sattn_identity_read(&here);
    const sattn_status status = sattn_profile_read(profile, data, size, "", &here, remark);
    return conclude(status, "in memory", remark);
}
