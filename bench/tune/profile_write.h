/* SPDX-License-Identifier: MIT
 *
 * profile_write.h: writes the profile that the library reads (docs/profile.md). The only writer. */
#ifndef SATTN_BENCH_TUNE_PROFILE_WRITE_H
#define SATTN_BENCH_TUNE_PROFILE_WRITE_H

#include "dispatch/profile.h"
#include "dispatch/profile_identity.h"
#include "dispatch/profile_own.h"

/* Writes it beside `path`, brings it to the disk, and renames it. So whoever reads `path` at any
 * time, and whatever is killed, finds a whole profile or the one before; of two that write at once,
 * the later. A symbolic link stays, and leads to it. False: `error` says why not. */
bool sattn_profile_write(const sattn_identity *identity, const sattn_profile_entry *entries,
                         size_t n_entries, const char *path, char *error, size_t error_size);

/* Where the library looks for a profile of its own if SATTN_PROFILE is not set; its directory is
 * made. False: `error` says why not. */
bool sattn_profile_home(char path[SATTN_PROFILE_PATH], char *error, size_t error_size);

#endif
