/* SPDX-License-Identifier: MIT
 *
 * test_result.c: result documents and their files; tables and suggestions of the program. */
#if !defined(_XOPEN_SOURCE)
#define _XOPEN_SOURCE 700 /* mkdtemp, rmdir, opendir */
#endif
#include "bench/result.h"
#include "bench/suggest.h"
#include "bench/table.h"

#include <dirent.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { PATH_SIZE = 256, ERROR_SIZE = 512 };

/* ---- numbers and texts */

static void test_numbers(void **state)
{
    (void)state;
    json_t *const object = json_object();
    const double wrong[] = {(double)NAN, (double)INFINITY, (double)-INFINITY};
    const double good[] = {0, -0.0, 1.5, DBL_MAX, -DBL_MAX, DBL_MIN, 4.9e-324};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i) {
        json_object_clear(object);
        sattn_result_number(object, "rate", wrong[i], "empty shape");
        assert_true(json_is_null(json_object_get(object, "rate")));
        assert_string_equal(json_string_value(json_object_get(object, "rate_reason")),
                            "empty shape");
    }
    for (size_t i = 0; i < sizeof good / sizeof good[0]; ++i) {
        json_object_clear(object);
        sattn_result_number(object, "rate", good[i], "not needed");
        assert_true(json_real_value(json_object_get(object, "rate")) == good[i]);
        assert_null(json_object_get(object, "rate_reason"));
    }
    json_decref(object);
}

static void test_texts(void **state)
{
    (void)state;
    json_t *const object = json_object();
    const char *const texts[] = {"",     "C:\\temp\\new", "say \"no\"", "tab\tline\n",
                                 "\x01", "\xc3\xa9"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
        sattn_result_text(object, "text", texts[i]);
        char *const dump = json_dumps(object, 0);
        json_t *const again = json_loads(dump, JSON_REJECT_DUPLICATES, NULL);
        assert_string_equal(json_string_value(json_object_get(again, "text")), texts[i]);
        json_decref(again);
        free(dump);
    }
    sattn_result_text(object, "text", NULL);
    assert_true(json_is_null(json_object_get(object, "text")));
    sattn_result_text(object, "text", "\xff\xfe");
    assert_true(json_is_null(json_object_get(object, "text")));
    json_decref(object);
}

/* A machine of which nothing is known. */
static sattn_environment unknown_machine(void)
{
    return (sattn_environment){
        .isa = "scalar",
        .cpus = {.online = 4, .affinity = 2, .quota = (double)INFINITY, .threads = 2},
        .load = {-1, -1, -1},
        .flush_to_zero = SATTN_UNKNOWN,
        .denormals_are_zero = SATTN_UNKNOWN,
        .build = {.arch = "other", .commit_dirty = SATTN_UNKNOWN},
    };
}

static void expect_reason(const json_t *object, const char *key)
{
    char reason[96];
    snprintf(reason, sizeof reason, "%s_reason", key);
    assert_true(json_is_null(json_object_get(object, key)));
    assert_true(json_is_string(json_object_get(object, reason)));
}

static void test_document(void **state)
{
    (void)state;
    const sattn_environment machine = unknown_machine();
    json_t *const made = sattn_result_new(&machine);
    assert_non_null(made);
    char *const text = json_dumps(made, 0);
    json_t *const document = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(document);
    assert_int_equal(json_array_size(sattn_result_benchmarks(document)), 0);
    json_t *const context = sattn_result_context(document);
    expect_reason(context, "simdattn_cpu_quota");
    expect_reason(context, "simdattn_l1d_bytes");
    expect_reason(context, "simdattn_flush_to_zero");
    expect_reason(context, "simdattn_commit_dirty");
    assert_int_equal(json_integer_value(json_object_get(context, "num_cpus")), 4);
    assert_int_equal(json_integer_value(json_object_get(context, "simdattn_cpus_affinity")), 2);
    assert_null(json_object_get(context, "host_name"));
    json_decref(document);
    json_decref(made);
    free(text);
}

/* A decimal comma of the user's language does not get into files. */
static void test_decimal_comma(void **state)
{
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
    bool found = false;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !found; ++i)
        found = setlocale(LC_ALL, names[i]) != NULL;
    if (!found) {
        print_message("no locale with a decimal comma here: not compared\n");
        skip();
    }
    json_t *const object = json_object();
    sattn_result_number(object, "rate", 1.5, "");
    char *const dump = json_dumps(object, JSON_COMPACT);
    setlocale(LC_ALL, "C");
    assert_string_equal(dump, "{\"rate\":1.5}");
    json_decref(object);
    free(dump);
}

