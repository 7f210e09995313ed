/* SPDX-License-Identifier: MIT
 *
 * environment.c: reads the facts of environment.h. Every reader of /proc and /sys treats a file
 * that is missing or has another form as "not known". */
#define _GNU_SOURCE /* sched_getaffinity, getloadavg, sysconf names of cache sizes */

#include "bench/environment.h"

#include "bench/limits/limits.h"
#include "dispatch/simdattn.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__)
#include <sched.h>
#endif
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#if !defined(SATTN_BUILD_TYPE)
#define SATTN_BUILD_TYPE "unknown"
#endif
#if !defined(SATTN_C_FLAGS)
#define SATTN_C_FLAGS "unknown"
#endif
#if !defined(SATTN_KERNEL_FLAGS)
#define SATTN_KERNEL_FLAGS "unknown"
#endif
#if !defined(SATTN_BENCHMARK_VERSION)
#define SATTN_BENCHMARK_VERSION "unknown"
#endif
#if defined(SATTN_COMMIT_HEADER)
#include SATTN_COMMIT_HEADER
#else
#define SATTN_GIT_COMMIT "unknown"
#define SATTN_GIT_DIRTY  (-1)
#endif

enum { PATH_SIZE = 1024, CONTROLLERS_SIZE = 256 };

/* ---- small files */

/* The first line of root + path without its end, false if there is none. */
static bool read_line(const char *root, const char *path, char *line, int size)
{
    char name[PATH_SIZE];
    if (snprintf(name, sizeof name, "%s%s", root ? root : "", path) >= (int)sizeof name)
        return false;
    FILE *const file = fopen(name, "r");
    if (file == NULL)
        return false;
    const bool got = fgets(line, size, file) != NULL;
    fclose(file);
    if (got)
        line[strcspn(line, "\r\n")] = '\0';
    return got;
}

static bool read_number(const char *root, const char *path, int64_t *number)
{
    char line[64];
    char *end;
    if (!read_line(root, path, line, sizeof line))
        return false;
    *number = strtoll(line, &end, 10);
    return end != line;
}

/* Value behind `key` in a file of "key value" lines; -1 if it is not there. */
static int64_t read_keyed(const char *path, const char *key)
{
    FILE *const file = fopen(path, "r");
    if (file == NULL)
        return -1;
    char name[64];
    long long value;
    int64_t found = -1;
    while (found < 0 && fscanf(file, "%63s %lld", name, &value) == 2)
        if (strcmp(name, key) == 0)
            found = value;
    fclose(file);
    return found;
}

static void copy_text(char *to, size_t size, const char *from)
{
    from += strspn(from, " \t");
    snprintf(to, size, "%s", from);
    for (size_t n = strlen(to); n > 0 && (to[n - 1] == ' ' || to[n - 1] == '\t'); --n)
        to[n - 1] = '\0';
}

/* ---- control groups */

static double quota_v2(const char *root, const char *directory)
{
    char path[PATH_SIZE];
    char line[64];
    long long quota, period;
    snprintf(path, sizeof path, "%s/cpu.max", directory);
    if (!read_line(root, path, line, sizeof line))
        return -1;
    if (sscanf(line, "%lld %lld", &quota, &period) == 2 && quota > 0 && period > 0)
        return (double)quota / (double)period;
    return strncmp(line, "max", 3) == 0 ? (double)INFINITY : -1;
}

static double quota_v1(const char *root, const char *directory)
{
    char path[PATH_SIZE];
    int64_t quota, period;
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", directory);
    if (!read_number(root, path, &quota))
        return -1;
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", directory);
    if (quota > 0 && read_number(root, path, &period) && period > 0)
        return (double)quota / (double)period;
    return (double)INFINITY; /* -1 */
}

/* Goes from `group` below `mount` up to the mount itself: each level may hold a quota. In a
 * container the group's path may be one of the host that is not mounted; then only the top is
 * there. */
