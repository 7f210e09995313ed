/* SPDX-License-Identifier: MIT
 *
 * bench_places.h: where the threads of a run are. */
#ifndef SATTN_BENCH_BENCH_BENCH_PLACES_H
#define SATTN_BENCH_BENCH_BENCH_PLACES_H

#include "bench/bench/bench_threads.h"
#include "bench/environment/pin.h"
#include "bench/measure/crew.h"

#include <jansson.h>
#include <stddef.h>

typedef struct sattn_places {
    sattn_thread_counts counts;
    sattn_pin pin;           /* of the calling thread */
    sattn_crew crew;         /* of all, where there are several */
    const char *wait_policy; /* how the environment has idle threads wait; NULL: it does not say */
} sattn_places;

/* Chooses CPUs for the most of these threads, binds the calling thread to the first, and looks at
 * that core (measure/issue.h). */
void sattn_places_begin(sattn_places *places, const sattn_thread_counts *counts);
void sattn_places_end(sattn_places *places);

/* "1 thread on CPU 1", "1 and 2 threads on CPUs 1 0, OMP_WAIT_POLICY active" */
void sattn_places_print(const sattn_places *places, char *text, size_t size);

/* Writes the same into the context of a document. */
void sattn_places_add(const sattn_places *places, json_t *context);

#endif
