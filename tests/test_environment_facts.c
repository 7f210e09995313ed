/* SPDX-License-Identifier: MIT
 *
 * test_environment_facts.c: the reader of machine facts, on machines that are made of files.
 *
 * Each test builds the /proc and /sys that it needs below a directory of its own. */
#if !defined(_XOPEN_SOURCE)
#define _XOPEN_SOURCE 700 /* mkdtemp, nftw */
#endif
#include "bench/environment/cgroup.h"
#include "bench/environment/environment.h"
#include "bench/measure/taint.h"

#include <ftw.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <cmocka.h>

enum { PATH_SIZE = 512 };

/* ---- a machine made of files */

static char root[64];

static int make_root(void **state)
{
    (void)state;
    snprintf(root, sizeof root, "test_environment_facts_XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    return remove(path);
}

static int remove_root(void **state)
{
    (void)state;
    return nftw(root, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static void put(const char *path, const char *text)
{
    char name[PATH_SIZE];
    snprintf(name, sizeof name, "%s%s", root, path);
    for (char *slash = name + strlen(root); (slash = strchr(slash, '/')) != NULL; ++slash) {
        *slash = '\0';
        mkdir(name, 0777);
        *slash = '/';
    }
    FILE *const file = fopen(name, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static sattn_cpu_counts counts_of(int affinity, int online)
{
    sattn_cpu_counts counts;
    sattn_cpu_counts_read(root, affinity, online, &counts);
    assert_int_equal(counts.online, online);
    assert_int_equal(counts.affinity, affinity);
    return counts;
}

static sattn_cgroup cgroup_now(void)
{
    sattn_cgroup cgroup;
    sattn_cgroup_read(root, &cgroup);
    return cgroup;
}

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-12;
}

/* ---- threads: affinity and quota together */

static const struct {
    const char *v2, *v1; /* cpu.max; cpu.cfs_quota_us, with a period of 100000 */
    double quota;
    int affinity, threads;
} quotas[] = {
    {"200000 100000\n", "200000\n", 2, 16, 2},
    {"50000 100000\n", "50000\n", 0.5, 16, 1},
    {"399000 100000\n", "399000\n", 3.99, 16, 3},
    {"max 100000\n", "-1\n", (double)INFINITY, 16, 16},
    {"max 100000\n", "-1\n", (double)INFINITY, 2, 2},
    {"300000 100000\n", "300000\n", 3, 2, 2},
    {"1000 100000\n", "1000\n", 0.01, 16, 1},
    {"6400000 100000\n", "6400000\n", 64, 16, 16},
};

static void check_quota(size_t q, int version)
{
    const sattn_cgroup cgroup = cgroup_now();
    const sattn_cpu_counts counts = counts_of(quotas[q].affinity, 16);
    assert_int_equal(cgroup.version, version);
    assert_true(cgroup.quota == counts.quota);
    if (isfinite(quotas[q].quota))
        assert_true(near(counts.quota, quotas[q].quota));
    else
        assert_true(isinf(counts.quota));
    assert_int_equal(counts.threads, quotas[q].threads);
}

static void test_quota_v2(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "0::/\n");
    for (size_t q = 0; q < sizeof quotas / sizeof quotas[0]; ++q) {
        put("/sys/fs/cgroup/cpu.max", quotas[q].v2);
        check_quota(q, 2);
    }
}

static void test_quota_v1(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "7:memory:/m\n4:cpu,cpuacct:/job\n1:name=systemd:/\n");
    put("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
    for (size_t q = 0; q < sizeof quotas / sizeof quotas[0]; ++q) {
        put("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", quotas[q].v1);
        check_quota(q, 1);
    }
}

/* The mount may be named by the controller alone. */
static void test_quota_v1_mount(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "4:cpu,cpuacct:/\n");
    put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "50000\n");
    put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "100000\n");
    assert_int_equal(counts_of(16, 16).threads, 2);
}

/* Both versions mounted: the CPU controller is the old one's. */
static void test_quota_both(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "3:cpuset:/box\n2:cpuacct,cpu:/box\n0::/box\n");
    put("/sys/fs/cgroup/unified/box/cgroup.procs", "1\n");
    put("/sys/fs/cgroup/cpuset/box/cpu.cfs_quota_us", "100000\n");
    put("/sys/fs/cgroup/cpuset/box/cpu.cfs_period_us", "100000\n");
    put("/sys/fs/cgroup/cpuacct,cpu/box/cpu.cfs_quota_us", "500000\n");
    put("/sys/fs/cgroup/cpuacct,cpu/box/cpu.cfs_period_us", "100000\n");
    const sattn_cgroup cgroup = cgroup_now();
    assert_int_equal(cgroup.version, 1);
    assert_true(near(cgroup.quota, 5));
}