static void walk_groups(const char *root, const char *mount, const char *group, int version,
                        sattn_cgroup *cgroup)
{
    char directory[512];
    if (snprintf(directory, sizeof directory, "%s%s", mount, group) >= (int)sizeof directory)
        return;
    for (;;) {
        const double quota = version == 2 ? quota_v2(root, directory) : quota_v1(root, directory);
        char path[PATH_SIZE];
        snprintf(path, sizeof path, "%s%s/cpu.stat", root, directory);
        const int64_t throttled = read_keyed(path, "nr_throttled");
        if (quota >= 0 && cgroup->version == 0)
            cgroup->version = version;
        const bool tighter = quota >= 0 && quota < cgroup->quota;
        if (tighter) {
            cgroup->version = version;
            cgroup->quota = quota;
        }
        /* Throttling is counted where the quota is. */
        if (throttled >= 0 && strlen(path) < sizeof cgroup->stat_path &&
            (tighter || cgroup->stat_path[0] == '\0')) {
            cgroup->throttled_periods = throttled;
            memcpy(cgroup->stat_path, path, strlen(path) + 1);
        }
        char *const slash = strrchr(directory, '/');
        if (strlen(directory) <= strlen(mount) || slash == NULL)
            return;
        *slash = '\0';
    }
}

static bool has_controller(const char *controllers, const char *wanted)
{
    const size_t n = strlen(wanted);
    for (const char *at = controllers; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, wanted, n) == 0 && (at[n] == ',' || at[n] == '\0'))
            return true;
    }
    return false;
}

/* One line of /proc/self/cgroup, "id:controllers:path". */
static void read_group_line(const char *root, char *line, sattn_cgroup *cgroup)
{
    char *const first = strchr(line, ':');
    char *const second = first ? strchr(first + 1, ':') : NULL;
    if (second == NULL)
        return;
    *second = '\0';
    const char *const controllers = first + 1;
    const char *const group = strcmp(second + 1, "/") == 0 ? "" : second + 1;
    if (controllers[0] == '\0') {
        walk_groups(root, "/sys/fs/cgroup", group, 2, cgroup);
        walk_groups(root, "/sys/fs/cgroup/unified", group, 2, cgroup);
    } else if (has_controller(controllers, "cpu") && strlen(controllers) < CONTROLLERS_SIZE) {
        char mount[CONTROLLERS_SIZE + 32];
        snprintf(mount, sizeof mount, "/sys/fs/cgroup/%s", controllers);
        walk_groups(root, mount, group, 1, cgroup);
        if (strcmp(controllers, "cpu") != 0)
            walk_groups(root, "/sys/fs/cgroup/cpu", group, 1, cgroup);
    }
}

void sattn_cgroup_read(const char *root, sattn_cgroup *cgroup)
{
    *cgroup = (sattn_cgroup){.quota = (double)INFINITY, .throttled_periods = -1};
    root = root ? root : "";
    char path[PATH_SIZE];
    char line[PATH_SIZE];
    if (snprintf(path, sizeof path, "%s/proc/self/cgroup", root) >= (int)sizeof path)
        return;
    FILE *const file = fopen(path, "r");
    if (file == NULL)
        return;
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\r\n")] = '\0';
        read_group_line(root, line, cgroup);
    }
    fclose(file);
}

int64_t sattn_cgroup_throttled(const sattn_cgroup *cgroup)
{
    return cgroup->stat_path[0] ? read_keyed(cgroup->stat_path, "nr_throttled") : -1;
}

int64_t sattn_steal_ticks(const char *root, int cpu)
{
    char path[PATH_SIZE];
    char wanted[16] = "cpu";
    if (snprintf(path, sizeof path, "%s/proc/stat", root ? root : "") >= (int)sizeof path)
        return -1;
    if (cpu >= 0)
        snprintf(wanted, sizeof wanted, "cpu%d", cpu);
    FILE *const file = fopen(path, "r");
    if (file == NULL)
        return -1;
    char line[512];
    int64_t found = -1;
    /* The lines of CPUs come first; columns: user nice system idle iowait irq softirq steal. */
    while (found < 0 && fgets(line, sizeof line, file) != NULL && strncmp(line, "cpu", 3) == 0) {
        char name[16];
        long long steal;
        if (sscanf(line, "%15s %*s %*s %*s %*s %*s %*s %*s %lld", name, &steal) == 2 &&
            strcmp(name, wanted) == 0)
            found = steal;
    }
    fclose(file);
    return found;
}

/* ---- CPUs and caches */

