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
#include <stdlib.h>
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

/* What a worker of either begins with. */
typedef struct dnnl_worker {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
} dnnl_worker;

/* Frees all of the worker that begins with `w`. */
static inline void dnnl_close_worker(dnnl_worker *w)
{
    if (w->stream)
        dnnl_stream_destroy(w->stream);
    if (w->engine)
        dnnl_engine_destroy(w->engine);
    free(w);
}

/* A worker of `size` bytes, zero behind its beginning; NULL: it cannot be had. */
static inline void *dnnl_open_worker(size_t size)
{
    dnnl_worker *const w = calloc(1, size);
    if (w && dnnl_engine_create(&w->engine, dnnl_cpu, 0) == dnnl_success &&
        dnnl_stream_create(&w->stream, w->engine, dnnl_stream_default_flags) == dnnl_success)
        return w;
    if (w)
        dnnl_close_worker(w);
    return NULL;
}

#endif