/* A quota anywhere between the group and the root holds. */
static void test_nested_groups(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "0::/a/b/c\n");
    put("/sys/fs/cgroup/a/b/c/cpu.max", "max 100000\n");
    put("/sys/fs/cgroup/a/b/cpu.max", "800000 100000\n");
    put("/sys/fs/cgroup/a/cpu.max", "200000 100000\n");
    put("/sys/fs/cgroup/a/b/c/cpu.stat", "nr_periods 1\nnr_throttled 1\n");
    put("/sys/fs/cgroup/a/cpu.stat", "usage_usec 9\nnr_periods 100\nnr_throttled 42\n");
    const sattn_cgroup cgroup = cgroup_now();
    assert_true(near(cgroup.quota, 2));
    assert_int_equal(cgroup.throttled_periods, 42);
    assert_int_equal(sattn_cgroup_throttled(&cgroup), 42);
    put("/sys/fs/cgroup/a/cpu.stat", "usage_usec 9\nnr_periods 100\nnr_throttled 57\n");
    assert_int_equal(sattn_cgroup_throttled(&cgroup), 57);
    put("/sys/fs/cgroup/a/cpu.stat", "usage_usec 9\n");
    assert_int_equal(sattn_cgroup_throttled(&cgroup), -1);
}

/* In a container the group's path is one of the host. */
static void test_group_not_mounted(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "0::/../../system.slice/box-17.scope\n");
    put("/sys/fs/cgroup/cpu.max", "150000 100000\n");
    assert_true(near(cgroup_now().quota, 1.5));
    assert_int_equal(counts_of(16, 16).threads, 1);
}

/* Whatever is in the files: no quota is known then, and no CPU is lost. */
static void test_garbage(void **state)
{
    (void)state;
    static const char *const wrong_max[] = {
        "",          "\n",       "garbage",  "200000",    "0 100000",   "-5 100000", "200000 0",
        "200000 -1", "200000 x", "\x01\xff", "0x10 0x20", "mox 100000", "1e5 100000"};
    put("/proc/self/cgroup", "0::/\n");
    for (size_t i = 0; i < sizeof wrong_max / sizeof wrong_max[0]; ++i) {
        put("/sys/fs/cgroup/cpu.max", wrong_max[i]);
        assert_true(isinf(cgroup_now().quota));
        assert_int_equal(counts_of(16, 16).threads, 16);
    }
    static const char *const wrong_cgroup[] = {
        "",
        "\n",
        "0",
        "0:",
        ":",
        "::",
        ":::",
        "0::",
        "cpu:/",
        "0::\n0::\n",
        "4:cpu",
        "4:,cpu,:/x",
        "0:cpu:relative",
        "\xff\xfe:\xff:\xff",
    };
    remove_root(NULL);
    for (size_t i = 0; i < sizeof wrong_cgroup / sizeof wrong_cgroup[0]; ++i) {
        put("/proc/self/cgroup", wrong_cgroup[i]);
        assert_true(isinf(cgroup_now().quota));
        assert_int_equal(cgroup_now().throttled_periods, -1);
        assert_int_equal(counts_of(5, 8).threads, 5);
    }
    char line[4096];
    memset(line, 'x', sizeof line);
    line[sizeof line - 1] = '\0';
    memcpy(line, "0::/", 4);
    put("/proc/self/cgroup", line);
    assert_true(isinf(cgroup_now().quota));
    memcpy(line, "1:cpu,", 6);
    put("/proc/self/cgroup", line);
    assert_true(isinf(cgroup_now().quota));
}

static void test_garbage_v1(void **state)
{
    (void)state;
    static const struct {
        const char *quota, *period;
    } wrong[] = {{"", "100000"}, {"x", "100000"}, {"0", "100000"},      {"200000", "0"},
                 {"200000", ""}, {"200000", "x"}, {"200000", "-100000"}};
    put("/proc/self/cgroup", "1:cpu:/\n");
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i) {
        put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", wrong[i].quota);
        put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", wrong[i].period);
        assert_true(isinf(cgroup_now().quota));
        assert_int_equal(counts_of(16, 16).threads, 16);
    }
}

