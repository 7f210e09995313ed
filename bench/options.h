/* SPDX-License-Identifier: MIT
 *
 * options.h: the command line of a verb, read by a table: each option with where its value goes.
 *
 * The pointer that an option is given says what it takes, so that the compiler checks the types. A
 * name counts only as it is written out: `getopt_long` would take its beginning too, which a later
 * option can make ambiguous. Wrong usage is answered with what is wrong, what was expected, and
 * for names the nearest ones. */
#ifndef SATTN_BENCH_OPTIONS_H
#define SATTN_BENCH_OPTIONS_H

#include "bench/names.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Takes a value in a way of its own. False: it is wrong, and `error` says why, as what follows
 * "--name: "; if it is left empty, the option's `expected` says it. */
typedef bool sattn_option_fn(void *into, const char *value, char *error, size_t error_size);

typedef struct sattn_option {
    const char *name;     /* "--seed" */
    const char *expected; /* "a file": what a wrong value should have been */

    /* Where it goes: one of these, or both `text` and `names`. */
    bool *flag;             /* takes no value */
    const char **text;      /* not empty; with `words` or `known` one of them */
    sattn_name_list *names; /* a comma list of `known` */
    int64_t *integer;       /* from `least` to `most` */
    uint64_t *seed;         /* from 0 to `most`, or to 2^64 - 1 if that is 0 */
    double *number;         /* above 0, at most `most` */
    sattn_option_fn *set;   /* called with `into` */
    void *into;

    const char *const *words;   /* few, ended by NULL: all of them stand in `expected` */
    sattn_known_name_fn *known; /* many: the nearest are said */
    int64_t least, most;
} sattn_option;

typedef struct sattn_command_line {
    const char *verb;
    const sattn_option *options; /* "-h" stands for "--help" */
    size_t n_options;
    sattn_option_fn *other; /* NULL, or is offered words that are no option; an empty error */
    void *into;             /* leaves a word unknown */
} sattn_command_line;

/* `argv` begins after the verb. False: wrong usage or no memory; a sentence about it has gone to
 * stderr, and what was taken before stays. */
bool sattn_options_read(const sattn_command_line *line, int argc, char **argv);

/* Whether `text` is a number from `least` to `most` up to the character `end`. */
bool sattn_option_integer(const char *text, char end, int64_t least, int64_t most, int64_t *number);

#endif
