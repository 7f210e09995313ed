/* SPDX-License-Identifier: MIT
 *
 * crew.c: a team of n tasks, each of which waits until all of them have begun and so has a thread
 * to itself; then each thread binds itself to the CPU of its number. */
#define _POSIX_C_SOURCE 200809L /* sched_yield */

#include "bench/measure/crew.h"

#include "bench/environment/pin.h"
#include "bench/measure/clock.h"
#include "dispatch/team.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

/* A team may be smaller than it was asked to be: then not all of its tasks can begin. */
#define PATIENCE_NS INT64_C(2000000000)

/* A region counts the CPUs that its caller may use, and grows no larger than the library allows
 * for so many: with more threads than this the calling thread is left on all CPUs of the crew. */
enum { MOST_WITH_CALLER_BOUND = 16 };

typedef struct gathering {
    const sattn_crew *crew;
    int n;
    int64_t deadline;
    atomic_int begun, bound;
} gathering;

static void take_place(void *context, int64_t index, int worker)
{
    gathering *const g = context;
    (void)index;
    atomic_fetch_add(&g->begun, 1);
    while (atomic_load(&g->begun) < g->n && sattn_now_ns() < g->deadline)
        sched_yield();
    const bool stays_free = worker == 0 && g->n > MOST_WITH_CALLER_BOUND;
    if (worker < g->n && (stays_free || sattn_pin_to(&g->crew->cpus[worker], 1)))
        atomic_fetch_add(&g->bound, 1);
}

void sattn_crew_open(sattn_crew *crew, int most, const char *root)
{
    *crew = (sattn_crew){0};
    crew->n = sattn_pin_choose(most < SATTN_CREW_MOST ? most : SATTN_CREW_MOST, crew->cpus, root);
    crew->is_bound = crew->n == most;
}

void sattn_crew_gather(sattn_crew *crew, int n)
{
    if (n <= 1 || n > crew->n || !crew->is_bound)
        return;
    gathering g = {.crew = crew, .n = n, .deadline = sattn_now_ns() + PATIENCE_NS};
    atomic_init(&g.begun, 0);
    atomic_init(&g.bound, 0);
    sattn_pin_to(crew->cpus, n); /* threads that are started now may run on any of them */
    sattn_team_run(n, n, take_place, &g);
    crew->is_bound = atomic_load(&g.begun) == n && atomic_load(&g.bound) == n;
    if (!crew->is_bound)
        sattn_pin_to(crew->cpus, n); /* what the calling thread has is inherited */
}