static void test_no_files(void **state)
{
    (void)state;
    const sattn_cgroup cgroup = cgroup_now();
    assert_int_equal(cgroup.version, 0);
    assert_true(isinf(cgroup.quota));
    assert_int_equal(cgroup.throttled_periods, -1);
    assert_int_equal(sattn_cgroup_throttled(&cgroup), -1);
    assert_int_equal(counts_of(16, 16).threads, 16);
    assert_int_equal(sattn_steal_ticks(root, -1), -1);
}

static void test_steal(void **state)
{
    (void)state;
    put("/proc/stat", "cpu  1 2 3 4 5 6 7 80 9 0\ncpu1 1 2 3 4 5 6 7 30 9 0\n"
                      "cpu10 1 2 3 4 5 6 7 50 9 0\nintr 1 2 3 4 5 6 7 8\n");
    assert_int_equal(sattn_steal_ticks(root, -1), 80);
    assert_int_equal(sattn_steal_ticks(root, 1), 30);
    assert_int_equal(sattn_steal_ticks(root, 10), 50);
    assert_int_equal(sattn_steal_ticks(root, 0), -1);
    put("/proc/stat", "cpu10 1 2 3 4 5 6 7 50 9 0\n");
    assert_int_equal(sattn_steal_ticks(root, 1), -1);
    assert_int_equal(sattn_steal_ticks(root, -1), -1);
    put("/proc/stat", "cpu  1 2 3 4\n"); /* before the column existed */
    assert_int_equal(sattn_steal_ticks(root, -1), -1);
    put("/proc/stat", "garbage\n");
    assert_int_equal(sattn_steal_ticks(root, -1), -1);
}

/* ---- the whole environment */

static void put_cache(int index, const char *type, const char *level, const char *size)
{
    const char *const names[] = {"type", "level", "size", "coherency_line_size"};
    const char *const texts[] = {type, level, size, "64\n"};
    for (size_t i = 0; i < 4; ++i) {
        char path[PATH_SIZE];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index,
                 names[i]);
        put(path, texts[i]);
    }
}

static void test_caches(void **state)
{
    (void)state;
    sattn_environment environment;
    put_cache(0, "Data\n", "1\n", "48K\n");
    put_cache(1, "Instruction\n", "1\n", "32K\n");
    put_cache(2, "Unified\n", "2\n", "1536K\n");
    put_cache(3, "Unified\n", "3\n", "32M\n");
    sattn_environment_read(root, &environment);
    assert_int_equal(environment.caches.l1d_bytes, 48 * 1024);
    assert_int_equal(environment.caches.l2_bytes, 1536 * 1024);
    assert_int_equal(environment.caches.l3_bytes, 32 * 1024 * 1024);
    assert_int_equal(environment.caches.line_bytes, 64);
    put_cache(0, "Data\n", "1\n", "many\n");
    put_cache(2, "Unified\n", "two\n", "1536K\n");
    put_cache(3, "Unified\n", "3\n", "-32M\n");
    sattn_environment_read(root, &environment);
    assert_int_equal(environment.caches.l1d_bytes, 0);
    assert_int_equal(environment.caches.l2_bytes, 0);
    assert_int_equal(environment.caches.l3_bytes, 0);
}

static void test_huge_pages(void **state)
{
    (void)state;
    static const struct {
        const char *text, *setting;
    } cases[] = {{"always [madvise] never\n", "madvise"},
                 {"[always] madvise never\n", "always"},
                 {"always madvise never\n", "unknown"},
                 {"always [madvise\n", "unknown"},
                 {"]always[\n", "unknown"},
                 {"", "unknown"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        sattn_environment environment;
        put("/sys/kernel/mm/transparent_hugepage/enabled", cases[i].text);
        sattn_environment_read(root, &environment);
        assert_string_equal(environment.huge_pages, cases[i].setting);
    }
}

/* Nothing below the root: everything still has a value, and counts are those of the system. */
static void test_empty_machine(void **state)
{
    (void)state;
    sattn_environment e;
    sattn_environment_read(root, &e);
    assert_int_equal(e.caches.l1d_bytes, 0);
    assert_int_equal(e.cpus.cgroup_version, 0);
    assert_true(e.cpus.online >= 1 && e.cpus.affinity >= 1 && e.cpus.threads >= 1);
    assert_true(e.cpus.threads <= e.cpus.affinity);
    assert_string_equal(e.huge_pages, "unknown");
    const char *const texts[] = {e.cpu_model,
                                 e.features,
                                 e.isa,
                                 e.build.arch,
                                 e.system,
                                 e.date,
                                 e.build.compiler,
                                 e.build.build_type,
                                 e.build.c_flags,
                                 e.build.kernel_flags,
                                 e.build.commit,
                                 e.build.library_version,
                                 e.build.jansson_version,
                                 e.build.benchmark_version,
                                 e.huge_pages};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i)
        assert_non_null(texts[i]);
    assert_true(e.cpu_model[0] != '\0' && e.build.compiler[0] != '\0' && e.build.commit[0] != '\0');
    assert_int_equal(strlen(e.date), strlen("2000-01-01T00:00:00+00:00"));
}

