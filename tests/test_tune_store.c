/* SPDX-License-Identifier: MIT
 *
 * test_tune_store.c: what a run of tune keeps of the file that it writes, and what it must not
 * replace. */
#define _POSIX_C_SOURCE 200809L /* mkdtemp, symlink */
#include "bench/tune/tune_store.h"
#include "dispatch/override.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char profile_path[] = "test_tune_profile.json",
                  old_path[] = "test_tune_profile.json.old";

static sattn_tune_job job_of(const char *shape)
{
    sattn_overrides overrides;
    assert_int_equal(sattn_overrides_get(NULL, &overrides), SATTN_OK);
    return sattn_tune_job_of(SATTN_OP_fused, sattn_shape_by_name(shape), NULL, overrides.usable, 1);
}

/* An entry of `job` with two recipes, the second of them taken. */
static sattn_tune_outcome made_outcome(const sattn_tune_job *job, bool is_complete,
                                       double max_error)
{
    sattn_tune_recipes recipes;
    char error[256];
    sattn_tune_outcome outcome = {.rounds = 20};
    assert_true(sattn_tune_list_recipes(job, &recipes, error, sizeof error));
    assert_true(recipes.count >= 2);
    sattn_tried *const tried = calloc(2, sizeof *tried);
    assert_non_null(tried);
    for (size_t c = 0; c < 2; ++c)
        tried[c] = (sattn_tried){.recipe = recipes.list[c],
                                 .time_ns = 100 - 10 * (double)c,
                                 .time_p10_ns = 80,
                                 .time_p90_ns = 110,
                                 .samples = 20,
                                 .error = 1,
                                 .error_bound = 9,
                                 .is_admitted = true};
    snprintf(outcome.shape, sizeof outcome.shape, "%s", job->shape.name);
    outcome.entry = (sattn_profile_entry){.shape_class = job->shape_class,
                                          .usable = job->usable,
                                          .is_complete = is_complete,
                                          .margin = 0.1,
                                          .spread = 0.01,
                                          .max_error = max_error,
                                          .n_tried = 2,
                                          .tried = tried,
                                          .taken = is_complete ? 1 : 0};
    return outcome;
}

static void open_store(sattn_tune_store *store, sattn_tune_outcome *outcomes, size_t count)
{
    char error[512];
    const sattn_tune_options options = {.out = profile_path};
    assert_true(sattn_tune_store_open(store, &options, error, sizeof error));
    for (size_t o = 0; o < count; ++o)
        outcomes[o].entry.shape = outcomes[o].shape;
    store->outcomes = outcomes;
    store->n_outcomes = count;
}

static void write_outcome(sattn_tune_outcome outcome)
{
    sattn_tune_store store;
    char error[512];
    open_store(&store, &outcome, 1);
    assert_true(sattn_tune_store_write(&store, error, sizeof error));
    sattn_tune_store_close(&store);
    sattn_tune_outcome_free(&outcome);
}

static void test_store_keeps_other_classes(void **state)
{
    (void)state;
    const sattn_tune_job first = job_of("one-key"), second = job_of("vit-b32-50");
    sattn_tune_store store;
    remove(profile_path);
    open_store(&store, NULL, 0);
    assert_null(store.kept);
    assert_string_equal(store.note, "");
    sattn_tune_store_close(&store);
    write_outcome(made_outcome(&first, true, 0));
    write_outcome(made_outcome(&second, true, 0));
    open_store(&store, NULL, 0);
    assert_non_null(store.kept);
    const sattn_profile_entry *const entry = sattn_tune_store_find(&store, &first, 0);
    assert_true(entry && entry->taken == 1 && entry->is_complete && entry->n_tried == 2);
    assert_non_null(sattn_tune_store_find(&store, &second, 0));
    assert_null(sattn_tune_store_find(&store, &second, 3)); /* another error was admitted */
    const sattn_tune_job other = job_of("distilbert-128");
    assert_null(sattn_tune_store_find(&store, &other, 0));
    sattn_tune_store_close(&store);
}

