/* SPDX-License-Identifier: MIT
 *
 * harness.h: the loop around the checks of one kernel.
 *
 * A test program is a list of groups; a group is a function that walks through numbered steps. A
 * failure prints the step with the command line that runs it alone. A program ends with
 *   0   every group compared something and nothing failed
 *   1   a check failed, or a group compared nothing, or a required ISA was skipped
 *   2   wrong usage
 *   77  skipped: this machine cannot run the kernel; the reason is printed
 *
 * Command line: --kernel=NAME, --seed=N, --group=NAME, --step=N, --first (end at the first
 * failure), --list (groups). --covers=A,B,.. only checks that these are the op's rows of the
 * registry, no more and no fewer. Environment: SATTN_REQUIRE_ISA=avx2,... turns a skip of a kernel
 * of these levels into a failure.
 *
 * SATTN_TEST_DIVISOR, set by the build, is 1 natively; emulated builds and builds with sanitizers
 * run only one in so many of the sampled steps. */
#ifndef SATTN_TESTS_SUPPORT_HARNESS_H
#define SATTN_TESTS_SUPPORT_HARNESS_H

#include "dispatch/registry.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct test_run {
    const sattn_kernel *kernel;
    uint64_t seed;
    const char *only_group; /* NULL: all */
    int64_t only_step;      /* -1: all */
    bool ends_at_failure;
    int64_t divisor;
    const char *group; /* the one that runs */
    int64_t step;      /* number of the step that runs, in its group */
    int64_t n_steps;   /* that ran, in this group */
    int64_t n_group_failures;
    int64_t n_total_steps, n_failures, n_not_run;
} test_run;

typedef struct test_group {
    const char *name;
    void (*run)(test_run *run);
} test_group;

/* For kernels of one op; test_main: of fused. */
int test_main_of(int argc, char **argv, sattn_op op, const test_group *groups, size_t n_groups);
int test_main(int argc, char **argv, const test_group *groups, size_t n_groups);
/* The op of the kernel on the command line; fused where there is none. */
sattn_op test_op_asked_for(int argc, char **argv);

/* How a step bears a division of the work. */
typedef enum test_weight {
    TEST_SAMPLED, /* one in `divisor` of them runs */
    TEST_ALWAYS,
} test_weight;

/* Starts the next step of the group; false: this one is not to run. */
bool test_step(test_run *run, test_weight weight);

/* Says why a group of this build has nothing to do; without it that is a failure. */
void test_not_run(test_run *run, const char *reason);

/* Reports a failure of the step that runs. */
void test_fail(test_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Memory that is there: without any, the program says so and ends. Freed with free(). */
void *test_allocate(size_t size);

/* A seed of the step's own. */
uint64_t test_step_seed(const test_run *run);

/* A stream of random numbers. */
typedef struct test_random {
    uint64_t seed, counter;
} test_random;

int64_t test_random_below(test_random *random, int64_t n); /* in [0, n) */
bool test_random_chance(test_random *random, int percent);

/* Floating-point control (rounding, flushing, exception masks), not the exception flags. */
uint64_t test_fp_control(void);
void test_fp_control_set(uint64_t control);
uint64_t test_fp_control_flushing(void); /* the present one, with denormals flushed to zero */

#endif
