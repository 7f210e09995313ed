/* SPDX-License-Identifier: MIT
 *
 * test_options.c: command lines by a table: what each kind of option takes, and what is said of
 * wrong usage. */
#define _POSIX_C_SOURCE 200809L /* fileno, dup2 */

#include "bench/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const char *known_fruit(size_t at)
{
    static const char *const fruits[] = {"apple", "orange", "pear"};
    return at < COUNT(fruits) ? fruits[at] : NULL;
}

/* An even digit; 9 is refused with a reason, the others with what was expected. */
static bool set_even(void *into, const char *value, char *error, size_t error_size)
{
    if (*value == '9')
        snprintf(error, error_size, "nine is odd");
    else if ((*value - '0') % 2 == 0)
        *(char *)into = *value;
    return (*value - '0') % 2 == 0;
}

/* A word that begins as no option does; there is one at most. */
static bool set_file(void *into, const char *word, char *error, size_t error_size)
{
    const char **const file = into;
    if (*word == '-')
        return false;
    if (*file)
        snprintf(error, error_size, "%s: a second file", word);
    else
        *file = word;
    return *file == word;
}

typedef struct values {
    bool flag, help;
    const char *text, *word, *fruit, *listed, *file;
    sattn_name_list fruits;
    int64_t integer;
    uint64_t seed, wide;
    double number;
    char even;
} values;

