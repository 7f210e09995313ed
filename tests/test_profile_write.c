/* SPDX-License-Identifier: MIT
 *
 * test_profile_write.c: what is written is read again, and whoever reads while others write, or are
 * killed as they do, finds a whole profile (D15). */
#define _XOPEN_SOURCE 700 /* mkdtemp, nftw */
#include "bench/tune/profile_write.h"
#include "dispatch/profile_read.h"

#include <ftw.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { PATH_SIZE = 256, ERROR_SIZE = 512 };

static char directory[] = "/tmp/simdattn-profile-XXXXXX";
static char path[PATH_SIZE];
static sattn_identity identity; /* of this build on no machine in particular */

static int remove_one(const char *name, const struct stat *facts, int type, struct FTW *walk)
{
    (void)facts;
    (void)type;
    (void)walk;
    return remove(name);
}

static int begin(void **state)
{
    (void)state;
    if (!mkdtemp(directory))
        return -1;
    snprintf(path, sizeof path, "%s/profile.json", directory);
    for (int field = 0; field < SATTN_IDENTITY_COUNT; ++field)
        snprintf(identity.text[field], SATTN_IDENTITY_TEXT, "some \"%d\"", field);
    snprintf(identity.text[SATTN_IDENTITY_SCHEMA], SATTN_IDENTITY_TEXT, "%d", SATTN_PROFILE_SCHEMA);
    snprintf(identity.text[SATTN_IDENTITY_CPUS], SATTN_IDENTITY_TEXT, "4");
    sattn_identity_features(SATTN_ISA_AVX512, identity.text[SATTN_IDENTITY_FEATURES]);
    return 0;
}

static int end(void **state)
{
    (void)state;
    return nftw(directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static sattn_tried tried_of(sattn_call call, const char *plan, const char *kernels)
{
    sattn_tried tried = {.time_ns = 1234.5678901,
                         .time_p10_ns = 1200,
                         .time_p90_ns = 1e12,
                         .samples = 12,
                         .error = 0.125,
                         .error_bound = (double)NAN,
                         .is_admitted = true};
    if (!sattn_recipe_parse(call, plan, kernels, 0, &tried.recipe))
        fail_msg("%s of %s is no recipe", kernels, plan);
    return tried;
}

static sattn_shape_class some_class(int keys_log2)
{
    return (sattn_shape_class){.call = SATTN_CALL_ATTENTION,
                               .phase = SATTN_PHASE_DECODE,
                               .keys_log2 = keys_log2,
                               .d_log2 = 7,
                               .d_v_log2 = 7,
                               .group = 1,
                               .threads = 1};
}

static sattn_profile *read_back(char remark[SATTN_PROFILE_REMARK])
{
    sattn_profile *profile;
    sattn_profile_read_file(&profile, path, &identity, remark);
    return profile;
}

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b)) || fabs(a - b) < 1e-9 * fabs(a);
}

static void check_same(const sattn_profile_entry *a, const sattn_profile_entry *b)
{
    assert_int_equal(sattn_class_key(&a->shape_class), sattn_class_key(&b->shape_class));
    assert_int_equal(a->usable, b->usable);
    assert_string_equal(a->shape, b->shape);
    assert_int_equal(a->is_complete, b->is_complete);
    assert_int_equal(a->kept, b->kept);
    assert_int_equal(a->is_tainted, b->is_tainted);
    assert_true(same(a->margin, b->margin) && same(a->spread, b->spread));
    assert_true(same(a->max_error, b->max_error));
    assert_int_equal(a->taken, b->taken);
    assert_int_equal(a->n_tried, b->n_tried);
    for (size_t i = 0; i < a->n_tried; ++i) {
        const sattn_tried *const x = &a->tried[i], *const y = &b->tried[i];
        assert_true(sattn_recipes_equal(&x->recipe, &y->recipe));
        assert_true(same(x->time_ns, y->time_ns) && same(x->time_p10_ns, y->time_p10_ns) &&
                    same(x->time_p90_ns, y->time_p90_ns));
        assert_int_equal(x->samples, y->samples);
        assert_true(same(x->error, y->error) && same(x->error_bound, y->error_bound));
        assert_int_equal(x->is_admitted, y->is_admitted);
    }
}