static int affinity_count(int online)
{
#if defined(__linux__)
    enum { MOST_CPUS = 8192 };
    cpu_set_t *const set = CPU_ALLOC(MOST_CPUS);
    const size_t size = CPU_ALLOC_SIZE(MOST_CPUS);
    int count = online;
    if (set != NULL && sched_getaffinity(0, size, set) == 0)
        count = CPU_COUNT_S(size, set);
    CPU_FREE(set);
    return count;
#else
    return online;
#endif
}

void sattn_cpu_counts_read(const char *root, int affinity, int online, sattn_cpu_counts *counts)
{
    sattn_cgroup cgroup;
    sattn_cgroup_read(root, &cgroup);
    counts->online = online > 0 ? online : (int)sysconf(_SC_NPROCESSORS_ONLN);
    counts->affinity = affinity > 0 ? affinity : affinity_count(counts->online);
    counts->quota = cgroup.quota;
    double threads = (double)counts->affinity;
    if (floor(counts->quota) < threads)
        threads = floor(counts->quota);
    counts->threads = threads < 1 ? 1 : (int)threads;
}

/* From sysfs: it describes what this CPU shares with its neighbours, where sysconf may report the
 * sum over the package. */
static void read_caches_sysfs(const char *root, sattn_environment *environment)
{
    for (int index = 0; index < 16; ++index) {
        static const char base[] = "/sys/devices/system/cpu/cpu0/cache/index";
        char path[128], type[32], size[32];
        int64_t level, line_bytes;
        snprintf(path, sizeof path, "%s%d/type", base, index);
        if (!read_line(root, path, type, sizeof type))
            return;
        snprintf(path, sizeof path, "%s%d/size", base, index);
        if (!read_line(root, path, size, sizeof size))
            continue;
        snprintf(path, sizeof path, "%s%d/level", base, index);
        if (!read_number(root, path, &level) || strcmp(type, "Instruction") == 0)
            continue;
        char *unit;
        int64_t bytes = strtoll(size, &unit, 10);
        bytes *= *unit == 'K' ? 1024 : *unit == 'M' ? 1024 * 1024 : 1;
        int64_t *const to = level == 1   ? &environment->l1d_bytes
                            : level == 2 ? &environment->l2_bytes
                            : level == 3 ? &environment->l3_bytes
                                         : NULL;
        if (to != NULL && bytes > 0)
            *to = bytes;
        snprintf(path, sizeof path, "%s%d/coherency_line_size", base, index);
        if (read_number(root, path, &line_bytes) && line_bytes > 0)
            environment->line_bytes = line_bytes;
    }
}

static void read_caches_sysconf(sattn_environment *environment)
{
#if defined(_SC_LEVEL1_DCACHE_SIZE)
    const struct {
        int name;
        int64_t *to;
    } sizes[] = {
        {_SC_LEVEL1_DCACHE_SIZE, &environment->l1d_bytes},
        {_SC_LEVEL2_CACHE_SIZE, &environment->l2_bytes},
        {_SC_LEVEL3_CACHE_SIZE, &environment->l3_bytes},
        {_SC_LEVEL1_DCACHE_LINESIZE, &environment->line_bytes},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
        const long bytes = sysconf(sizes[i].name);
        if (*sizes[i].to == 0 && bytes > 0)
            *sizes[i].to = bytes;
    }
#else
    (void)environment;
#endif
}

/* The name from the registers, else the one that the system gives. */
static void read_cpu_model(const char *root, char *model, size_t size)
{
    copy_text(model, size, sattn_cpu_this_record()->model);
    char path[PATH_SIZE];
    char line[512];
    snprintf(path, sizeof path, "%s/proc/cpuinfo", root);
    FILE *const file = model[0] == '\0' ? fopen(path, "r") : NULL;
    while (file != NULL && model[0] == '\0' && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\r\n")] = '\0';
        char *const colon = strchr(line, ':');
        if (colon != NULL && strncmp(line, "model name", 10) == 0)
            copy_text(model, size, colon + 1);
    }
    if (file != NULL)
        fclose(file);
    if (model[0] == '\0')
        copy_text(model, size, "unknown");
}

/* ---- state of this process and its build */

