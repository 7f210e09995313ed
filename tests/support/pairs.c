/* SPDX-License-Identifier: MIT
 *
 * pairs.c: pairwise combinations by a greedy search: each one starts from a pair that is still
 * missing, the other fields take the value that meets most missing pairs, and of some candidates
 * the best is kept (Cohen, Dalal, Fredman & Patton 1997). */
#include "tests/support/pairs.h"

#include <stdlib.h>
#include <string.h>

enum { CANDIDATES = 6, ATTEMPTS = 60 };

typedef enum pair_state { PAIR_MISSING, PAIR_MET, PAIR_ILLEGAL } pair_state;

typedef struct search {
    const pairs_design *design;
    test_random random;
    unsigned char *states; /* of all pairs */
    int64_t first[PAIRS_FIELDS_MAX][PAIRS_FIELDS_MAX];
} search;

/* Values x of field a and y of field b. */
static unsigned char *state_of(const search *s, int a, int x, int b, int y)
{
    if (a > b)
        return state_of(s, b, y, a, x);
    return &s->states[s->first[a][b] + (int64_t)x * s->design->n_levels[b] + y];
}

static int count_new(const search *s, const int *levels)
{
    int n = 0;
    for (int a = 0; a < s->design->n_fields; ++a)
        for (int b = a + 1; b < s->design->n_fields; ++b)
            n += *state_of(s, a, levels[a], b, levels[b]) == PAIR_MISSING;
    return n;
}

/* The value of field f that meets most missing pairs with the fields set so far; of equals, the
 * first from a random place on. */
static int best_level(search *s, const int *levels, const bool *set, int f)
{
    const int n_levels = s->design->n_levels[f];
    const int start = (int)test_random_below(&s->random, n_levels);
    int best = start, most = -1;
    for (int at = 0; at < n_levels; ++at) {
        const int level = (start + at) % n_levels;
        int n = 0;
        for (int other = 0; other < s->design->n_fields; ++other)
            if (set[other] && other != f)
                n += *state_of(s, f, level, other, levels[other]) == PAIR_MISSING;
        if (n > most) {
            most = n;
            best = level;
        }
    }
    return best;
}

static bool make_candidate(search *s, int *levels, const bool *fixed)
{
    const int n = s->design->n_fields;
    bool set[PAIRS_FIELDS_MAX];
    memcpy(set, fixed, sizeof set);
    const int start = (int)test_random_below(&s->random, n);
    for (int at = 0; at < n; ++at) {
        const int f = (start + at) % n;
        if (set[f])
            continue;
        levels[f] = best_level(s, levels, set, f);
        set[f] = true;
    }
    return s->design->make_legal(levels, fixed, &s->random, s->design->user);
}

bool pairs_random(const pairs_design *design, int *levels, const bool *fixed, test_random *random)
{
    int wanted[PAIRS_FIELDS_MAX];
    memcpy(wanted, levels, (size_t)design->n_fields * sizeof(int));
    for (int attempt = 0; attempt < ATTEMPTS; ++attempt) {
        for (int f = 0; f < design->n_fields; ++f)
            levels[f] = fixed[f] ? wanted[f] : (int)test_random_below(random, design->n_levels[f]);
        if (design->make_legal(levels, fixed, random, design->user))
            return true;
    }
    return false;
}

static void note_row(search *s, pairs_list *list, const int *levels)
{
    const int n = s->design->n_fields;
    const size_t row_size = (size_t)n * sizeof(int);
    int *const rows = realloc(list->levels, (size_t)(list->n_rows + 1) * row_size);
    if (!rows)
        exit(2);
    list->levels = rows;
    memcpy(rows + list->n_rows++ * n, levels, row_size);
    list->n_pairs += count_new(s, levels);
    for (int a = 0; a < n; ++a)
        for (int b = a + 1; b < n; ++b)
            *state_of(s, a, levels[a], b, levels[b]) = PAIR_MET;
}

/* Adds a combination with this pair, or finds that there is none. */
static void meet(search *s, pairs_list *list, int a, int x, int b, int y)
{
    int best[PAIRS_FIELDS_MAX], levels[PAIRS_FIELDS_MAX], most = 0;
    bool fixed[PAIRS_FIELDS_MAX] = {false};
    fixed[a] = fixed[b] = true;
    for (int at = 0; at < CANDIDATES; ++at) {
        levels[a] = x;
        levels[b] = y;
        const int n = make_candidate(s, levels, fixed) ? count_new(s, levels) : 0;
        if (n > most) {
            most = n;
            memcpy(best, levels, sizeof best);
        }
    }
    levels[a] = x;
    levels[b] = y;
    if (most == 0 && pairs_random(s->design, levels, fixed, &s->random)) {
        memcpy(best, levels, sizeof best);
        most = 1;
    }
    if (most > 0) {
        note_row(s, list, best);
    } else {
        *state_of(s, a, x, b, y) = PAIR_ILLEGAL;
        ++list->n_illegal;
    }
}

pairs_list pairs_make(const pairs_design *design, uint64_t seed)
{
    search s = {.design = design, .random = {.seed = seed}};
    pairs_list list = {0};
    int64_t n_pairs = 0;
    for (int a = 0; a < design->n_fields; ++a)
        for (int b = a + 1; b < design->n_fields; ++b) {
            s.first[a][b] = n_pairs;
            n_pairs += (int64_t)design->n_levels[a] * design->n_levels[b];
        }
    s.states = test_allocate((size_t)n_pairs);
    memset(s.states, PAIR_MISSING, (size_t)n_pairs);
    for (int a = 0; a < design->n_fields; ++a)
        for (int b = a + 1; b < design->n_fields; ++b)
            for (int x = 0; x < design->n_levels[a]; ++x)
                for (int y = 0; y < design->n_levels[b]; ++y)
                    if (*state_of(&s, a, x, b, y) == PAIR_MISSING)
                        meet(&s, &list, a, x, b, y);
    free(s.states);
    return list;
}

void pairs_free(pairs_list *list)
{
    free(list->levels);
    *list = (pairs_list){0};
}
