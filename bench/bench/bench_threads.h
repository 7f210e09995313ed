/* SPDX-License-Identifier: MIT
 *
 * bench_threads.h: the numbers of threads that rows are measured with. */
#ifndef SATTN_BENCH_BENCH_BENCH_THREADS_H
#define SATTN_BENCH_BENCH_BENCH_THREADS_H

#include <stdbool.h>
#include <stddef.h>

enum { SATTN_THREAD_COUNTS_MOST = 4 };

typedef struct sattn_thread_counts {
    int of[SATTN_THREAD_COUNTS_MOST]; /* in the order of the command line */
    int n;
} sattn_thread_counts;

/* Into a sattn_thread_counts, from a comma list (a sattn_option_fn). False: no such list, or more
 * threads than this build or this process can use; `error` says it. */
bool sattn_thread_counts_set(void *into, const char *value, char *error, size_t error_size);

/* Adds a number, unless it is there. */
void sattn_thread_counts_add(sattn_thread_counts *counts, int count);

/* Whether calls on so many threads can be measured here; if not, `why` says it. */
bool sattn_threads_usable(int count, char *why, size_t why_size);

int sattn_thread_counts_most(const sattn_thread_counts *counts);

/* "1", "1 and 2", "1, 2 and 4" */
void sattn_thread_counts_print(const sattn_thread_counts *counts, char *text, size_t size);

#endif
