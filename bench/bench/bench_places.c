/* SPDX-License-Identifier: MIT
 *
 * bench_places.c: binds threads, and says so. */
#include "bench/bench/bench_places.h"

#include "bench/measure/issue.h"
#include "bench/result.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Another thread was seen to be at work on a core for tens of milliseconds on end. */
static const int64_t look_ns = 200000000;

void sattn_places_begin(sattn_places *places, const sattn_thread_counts *counts)
{
    *places = (sattn_places){.counts = *counts, .wait_policy = getenv("OMP_WAIT_POLICY")};
    sattn_crew_open(&places->crew, sattn_thread_counts_most(counts), NULL);
    sattn_pin_begin(&places->pin, -1, NULL);
    sattn_issue_learn(look_ns);
}

void sattn_places_end(sattn_places *places)
{
    sattn_pin_end(&places->pin);
}

static bool has_several(const sattn_places *places)
{
    return sattn_thread_counts_most(&places->counts) > 1;
}

void sattn_places_print(const sattn_places *places, char *text, size_t size)
{
    char counts[64];
    sattn_thread_counts_print(&places->counts, counts, sizeof counts);
    const bool several = has_several(places);
    size_t used = (size_t)snprintf(text, size, "%s thread%s", counts, several ? "s" : "");
    if (several && places->crew.is_bound) {
        used += (size_t)snprintf(text + used, used < size ? size - used : 0, " on CPUs");
        for (int c = 0; c < places->crew.n && used < size; ++c)
            used += (size_t)snprintf(text + used, size - used, " %d", places->crew.cpus[c]);
    } else if (places->pin.cpu >= 0 && used < size) {
        used += (size_t)snprintf(text + used, size - used, " on CPU %d", places->pin.cpu);
    } else if (used < size) {
        used += (size_t)snprintf(text + used, size - used, " not pinned");
    }
    if (several && used < size)
        snprintf(text + used, size - used, ", OMP_WAIT_POLICY %s",
                 places->wait_policy ? places->wait_policy : "not set");
}

void sattn_places_add(const sattn_places *places, json_t *context)
{
    json_t *const counts = json_array(), *const cpus = json_array();
    for (int i = 0; i < places->counts.n; ++i)
        json_array_append_new(counts, json_integer(places->counts.of[i]));
    for (int c = 0; c < places->crew.n && places->crew.is_bound && has_several(places); ++c)
        json_array_append_new(cpus, json_integer(places->crew.cpus[c]));
    json_object_set_new(context, "simdattn_threads", counts);
    json_object_set_new(context, "simdattn_thread_cpus", cpus);
    sattn_result_text(context, "simdattn_wait_policy", places->wait_policy);
    sattn_result_number(context, "simdattn_pinned_cpu",
                        places->pin.cpu >= 0 ? places->pin.cpu : (double)NAN, places->pin.why);
}