/* The host's name is nobody's business. */
static void test_no_host_name(void **state)
{
    (void)state;
    sattn_environment e;
    struct utsname names;
    char system[sizeof e.system];
    sattn_environment_read(root, &e);
    assert_int_equal(uname(&names), 0);
    snprintf(system, sizeof system, "%.60s %.60s", names.sysname, names.release);
    assert_string_equal(e.system, system);
    const char *const texts[] = {e.cpu_model, e.features, e.huge_pages, e.date};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0] && strlen(names.nodename) > 3; ++i)
        assert_null(strstr(texts[i], names.nodename));
}

/* ---- floating-point state: read as it is, and left so */

#if defined(__x86_64__)
static void test_flushing(void **state)
{
    (void)state;
    const unsigned ftz = 1u << 15, daz = 1u << 6, before = _mm_getcsr();
    for (unsigned set = 0; set < 4; ++set) {
        const unsigned control =
            (before & ~(ftz | daz)) | (set & 1 ? ftz : 0) | (set & 2 ? daz : 0);
        sattn_environment environment;
        _mm_setcsr(control);
        sattn_environment_read(root, &environment);
        const unsigned after = _mm_getcsr();
        _mm_setcsr(before);
        assert_int_equal(after & ~0x3fu, control & ~0x3fu); /* all but the exception flags */
        assert_int_equal(environment.flush_to_zero, set & 1 ? SATTN_YES : SATTN_NO);
        assert_int_equal(environment.denormals_are_zero, set & 2 ? SATTN_YES : SATTN_NO);
    }
}
#elif defined(__aarch64__)
static void test_flushing(void **state)
{
    (void)state;
    const uint64_t fz = (uint64_t)1 << 24;
    uint64_t before;
    __asm__ volatile("mrs %0, fpcr" : "=r"(before));
    for (int set = 0; set < 2; ++set) {
        const uint64_t control = set ? before | fz : before & ~fz;
        sattn_environment environment;
        uint64_t after;
        __asm__ volatile("msr fpcr, %0" : : "r"(control) : "memory");
        sattn_environment_read(root, &environment);
        __asm__ volatile("mrs %0, fpcr" : "=r"(after) : : "memory");
        __asm__ volatile("msr fpcr, %0" : : "r"(before) : "memory");
        assert_true(after == control);
        assert_int_equal(environment.flush_to_zero, set ? SATTN_YES : SATTN_NO);
        assert_int_equal(environment.denormals_are_zero, set ? SATTN_YES : SATTN_NO);
    }
}
#else
static void test_flushing(void **state)
{
    (void)state;
    sattn_environment environment;
    sattn_environment_read(root, &environment);
    assert_int_equal(environment.flush_to_zero, SATTN_UNKNOWN);
    assert_int_equal(environment.denormals_are_zero, SATTN_UNKNOWN);
}
#endif

#define FILES_TEST(function) cmocka_unit_test_setup_teardown(function, make_root, remove_root)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FILES_TEST(test_quota_v2),       FILES_TEST(test_quota_v1),
        FILES_TEST(test_quota_v1_mount), FILES_TEST(test_quota_both),
        FILES_TEST(test_nested_groups),  FILES_TEST(test_group_not_mounted),
        FILES_TEST(test_garbage),        FILES_TEST(test_garbage_v1),
        FILES_TEST(test_no_files),       FILES_TEST(test_steal),
        FILES_TEST(test_caches),         FILES_TEST(test_huge_pages),
        FILES_TEST(test_empty_machine),  FILES_TEST(test_no_host_name),
        FILES_TEST(test_flushing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
