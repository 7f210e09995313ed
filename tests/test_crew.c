/* SPDX-License-Identifier: MIT
 *
 * test_crew.c: threads of measured calls: how many, and each on a CPU of its own. */
#define _GNU_SOURCE /* sched_getcpu, mkdtemp, nftw */
#include "bench/measure/crew.h"

#include "bench/bench/bench_threads.h"
#include "bench/environment/pin.h"
#include "dispatch/team.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* ---- lists of numbers of threads */

static void test_counts(void **state)
{
    (void)state;
    const int cpus = sattn_affinity_count(1);
    sattn_thread_counts counts;
    char text[160];
    assert_true(sattn_thread_counts_set(&counts, "1", text, sizeof text));
    assert_true(counts.n == 1 && counts.of[0] == 1 && sattn_thread_counts_most(&counts) == 1);
    const bool two = sattn_thread_counts_set(&counts, "2,1", text, sizeof text);
    assert_int_equal(two, sattn_team_is_built() && cpus >= 2);
    assert_int_equal(two, sattn_threads_usable(2, text, sizeof text));
    assert_true(counts.n == 2 && counts.of[0] == 2 && counts.of[1] == 1);
    static const char *const wrong[] = {"",    "0",   "-1",       "1,",  "1,,2",           "1 2",
                                        "1,1", "two", "2x",       "257", "99999999999999", ",1",
                                        "1,0", "1;2", "1,2,3,4,5"};
    for (size_t w = 0; w < sizeof wrong / sizeof wrong[0]; ++w) {
        assert_false(sattn_thread_counts_set(&counts, wrong[w], text, sizeof text));
        assert_non_null(strstr(text, "expected"));
    }
}

/* Too many: the sentence names the threads and the CPUs. */
static void test_too_many(void **state)
{
    (void)state;
    const int cpus = sattn_affinity_count(1);
    sattn_thread_counts counts;
    char value[32], text[160], expected[64];
    if (cpus + 1 > SATTN_CREW_MOST)
        skip();
    snprintf(value, sizeof value, "1,%d", cpus + 1);
    assert_false(sattn_thread_counts_set(&counts, value, text, sizeof text));
    if (!sattn_team_is_built()) {
        assert_non_null(strstr(text, "OpenMP"));
        return;
    }
    snprintf(expected, sizeof expected, "%d threads are more than the %d CPU", cpus + 1, cpus);
    assert_non_null(strstr(text, expected));
}

static void test_print(void **state)
{
    (void)state;
    sattn_thread_counts counts = {0};
    char text[64];
    static const char *const expected[] = {"1", "1 and 2", "1, 2 and 4"};
    for (int i = 0; i < 3; ++i) {
        sattn_thread_counts_add(&counts, 1 << i);
        sattn_thread_counts_add(&counts, 1);
        sattn_thread_counts_print(&counts, text, sizeof text);
        assert_string_equal(text, expected[i]);
    }
}

#if defined(__linux__)

#include <ftw.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- places */

typedef struct meeting {
    int n;
    atomic_int arrived;
    int cpus[8]; /* by worker; the only one that it may use */
} meeting;

static void meet(void *context, int64_t index, int worker)
{
    meeting *const m = context;
    (void)index;
    atomic_fetch_add(&m->arrived, 1);
    while (atomic_load(&m->arrived) < m->n)
        sched_yield();
    m->cpus[worker] = sattn_affinity_only_cpu();
}

/* Every thread of a team is where it belongs, whatever teams there were before; afterwards the
 * calling thread has back what it had. */
static void test_gathering(void **state)
{
    (void)state;
    const int had = sattn_affinity_count(1);
    const int most = had < 4 ? had : 4;
    sattn_crew crew;
    sattn_pin pin;
    sattn_crew_open(&crew, most, NULL);
    assert_true(crew.n == most && crew.is_bound);
    assert_true(sattn_pin_begin(&pin, -1, NULL));
    assert_int_equal(pin.cpu, crew.cpus[0]);
    static const int sizes[] = {2, 1, 4, 3, 2, 4};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0] && sattn_team_is_built(); ++s) {
        if (sizes[s] > most)
            continue;
        sattn_crew_gather(&crew, sizes[s]);
        assert_true(crew.is_bound);
        meeting m = {.n = sizes[s]};
        sattn_team_run(m.n, m.n, meet, &m);
        for (int worker = 0; worker < m.n; ++worker)
            assert_int_equal(m.cpus[worker], crew.cpus[worker]);
    }
    sattn_pin_end(&pin);
    assert_int_equal(sattn_affinity_count(1), had);
}

static void test_more_than_there_are(void **state)
{
    (void)state;
    const int had = sattn_affinity_count(1);
    sattn_crew crew;
    if (had + 1 > SATTN_CREW_MOST)
        skip();
    sattn_crew_open(&crew, had + 1, NULL);
    assert_true(crew.n == had && !crew.is_bound);
    sattn_crew_gather(&crew, 2); /* does nothing */
    assert_int_equal(sattn_affinity_count(1), had);
}

/* ---- which CPUs, below a root that tells the cores */

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    return remove(path);
}

static void put(const char *root, int cpu, const char *file, int value)
{
    char path[256];
    snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu%d/topology/%s", root, cpu, file);
    for (char *slash = path + strlen(root); (slash = strchr(slash + 1, '/')) != NULL;) {
        *slash = '\0';
        mkdir(path, 0777);
        *slash = '/';
    }
    FILE *const out = fopen(path, "w");
    assert_non_null(out);
    fprintf(out, "%d\n", value);
    assert_int_equal(fclose(out), 0);
}

/* Two CPUs of one core are taken one after the other only where there is no other core. */
static void test_cores(void **state)
{
    (void)state;
    enum { FOUR = 4 };
    int plain[FOUR], chosen[FOUR];
    const int n = sattn_pin_choose(FOUR, plain, NULL);
    char root[] = "test_crew_XXXXXX";
    assert_non_null(mkdtemp(root));
    assert_int_equal(sattn_pin_choose(FOUR, plain, root), n); /* nothing is told: by number */
    for (int c = 0; c < n; ++c)
        assert_true(c == 0 || plain[c] < plain[c - 1]);
    for (int c = 0; c < n; ++c) { /* the first half shares one core, the others have their own */
        put(root, plain[c], "physical_package_id", 0);
        put(root, plain[c], "core_id", c < (n + 1) / 2 ? 0 : c);
    }
    assert_int_equal(sattn_pin_choose(n, chosen, root), n);
    assert_int_equal(chosen[0], plain[0]);
    if (n == FOUR) {
        assert_int_equal(chosen[1], plain[2]);
        assert_int_equal(chosen[2], plain[3]);
        assert_int_equal(chosen[3], plain[1]);
    }
    for (int c = 0; c < n; ++c)
        put(root, plain[c], "core_id", 7); /* one core: all of its CPUs */
    assert_int_equal(sattn_pin_choose(FOUR, chosen, root), n);
    assert_memory_equal(chosen, plain, (size_t)n * sizeof chosen[0]);
    assert_int_equal(nftw(root, remove_entry, 8, FTW_DEPTH | FTW_PHYS), 0);
}

#else

static void test_gathering(void **state)
{
    (void)state;
    sattn_crew crew;
    sattn_crew_open(&crew, 2, NULL);
    assert_false(crew.is_bound);
    sattn_crew_gather(&crew, 2);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_print),
        cmocka_unit_test(test_gathering),
#if defined(__linux__)
        cmocka_unit_test(test_more_than_there_are),
        cmocka_unit_test(test_cores),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
