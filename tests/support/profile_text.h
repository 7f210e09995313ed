/* SPDX-License-Identifier: MIT
 *
 * profile_text.h: a profile as JSON, whole and legal, for tests to spoil. */
#ifndef SATTN_TESTS_SUPPORT_PROFILE_TEXT_H
#define SATTN_TESTS_SUPPORT_PROFILE_TEXT_H

#include "dispatch/profile_identity.h"

#include <jansson.h>

/* Three entries: an attention whose second candidate, a chain, is taken; a qk that is a tie; an exp
 * that was not measured to the end. Their kernels are the scalar ones, which every build has. */
json_t *profile_json(const sattn_identity *identity);

/* Where a profile was made, whatever it says of that. */
void profile_identity(const json_t *document, sattn_identity *identity);

/* Paths are names and numbers with slashes between them: "entries/0/taken". NULL: there is nothing.
 */
json_t *profile_get(json_t *document, const char *path);
/* `value`, which is taken over, is put there; NULL: the field is removed. */
void profile_set(json_t *document, const char *path, json_t *value);

#endif