/* A line of words with single spaces between them, and what it says on standard error. */
static bool read_line(const char *text, values *v, char *said, size_t said_size)
{
    static char words[512]; /* which the values point into */
    static const char *const colours[] = {"red", "green", NULL};
    const sattn_option known[] = {
        {"--flag", .flag = &v->flag},
        {"--text", "a text", .text = &v->text},
        {"--word", "red or green", .text = &v->word, .words = colours},
        {"--fruit", .text = &v->fruit, .known = known_fruit},
        {"--fruits", .names = &v->fruits, .known = known_fruit},
        {"--both", .text = &v->listed, .names = &v->fruits, .known = known_fruit},
        {"--integer", "a number from -2 to 7", .integer = &v->integer, .least = -2, .most = 7},
        {"--seed", "a number up to 9", .seed = &v->seed, .most = 9},
        {"--wide", "any number", .seed = &v->wide},
        {"--number", "up to 3", .number = &v->number, .most = 3},
        {"--even", "an even digit", .set = set_even, .into = &v->even},
        {"--help", .flag = &v->help},
    };
    const sattn_command_line line = {.verb = "test",
                                     .options = known,
                                     .n_options = COUNT(known),
                                     .other = set_file,
                                     .into = &v->file};
    char *argv[32];
    int argc = 0;
    snprintf(words, sizeof words, "%s", text);
    for (char *at = words; at && *at; ++argc) {
        char *const space = strchr(at, ' ');
        argv[argc] = at;
        at = space ? space + 1 : NULL;
        if (space)
            *space = '\0';
    }
    FILE *const file = tmpfile();
    assert_non_null(file);
    fflush(stderr);
    const int own = dup(STDERR_FILENO);
    assert_true(own >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
    sattn_name_list_free(&v->fruits);
    *v = (values){0};
    const bool good = sattn_options_read(&line, argc, argv);
    fflush(stderr);
    assert_true(dup2(own, STDERR_FILENO) >= 0);
    close(own);
    rewind(file);
    said[fread(said, 1, said_size - 1, file)] = '\0';
    fclose(file);
    return good;
}

static void test_values(void **state)
{
    (void)state;
    values v = {0};
    char said[512];
    assert_true(read_line("", &v, said, sizeof said));
    assert_true(read_line("--flag --text a=b --word=green --integer -2 --seed=9 --number 1e-3", &v,
                          said, sizeof said));
    assert_string_equal(said, "");
    assert_true(v.flag && !v.help && v.integer == -2 && v.seed == 9);
    assert_true(v.number > 0.0009 && v.number < 0.0011);
    assert_string_equal(v.text, "a=b");
    assert_string_equal(v.word, "green");
    assert_true(read_line("--text=--flag --fruit pear --fruits apple,pear --even 4 here -h", &v,
                          said, sizeof said));
    assert_true(!v.flag && v.help && v.even == '4' && v.fruits.count == 2);
    assert_string_equal(v.text, "--flag");
    assert_string_equal(v.fruit, "pear");
    assert_string_equal(v.fruits.names[1], "pear");
    assert_string_equal(v.file, "here");
    assert_true(read_line("--both orange,apple --integer=7 --wide 18446744073709551615 --number 3",
                          &v, said, sizeof said));
    assert_true(v.integer == 7 && v.wide == UINT64_MAX && v.number == 3 && v.fruits.count == 2);
    assert_string_equal(v.listed, "orange,apple");
    assert_true(read_line("--text --flag", &v, said, sizeof said)); /* a value like any other */
    assert_true(!v.flag && strcmp(v.text, "--flag") == 0);
    assert_true(read_line("--integer 3 --integer 4", &v, said, sizeof said)); /* the last counts */
    assert_int_equal(v.integer, 4);
    sattn_name_list_free(&v.fruits);
}

static void test_wrong_usage(void **state)
{
    (void)state;
    static const struct {
        const char *line, *said;
    } cases[] = {
        {"--flga", "there is no option '--flga'; nearest: --flag, "},
        {"--tex x", "there is no option '--tex'; nearest: --text, "}, /* no abbreviations */
        {"--flag=1", "no value is expected in '--flag=1'\n"},
        {"--flag --text", "a value must follow '--text'\n"},
        {"--text=", "--text is '', expected a text\n"},
        {"--word blue", "--word is 'blue', expected red or green\n"},
        {"--word=", "--word is '', expected red or green\n"},
        {"--fruit appel", "--fruit: there is no 'appel'; nearest: apple, "},
        {"--fruit apple,pear", "--fruit: there is no 'apple,pear'; nearest: "},
        {"--fruits apple,paer", "--fruits: there is no 'paer'; nearest: pear, "},
        {"--fruits apple,", "--fruits: there is no ''; nearest: "},
        {"--both paer", "--both: there is no 'paer'; nearest: pear, "},
        {"--integer 8", "--integer is '8', expected a number from -2 to 7\n"},
        {"--integer -3", "--integer is '-3', expected"},
        {"--integer 1x", "--integer is '1x', expected"},
        {"--integer=", "--integer is '', expected"},
        {"--integer +1", "--integer is '+1', expected"},
        {"--integer -", "--integer is '-', expected"},
        {"--integer 99999999999999999999", "--integer is '99999999999999999999', expected"},
        {"--seed 10", "--seed is '10', expected a number up to 9\n"},
        {"--seed -1", "--seed is '-1', expected"},
        {"--seed 1x", "--seed is '1x', expected"},
        {"--seed=", "--seed is '', expected"},
        {"--wide 18446744073709551616", "--wide is '18446744073709551616', expected any number\n"},
        {"--number 0", "--number is '0', expected up to 3\n"},
        {"--number 3.5", "--number is '3.5', expected"},
        {"--number nan", "--number is 'nan', expected"},
        {"--number inf", "--number is 'inf', expected"},
        {"--number 1s", "--number is '1s', expected"},
        {"--number=", "--number is '', expected"},
        {"--even 3", "--even is '3', expected an even digit\n"},
        {"--even 9", "--even: nine is odd\n"},
        {"here there", "there: a second file\n"},
    };
    values v = {0};
    for (size_t c = 0; c < COUNT(cases); ++c) {
        char said[512], expected[256];
        snprintf(expected, sizeof expected, "simdattn test: %s", cases[c].said);
        if (read_line(cases[c].line, &v, said, sizeof said))
            fail_msg("'%s' is taken", cases[c].line);
        if (strncmp(said, expected, strlen(expected)) != 0)
            fail_msg("'%s': '%s' instead of '%s'", cases[c].line, said, expected);
        if (!strchr(said, '\n') || strchr(said, '\n')[1])
            fail_msg("'%s': not one sentence: '%s'", cases[c].line, said);
    }
    sattn_name_list_free(&v.fruits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_wrong_usage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
