/* SPDX-License-Identifier: MIT
 *
 * team.h: tasks on several threads. The only place that knows OpenMP.
 *
 * The calling thread works too. A call with one task, or for one thread, never touches OpenMP; nor
 * does a process that was forked from one that had loaded the library: OpenMP does not survive a
 * fork, and whether the parent has used it, here or elsewhere, the child cannot tell. All workers
 * compute under the floating-point control of the calling thread. */
#ifndef SATTN_DISPATCH_TEAM_H
#define SATTN_DISPATCH_TEAM_H

#include <stdbool.h>
#include <stdint.h>

/* Does task `index`. `worker` tells apart the threads of a call: memory of one's own. */
typedef void sattn_task_fn(void *context, int64_t index, int worker);

/* Runs the tasks [0, n_tasks), begun in this order, on at most max_workers threads, and returns
 * when all are done. Workers are numbered from 0. */
void sattn_team_run(int max_workers, int64_t n_tasks, sattn_task_fn *task, void *context);

/* False where the library was built without OpenMP: the calling thread works alone. */
bool sattn_team_is_built(void);

/* CPUs that OpenMP may put threads on; 0 without OpenMP. Unlike a thread's own affinity it does not
 * shrink where OpenMP binds the process's first thread (OMP_PROC_BIND, OMP_PLACES). Asked only
 * where there is a profile. */
int sattn_team_cpus(void);

/* The OpenMP of this build, "4.5 (gomp)", or "none". */
const char *sattn_team_runtime(void);

#endif
