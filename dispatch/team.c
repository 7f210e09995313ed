/* SPDX-License-Identifier: MIT
 *
 * team.c: a parallel region whose threads take tasks from one counter. Whatever size the region
 * really has (nested regions, OMP_THREAD_LIMIT), all tasks are done. */
#include "dispatch/team.h"

#if SATTN_OPENMP
#include <fenv.h>
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>

enum { REGION_SIZE_LEAST = 16 }; /* a region may be as large on any machine */

typedef struct team {
    sattn_task_fn *task;
    void *context;
    int64_t n_tasks;
    _Atomic int64_t next;
} team;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_bool is_forked;

static void note_fork(void)
{
    atomic_store_explicit(&is_forked, true, memory_order_relaxed);
}

static void watch_forks(void)
{
    if (pthread_atfork(NULL, NULL, note_fork) != 0)
        note_fork(); /* a child could not be told: no process uses threads */
}

/* From when the library is loaded, since the process may use OpenMP elsewhere. A constructor of the
 * program's own that calls the library may come before this one. */
__attribute__((constructor)) static void watch_from_the_start(void)
{
    pthread_once(&once, watch_forks);
}

static bool may_use_threads(void)
{
    pthread_once(&once, watch_forks);
    return !atomic_load_explicit(&is_forked, memory_order_relaxed);
}

static void take_tasks(team *t, int worker)
{
    for (;;) {
        const int64_t index = atomic_fetch_add_explicit(&t->next, 1, memory_order_relaxed);
        if (index >= t->n_tasks)
            return;
        t->task(t->context, index, worker);
    }
}

/* Threads that a region asks for: OpenMP ends the process where the system refuses one, so not many
 * more than there are processors. Results do not depend on it. */
static int region_size(int64_t n_tasks, int max_workers)
{
    const int processors = omp_get_num_procs(), limit = omp_get_thread_limit();
    int most = 2 * processors > REGION_SIZE_LEAST ? 2 * processors : REGION_SIZE_LEAST;
    most = most < limit ? most : limit;
    most = most < max_workers ? most : max_workers;
    return n_tasks < most ? (int)n_tasks : most;
}

/* What the calling thread wrote before, and the threads write, is ordered by the region's begin and
 * end. */
static void run_region(team *t, int n_threads)
{
    fenv_t control;
    fegetenv(&control);
#pragma omp parallel num_threads(n_threads) default(none) shared(t, control)
    {
        const int worker = omp_get_thread_num();
        fenv_t own;
        if (worker > 0) {
            fegetenv(&own);
            fesetenv(&control);
        }
        take_tasks(t, worker);
        if (worker > 0)
            fesetenv(&own);
    }
}
#endif

bool sattn_team_is_built(void)
{
    return SATTN_OPENMP;
}

const char *sattn_team_runtime(void)
{
    return SATTN_OPENMP_RUNTIME;
}

int sattn_team_cpus(void)
{
#if SATTN_OPENMP
    return omp_get_num_procs();
#else
    return 0;
#endif
}

void sattn_team_run(int max_workers, int64_t n_tasks, sattn_task_fn *task, void *context)
{
#if SATTN_OPENMP
    if (max_workers > 1 && n_tasks > 1 && may_use_threads()) {
        team t = {.task = task, .context = context, .n_tasks = n_tasks};
        atomic_init(&t.next, 0);
        run_region(&t, region_size(n_tasks, max_workers));
        return;
    }
#endif
    (void)max_workers;
    for (int64_t index = 0; index < n_tasks; ++index)
        task(context, index, 0);
}
