/* SPDX-License-Identifier: MIT
 *
 * pin.h: the CPUs that the calling thread may run on, and binding it to one of them. */
#ifndef SATTN_BENCH_ENVIRONMENT_PIN_H
#define SATTN_BENCH_ENVIRONMENT_PIN_H

#include <stdbool.h>

/* How many CPUs the calling thread may run on; `unknown` where the system does not say. */
int sattn_affinity_count(int unknown);
/* The only CPU that it may run on; -1: there are several, or the system does not say. */
int sattn_affinity_only_cpu(void);

/* The calling thread bound to one CPU. */
typedef struct sattn_pin {
    int cpu; /* -1: not bound, for the reason in `why` */
    char why[96];
    void *previous; /* affinity to restore */
} sattn_pin;

/* Binds the calling thread to `cpu`, or with -1 to the one that is chosen among those it may run
 * on: of the highest maximum frequency (hybrid CPUs), then the highest number (low numbers serve
 * more interrupts). `root` as in sysfile.h. Returns whether it is bound. */
bool sattn_pin_begin(sattn_pin *pin, int cpu, const char *root);
void sattn_pin_end(sattn_pin *pin);

#endif
