/* SPDX-License-Identifier: MIT
 *
 * harness.c: command line, case loop, skips and failure reports. */
#define _POSIX_C_SOURCE 200809L /* sigaction, unsetenv */
#include "tests/support/harness.h"

#include "bench/verify/inputs.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#ifndef SATTN_TEST_DIVISOR
#define SATTN_TEST_DIVISOR 1
#endif

enum {
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_SKIPPED = 77,
    REPORTS_PER_GROUP = 3, /* failures that are printed; all are counted */
};

static const char *program_name = "test";
static char reproduction[512] = "reproduce: (no step was running)\n";

static void on_signal(int number)
{
    static const char what[] = "FAIL: stopped by a signal (an access outside the operands?)\n";
    ssize_t written = write(STDERR_FILENO, what, sizeof what - 1);
    written += write(STDERR_FILENO, reproduction, strlen(reproduction));
    _exit(written > 0 ? 128 + number : EXIT_FAILED);
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    const int numbers[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i)
        sigaction(numbers[i], &action, NULL);
}

static uint64_t hash_text(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (; *text; ++text)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash;
}

uint64_t test_step_seed(const test_run *run)
{
    return sattn_random_bits(run->seed, hash_text(run->group), (uint64_t)run->step);
}

void *test_allocate(size_t size)
{
    void *const memory = malloc(size ? size : 1);
    if (!memory) {
        fprintf(stderr, "%s: no memory for %zu bytes\n", program_name, size);
        exit(EXIT_USAGE);
    }
    return memory;
}

bool test_step(test_run *run, test_weight weight)
{
    ++run->step;
    if (run->only_step >= 0 && run->step != run->only_step)
        return false;
    const bool is_due = run->step == 0 || run->divisor <= 1 || weight == TEST_ALWAYS ||
                        run->only_step >= 0 || test_step_seed(run) % (uint64_t)run->divisor == 0;
    if (!is_due)
        return false;
    ++run->n_steps;
    snprintf(reproduction, sizeof reproduction,
             "reproduce: %s --kernel=%s --seed=%llu --group=%s --step=%lld\n", program_name,
             run->kernel->name, (unsigned long long)run->seed, run->group, (long long)run->step);
    return true;
}

void test_not_run(test_run *run, const char *reason)
{
    printf("%s: not run: %s\n", run->group, reason);
    ++run->n_not_run;
    ++run->n_steps;
}

void test_fail(test_run *run, const char *format, ...)
{
    ++run->n_failures;
    if (++run->n_group_failures > REPORTS_PER_GROUP)
        return;
    fprintf(stderr, "FAIL %s, %s step %lld: ", run->kernel->name, run->group, (long long)run->step);
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\n%s", reproduction);
    if (run->ends_at_failure)
        exit(EXIT_FAILED);
}

static void run_group(test_run *run, const test_group *group)
{
    run->group = group->name;
    run->step = -1;
    run->n_steps = 0;
    run->n_group_failures = 0;
    group->run(run);
    if (run->n_steps == 0)
        test_fail(run, "the group compared nothing");
    if (run->n_group_failures > REPORTS_PER_GROUP)
        fprintf(stderr, "%s: %lld failures in all\n", run->group, (long long)run->n_group_failures);
    run->n_total_steps += run->n_steps;
}

/* Calls `each` with every item of a comma list; false as soon as it returns false. */
static bool for_each_item(const char *list, bool (*each)(const char *item, void *user), void *user)
{
    char item[128];
    while (list && *list) {
        const size_t length = strcspn(list, ",");
        if (length >= sizeof item)
            return false;
        memcpy(item, list, length);
        item[length] = '\0';
        if (length > 0 && !each(item, user))
            return false;
        list += length + (list[length] == ',');
    }
    return true;
}

/* A required level must be one of this architecture and have a kernel in this build. */
static bool has_kernels(const char *isa, void *user)
{
    (void)user;
    size_t count;
    const sattn_kernel *const rows = sattn_registry(&count);
    for (size_t i = 0; i < count; ++i)
        if (strcmp(sattn_isa_name(rows[i].needs), isa) == 0)
            return true;
    fprintf(stderr, "FAIL: SATTN_REQUIRE_ISA asks for '%s', but this build has no such kernel\n",
            isa);
    return false;
}

static bool is_other_item(const char *item, void *user)
{
    return strcmp(item, user) != 0;
}

static bool contains(const char *list, const char *item)
{
    char copy[128];
    snprintf(copy, sizeof copy, "%s", item);
    return !for_each_item(list, is_other_item, copy);
}

static int skip(const sattn_kernel *kernel)
{
    char missing[256];
    sattn_features_print(kernel->needs & ~sattn_cpu_this()->usable, missing, sizeof missing);
    const char *const isa = sattn_isa_name(kernel->needs);
    const bool is_required = contains(getenv("SATTN_REQUIRE_ISA"), isa);
    fprintf(is_required ? stderr : stdout, "%s: %s: this machine lacks %s\n",
            is_required ? "FAIL, skipped although required" : "skipped", kernel->name, missing);
    return is_required ? EXIT_FAILED : EXIT_SKIPPED;
}

typedef struct cover {
    sattn_op op;
    int n_named;
} cover;

static bool is_row(const char *name, void *user)
{
    cover *const covered = user;
    ++covered->n_named;
    const sattn_kernel *const kernel = sattn_kernel_by_name(name);
    if (kernel && kernel->op == covered->op)
        return true;
    fprintf(stderr, "FAIL: %s has a test of %s, but is no such row of the registry\n", name,
            sattn_op_name(covered->op));
    return false;
}

