/* SPDX-License-Identifier: MIT
 *
 * names.c: comma lists (names.h). */
#include "bench/names.h"

#include "bench/suggest.h"

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
        if (!is_among(at, known, n_known)) {
            char nearest[512];
            sattn_suggest(at, known, n_known, nearest, sizeof nearest);
            snprintf(error, error_size, "there is no '%s'%s", at, nearest);
            return false;
        }
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
