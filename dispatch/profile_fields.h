/* SPDX-License-Identifier: MIT
 *
 * profile_fields.h: fields of a JSON object, each of one type and within a range, or a sentence
 * that says where the file has what instead. */
#ifndef SATTN_DISPATCH_PROFILE_FIELDS_H
#define SATTN_DISPATCH_PROFILE_FIELDS_H

#include "dispatch/profile_read.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct sattn_fields {
    const json_t *object;
    char path[64]; /* of the object, with a dot behind: "entries[3].", "" of the whole file */
    bool is_newer; /* of a newer minor schema: unknown fields are passed over */
    char *remark;  /* [SATTN_PROFILE_REMARK], what is wrong */
} sattn_fields;

/* The object in `value`, at that path. */
bool sattn_fields_of(const sattn_fields *parent, const json_t *value, const char *path,
                     sattn_fields *fields);
/* Refuses a field that is none of these names. */
bool sattn_fields_known(const sattn_fields *fields, const char *const *names, int n_names);

bool sattn_field_text(const sattn_fields *fields, const char *name, const char **text);
bool sattn_field_boolean(const sattn_fields *fields, const char *name, bool *value);
bool sattn_field_integer(const sattn_fields *fields, const char *name, int64_t least, int64_t most,
                         int64_t *value);
/* A finite number of `least` or more, or null: NaN. */
bool sattn_field_number(const sattn_fields *fields, const char *name, double least,
                        const char *expected, double *value);
bool sattn_field_object(const sattn_fields *fields, const char *name, sattn_fields *value);
bool sattn_field_list(const sattn_fields *fields, const char *name, const json_t **list);

/* "entries[3].taken is 7; expected ...": false, for all of these. */
bool sattn_field_refuse(const sattn_fields *fields, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