/* ---- files */

static char directory[64];

static int make_directory(void **state)
{
    (void)state;
    snprintf(directory, sizeof directory, "test_result_XXXXXX");
    return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/out.json", directory);
    remove(path);
    snprintf(path, sizeof path, "%s/link.json", directory);
    remove(path);
    return rmdir(directory);
}

/* Files of the directory, which holds no directories. */
static int count_files(void)
{
    DIR *const listing = opendir(directory);
    int n = 0;
    assert_non_null(listing);
    while (readdir(listing) != NULL)
        ++n;
    closedir(listing);
    return n - 2; /* . and .. */
}

static void test_write(void **state)
{
    (void)state;
    char path[PATH_SIZE], error[ERROR_SIZE] = "";
    snprintf(path, sizeof path, "%s/out.json", directory);
    const sattn_environment machine = unknown_machine();
    json_t *const document = sattn_result_new(&machine);
    assert_true(sattn_result_check_path(path, error, sizeof error));
    assert_int_equal(count_files(), 0);
    for (int i = 0; i < 2; ++i) { /* new, then over the one that is there */
        json_object_set_new(document, "run", json_integer(i));
        assert_true(sattn_result_write(document, path, error, sizeof error));
        assert_int_equal(count_files(), 1);
        assert_true(sattn_result_check_path(path, error, sizeof error));
        json_t *const read = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
        assert_true(json_equal(read, document));
        json_decref(read);
    }
    /* What cannot be written leaves the old file whole and nothing beside it. */
    json_t *const no_document = json_string("a document is an object");
    assert_true(!sattn_result_write(no_document, path, error, sizeof error));
    assert_int_equal(count_files(), 1);
    json_t *const read = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    assert_true(json_equal(read, document));
    json_decref(read);
    json_decref(no_document);
    json_decref(document);
}

/* A symbolic link stays one, and the file that it leads to is replaced. */
static void test_symbolic_link(void **state)
{
    (void)state;
    char link_path[PATH_SIZE], path[PATH_SIZE], error[ERROR_SIZE] = "";
    struct stat status;
    snprintf(path, sizeof path, "%s/out.json", directory);
    snprintf(link_path, sizeof link_path, "%s/link.json", directory);
    const sattn_environment machine = unknown_machine();
    json_t *const document = sattn_result_new(&machine);
    assert_true(sattn_result_write(document, path, error, sizeof error));
    assert_int_equal(symlink("out.json", link_path), 0);
    json_object_set_new(document, "run", json_integer(2));
    assert_true(sattn_result_write(document, link_path, error, sizeof error));
    assert_true(lstat(link_path, &status) == 0 && S_ISLNK(status.st_mode));
    json_t *const read = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    assert_true(json_equal(read, document));
    assert_int_equal(count_files(), 2);
    json_decref(read);
    json_decref(document);
}

static void expect_no_file(const char *path)
{
    char error[ERROR_SIZE] = "";
    const sattn_environment machine = unknown_machine();
    json_t *const document = sattn_result_new(&machine);
    assert_true(!sattn_result_check_path(path, error, sizeof error));
    assert_non_null(strstr(error, "cannot write"));
    error[0] = '\0';
    assert_true(!sattn_result_write(document, path, error, sizeof error));
    assert_non_null(strstr(error, "cannot write"));
    json_decref(document);
}

static void test_unwritable(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/missing/out.json", directory);
    expect_no_file(path);
    expect_no_file(directory);
    expect_no_file("");
    snprintf(path, sizeof path, "%s/out.json", directory);
    FILE *const file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    snprintf(path, sizeof path, "%s/out.json/below", directory);
    expect_no_file(path);
    if (geteuid() != 0) { /* root may write everywhere */
        snprintf(path, sizeof path, "%s/other.json", directory);
        assert_int_equal(chmod(directory, 0500), 0);
        expect_no_file(path);
        assert_int_equal(chmod(directory, 0700), 0);
    }
    static char too_long[8192];
    memset(too_long, 'x', sizeof too_long - 1);
    expect_no_file(too_long);
}

/* What is no regular file stays what it is. */
static void test_in_place(void **state)
{
    (void)state;
    char error[ERROR_SIZE] = "";
    const sattn_environment machine = unknown_machine();
    json_t *const document = sattn_result_new(&machine);
    assert_true(sattn_result_check_path("/dev/null", error, sizeof error));
    assert_true(sattn_result_write(document, "/dev/null", error, sizeof error));
    struct stat status;
    assert_int_equal(stat("/dev/null", &status), 0);
    assert_true(S_ISCHR(status.st_mode));
    if (access("/dev/full", W_OK) == 0) /* writing there fails only when it is flushed */
        assert_true(!sattn_result_write(document, "/dev/full", error, sizeof error));
    json_decref(document);
}

