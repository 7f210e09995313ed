/* SPDX-License-Identifier: MIT
 *
 * cpu_counts.h: how many threads can run here at a time. */
#ifndef SATTN_BENCH_ENVIRONMENT_CPU_COUNTS_H
#define SATTN_BENCH_ENVIRONMENT_CPU_COUNTS_H

typedef struct sattn_cpu_counts {
    int online;         /* CPUs of the system */
    int affinity;       /* of these, CPUs that this process may run on */
    double quota;       /* as in sattn_cgroup */
    int cgroup_version; /* where the quota was found, as in sattn_cgroup */
    int threads;        /* max(1, min(affinity, floor(quota))) */
} sattn_cpu_counts;

/* CPU counts with the quota found below `root` (sysfile.h). `affinity` and `online` of 0 or less
 * are asked of the system. */
void sattn_cpu_counts_read(const char *root, int affinity, int online, sattn_cpu_counts *counts);

#endif
