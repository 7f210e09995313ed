/* SPDX-License-Identifier: MIT
 *
 * suggest.h: the names nearest to a mistyped one. */
#ifndef SATTN_BENCH_SUGGEST_H
#define SATTN_BENCH_SUGGEST_H

#include <stddef.h>

/* Writes "; nearest: a, b" into `text`: up to three of the names that need the fewest edits
 * (Levenshtein 1966) to become `word`. Nothing if there are no names. */
void sattn_suggest(const char *word, const char *const *names, size_t n_names, char *text,
                   size_t size);

#endif
