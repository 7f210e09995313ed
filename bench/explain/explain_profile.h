/* SPDX-License-Identifier: MIT
 *
 * explain_profile.h: the profile of a call: in use, not there, or why it is not used. */
#ifndef SATTN_BENCH_EXPLAIN_EXPLAIN_PROFILE_H
#define SATTN_BENCH_EXPLAIN_EXPLAIN_PROFILE_H

#include "dispatch/profile_identity.h"
#include "dispatch/profile_own.h"

#include <jansson.h>

typedef enum sattn_explain_state {
    SATTN_EXPLAIN_NO_PROFILE,
    SATTN_EXPLAIN_IN_USE,
    SATTN_EXPLAIN_STALE,    /* of another machine or build */
    SATTN_EXPLAIN_UNUSABLE, /* it cannot be read, or is none */
} sattn_explain_state;

/* A field of its identity that is not as here. */
typedef struct sattn_explain_difference {
    sattn_identity_field field;
    char there[SATTN_IDENTITY_TEXT], here[SATTN_IDENTITY_TEXT];
} sattn_explain_difference;

typedef struct sattn_explain_profile {
    sattn_explain_state state;
    const char *path;     /* "": none was looked for or found */
    const char *problem;  /* why it is not used, or what of it is passed over; "" */
    size_t n_classes;     /* of calls that it has a choice for */
    size_t n_unfinished;  /* others in it, whose calls run the default */
    size_t n_differences; /* of a stale one */
    sattn_explain_difference differences[SATTN_IDENTITY_COUNT];
} sattn_explain_profile;

/* The process's own. What the library would warn of it is here to be shown, so that from then on
 * warnings are not printed. */
void sattn_explain_profile_read(sattn_explain_profile *profile);

/* Its path and state, but for the fields that differ. */
enum { SATTN_EXPLAIN_PROFILE_TEXT = SATTN_PROFILE_PATH + 1024 };
void sattn_explain_profile_tell(const sattn_explain_profile *profile,
                                char text[SATTN_EXPLAIN_PROFILE_TEXT]);

/* All of it, as an object. */
json_t *sattn_explain_profile_json(const sattn_explain_profile *profile);

/* Fields of a profile's JSON that differ from `here`; 0 of what is no profile. */
size_t sattn_explain_differences(const json_t *document, const sattn_identity *here,
                                 sattn_explain_difference differences[SATTN_IDENTITY_COUNT]);

#endif
