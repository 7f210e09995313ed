/* SPDX-License-Identifier: MIT
 *
 * suggest.c: edit distances by the two-row table. A name that holds the word, or the word's
 * beginning, counts as near however long it is: people type parts of names. */
#include "bench/suggest.h"

#include <stdio.h>
#include <string.h>

enum {
    LENGTH_MAX = 96, /* of what is compared; the rest of longer names does not matter */
    SUGGESTIONS = 3,
};

static size_t minimum(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t edit_distance(const char *a, const char *b)
{
    const size_t n_a = minimum(strlen(a), LENGTH_MAX), n_b = minimum(strlen(b), LENGTH_MAX);
    size_t row[LENGTH_MAX + 1];
    for (size_t y = 0; y <= n_b; ++y)
        row[y] = y;
    for (size_t x = 1; x <= n_a; ++x) {
        size_t diagonal = row[0];
        row[0] = x;
        for (size_t y = 1; y <= n_b; ++y) {
            const size_t replaced = diagonal + (a[x - 1] != b[y - 1]);
            diagonal = row[y];
            row[y] = minimum(replaced, minimum(row[y], row[y - 1]) + 1);
        }
    }
    return row[n_b];
}

static size_t distance(const char *word, const char *name)
{
    if (*word && strstr(name, word))
        return 1;
    return 1 + edit_distance(word, name);
}

void sattn_suggest(const char *word, const char *const *names, size_t n_names, char *text,
                   size_t size)
{
    const char *best[SUGGESTIONS] = {NULL};
    size_t best_distance[SUGGESTIONS];
    size_t n_best = 0;
    for (size_t n = 0; n < n_names; ++n) {
        const size_t d = distance(word, names[n]);
        size_t place = n_best;
        while (place > 0 && best_distance[place - 1] > d)
            --place;
        if (place == SUGGESTIONS)
            continue;
        const size_t last = n_best < SUGGESTIONS ? n_best++ : SUGGESTIONS - 1;
        for (size_t b = last; b > place; --b) {
            best[b] = best[b - 1];
            best_distance[b] = best_distance[b - 1];
        }
        best[place] = names[n];
        best_distance[place] = d;
    }
    size_t at = 0;
    if (size > 0)
        text[0] = '\0';
    for (size_t b = 0; b < n_best && at < size; ++b)
        at +=
            (size_t)snprintf(text + at, size - at, "%s%s", b == 0 ? "; nearest: " : ", ", best[b]);
}
