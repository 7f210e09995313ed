/* SPDX-License-Identifier: MIT
 *
 * cpu_counts.c: the tightest of affinity and control group decides. A quota of 1.5 CPUs is one
 * thread: a second one would be throttled half of the time. */
#define _GNU_SOURCE /* _SC_NPROCESSORS_ONLN */

#include "bench/environment/cpu_counts.h"

#include "bench/environment/cgroup.h"
#include "bench/environment/pin.h"

#include <math.h>
#include <unistd.h>

void sattn_cpu_counts_read(const char *root, int affinity, int online, sattn_cpu_counts *counts)
{
    sattn_cgroup cgroup;
    sattn_cgroup_read(root, &cgroup);
    counts->online = online > 0 ? online : (int)sysconf(_SC_NPROCESSORS_ONLN);
    counts->affinity = affinity > 0 ? affinity : sattn_affinity_count(counts->online);
    counts->quota = cgroup.quota;
    counts->cgroup_version = cgroup.version;
    const double threads = fmin((double)counts->affinity, floor(counts->quota));
    counts->threads = threads < 1 ? 1 : (int)threads;
}