static void read_float_state(sattn_environment *environment)
{
#if defined(__x86_64__)
    const unsigned control = _mm_getcsr();
    environment->flush_to_zero = control >> 15 & 1 ? SATTN_YES : SATTN_NO;
    environment->denormals_are_zero = control >> 6 & 1 ? SATTN_YES : SATTN_NO;
#elif defined(__aarch64__)
    uint64_t control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    environment->flush_to_zero = control >> 24 & 1 ? SATTN_YES : SATTN_NO;
    environment->denormals_are_zero = environment->flush_to_zero;
#else
    environment->flush_to_zero = SATTN_UNKNOWN;
    environment->denormals_are_zero = SATTN_UNKNOWN;
#endif
}

static void read_huge_pages(const char *root, char *setting, size_t size)
{
    char line[128];
    copy_text(setting, size, "unknown");
    /* "always [madvise] never": the one in brackets holds */
    if (read_line(root, "/sys/kernel/mm/transparent_hugepage/enabled", line, sizeof line)) {
        char *const open = strchr(line, '[');
        char *const close = open ? strchr(open, ']') : NULL;
        if (close != NULL) {
            *close = '\0';
            copy_text(setting, size, open + 1);
        }
    }
}

static void read_date(char *date, size_t size)
{
    const time_t now = time(NULL);
    struct tm local;
    char zone[8];
    date[0] = '\0';
    if (localtime_r(&now, &local) == NULL || strftime(zone, sizeof zone, "%z", &local) != 5)
        return;
    const size_t n = strftime(date, size, "%Y-%m-%dT%H:%M:%S", &local);
    snprintf(date + n, size - n, "%.3s:%.2s", zone, zone + 3);
}

static const char *compiler(void)
{
    static char name[64];
#if defined(__clang__)
    snprintf(name, sizeof name, "clang %d.%d.%d", __clang_major__, __clang_minor__,
             __clang_patchlevel__);
#elif defined(__GNUC__)
    snprintf(name, sizeof name, "gcc %d.%d.%d", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#else
    snprintf(name, sizeof name, "unknown");
#endif
    return name;
}

static const char *highest_isa(void)
{
    size_t count;
    const sattn_limit_isa *const isas = sattn_limit_isas(&count);
    const char *highest = "scalar";
    for (size_t i = 0; i < count; ++i)
        if ((isas[i].needs & ~sattn_cpu_this()->usable) == 0)
            highest = isas[i].name;
    return highest;
}

void sattn_environment_read(const char *root, sattn_environment *environment)
{
    root = root ? root : "";
    *environment = (sattn_environment)
    {
        .isa = highest_isa(),
#if defined(__x86_64__)
        .arch = "x86_64",
#elif defined(__aarch64__)
        .arch = "aarch64",
#else
        .arch = "other",
#endif
        .compiler = compiler(), .build_type = SATTN_BUILD_TYPE, .c_flags = SATTN_C_FLAGS,
        .kernel_flags = SATTN_KERNEL_FLAGS,
#if !defined(NDEBUG)
        .assertions = true,
#endif
        .commit = SATTN_GIT_COMMIT,
        .commit_dirty = SATTN_GIT_DIRTY < 0   ? SATTN_UNKNOWN
                        : SATTN_GIT_DIRTY > 0 ? SATTN_YES
                                              : SATTN_NO,
        .library_version = sattn_version(), .benchmark_version = SATTN_BENCHMARK_VERSION,
        .jansson_version = JANSSON_VERSION,
    };
    read_float_state(environment);
    read_cpu_model(root, environment->cpu_model, sizeof environment->cpu_model);
    sattn_features_print(sattn_cpu_this()->usable, environment->features,
                         sizeof environment->features);
    read_caches_sysfs(root, environment);
    if (root[0] == '\0')
        read_caches_sysconf(environment);
    sattn_cpu_counts_read(root, 0, 0, &environment->cpus);
    sattn_cgroup cgroup;
    sattn_cgroup_read(root, &cgroup);
    environment->cgroup_version = cgroup.version;
    if (getloadavg(environment->load, 3) != 3)
        for (int i = 0; i < 3; ++i)
            environment->load[i] = -1;
    read_huge_pages(root, environment->huge_pages, sizeof environment->huge_pages);
    struct utsname names;
    if (uname(&names) == 0)
        snprintf(environment->system, sizeof environment->system, "%.60s %.60s", names.sysname,
                 names.release);
    read_date(environment->date, sizeof environment->date);
}
