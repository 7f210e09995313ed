/* SPDX-License-Identifier: MIT
 *
 * pin.h: the CPUs that the calling thread may run on, and binding it to one of them. */
#ifndef SATTN_BENCH_ENVIRONMENT_PIN_H
#define SATTN_BENCH_ENVIRONMENT_PIN_H

#include <stdbool.h>
#include <sys/types.h>

enum { SATTN_PIN_MOST = 1024 }; /* threads to choose CPUs for */

/* How many CPUs the calling thread may run on; `unknown` where the system does not say. */
int sattn_affinity_count(int unknown);
/* The only CPU that it may run on; -1: there are several, or the system does not say. */
int sattn_affinity_only_cpu(void);

/* Lets another process run where the calling thread may; false: the system refuses. */
bool sattn_affinity_copy(pid_t process);

/* Chooses CPUs for `n` threads among those the calling thread may run on: one of each core before a
 * second of any, of the highest maximum frequency (hybrid CPUs), then the highest number (low
 * numbers serve more interrupts). `root` as in sysfile.h. Returns how many there are, at most n. */
int sattn_pin_choose(int n, int *cpus, const char *root);

/* Lets the calling thread run on these CPUs and no others; false: the system refuses. */
bool sattn_pin_to(const int *cpus, int n);

/* The calling thread bound to one CPU. */
typedef struct sattn_pin {
    int cpu; /* -1: not bound, for the reason in `why` */
    char why[96];
    void *previous; /* affinity to restore */
} sattn_pin;

/* Binds the calling thread to `cpu`, or with -1 to the one that is chosen for one thread. Returns
 * whether it is bound. */
bool sattn_pin_begin(sattn_pin *pin, int cpu, const char *root);
void sattn_pin_end(sattn_pin *pin);

#endif