static void test_back_again(void **state)
{
    (void)state;
    char error[ERROR_SIZE], remark[SATTN_PROFILE_REMARK];
    sattn_tried attention[] = {
        tried_of(SATTN_CALL_ATTENTION, "fused", "sattn_fused_f32_scalar"),
        tried_of(SATTN_CALL_ATTENTION, "chain",
                 "sattn_qk_f32_scalar,sattn_softmax_f32_scalar,sattn_av_f32_scalar"),
        tried_of(SATTN_CALL_ATTENTION, "fused", "sattn_fused_f32_scalar"),
    };
    attention[2].time_ns = attention[2].time_p10_ns = attention[2].time_p90_ns = (double)NAN;
    attention[2].samples = 0;
    attention[2].error = (double)INFINITY; /* as a wrong kernel may have it */
    attention[2].is_admitted = false;
    attention[2].recipe.key_splits = 4;
    sattn_tried array = tried_of(SATTN_CALL_EXP, "", "sattn_exp_f32_scalar");
    const sattn_profile_entry entries[] = {
        {.shape_class = some_class(9),
         .usable = SATTN_ISA_AVX512,
         .shape = "a \"shape\"\n\xc3\xa9",
         .is_complete = true,
         .is_tainted = true,
         .margin = 0.0625,
         .spread = 1e-3,
         .max_error = 2,
         .n_tried = 3,
         .tried = attention,
         .taken = 1},
        {.shape_class = some_class(9),
         .usable = 0,
         .shape = "",
         .is_complete = true,
         .kept = SATTN_KEPT_SLOWER_ELSEWHERE,
         .margin = -0.5,
         .spread = (double)NAN,
         .n_tried = 1,
         .tried = attention},
        {.shape_class = {.call = SATTN_CALL_EXP, .keys_log2 = 20, .threads = 4},
         .usable = SATTN_ISA_AVX2,
         .shape = "array",
         .margin = (double)NAN,
         .n_tried = 1,
         .tried = &array},
    };
    if (!sattn_profile_write(&identity, entries, 3, path, error, sizeof error))
        fail_msg("%s", error);
    sattn_profile *const profile = read_back(remark);
    if (!profile)
        fail_msg("%s", remark);
    assert_string_equal(remark, "");
    attention[2].error = (double)NAN;
    for (size_t i = 0; i < 3; ++i) {
        const sattn_profile_entry *const found =
            sattn_profile_find(profile, &entries[i].shape_class, entries[i].usable);
        assert_non_null(found);
        check_same(&entries[i], found);
    }
    sattn_profile_destroy(profile);
}

/* Of two files a comparison by lines shows the entries that differ, and nothing else. */
static void test_a_line_for_each_entry(void **state)
{
    (void)state;
    enum { ENTRIES = 3, AROUND = 4, LINE = 4096 };
    char error[ERROR_SIZE], lines[2][ENTRIES + AROUND][LINE];
    const sattn_tried tried = tried_of(SATTN_CALL_ATTENTION, "fused", "sattn_fused_f32_scalar");
    sattn_profile_entry entries[ENTRIES];
    for (int i = 0; i < ENTRIES; ++i)
        entries[i] = (sattn_profile_entry){.shape_class = some_class(6 + i),
                                           .shape = "a\nshape",
                                           .is_complete = true,
                                           .n_tried = 1,
                                           .tried = &tried};
    for (int time = 0; time < 2; ++time) {
        entries[1].is_tainted = time > 0;
        assert_true(sattn_profile_write(&identity, entries, ENTRIES, path, error, sizeof error));
        FILE *const file = fopen(path, "r");
        assert_non_null(file);
        for (int line = 0; line < ENTRIES + AROUND; ++line)
            assert_non_null(fgets(lines[time][line], LINE, file));
        assert_int_equal(fgetc(file), EOF);
        fclose(file);
    }
    for (int line = 0; line < ENTRIES + AROUND; ++line)
        assert_int_equal(strcmp(lines[0][line], lines[1][line]) == 0, line != AROUND);
    for (int i = 0; i < ENTRIES; ++i)
        assert_ptr_equal(strstr(lines[0][AROUND - 1 + i], "{\"class\": \""),
                         lines[0][AROUND - 1 + i]);
}

static void test_cannot_write(void **state)
{
    (void)state;
    char error[ERROR_SIZE] = "", wrong[PATH_SIZE + 32];
    snprintf(wrong, sizeof wrong, "%s/no/such/profile.json", directory);
    assert_false(sattn_profile_write(&identity, NULL, 0, wrong, error, sizeof error));
    assert_non_null(strstr(error, wrong));
    assert_true(sattn_profile_write(&identity, NULL, 0, "/dev/null", error, sizeof error));
}

