/* SPDX-License-Identifier: MIT
 *
 * host_openblas.c: OpenBLAS as a peer. The library is looked for when the host starts; of its
 * interface only four functions are needed, whose types have been the same for decades. */
#define _GNU_SOURCE /* setenv */

#include "bench/peers/host.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "libopenblas.so.0"

typedef enum blas_order { BLAS_ROWS = 101 } blas_order;
typedef enum blas_transpose { BLAS_AS_IS = 111, BLAS_TRANSPOSED = 112 } blas_transpose;

/* For a matrix of one row it calls its matrix-vector product, from 0.3.11 on. */
static void (*sgemm)(blas_order order, blas_transpose a_is, blas_transpose b_is, int m, int n,
                     int k, float alpha, const float *a, int a_stride, const float *b, int b_stride,
                     float beta, float *c, int c_stride);
static char *(*get_config)(void);
static char *(*get_corename)(void);
static void (*set_num_threads)(int threads);

/* A function pointer out of the object pointer that dlsym returns; ISO C has no conversion. */
static bool look_up(void *library, const char *name, void *function, size_t size)
{
    void *const symbol = dlsym(library, name);
    memcpy(function, &symbol, size);
    return symbol != NULL;
}

static void *open_library(void)
{
    static const char *const names[] = {LIBRARY, "libopenblas.so", "libopenblas.dylib"};
    void *library = NULL;
    for (size_t i = 0; !library && i < sizeof names / sizeof *names; ++i)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

/* A library older than an x86 CPU takes it for the oldest core that it has kernels for, with
 * vectors of 128 bits. Returns the newest that such a CPU can stand in for, NULL for a CPU that was
 * known. */
static const char *core_for_unknown(void *library)
{
#if defined(__x86_64__)
    if (look_up(library, "openblas_get_corename", &get_corename, sizeof get_corename) &&
        strcmp(get_corename(), "Prescott") == 0) {
        if (__builtin_cpu_supports("avx512vl"))
            return "SkylakeX";
        if (__builtin_cpu_supports("avx2"))
            return "Haswell";
    }
#else
    (void)library;
#endif
    return NULL;
}

/* The core is chosen once, when the library is loaded. */
static void *open_for_core(void)
{
    void *const library = open_library();
    const char *const core = library ? core_for_unknown(library) : NULL;
    if (!core)
        return library;
    dlclose(library);
    setenv("OPENBLAS_CORETYPE", core, 1);
    return open_library();
}

static bool load(char *version, char *why, size_t size)
{
    void *const library = open_for_core();
    if (!library) {
        snprintf(why, size, "there is no " LIBRARY " (Debian: libopenblas0-openmp)");
        return false;
    }
    if (!look_up(library, "cblas_sgemm", &sgemm, sizeof sgemm) ||
        !look_up(library, "openblas_get_config", &get_config, sizeof get_config) ||
        !look_up(library, "openblas_get_corename", &get_corename, sizeof get_corename) ||
        !look_up(library, "openblas_set_num_threads", &set_num_threads, sizeof set_num_threads)) {
        snprintf(why, size, "libopenblas lacks a function: %s", dlerror());
        return false;
    }
    snprintf(version, size, "%s", get_config());
    return true;
}

static void set_threads(int threads)
{
    set_num_threads(threads);
}

/* No state of its own. */
static void *open_worker(void)
{
    return malloc(1);
}

static bool multiply(void *worker, const sattn_host_product *p)
{
    (void)worker;
    sgemm(BLAS_ROWS, BLAS_AS_IS, p->b_is_transposed ? BLAS_TRANSPOSED : BLAS_AS_IS, (int)p->m,
          (int)p->n, (int)p->k, p->alpha, p->a, (int)p->a_stride, p->b, (int)p->b_stride, 0, p->c,
          (int)p->c_stride);
    return true;
}

static void describe(void *worker, char *text, size_t size)
{
    (void)worker;
    snprintf(text, size, "sgemm %s", get_corename());
}

int main(void)
{
    const sattn_host_library library = {.load = load,
                                        .set_threads = set_threads,
                                        .open_worker = open_worker,
                                        .close_worker = free,
                                        .multiply = multiply,
                                        .describe = describe};
    return sattn_host_main(&library);
}
