/* SPDX-License-Identifier: MIT
 *
 * options.c: reads a command line by its table (options.h). */
#include "bench/options.h"

#include "bench/suggest.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- values */

bool sattn_option_integer(const char *text, char end, int64_t least, int64_t most, int64_t *number)
{
    char *at;
    errno = 0;
    *number = strtoll(text, &at, 10);
    const bool begins = *text == '-' || (*text >= '0' && *text <= '9');
    return begins && *at == end && !errno && *number >= least && *number <= most;
}

static bool take_seed(const sattn_option *option, const char *value)
{
    char *end;
    errno = 0;
    *option->seed = strtoull(value, &end, 10);
    return *value >= '0' && *value <= '9' && !*end && !errno &&
           (option->most == 0 || *option->seed <= (uint64_t)option->most);
}

static bool take_number(const sattn_option *option, const char *value)
{
    char *end;
    errno = 0;
    *option->number = strtod(value, &end);
    return end != value && !*end && !errno && isfinite(*option->number) && *option->number > 0 &&
           *option->number <= (double)option->most;
}

static bool is_word(const char *value, const char *const *words)
{
    while (*words && strcmp(*words, value) != 0)
        ++words;
    return *words;
}

/* One name, or a list of them. */
static bool take_known(const sattn_option *option, const char *value, char *error,
                       size_t error_size)
{
    size_t count = 0;
    while (option->known(count))
        ++count;
    const char **const names = calloc(count + 1, sizeof *names);
    if (!names) {
        snprintf(error, error_size, "out of memory");
        return false;
    }
    for (size_t n = 0; n < count; ++n)
        names[n] = option->known(n);
    const bool good =
        option->names ? sattn_name_list_set(option->names, value, names, count, error, error_size)
                      : sattn_name_is_known(value, names, count, error, error_size);
    free(names);
    return good;
}

/* False: `error` says why, or is empty where `expected` does. */
static bool take_value(const sattn_option *option, const char *value, char *error,
                       size_t error_size)
{
    if (option->set)
        return option->set(option->into, value, error, error_size);
    if (option->integer)
        return sattn_option_integer(value, '\0', option->least, option->most, option->integer);
    if (option->seed)
        return take_seed(option, value);
    if (option->number)
        return take_number(option, value);
    if (option->text)
        *option->text = value;
    if (option->words)
        return is_word(value, option->words);
    return option->known ? take_known(option, value, error, error_size) : *value != '\0';
}

/* ---- words of the line */

/* "simdattn VERB: <what> '<word>'<rest>" */
static bool complain(const sattn_command_line *line, const char *what, const char *word,
                     const char *rest)
{
    fprintf(stderr, "simdattn %s: %s '%s'%s\n", line->verb, what, word, rest);
    return false;
}

static const sattn_option *find(const sattn_command_line *line, const char *word)
{
    const size_t length = strcspn(word, "=");
    for (size_t o = 0; o < line->n_options; ++o) {
        const char *const name = line->options[o].name;
        if (strlen(name) == length && strncmp(word, name, length) == 0)
            return &line->options[o];
    }
    return NULL;
}

/* A word that is no option. */
static bool take_other(const sattn_command_line *line, const char *word)
{
    enum { MOST = 64 };
    const char *names[MOST];
    char text[512] = "";
    if (line->other && line->other(line->into, word, text, sizeof text))
        return true;
    if (*text) {
        fprintf(stderr, "simdattn %s: %s\n", line->verb, text);
        return false;
    }
    size_t n = 0;
    for (; n < line->n_options && n < MOST; ++n)
        names[n] = line->options[n].name;
    sattn_suggest(word, names, n, text, sizeof text);
    return complain(line, "there is no option", word, text);
}

/* `argv[*at]` is --name=value or --name followed by a value, a flag, or no option. */
static bool take_word(const sattn_command_line *line, int argc, char **argv, int *at)
{
    const char *const word = strcmp(argv[*at], "-h") == 0 ? "--help" : argv[*at];
    const sattn_option *const option = find(line, word);
    if (!option)
        return take_other(line, word);
    const char *const equals = strchr(word, '=');
    if (option->flag && equals)
        return complain(line, "no value is expected in", word, "");
    if (option->flag)
        return *option->flag = true;
    if (!equals && *at + 1 == argc)
        return complain(line, "a value must follow", word, "");
    const char *const value = equals ? equals + 1 : argv[++*at];
    char error[640] = "";
    if (take_value(option, value, error, sizeof error))
        return true;
    if (*error)
        fprintf(stderr, "simdattn %s: %s: %s\n", line->verb, option->name, error);
    else
        fprintf(stderr, "simdattn %s: %s is '%s', expected %s\n", line->verb, option->name, value,
                option->expected);
    return false;
}

bool sattn_options_read(const sattn_command_line *line, int argc, char **argv)
{
    for (int at = 0; at < argc; ++at)
        if (!take_word(line, argc, argv, &at))
            return false;
    return true;
}
