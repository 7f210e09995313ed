/* SPDX-License-Identifier: MIT
 *
 * cgroup.h: the processor time that the control group of this process may use, and what it has been
 * denied. Linux documentation: admin-guide/cgroup-v2, "CPU"; scheduler/sched-bwc for version 1. */
#ifndef SATTN_BENCH_ENVIRONMENT_CGROUP_H
#define SATTN_BENCH_ENVIRONMENT_CGROUP_H

#include <stdint.h>

typedef struct sattn_cgroup {
    int version;  /* 1 or 2: where the quota was found; 0: no control group with a CPU controller */
    double quota; /* CPUs; the tightest on the way to the root. Infinity: no limit */
    int64_t throttled_periods; /* so far; -1: not known */
    char stat_path[512];       /* its cpu.stat, to be read again; "" if there is none */
} sattn_cgroup;

/* Reads /proc/self/cgroup and the files it leads to below `root` (sysfile.h), for version 2,
 * version 1 and both mounted side by side. */
void sattn_cgroup_read(const char *root, sattn_cgroup *cgroup);
/* Throttled periods now, by the stat_path of an earlier read; -1: not known. */
int64_t sattn_cgroup_throttled(const sattn_cgroup *cgroup);

#endif
