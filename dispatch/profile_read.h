/* SPDX-License-Identifier: MIT
 *
 * profile_read.h: text to profile, strictly: what docs/profile.md does not allow makes the whole
 * text unusable, whatever its bytes are. Nothing here sets sattn_last_error or warns: callers do.
 */
#ifndef SATTN_DISPATCH_PROFILE_READ_H
#define SATTN_DISPATCH_PROFILE_READ_H

#include "dispatch/profile.h"
#include "dispatch/profile_identity.h"

enum { SATTN_PROFILE_MOST_BYTES = 4 << 20, SATTN_PROFILE_REMARK = 640 };

/* The profile of a text that was made where `here` says, with `path` for sattn_profile_path.
 * SATTN_ERR_PROFILE: there is none, `remark` says why. SATTN_OK: `remark` says what of it is passed
 * over, if anything is; else it is empty. */
sattn_status sattn_profile_read(sattn_profile **profile, const char *text, size_t size,
                                const char *path, const sattn_identity *here,
                                char remark[SATTN_PROFILE_REMARK]);

/* The same of a file. */
sattn_status sattn_profile_read_file(sattn_profile **profile, const char *path,
                                     const sattn_identity *here, char remark[SATTN_PROFILE_REMARK]);

#endif