/* Two at once that have both read the file before either has written. */
static void test_store_keeps_what_another_wrote(void **state)
{
    (void)state;
    const sattn_tune_job jobs[2] = {job_of("one-key"), job_of("vit-b32-50")};
    sattn_tune_store stores[2];
    sattn_tune_outcome outcomes[2];
    char error[512];
    remove(profile_path);
    for (int t = 0; t < 2; ++t) {
        outcomes[t] = made_outcome(&jobs[t], true, 0);
        open_store(&stores[t], &outcomes[t], 1);
    }
    for (int t = 0; t < 2; ++t)
        assert_true(sattn_tune_store_write(&stores[t], error, sizeof error));
    for (int t = 0; t < 2; ++t) {
        sattn_tune_store_close(&stores[t]);
        sattn_tune_outcome_free(&outcomes[t]);
    }
    open_store(&stores[0], NULL, 0);
    for (int t = 0; t < 2; ++t)
        assert_non_null(sattn_tune_store_find(&stores[0], &jobs[t], 0));
    sattn_tune_store_close(&stores[0]);
    assert_null(fopen("test_tune_profile.json.lock", "r"));
}

/* What a run with a larger error has chosen, be it complete, does not stay in force for the classes
 * of a run with a smaller one, even if that finishes nothing; for others it does. */
