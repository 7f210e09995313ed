/* SPDX-License-Identifier: MIT
 *
 * bench_threads.c: lists of numbers of threads. */
#include "bench/bench/bench_threads.h"

#include "bench/environment/pin.h"
#include "bench/measure/crew.h"
#include "dispatch/team.h"

#include <stdio.h>
#include <stdlib.h>

static bool has_count(const sattn_thread_counts *counts, long count)
{
    for (int i = 0; i < counts->n; ++i)
        if (counts->of[i] == count)
            return true;
    return false;
}

void sattn_thread_counts_add(sattn_thread_counts *counts, int count)
{
    if (!has_count(counts, count) && counts->n < SATTN_THREAD_COUNTS_MOST)
        counts->of[counts->n++] = count;
}

int sattn_thread_counts_most(const sattn_thread_counts *counts)
{
    int most = 1;
    for (int i = 0; i < counts->n; ++i)
        most = counts->of[i] > most ? counts->of[i] : most;
    return most;
}

bool sattn_threads_usable(int count, char *why, size_t why_size)
{
    const int cpus = sattn_affinity_count(count);
    if (count > 1 && !sattn_team_is_built())
        snprintf(why, why_size, "this build has no OpenMP, so calls work on 1 thread");
    else if (count > cpus)
        snprintf(why, why_size, "%d threads are more than the %d CPU%s of this process", count,
                 cpus, cpus == 1 ? "" : "s");
    else
        return true;
    return false;
}

bool sattn_thread_counts_set(void *into, const char *value, char *error, size_t error_size)
{
    sattn_thread_counts *const counts = into;
    char *end = NULL;
    counts->n = 0;
    for (const char *at = value; !end || *end; at = end + 1) {
        const long count = strtol(at, &end, 10);
        if (end == at || (*end && *end != ',') || count < 1 || count > SATTN_CREW_MOST ||
            has_count(counts, count) || counts->n == SATTN_THREAD_COUNTS_MOST) {
            snprintf(error, error_size,
                     "expected up to %d different numbers from 1 to %d, not '%s'",
                     SATTN_THREAD_COUNTS_MOST, SATTN_CREW_MOST, value);
            return false;
        }
        counts->of[counts->n++] = (int)count;
    }
    return sattn_threads_usable(sattn_thread_counts_most(counts), error, error_size);
}

void sattn_thread_counts_print(const sattn_thread_counts *counts, char *text, size_t size)
{
    size_t used = 0;
    for (int i = 0; i < counts->n && used < size; ++i)
        used += (size_t)snprintf(text + used, size - used, "%s%d",
                                 i == 0              ? ""
                                 : i + 1 < counts->n ? ", "
                                                     : " and ",
                                 counts->of[i]);
}
