/* SPDX-License-Identifier: MIT
 *
 * test_pin.c: binding the thread to one CPU, and giving it back what it had. */
#define _GNU_SOURCE /* sched_getaffinity, mkdtemp, nftw */
#include "bench/environment/pin.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#if defined(__linux__)

#include <ftw.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_CPUS = 8192, PATH_SIZE = 256 };

static cpu_set_t *affinity_now(void)
{
    cpu_set_t *const set = CPU_ALLOC(MOST_CPUS);
    assert_non_null(set);
    CPU_ZERO_S(CPU_ALLOC_SIZE(MOST_CPUS), set);
    assert_int_equal(sched_getaffinity(0, CPU_ALLOC_SIZE(MOST_CPUS), set), 0);
    return set;
}

static bool contains(const cpu_set_t *set, int cpu)
{
    return CPU_ISSET_S((size_t)cpu, CPU_ALLOC_SIZE(MOST_CPUS), set) != 0;
}

static void expect_affinity(const cpu_set_t *want)
{
    cpu_set_t *const now = affinity_now();
    assert_true(CPU_EQUAL_S(CPU_ALLOC_SIZE(MOST_CPUS), now, want));
    CPU_FREE(now);
}

static void expect_bound_to(const sattn_pin *pin, const cpu_set_t *allowed)
{
    cpu_set_t *const now = affinity_now();
    assert_int_equal(CPU_COUNT_S(CPU_ALLOC_SIZE(MOST_CPUS), now), 1);
    assert_true(pin->cpu >= 0 && contains(now, pin->cpu) && contains(allowed, pin->cpu));
    CPU_FREE(now);
}

static void test_chosen_cpu(void **state)
{
    (void)state;
    cpu_set_t *const before = affinity_now();
    for (int i = 0; i < 2; ++i) {
        sattn_pin pin;
        assert_true(sattn_pin_begin(&pin, -1, NULL));
        expect_bound_to(&pin, before);
        sattn_pin_end(&pin);
        expect_affinity(before);
        assert_int_equal(pin.cpu, -1);
        sattn_pin_end(&pin); /* once more does no harm */
        expect_affinity(before);
    }
    CPU_FREE(before);
}

static void test_given_cpu(void **state)
{
    (void)state;
    cpu_set_t *const before = affinity_now();
    for (int cpu = 0; cpu < MOST_CPUS; ++cpu) {
        sattn_pin pin;
        if (!contains(before, cpu))
            continue;
        assert_true(sattn_pin_begin(&pin, cpu, NULL));
        assert_int_equal(pin.cpu, cpu);
        expect_bound_to(&pin, before);
        sattn_pin_end(&pin);
        expect_affinity(before);
    }
    CPU_FREE(before);
}

/* Another process follows this thread. It is ended before anything is claimed. */
static void test_copy(void **state)
{
    (void)state;
    sattn_pin pin;
    cpu_set_t *const its = affinity_now();
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        pause();
        _exit(0);
    }
    const bool is_bound = sattn_pin_begin(&pin, -1, NULL);
    const bool is_copied = sattn_affinity_copy(child);
    const bool is_read = sched_getaffinity(child, CPU_ALLOC_SIZE(MOST_CPUS), its) == 0;
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_true(is_bound && is_copied && is_read);
    expect_affinity(its);
    assert_false(sattn_affinity_copy(child)); /* nobody is there any more */
    CPU_FREE(its);
    sattn_pin_end(&pin);
}

static void test_no_such_cpu(void **state)
{
    (void)state;
    cpu_set_t *const before = affinity_now();
    const int wrong[] = {MOST_CPUS - 1, MOST_CPUS, MOST_CPUS + 1, 0x7fffffff};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i) {
        sattn_pin pin;
        assert_false(sattn_pin_begin(&pin, wrong[i], NULL));
        assert_int_equal(pin.cpu, -1);
        assert_true(pin.why[0] != '\0');
        expect_affinity(before);
        sattn_pin_end(&pin);
        expect_affinity(before);
    }
    CPU_FREE(before);
}

/* ---- which CPU is chosen, below a root with a capacity or a frequency for each */

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    return remove(path);
}

static void put(const char *root, const char *file, int cpu, int value)
{
    char path[PATH_SIZE];
    const int n =
        snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu%d/%s", root, cpu, file);
    assert_in_range(n, 1, PATH_SIZE - 1);
    for (char *slash = path + strlen(root); (slash = strchr(slash, '/')) != NULL; ++slash) {
        *slash = '\0';
        mkdir(path, 0777);
        *slash = '/';
    }
    FILE *const out = fopen(path, "w");
    assert_non_null(out);
    fprintf(out, "%d\n", value);
    assert_int_equal(fclose(out), 0);
}

/* The lowest CPU is the fastest by one file, then the highest is; without files it is the highest.
 */
static void test_fastest_cpu(void **state)
{
    (void)state;
    static const char *const files[] = {"cpu_capacity", "cpufreq/cpuinfo_max_freq"};
    cpu_set_t *const before = affinity_now();
    int lowest = -1, highest = -1;
    for (int cpu = 0; cpu < MOST_CPUS; ++cpu)
        if (contains(before, cpu)) {
            lowest = lowest < 0 ? cpu : lowest;
            highest = cpu;
        }
    for (size_t f = 0; f < 2; ++f)
        for (int fastest_is_lowest = 0; fastest_is_lowest < 2; ++fastest_is_lowest) {
            char root[] = "test_pin_XXXXXX";
            sattn_pin pin;
            assert_non_null(mkdtemp(root));
            assert_true(sattn_pin_begin(&pin, -1, root));
            assert_int_equal(pin.cpu, highest);
            sattn_pin_end(&pin);
            for (int cpu = lowest; cpu <= highest; ++cpu)
                if (contains(before, cpu))
                    put(root, files[f], cpu, fastest_is_lowest && cpu == lowest ? 1024 : 500);
            assert_true(sattn_pin_begin(&pin, -1, root));
            assert_int_equal(pin.cpu, fastest_is_lowest ? lowest : highest);
            sattn_pin_end(&pin);
            expect_affinity(before);
            assert_int_equal(nftw(root, remove_entry, 8, FTW_DEPTH | FTW_PHYS), 0);
        }
    CPU_FREE(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chosen_cpu),  cmocka_unit_test(test_given_cpu),
        cmocka_unit_test(test_copy),        cmocka_unit_test(test_no_such_cpu),
        cmocka_unit_test(test_fastest_cpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void test_not_supported(void **state)
{
    (void)state;
    sattn_pin pin;
    assert_false(sattn_pin_begin(&pin, -1, NULL));
    assert_int_equal(pin.cpu, -1);
    assert_true(pin.why[0] != '\0');
    sattn_pin_end(&pin);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_not_supported)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