/* ---- suggestions and tables */

static void expect_suggestion(const char *word, const char *want)
{
    static const char *const names[] = {"avx2", "avx512", "scalar", "neon", "quick", "models"};
    char text[128];
    sattn_suggest(word, names, sizeof names / sizeof names[0], text, sizeof text);
    assert_int_equal(strncmp(text, want, strlen(want)), 0);
}

static void test_suggestions(void **state)
{
    (void)state;
    char text[128] = "x", cut[12];
    const char *const one[] = {"only"};
    expect_suggestion("avx51", "; nearest: avx512, avx2");
    expect_suggestion("scaler", "; nearest: scalar");
    expect_suggestion("qiuck", "; nearest: quick");
    expect_suggestion("del", "; nearest: models");
    expect_suggestion("neon", "; nearest: neon");
    expect_suggestion("", "; nearest: ");
    sattn_suggest("word", NULL, 0, text, sizeof text);
    assert_string_equal(text, "");
    sattn_suggest("word", one, 1, text, sizeof text);
    assert_string_equal(text, "; nearest: only");
    sattn_suggest("word", one, 1, cut, sizeof cut);
    assert_int_equal(strlen(cut), sizeof cut - 1);
    sattn_suggest("word", one, 1, cut, 0);
    static char very_long[1000];
    memset(very_long, 'o', sizeof very_long - 1);
    sattn_suggest(very_long, one, 1, text, sizeof text);
    assert_string_equal(text, "; nearest: only");
}

static void test_table(void **state)
{
    (void)state;
    const sattn_table_column columns[] = {
        {"name", 0, false}, {"time", 8, true}, {"note", 0, false}};
    sattn_table table;
    sattn_table_init(&table, columns, 3);
    for (int i = 0; i < 40; ++i) { /* more than are allocated at first */
        assert_true(sattn_table_add_row(&table));
        sattn_table_set(&table, 0, "%s%d", i == 7 ? "\xc2\xb5" : "k", i);
        sattn_table_set(&table, 1, "%.1f", i / 2.0);
    }
    FILE *const file = tmpfile();
    assert_non_null(file);
    sattn_table_print(&table, file, true, 2);
    rewind(file);
    char line[256];
    for (int i = -1; i < 40; ++i) {
        char want[256];
        snprintf(want, sizeof want, "  %s%-*d  %8.1f\n", i == 7 ? "\xc2\xb5" : "k", 3, i, i / 2.0);
        assert_non_null(fgets(line, sizeof line, file));
        assert_string_equal(line, i < 0 ? "  name      time  note\n" : want);
    }
    assert_null(fgets(line, sizeof line, file));
    fclose(file);
    char text[2 * SATTN_TABLE_CELL_MAX];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    sattn_table_set(&table, 2, "%s", text);
    assert_int_equal(strlen(table.cells[39 * 3 + 2]), SATTN_TABLE_CELL_MAX - 1);
    sattn_table_free(&table);
}

/* A column that nothing stands in is not there. */
static void test_table_without_column(void **state)
{
    (void)state;
    const sattn_table_column columns[] = {{"name", 0, false}, {"", 0, true}, {"time", 0, true}};
    sattn_table table;
    sattn_table_init(&table, columns, 3);
    assert_true(sattn_table_add_row(&table));
    sattn_table_set(&table, 0, "k");
    sattn_table_set(&table, 2, "12345");
    for (int filled = 0; filled < 2; ++filled) {
        if (filled)
            sattn_table_set(&table, 1, "x");
        FILE *const file = tmpfile();
        assert_non_null(file);
        sattn_table_print(&table, file, false, 0);
        rewind(file);
        char line[64];
        assert_non_null(fgets(line, sizeof line, file));
        assert_string_equal(line, filled ? "k  x  12345\n" : "k  12345\n");
        fclose(file);
    }
    sattn_table_free(&table);
}

#define FILES_TEST(function)                                                                       \
    cmocka_unit_test_setup_teardown(function, make_directory, remove_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_document),
        cmocka_unit_test(test_decimal_comma),
        FILES_TEST(test_write),
        FILES_TEST(test_symbolic_link),
        FILES_TEST(test_unwritable),
        cmocka_unit_test(test_in_place),
        cmocka_unit_test(test_suggestions),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_table_without_column),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
