/* SPDX-License-Identifier: MIT
 *
 * profile_entry.h: one entry of a profile's JSON. */
#ifndef SATTN_DISPATCH_PROFILE_ENTRY_H
#define SATTN_DISPATCH_PROFILE_ENTRY_H

#include "dispatch/profile.h"
#include "dispatch/profile_fields.h"

/* Reads an entry, made under an identity of these features. What was tried goes to `tried`, which
 * has room for all its candidates, and the entry points there and into the JSON. False: refused.
 * *is_usable is false where a kernel that the entry cannot do without is not in this build, which
 * `unknown` then names. */
bool sattn_profile_read_entry(const sattn_fields *fields, sattn_features features,
                              sattn_profile_entry *entry, sattn_tried *tried, bool *is_usable,
                              char unknown[SATTN_PROFILE_REMARK]);

#endif
