/* SPDX-License-Identifier: MIT
 *
 * test_stop.c: the first signal is noted, the same one sent again at once is not a second one, a
 * second one ends the program, and what was ignored stays so. The clock is the test's own. */
#define _POSIX_C_SOURCE 200809L /* fork, kill */

#include "bench/measure/clock.h"
#include "bench/stop.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { HALF_A_SECOND = 500000000 };

static int64_t now_ns = 1;

int64_t sattn_now_ns(void)
{
    return now_ns;
}

static void test_first(void **state)
{
    (void)state;
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t s = 0; s < sizeof signals / sizeof signals[0]; ++s) {
        sattn_stop_begin();
        assert_false(sattn_stop_asked());
        assert_int_equal(raise(signals[s]), 0);
        assert_true(sattn_stop_asked());
        assert_int_equal(sattn_stop_signal(), signals[s]);
        sattn_stop_end();
        assert_true(sattn_stop_asked());
    }
}

/* How a child ends that gets SIGINT, and SIGTERM some time later and once more at once. */
static int status_of_child(int64_t later_ns)
{
    int status;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)signal(SIGINT, SIG_DFL); /* whatever this test's parent has */
        (void)signal(SIGTERM, SIG_DFL);
        sattn_stop_begin();
        (void)raise(SIGINT);
        now_ns += later_ns;
        (void)raise(SIGTERM);
        (void)raise(SIGTERM);
        _exit(sattn_stop_signal());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void test_again(void **state)
{
    (void)state;
    static const int64_t later[] = {0, HALF_A_SECOND - 1};
    for (size_t i = 0; i < sizeof later / sizeof later[0]; ++i) {
        const int status = status_of_child(later[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == SIGINT);
    }
}

static void test_second(void **state)
{
    (void)state;
    static const int64_t later[] = {HALF_A_SECOND, (int64_t)60 * 2 * HALF_A_SECOND};
    for (size_t i = 0; i < sizeof later / sizeof later[0]; ++i) {
        const int status = status_of_child(later[i]);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    }
}

static volatile sig_atomic_t n_own;

static void own(int number)
{
    (void)number;
    ++n_own;
}

/* A second signal does what it did before; the first one of the next time is a first one again. */
static void test_handler(void **state)
{
    (void)state;
    assert_true(signal(SIGINT, own) != SIG_ERR);
    for (int turn = 1; turn <= 2; ++turn) {
        sattn_stop_begin();
        assert_int_equal(raise(SIGINT), 0);
        assert_int_equal(n_own, turn - 1);
        now_ns += HALF_A_SECOND;
        assert_int_equal(raise(SIGINT), 0);
        assert_int_equal(n_own, turn);
        sattn_stop_end();
    }
    assert_true(signal(SIGINT, SIG_DFL) == own);
}

static void test_ignored(void **state)
{
    (void)state;
    assert_true(signal(SIGHUP, SIG_IGN) != SIG_ERR);
    sattn_stop_begin();
    assert_int_equal(raise(SIGHUP), 0);
    assert_false(sattn_stop_asked());
    sattn_stop_end();
    assert_true(signal(SIGHUP, SIG_DFL) == SIG_IGN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first), cmocka_unit_test(test_again), cmocka_unit_test(test_second),
        cmocka_unit_test(test_handler), cmocka_unit_test(test_ignored)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
