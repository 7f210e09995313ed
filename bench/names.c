/* SPDX-License-Identifier: MIT
 *
 * names.c: names of tables, one or a comma list (names.h). */
#include "bench/names.h"

#include "bench/suggest.h"
#include "dispatch/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_among(const char *word, const char *const *names, size_t count)
{
    for (size_t n = 0; n < count; ++n)
        if (strcmp(word, names[n]) == 0)
            return true;
    return false;
}

bool sattn_name_is_known(const char *name, const char *const *known, size_t n_known, char *error,
                         size_t error_size)
{
    if (is_among(name, known, n_known))
        return true;
    char nearest[512];
    sattn_suggest(name, known, n_known, nearest, sizeof nearest);
    snprintf(error, error_size, "there is no '%s'%s", name, nearest);
    return false;
}

const char *sattn_known_isa(size_t at)
{
    size_t count;
    const sattn_isa *const isas = sattn_isas(&count);
    return at < count ? isas[at].name : NULL;
}

const char *sattn_known_op(size_t at)
{
    return at < SATTN_OP_COUNT ? sattn_op_name((sattn_op)at) : NULL;
}

bool sattn_name_list_set(sattn_name_list *list, const char *value, const char *const *known,
                         size_t n_known, char *error, size_t error_size)
{
    const size_t length = strlen(value);
    sattn_name_list_free(list);
    list->text = malloc(length + 1);
    list->names = calloc(length + 1, sizeof *list->names);
    if (!list->text || !list->names) {
        snprintf(error, error_size, "out of memory");
        return false;
    }
    memcpy(list->text, value, length + 1);
    for (char *at = list->text; at;) {
        char *const comma = strchr(at, ',');
        if (comma)
            *comma = '\0';
        if (!sattn_name_is_known(at, known, n_known, error, error_size))
            return false;
        list->names[list->count++] = at;
        at = comma ? comma + 1 : NULL;
    }
    return true;
}

void sattn_name_list_free(sattn_name_list *list)
{
    free(list->text);
    free(list->names);
    *list = (sattn_name_list){0};
}

bool sattn_name_list_has(const sattn_name_list *list, const char *name)
{
    return is_among(name, list->names, list->count);
}

bool sattn_name_list_wants(const sattn_name_list *list, const char *name)
{
    return list->count == 0 || sattn_name_list_has(list, name);
}