static int check_cover(const char *names, sattn_op op)
{
    size_t count;
    const sattn_kernel *const rows = sattn_registry(&count);
    cover covered = {.op = op};
    bool good = for_each_item(names, is_row, &covered);
    for (size_t i = 0; i < count; ++i)
        if (rows[i].op == op && !contains(names, rows[i].name)) {
            fprintf(stderr, "FAIL: %s is a row of the registry, but has no test\n", rows[i].name);
            good = false;
        }
    printf("%d rows with tests of their own\n", covered.n_named);
    return good && covered.n_named > 0 ? 0 : EXIT_FAILED;
}

static int usage(const char *argument)
{
    fprintf(stderr,
            "%s: '%s' not understood\n"
            "usage: %s --kernel=NAME [--seed=N] [--group=NAME [--step=N]] [--first]\n"
            "     | --list | --covers=A,B\n",
            program_name, argument, program_name);
    return EXIT_USAGE;
}

static bool parse_number(const char *text, int64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoll(text, &end, 10);
    return end != text && *end == '\0' && errno == 0 && *number >= 0;
}

static int run_all(test_run *run, const test_group *groups, size_t n_groups)
{
    bool any = false;
    for (size_t i = 0; i < n_groups; ++i)
        if (!run->only_group || strcmp(run->only_group, groups[i].name) == 0) {
            run_group(run, &groups[i]);
            any = true;
        }
    if (!any)
        return usage(run->only_group);
    printf("%s: %lld steps, %lld failures, %lld groups not run; seed %llu, one in %lld sampled\n",
           run->kernel->name, (long long)run->n_total_steps, (long long)run->n_failures,
           (long long)run->n_not_run, (unsigned long long)run->seed, (long long)run->divisor);
    return run->n_failures == 0 && run->n_total_steps > 0 ? 0 : EXIT_FAILED;
}

int test_main_of(int argc, char **argv, sattn_op op, const test_group *groups, size_t n_groups)
{
    test_run run = {.seed = 1, .only_step = -1, .divisor = SATTN_TEST_DIVISOR};
    const char *kernel = NULL;
    int64_t number;
    program_name = argv[0];
    for (int i = 1; i < argc; ++i) {
        const char *const value = strchr(argv[i], '=') ? strchr(argv[i], '=') + 1 : "";
        if (strncmp(argv[i], "--kernel=", 9) == 0)
            kernel = value;
        else if (strncmp(argv[i], "--seed=", 7) == 0 && parse_number(value, &number))
            run.seed = (uint64_t)number;
        else if (strncmp(argv[i], "--group=", 8) == 0)
            run.only_group = value;
        else if (strncmp(argv[i], "--step=", 7) == 0 && parse_number(value, &number))
            run.only_step = number;
        else if (strncmp(argv[i], "--covers=", 9) == 0)
            return check_cover(value, op);
        else if (strcmp(argv[i], "--first") == 0)
            run.ends_at_failure = true;
        else if (strcmp(argv[i], "--list") == 0) {
            for (size_t g = 0; g < n_groups; ++g)
                puts(groups[g].name);
            return 0;
        } else
            return usage(argv[i]);
    }
    run.kernel = kernel ? sattn_kernel_by_name(kernel) : NULL;
    if (!run.kernel || run.kernel->op != op)
        return usage(kernel ? kernel : "no --kernel");
    unsetenv("SATTN_KERNEL");
    unsetenv("SATTN_ISA");
    if (!for_each_item(getenv("SATTN_REQUIRE_ISA"), has_kernels, NULL))
        return EXIT_FAILED;
    if (run.kernel->needs & ~sattn_cpu_this()->usable)
        return skip(run.kernel);
    catch_signals();
    return run_all(&run, groups, n_groups);
}

int test_main(int argc, char **argv, const test_group *groups, size_t n_groups)
{
    return test_main_of(argc, argv, SATTN_OP_fused, groups, n_groups);
}

sattn_op test_op_asked_for(int argc, char **argv)
{
    for (int i = 1; i < argc; ++i) {
        const bool is_name = strncmp(argv[i], "--kernel=", 9) == 0;
        const sattn_kernel *const kernel = is_name ? sattn_kernel_by_name(argv[i] + 9) : NULL;
        if (kernel)
            return kernel->op;
    }
    return SATTN_OP_fused;
}

int64_t test_random_below(test_random *random, int64_t n)
{
    return (int64_t)(sattn_random_bits(random->seed, 0, random->counter++) % (uint64_t)n);
}

bool test_random_chance(test_random *random, int percent)
{
    return test_random_below(random, 100) < percent;
}

#if defined(__SSE__)
uint64_t test_fp_control(void)
{
    return _mm_getcsr() & 0xffc0u; /* bits 0 to 5 are the exception flags */
}

void test_fp_control_set(uint64_t control)
{
    _mm_setcsr((unsigned)control);
}

uint64_t test_fp_control_flushing(void)
{
    return test_fp_control() | 0x8040u; /* FTZ and DAZ */
}
#elif defined(__aarch64__)
uint64_t test_fp_control(void)
{
    uint64_t control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    return control;
}

void test_fp_control_set(uint64_t control)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(control));
}

uint64_t test_fp_control_flushing(void)
{
    return test_fp_control() | (uint64_t)1 << 24; /* FZ */
}
#else
uint64_t test_fp_control(void)
{
    return 0;
}

void test_fp_control_set(uint64_t control)
{
    (void)control;
}

uint64_t test_fp_control_flushing(void)
{
    return 0;
}
#endif
