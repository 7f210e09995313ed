/* SPDX-License-Identifier: MIT
 *
 * pin.c: sets of CPUs are made large: a fixed cpu_set_t ends at CPU 1023, and the system refuses to
 * fill a set that is smaller than its own. */
#define _GNU_SOURCE /* sched_setaffinity */

#include "bench/environment/pin.h"

#include "bench/environment/sysfile.h"

#include <stdint.h>
#include <stdio.h>

#if defined(__linux__)

#include <sched.h>

enum { MOST_CPUS = 8192 };

/* NULL: no memory, or the system does not say. Freed with CPU_FREE. */
static cpu_set_t *allowed_cpus(void)
{
    cpu_set_t *const set = CPU_ALLOC(MOST_CPUS);
    if (set != NULL && sched_getaffinity(0, CPU_ALLOC_SIZE(MOST_CPUS), set) == 0)
        return set;
    CPU_FREE(set);
    return NULL;
}

static bool has_cpu(const cpu_set_t *set, int cpu)
{
    return CPU_ISSET_S((size_t)cpu, CPU_ALLOC_SIZE(MOST_CPUS), set) != 0;
}

int sattn_affinity_count(int unknown)
{
    cpu_set_t *const allowed = allowed_cpus();
    if (allowed == NULL)
        return unknown;
    const int count = CPU_COUNT_S(CPU_ALLOC_SIZE(MOST_CPUS), allowed);
    CPU_FREE(allowed);
    return count;
}

int sattn_affinity_only_cpu(void)
{
    cpu_set_t *const allowed = allowed_cpus();
    if (allowed == NULL)
        return -1;
    int found = -1;
    if (CPU_COUNT_S(CPU_ALLOC_SIZE(MOST_CPUS), allowed) == 1)
        for (int cpu = 0; cpu < MOST_CPUS && found < 0; ++cpu)
            if (has_cpu(allowed, cpu))
                found = cpu;
    CPU_FREE(allowed);
    return found;
}

/* Greater is faster, comparable within one machine only; 0 where the system does not say. */
static int64_t cpu_rank(const char *root, int cpu)
{
    static const char *const files[] = {"cpu_capacity", "cpufreq/cpuinfo_max_freq"};
    for (int f = 0; f < 2; ++f) {
        char path[128];
        int64_t rank;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/%s", cpu, files[f]);
        if (sattn_sysfile_number(root, path, &rank) && rank > 0)
            return rank;
    }
    return 0;
}

static int best_cpu(const cpu_set_t *allowed, const char *root)
{
    int chosen = -1;
    int64_t best = 0;
    for (int cpu = 0; cpu < MOST_CPUS; ++cpu) {
        const int64_t rank = has_cpu(allowed, cpu) ? cpu_rank(root, cpu) : -1;
        if (rank >= best) {
            chosen = cpu;
            best = rank;
        }
    }
    return chosen;
}

static bool bind_to(int cpu)
{
    const size_t size = CPU_ALLOC_SIZE(MOST_CPUS);
    cpu_set_t *const wanted = CPU_ALLOC(MOST_CPUS);
    if (wanted == NULL)
        return false;
    CPU_ZERO_S(size, wanted);
    CPU_SET_S((size_t)cpu, size, wanted);
    const bool bound = sched_setaffinity(0, size, wanted) == 0;
    CPU_FREE(wanted);
    return bound;
}

bool sattn_pin_begin(sattn_pin *pin, int cpu, const char *root)
{
    *pin = (sattn_pin){.cpu = -1};
    cpu_set_t *const allowed = allowed_cpus();
    if (allowed == NULL) {
        snprintf(pin->why, sizeof pin->why, "the affinity of this thread cannot be read");
        return false;
    }
    if (cpu >= 0 && (cpu >= MOST_CPUS || !has_cpu(allowed, cpu))) {
        snprintf(pin->why, sizeof pin->why, "CPU %d is not among those this process may use", cpu);
        CPU_FREE(allowed);
        return false;
    }
    const int chosen = cpu >= 0 ? cpu : best_cpu(allowed, root);
    if (!bind_to(chosen)) {
        snprintf(pin->why, sizeof pin->why, "the system refuses to bind to CPU %d", chosen);
        CPU_FREE(allowed);
        return false;
    }
    pin->cpu = chosen;
    pin->previous = allowed;
    return true;
}

void sattn_pin_end(sattn_pin *pin)
{
    if (pin->previous == NULL)
        return;
    sched_setaffinity(0, CPU_ALLOC_SIZE(MOST_CPUS), pin->previous);
    CPU_FREE(pin->previous);
    *pin = (sattn_pin){.cpu = -1};
}

#else

int sattn_affinity_count(int unknown)
{
    return unknown;
}

int sattn_affinity_only_cpu(void)
{
    return -1;
}

bool sattn_pin_begin(sattn_pin *pin, int cpu, const char *root)
{
    (void)cpu;
    (void)root;
    *pin = (sattn_pin){.cpu = -1};
    snprintf(pin->why, sizeof pin->why, "binding a thread is not supported on this system");
    return false;
}

void sattn_pin_end(sattn_pin *pin)
{
    (void)pin;
}

#endif