static void test_store_drops_what_is_less_exact(void **state)
{
    (void)state;
    sattn_tune_job first = job_of("one-key");
    const sattn_tune_job second = job_of("vit-b32-50");
    const sattn_tune_jobs jobs = {.jobs = &first, .count = 1};
    sattn_tune_store store;
    char error[512];
    const struct {
        double had, wanted;
        bool stays;
    } cases[] = {{0, 3, false}, {4, 3, false}, {3, 3, true}, {2, 3, true}, {2, 0, true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        remove(profile_path);
        write_outcome(made_outcome(&first, true, cases[i].had));
        write_outcome(made_outcome(&second, true, 0));
        open_store(&store, NULL, 0);
        store.jobs = &jobs;
        store.max_error = cases[i].wanted;
        assert_int_equal(sattn_tune_store_find(&store, &first, cases[i].wanted) != NULL,
                         cases[i].stays);
        assert_true(sattn_tune_store_write(&store, error, sizeof error));
        assert_int_equal(sattn_tune_store_less_exact(&store), cases[i].wanted > 0);
        sattn_tune_store_close(&store);
        open_store(&store, NULL, 0);
        assert_int_equal(sattn_tune_store_find(&store, &first, 0) != NULL, cases[i].stays);
        assert_non_null(sattn_tune_store_find(&store, &second, 0));
        sattn_tune_store_close(&store);
    }
    remove(profile_path);
}

/* What is not complete takes the place of nothing that is. */
static void test_store_keeps_what_is_complete(void **state)
{
    (void)state;
    const sattn_tune_job job = job_of("one-key");
    sattn_tune_store store;
    remove(profile_path);
    write_outcome(made_outcome(&job, false, 0));
    open_store(&store, NULL, 0);
    const sattn_profile_entry *entry = sattn_tune_store_find(&store, &job, 0);
    assert_true(entry && !entry->is_complete);
    sattn_tune_store_close(&store);
    write_outcome(made_outcome(&job, true, 0));
    write_outcome(made_outcome(&job, false, 0));
    open_store(&store, NULL, 0);
    entry = sattn_tune_store_find(&store, &job, 0);
    assert_true(entry && entry->is_complete);
    sattn_tune_store_close(&store);
}

/* ---- what else may be there */

static void put_text(const char *text)
{
    FILE *const file = fopen(profile_path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0 && fclose(file) == 0);
}

static void check_text(const char *path, const char *expected)
{
    char text[256] = "";
    FILE *const file = fopen(path, "r");
    assert_non_null(file);
    const size_t size = fread(text, 1, sizeof text - 1, file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(size, strlen(expected));
    assert_string_equal(text, expected);
}

/* A profile that cannot be used is said to be replaced, and put aside once there is another. */
static void test_store_puts_aside_what_is_stale(void **state)
{
    (void)state;
    static const char text[] = "{\"identity\": {\"schema\": 1}}\n";
    const sattn_tune_job job = job_of("one-key");
    sattn_tune_store store;
    char error[512];
    put_text(text);
    remove(old_path);
    open_store(&store, NULL, 0);
    assert_null(store.kept);
    assert_string_not_equal(store.note, "");
    assert_true(sattn_tune_store_write(&store, error, sizeof error)); /* of nothing */
    assert_false(store.is_written);
    check_text(profile_path, text);
    sattn_tune_store_close(&store);
    write_outcome(made_outcome(&job, true, 0));
    check_text(old_path, text);
    open_store(&store, NULL, 0);
    assert_non_null(store.kept);
    assert_string_equal(store.note, "");
    sattn_tune_store_close(&store);
    remove(profile_path);
    remove(old_path);
}

/* What is no profile is refused, and stays. */
static void test_store_refuses_other_files(void **state)
{
    (void)state;
    static const char *const texts[] = {"{\"layers\": [1, 2, 3]}\n", "my notes\n", "[]\n",
                                        "{\"identity\": {\"schema\": \"of mine\"}}\n"};
    const sattn_tune_options options = {.out = profile_path};
    for (size_t t = 0; t < sizeof texts / sizeof texts[0]; ++t) {
        sattn_tune_store store;
        char error[512] = "";
        put_text(texts[t]);
        assert_false(sattn_tune_store_open(&store, &options, error, sizeof error));
        assert_non_null(strstr(error, "is no profile"));
        sattn_tune_store_close(&store);
        check_text(profile_path, texts[t]);
    }
    put_text(""); /* as mktemp leaves it */
    sattn_tune_store store;
    open_store(&store, NULL, 0);
    assert_string_equal(store.note, "");
    sattn_tune_store_close(&store);
    remove(profile_path);
}

/* A run that has measured nothing makes no file. */
static void test_store_writes_no_empty_file(void **state)
{
    (void)state;
    sattn_tune_store store;
    char error[512];
    remove(profile_path);
    open_store(&store, NULL, 0);
    assert_true(sattn_tune_store_write(&store, error, sizeof error));
    sattn_tune_store_close(&store);
    assert_null(fopen(profile_path, "r"));
}

/* Whatever the profile is called, there is one, and one lock. */
static void test_store_follows_links(void **state)
{
    (void)state;
    static const char link_path[] = "test_tune_profile_link.json";
    const sattn_tune_job job = job_of("one-key");
    const sattn_tune_options options = {.out = link_path};
    sattn_tune_store store;
    char error[512];
    remove(link_path);
    write_outcome(made_outcome(&job, true, 0));
    assert_int_equal(symlink(profile_path, link_path), 0);
    assert_true(sattn_tune_store_open(&store, &options, error, sizeof error));
    assert_non_null(sattn_tune_store_find(&store, &job, 0));
    assert_string_equal(strrchr(store.path, '/') + 1, profile_path);
    sattn_tune_store_close(&store);
    remove(link_path);
    remove(profile_path);
}

/* Files of several such programs at once must not meet. */
static char directory[] = "test_tune_XXXXXX";

static int enter_directory(void **state)
{
    (void)state;
    return mkdtemp(directory) && chdir(directory) == 0 ? 0 : -1;
}

static int leave_directory(void **state)
{
    (void)state;
    remove(profile_path);
    return chdir("..") == 0 ? rmdir(directory) : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_store_keeps_other_classes),
        cmocka_unit_test(test_store_keeps_what_another_wrote),
        cmocka_unit_test(test_store_drops_what_is_less_exact),
        cmocka_unit_test(test_store_keeps_what_is_complete),
        cmocka_unit_test(test_store_puts_aside_what_is_stale),
        cmocka_unit_test(test_store_refuses_other_files),
        cmocka_unit_test(test_store_writes_no_empty_file),
        cmocka_unit_test(test_store_follows_links),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
