/* SPDX-License-Identifier: MIT
 *
 * dnnl_common.h: what both hosts over oneDNN need. */
#ifndef SATTN_BENCH_PEERS_DNNL_COMMON_H
#define SATTN_BENCH_PEERS_DNNL_COMMON_H

#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static inline bool dnnl_load(char *version, char *why, size_t size)
{
    const dnnl_version_t *const v = dnnl_version();
    (void)why; /* it is linked: without the library the host does not start */
    snprintf(version, size, "oneDNN %d.%d.%d", v->major, v->minor, v->patch);
    return true;
}

/* Its threads are those of OpenMP, of whichever runtime it brings along. */
static inline void dnnl_set_threads(int threads)
{
    void (*set)(int);
    void *const symbol = dlsym(RTLD_DEFAULT, "omp_set_num_threads");
    memcpy(&set, &symbol, sizeof set); /* ISO C does not convert the one into the other */
    if (symbol)
        set(threads);
}

#endif
