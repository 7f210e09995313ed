/* SPDX-License-Identifier: MIT
 *
 * crew.h: the threads that a call works on, each on a core of its own.
 *
 * They are those of the library's team: calls and the reference loops that bound them are run by
 * the same threads, so that nobody waits for a core that another team's idle threads spin on. The
 * OpenMP runtime may end and start threads when a team of another size follows; so they are
 * gathered before every window, outside its time.
 *
 *   sattn_crew crew;
 *   sattn_crew_open(&crew, 2, NULL);
 *   sattn_crew_gather(&crew, 2);    threads of calls with options.threads = 2 are bound */
#ifndef SATTN_BENCH_MEASURE_CREW_H
#define SATTN_BENCH_MEASURE_CREW_H

#include <stdbool.h>

enum { SATTN_CREW_MOST = 256 };

typedef struct sattn_crew {
    int cpus[SATTN_CREW_MOST]; /* [n]: that of the calling thread first */
    int n;
    bool is_bound; /* false: the system has not so many CPUs, or refused, or the team was smaller */
} sattn_crew;

/* Chooses CPUs for `most` threads, before the calling thread is bound to one of them. `root` as in
 * sysfile.h. */
void sattn_crew_open(sattn_crew *crew, int most, const char *root);

/* Binds the threads of a team of `n`, unless that has failed before. One thread needs none. */
void sattn_crew_gather(sattn_crew *crew, int n);

#endif
