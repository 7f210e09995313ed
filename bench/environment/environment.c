/* SPDX-License-Identifier: MIT
 *
 * environment.c: brings together the facts of environment.h, and reads those that have no file of
 * their own. */
#define _GNU_SOURCE /* getloadavg, localtime_r */

#include "bench/environment/environment.h"

#include "bench/environment/sysfile.h"
#include "bench/limits/limits.h"
#include "dispatch/cpu.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

/* Without spaces and tabs at either end. */
static void copy_text(char *to, size_t size, const char *from)
{
    from += strspn(from, " \t");
    snprintf(to, size, "%s", from);
    for (size_t n = strlen(to); n > 0 && (to[n - 1] == ' ' || to[n - 1] == '\t'); --n)
        to[n - 1] = '\0';
}

/* The name from the registers, else the one that the system gives. */
static void read_cpu_model(const char *root, char *model, size_t size)
{
    copy_text(model, size, sattn_cpu_this_record()->model);
    char line[512];
    FILE *const file = model[0] == '\0' ? sattn_sysfile_open(root, "/proc/cpuinfo") : NULL;
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
    if (sattn_sysfile_line(root, "/sys/kernel/mm/transparent_hugepage/enabled", line,
                           sizeof line)) {
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
    *environment = (sattn_environment){.isa = highest_isa(), .build = sattn_build_facts()};
    read_float_state(environment);
    read_cpu_model(root, environment->cpu_model, sizeof environment->cpu_model);
    sattn_features_print(sattn_cpu_this()->usable, environment->features,
                         sizeof environment->features);
    sattn_caches_read(root, &environment->caches);
    sattn_cpu_counts_read(root, 0, 0, &environment->cpus);
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
