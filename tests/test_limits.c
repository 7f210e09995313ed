/* SPDX-License-Identifier: MIT
 *
 * test_limits.c: the loops that bound kernels do the work that they say, on one thread and on
 * several. No check depends on how long anything takes. */
#include "bench/limits/limit_team.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { LOOP_FLOATS = 1000 }; /* no whole number of steps */

static bool level_usable(const char *isa)
{
    sattn_limit limit;
    return sattn_limit_init_fma(&limit, isa);
}

/* Each loop does at least the work it is asked for, and no more than a step of each thread beyond.
 */
static void check_work(sattn_limit_kind kind, const char *isa, int threads)
{
    static float from[LOOP_FLOATS], to[LOOP_FLOATS];
    const sattn_limit_buffer buffers[] = {{from, sizeof from / 2, to},
                                          {from + LOOP_FLOATS / 2, sizeof from / 2, to}};
    const sattn_limit_request request = {kind, isa, buffers, 2, threads};
    sattn_limit_team team;
    assert_true(sattn_limit_team_open(&team, &request));
    for (int64_t work = 1; work < 100000; work = work * 3 + 1) {
        sattn_limit_team_choose(&team, 1e-4);
        const int64_t done = sattn_limit_team_run(&team, work);
        assert_true(done >= work && done <= work + threads * 2 * (int64_t)sizeof from);
    }
    sattn_limit_team_close(&team);
}

static void test_limit_work(void **state)
{
    (void)state;
    size_t count;
    const sattn_limit_isa *const isas = sattn_limit_isas(&count);
    for (size_t i = 0; i < count; ++i)
        for (int kind = 0; level_usable(isas[i].name) && kind < SATTN_LIMIT_KINDS; ++kind)
            for (int threads = 1; threads <= 3; ++threads)
                check_work((sattn_limit_kind)kind, isas[i].name, threads);
    sattn_limit none;
    assert_false(sattn_limit_init_exp(&none, "no-such-level"));
    assert_false(sattn_limit_init_copy(&none, "scalar", NULL, 0));
    sattn_limit_team team;
    const sattn_limit_request unknown = {SATTN_LIMIT_FMA, "no-such-level", NULL, 0, 2};
    const sattn_limit_request empty = {SATTN_LIMIT_READ, "scalar", NULL, 0, 2};
    assert_false(sattn_limit_team_open(&team, &unknown));
    assert_false(sattn_limit_team_open(&team, &empty));
}

/* The parts of several threads are the buffer, each byte once, cut between lines. */
static void test_limit_parts(void **state)
{
    (void)state;
    static char bytes[10 * SATTN_READ_LINE + 7];
    for (size_t size = SATTN_READ_LINE * 4; size <= sizeof bytes; ++size) {
        const sattn_limit_buffer buffer = {.data = bytes, .bytes = size};
        const sattn_limit_request request = {SATTN_LIMIT_READ, "scalar", &buffer, 1, 4};
        sattn_limit_team team;
        assert_true(sattn_limit_team_open(&team, &request));
        const char *end = bytes;
        for (int t = 0; t < 4; ++t) {
            assert_ptr_equal(team.parts[t].data, end);
            assert_true(team.parts[t].bytes > 0 && (end - bytes) % SATTN_READ_LINE == 0);
            end += team.parts[t].bytes;
        }
        assert_ptr_equal(end, bytes + size);
        sattn_limit_team_choose(&team, 1e-4); /* one way for all threads */
        for (int t = 1; t < 4; ++t)
            assert_true(team.limits[t].streams == team.limits[0].streams &&
                        team.limits[t].prefetch == team.limits[0].prefetch);
        sattn_limit_team_close(&team);
    }
}

/* A copy loop copies every byte and no other, wherever it begins, with both kinds of store. */
static void test_copy(void **state)
{
    (void)state;
    enum { BYTES = 3000, EDGE = 70 };
    static unsigned char from[BYTES], to[BYTES + 2 * EDGE];
    for (int i = 0; i < BYTES; ++i)
        from[i] = (unsigned char)(i % 251 + 1);
    size_t count;
    const sattn_limit_isa *const isas = sattn_limit_isas(&count);
    for (size_t i = 0; i < count; ++i)
        for (size_t n = 0; level_usable(isas[i].name) && n <= BYTES; n += 1 + n / 3)
            for (size_t at = 1; at < EDGE; at += 23)
                for (int bypass = 0; bypass < 2; ++bypass) {
                    memset(to, 0, sizeof to);
                    isas[i].copy(to + at, from, n, bypass != 0);
                    assert_int_equal(memcmp(to + at, from, n), 0);
                    assert_int_equal(to[at - 1], 0);
                    assert_int_equal(to[at + n], 0);
                }
}

/* The exp loop computes what it says: all of its levels agree with the double result. */
static void test_exp_loop(void **state)
{
    (void)state;
    size_t count;
    const sattn_limit_isa *const isas = sattn_limit_isas(&count);
    for (size_t i = 0; i < count; ++i) {
        sattn_limit limit;
        if (!level_usable(isas[i].name))
            continue;
        assert_true(sattn_limit_init_exp(&limit, isas[i].name));
        assert_true(sattn_limit_run(&limit, 1) >= 1);
        for (int n = 0; n < SATTN_EXP_LOOP_FLOATS; ++n) {
            const double want = exp((double)limit.numbers[0][n]);
            assert_true(fabs((double)limit.numbers[1][n] - want) <= 4 * 0x1p-24 * want);
        }
    }
}

static void test_limit_names(void **state)
{
    (void)state;
    for (int a = SATTN_LIMIT_FMA; a < SATTN_LIMIT_KINDS; ++a) {
        assert_non_null(strstr(sattn_limit_unit((sattn_limit_kind)a), "/s"));
        for (int b = SATTN_LIMIT_FMA; b < a; ++b)
            assert_string_not_equal(sattn_limit_name((sattn_limit_kind)a),
                                    sattn_limit_name((sattn_limit_kind)b));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limit_work),  cmocka_unit_test(test_limit_parts),
        cmocka_unit_test(test_copy),        cmocka_unit_test(test_exp_loop),
        cmocka_unit_test(test_limit_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
