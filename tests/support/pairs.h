/* SPDX-License-Identifier: MIT
 *
 * pairs.h: a list of combinations of settings in which every two values of two settings meet.
 *
 * Most failures of an interface with many fields need one field or two of them (Kuhn, Wallace &
 * Gallo 2004), and to try all pairs takes some hundreds of combinations where all combinations are
 * beyond counting. */
#ifndef SATTN_TESTS_SUPPORT_PAIRS_H
#define SATTN_TESTS_SUPPORT_PAIRS_H

#include "tests/support/harness.h"

#include <stdbool.h>
#include <stdint.h>

enum { PAIRS_FIELDS_MAX = 32 };

/* Field f takes the values 0 to n_levels[f] - 1. */
typedef struct pairs_design {
    int n_fields;
    const int *n_levels;
    /* Changes values of fields that are not fixed until the combination is one that can be run;
     * false where it cannot. */
    bool (*make_legal)(int *levels, const bool *fixed, test_random *random, const void *user);
    const void *user;
} pairs_design;

typedef struct pairs_list {
    int *levels; /* [n_rows][n_fields] */
    int64_t n_rows;
    int64_t n_pairs;   /* that occur */
    int64_t n_illegal; /* for which no legal combination was found */
} pairs_list;

/* The same list for the same design and seed. Free with pairs_free. */
pairs_list pairs_make(const pairs_design *design, uint64_t seed);
void pairs_free(pairs_list *list);

/* A legal combination with levels[f] where fixed[f], random otherwise; false: there is none. */
bool pairs_random(const pairs_design *design, int *levels, const bool *fixed, test_random *random);

#endif
