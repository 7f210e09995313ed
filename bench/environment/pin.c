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

bool sattn_affinity_copy(pid_t process)
{
    cpu_set_t *const allowed = allowed_cpus();
    const bool copied =
        allowed != NULL && sched_setaffinity(process, CPU_ALLOC_SIZE(MOST_CPUS), allowed) == 0;
    CPU_FREE(allowed);
    return copied;
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

/* The same number for CPUs of one core; each is its own core where the system does not say. */
static int64_t core_of(const char *root, int cpu)
{
    static const char *const files[] = {"physical_package_id", "die_id", "core_id"};
    int64_t core = 0;
    for (int f = 0; f < 3; ++f) {
        char path[128];
        int64_t number;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/%s", cpu, files[f]);
        const bool found = sattn_sysfile_number(root, path, &number) && number >= 0;
        if (!found && f != 1) /* a die is not always told */
            return -1 - (int64_t)cpu;
        core = core * 65536 + (found ? number : 0);
    }
    return core;
}

/* The best of the CPUs that are free and on none of `n` cores; -1: there is none. */
static int best_cpu(const cpu_set_t *free, const int64_t *cores, int n, const char *root)
{
    int chosen = -1;
    int64_t best = 0;
    for (int cpu = 0; cpu < MOST_CPUS; ++cpu) {
        int64_t rank = has_cpu(free, cpu) ? cpu_rank(root, cpu) : -1;
        const int64_t core = rank >= best && n > 0 ? core_of(root, cpu) : 0;
        for (int c = 0; c < n && rank >= best; ++c)
            if (cores[c] == core)
                rank = -1;
        if (rank >= best) {
            chosen = cpu;
            best = rank;
        }
    }
    return chosen;
}

int sattn_pin_choose(int n, int *cpus, const char *root)
{
    cpu_set_t *const free = allowed_cpus();
    int chosen = 0, first = 0; /* of the chosen ones, those from `first` on are on cores apart */
    int64_t cores[SATTN_PIN_MOST];
    n = n < SATTN_PIN_MOST ? n : SATTN_PIN_MOST;
    while (free != NULL && chosen < n) {
        const int cpu = best_cpu(free, cores + first, chosen - first, root);
        if (cpu < 0 && first == chosen)
            break; /* none is left */
        if (cpu < 0) {
            first = chosen; /* every core has one more thread: once more around */
            continue;
        }
        cores[chosen] = core_of(root, cpu);
        cpus[chosen++] = cpu;
        CPU_CLR_S((size_t)cpu, CPU_ALLOC_SIZE(MOST_CPUS), free);
    }
    CPU_FREE(free);
    return chosen;
}

bool sattn_pin_to(const int *cpus, int n)
{
    const size_t size = CPU_ALLOC_SIZE(MOST_CPUS);
    cpu_set_t *const wanted = CPU_ALLOC(MOST_CPUS);
    if (wanted == NULL)
        return false;
    CPU_ZERO_S(size, wanted);
    for (int c = 0; c < n; ++c)
        CPU_SET_S((size_t)cpus[c], size, wanted);
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
    int chosen = cpu;
    if (cpu < 0 && sattn_pin_choose(1, &chosen, root) != 1)
        chosen = -1;
    if (chosen < 0 || !sattn_pin_to(&chosen, 1)) {
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

bool sattn_affinity_copy(pid_t process)
{
    (void)process;
    return false;
}

int sattn_pin_choose(int n, int *cpus, const char *root)
{
    (void)n;
    (void)cpus;
    (void)root;
    return 0;
}

bool sattn_pin_to(const int *cpus, int n)
{
    (void)cpus;
    (void)n;
    return false;
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