static void test_home(void **state)
{
    (void)state;
    char home[SATTN_PROFILE_PATH], error[ERROR_SIZE], expected[PATH_SIZE + 64];
    struct stat facts;
    snprintf(expected, sizeof expected, "%s/a/b", directory);
    assert_int_equal(setenv("XDG_CONFIG_HOME", expected, 1), 0);
    assert_true(sattn_profile_home(home, error, sizeof error));
    snprintf(expected, sizeof expected, "%s/a/b/simdattn/profile.json", directory);
    assert_string_equal(home, expected);
    snprintf(expected, sizeof expected, "%s/a/b/simdattn", directory);
    assert_int_equal(stat(expected, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0700);
    assert_true(sattn_profile_home(home, error, sizeof error));
    snprintf(expected, sizeof expected, "%s/file", directory);
    FILE *const file = fopen(expected, "w");
    assert_non_null(file);
    fclose(file);
    assert_int_equal(setenv("XDG_CONFIG_HOME", expected, 1), 0);
    assert_false(sattn_profile_home(home, error, sizeof error));
    assert_non_null(strstr(error, expected));
    unsetenv("XDG_CONFIG_HOME");
    unsetenv("HOME");
    assert_false(sattn_profile_home(home, error, sizeof error));
    assert_non_null(strstr(error, "XDG_CONFIG_HOME"));
}

/* Writes until it is killed: profiles of `n` entries whose margin is n as well. */
_Noreturn static void write_on(int n)
{
    char error[ERROR_SIZE];
    sattn_tried tried = tried_of(SATTN_CALL_ATTENTION, "fused", "sattn_fused_f32_scalar");
    sattn_profile_entry entries[40];
    for (int i = 0; i < n; ++i)
        entries[i] = (sattn_profile_entry){.shape_class = some_class(i),
                                           .shape = "some",
                                           .is_complete = true,
                                           .margin = n,
                                           .n_tried = 1,
                                           .tried = &tried};
    for (;;)
        if (!sattn_profile_write(&identity, entries, (size_t)n, path, error, sizeof error))
            _exit(1);
}

static const int sizes[2] = {3, 40};
static pid_t writers[2]; /* 0: none runs */

static void start_writer(int which)
{
    fflush(NULL);
    writers[which] = fork();
    if (writers[which] == 0)
        write_on(sizes[which]);
    assert_true(writers[which] > 0);
}

/* Whether it was still at work: it has no reason to stop. */
static bool kill_writer(int which)
{
    int status = 0;
    char partial[PATH_SIZE + 32];
    const pid_t writer = writers[which];
    writers[which] = 0;
    if (writer <= 0 || kill(writer, SIGKILL) != 0 || waitpid(writer, &status, 0) != writer)
        return false;
    snprintf(partial, sizeof partial, "%s.partial-%ld", path, (long)writer);
    remove(partial);
    return WIFSIGNALED(status);
}

static int kill_writers(void **state)
{
    (void)state;
    kill_writer(0);
    kill_writer(1);
    return 0;
}

/* Every profile that is read is all of one of the two. */
static void check_whole(void)
{
    char remark[SATTN_PROFILE_REMARK];
    size_t n;
    sattn_profile *const profile = read_back(remark);
    if (!profile)
        fail_msg("%s", remark);
    const sattn_profile_entry *const entries = sattn_profile_entries(profile, &n);
    assert_true(n == (size_t)sizes[0] || n == (size_t)sizes[1]);
    for (size_t i = 0; i < n; ++i)
        assert_true(entries[i].margin == (double)n);
    sattn_profile_destroy(profile);
}

/* Two write, are killed at some time, and others take their place, while one reads. */
static void test_writers_that_are_killed(void **state)
{
    (void)state;
    enum { ROUNDS = 40, READS = 5 };
    start_writer(0);
    start_writer(1);
    const struct timespec moment = {.tv_nsec = 1000000};
    while (access(path, F_OK) != 0) {
        assert_int_equal(waitpid(-1, NULL, WNOHANG), 0);
        nanosleep(&moment, NULL);
    }
    for (int round = 0; round < ROUNDS; ++round) {
        for (int i = 0; i < READS; ++i)
            check_whole();
        const struct timespec pause = {.tv_nsec = 100000 * (round % 10)};
        nanosleep(&pause, NULL);
        assert_true(kill_writer(round % 2));
        check_whole();
        start_writer(round % 2);
    }
    assert_true(kill_writer(0));
    assert_true(kill_writer(1));
    check_whole();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cannot_write),
        cmocka_unit_test_teardown(test_writers_that_are_killed, kill_writers),
        cmocka_unit_test(test_back_again),
        cmocka_unit_test(test_a_line_for_each_entry),
        cmocka_unit_test(test_home),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
