/* SPDX-License-Identifier: MIT
 *
 * test_first_call.c: a process's first call comes from a static constructor, or (built with
 * SATTN_TEST_THREADS) from 16 threads at once, in many fresh processes; every caller sees a
 * complete library. Run under TSan as well.
 *
 *   test_threads [KERNELS]: that such calls run, by the profile that SATTN_PROFILE names */
#define _POSIX_C_SOURCE 200809L
#include "dispatch/simdattn.h"

#include <stdio.h>
#include <string.h>

/* `kernels`, where it is not NULL: that the call is to run. */
static sattn_status one_call(float result[2], const char *kernels)
{
    float q[2] = {1, 0}, k[4] = {0, 0, 0, 0}, v[4] = {1, 2, 3, 4};
    const sattn_attention_args args = {.batch = 1,
                                       .n_q_heads = 1,
                                       .n_kv_heads = 1,
                                       .n_q = 1,
                                       .n_k = 2,
                                       .d = 2,
                                       .d_v = 2,
                                       .q = {.data = q},
                                       .k = {.data = k, .stride_t = 2},
                                       .v = {.data = v, .stride_t = 2},
                                       .o = {.data = result}};
    sattn_plan *plan;
    sattn_status status = sattn_attention(&args, NULL);
    if (status != SATTN_OK || !kernels)
        return status;
    status = sattn_plan_create(&plan, &args, NULL);
    if (status == SATTN_OK && strcmp(sattn_plan_kernel(plan), kernels) != 0)
        status = SATTN_ERR_KERNEL;
    sattn_plan_destroy(plan);
    return status;
}

static int is_right(const float result[2])
{
    return result[0] == 2.0f && result[1] == 3.0f;
}

#if !SATTN_TEST_THREADS
static int constructor_was_right;

__attribute__((constructor)) static void call_before_main(void)
{
    float result[2] = {0, 0};
    constructor_was_right = one_call(result, NULL) == SATTN_OK && is_right(result);
}

int main(void)
{
    printf("call from a static constructor: %s\n", constructor_was_right ? "right" : "WRONG");
    return !constructor_was_right;
}
#else
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 16, PROCESSES = 200 };

static pthread_barrier_t barrier;
static const char *kernels; /* of the command line, or NULL */

static void *call(void *right)
{
    float result[2] = {0, 0};
    size_t count;
    pthread_barrier_wait(&barrier);
    *(int *)right = one_call(result, kernels) == SATTN_OK && is_right(result) &&
                    sattn_kernels(&count)[0].name != NULL && count > 0;
    return NULL;
}

static int first_calls_are_right(void)
{
    pthread_t threads[THREADS];
    int right[THREADS], n_right = 0;
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; ++i)
        if (pthread_create(&threads[i], NULL, call, &right[i]) != 0)
            return 0;
    for (int i = 0; i < THREADS; ++i) {
        pthread_join(threads[i], NULL);
        n_right += right[i];
    }
    return n_right == THREADS;
}

/* The parent never calls the library, so each child's first call is the first of all. */
int main(int argc, char **argv)
{
    int n_right = 0;
    kernels = argc > 1 ? argv[1] : NULL;
    const char *const profile = getenv("SATTN_PROFILE");
    if (kernels && (!profile || access(profile, R_OK) != 0)) {
        puts("skipped: there is no profile");
        return 77;
    }
    for (int i = 0; i < PROCESSES; ++i) {
        int status = 1;
        const pid_t child = fork();
        if (child == 0)
            _exit(first_calls_are_right() ? 0 : 1);
        n_right += child > 0 && waitpid(child, &status, 0) == child && status == 0;
    }
    printf("%d of %d processes with %d simultaneous first calls right\n", n_right, PROCESSES,
           THREADS);
    return n_right != PROCESSES;
}
#endif
