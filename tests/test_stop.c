/* SPDX-License-Identifier: MIT
 *
 * test_stop.c: the first signal is noted, the second one ends the program, and what was ignored
 * stays so. */
#define _POSIX_C_SOURCE 200809L /* fork, kill */

#include "bench/stop.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

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

static void test_second(void **state)
{
    (void)state;
    int status;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)signal(SIGINT, SIG_DFL); /* whatever this test's parent has */
        sattn_stop_begin();
        (void)raise(SIGINT);
        (void)raise(SIGINT);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_first), cmocka_unit_test(test_second),
                                       cmocka_unit_test(test_ignored)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
