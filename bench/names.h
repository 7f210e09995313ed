/* SPDX-License-Identifier: MIT
 *
 * names.h: comma lists of names on the command line, each name checked against a table. */
#ifndef SATTN_BENCH_NAMES_H
#define SATTN_BENCH_NAMES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct sattn_name_list {
    char *text; /* what the names point into */
    const char **names;
    size_t count; /* 0: not given */
} sattn_name_list;

/* Takes `value` apart. On failure `error` says which name is unknown and which ones are near it, or
 * that memory ran out. To be freed either way. */
bool sattn_name_list_set(sattn_name_list *list, const char *value, const char *const *known,
                         size_t n_known, char *error, size_t error_size);
void sattn_name_list_free(sattn_name_list *list);

/* Whether the table has the name; if not, `error` says so, with the nearest ones. */
bool sattn_name_is_known(const char *name, const char *const *known, size_t n_known, char *error,
                         size_t error_size);

/* A table as a function: its name number `at`; NULL: no more. */
typedef const char *sattn_known_name_fn(size_t at);
sattn_known_name_fn sattn_known_isa, sattn_known_op;

bool sattn_name_list_has(const sattn_name_list *list, const char *name);
/* Whether the list lets the name through: it has it, or was not given. */
bool sattn_name_list_wants(const sattn_name_list *list, const char *name);

#endif
