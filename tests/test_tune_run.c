/* SPDX-License-Identifier: MIT
 *
 * test_tune_run.c: how a run of tune shares its time out, and that one after the other gets on, on
 * a clock that only classes move. */
#define _POSIX_C_SOURCE 200809L /* mkdtemp */
#include "bench/tune/tune_run.h"
#include "bench/verbs.h"
#include "dispatch/override.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static const char profile_path[] = "test_tune_run_profile.json";

static struct {
    int64_t now_ns;
    double need_s, need_first_s; /* until a class is known: any, and the first shape's */
    const char *first;
    int n_run;
    const char *error;                            /* of the first shape's classes, or NULL */
    bool is_none_admitted, is_all_none, is_wrong; /* likewise; of all */
    int code;                                     /* that a run is to end with */
} fake;

static int64_t fake_now(void)
{
    return fake.now_ns;
}

/* Takes what it is given, or less if that is enough. */
static void fake_run(const sattn_tune_job *job, const sattn_tune_setting *setting,
                     sattn_tune_outcome *outcome)
{
    const double need = job->shape.name == fake.first ? fake.need_first_s : fake.need_s;
    const double spent = setting->seconds < need ? setting->seconds : need;
    sattn_tune_recipes recipes;
    char error[256];
    fake.now_ns += (int64_t)(spent * 1e9);
    ++fake.n_run;
    assert_true(sattn_tune_list_recipes(job, &recipes, error, sizeof error));
    sattn_tried *const tried = calloc(1, sizeof *tried);
    assert_non_null(tried);
    *tried = (sattn_tried){.recipe = recipes.list[0],
                           .time_ns = 100,
                           .time_p10_ns = 90,
                           .time_p90_ns = 110,
                           .samples = 20,
                           .is_admitted = true};
    outcome->rounds = 20;
    const bool is_first = job->shape.name == fake.first;
    outcome->failed = fake.is_wrong && is_first;
    outcome->is_none_admitted = fake.is_all_none || (fake.is_none_admitted && is_first);
    if (outcome->is_none_admitted || (fake.error && is_first))
        snprintf(outcome->error, sizeof outcome->error, "%s", fake.error);
    snprintf(outcome->shape, sizeof outcome->shape, "%s", job->shape.name);
    outcome->entry = (sattn_profile_entry){.shape_class = job->shape_class,
                                           .usable = job->usable,
                                           .shape = outcome->shape,
                                           .is_complete = setting->seconds >= need,
                                           .n_tried = 1,
                                           .tried = tried};
}

static void show_nothing(const sattn_tune_session *session, size_t job)
{
    (void)session;
    (void)job;
}

/* How many classes are complete after a run. */
static int run(double budget_s)
{
    sattn_overrides overrides;
    char error[512];
    sattn_tune_jobs jobs;
    sattn_tune_store store;
    sattn_places places = {0};
    int complete = 0;
    const sattn_tune_options options = {
        .threads = {.of = {1}, .n = 1}, .budget_s = budget_s, .seed = 1, .out = profile_path};
    assert_int_equal(sattn_overrides_get(NULL, &overrides), SATTN_OK);
    assert_int_equal(sattn_tune_select(&options, overrides.usable, &jobs), SATTN_EXIT_GOOD);
    assert_true(sattn_tune_store_open(&store, &options, error, sizeof error));
    sattn_tune_session session = {.options = &options,
                                  .places = &places,
                                  .jobs = &jobs,
                                  .store = &store,
                                  .now_ns = fake_now,
                                  .run = fake_run,
                                  .states = calloc(jobs.count, sizeof *session.states),
                                  .outcomes = calloc(jobs.count, sizeof *session.outcomes)};
    assert_true(session.states && session.outcomes);
    fake.first = jobs.jobs[0].shape.name;
    fake.n_run = 0;
    assert_int_equal(sattn_tune_session_run(&session, show_nothing), fake.code);
    for (int tier = 0; tier < SATTN_TUNE_TIERS; ++tier)
        complete += sattn_tune_coverage_of(&session, (sattn_tune_tier)tier).complete;
    assert_true(sattn_tune_store_write(&store, error, sizeof error));
    for (size_t j = 0; j < jobs.count; ++j)
        sattn_tune_outcome_free(&session.outcomes[j]);
    free(session.outcomes);
    free(session.states);
    sattn_tune_store_close(&store);
    sattn_tune_jobs_free(&jobs);
    return complete;
}

/* As many classes as there is time for come to an end, and the next run goes on with others. */
static void test_short_runs_get_on(void **state)
{
    (void)state;
    remove(profile_path);
    fake.need_s = fake.need_first_s = 0.5;
    int complete = 0;
    for (int time = 1; time <= 3; ++time) {
        const int before = complete;
        complete = run(6);
        assert_true(complete >= before + 10);
    }
    remove(profile_path);
}

/* One that takes longer than all the time there is holds nothing up. */
static void test_long_class_is_left_for_later(void **state)
{
    (void)state;
    remove(profile_path);
    fake.need_s = 0.5;
    fake.need_first_s = 1000;
    assert_int_equal(run(0.75), 0);
    assert_int_equal(fake.n_run, 1);
    assert_int_equal(run(0.75), 1);
    assert_int_equal(run(0.75), 2);
    remove(profile_path);
}

/* With time for all of them, all are known, and a further run has nothing to do. */
static void test_all_is_known_at_last(void **state)
{
    (void)state;
    remove(profile_path);
    fake.need_s = fake.need_first_s = 1.5; /* more than the first pass gives */
    const int complete = run(86400);
    assert_true(complete > 100 && fake.n_run >= complete);
    assert_int_equal(run(1), complete);
    assert_int_equal(fake.n_run, 0);
    remove(profile_path);
}

/* What is wrong or could not be tuned is told by the exit code; what is not exact enough only where
 * there is nothing else; that the time was short never. */
static void test_exit_codes(void **state)
{
    (void)state;
    remove(profile_path);
    fake.need_s = fake.need_first_s = 0.5;
    fake.error = "out of memory", fake.code = SATTN_EXIT_FAILED;
    run(6);
    fake.error = "nothing was admitted", fake.is_none_admitted = true, fake.code = SATTN_EXIT_GOOD;
    run(6);
    fake.is_wrong = true, fake.code = SATTN_EXIT_FAILED;
    run(6);
    remove(profile_path);
    fake.is_wrong = false, fake.is_all_none = true, fake.code = SATTN_EXIT_NOTHING;
    run(6);
    fake.is_all_none = fake.is_none_admitted = false, fake.error = NULL;
    fake.need_s = fake.need_first_s = 100, fake.code = SATTN_EXIT_GOOD;
    run(6);
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
        cmocka_unit_test(test_short_runs_get_on),
        cmocka_unit_test(test_long_class_is_left_for_later),
        cmocka_unit_test(test_all_is_known_at_last),
        cmocka_unit_test(test_exit_codes),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
