/* SPDX-License-Identifier: MIT
 *
 * test_visibility.c: the interval of keys that a row can see (kernels/visibility.h), against the
 * contract's three conditions tried key by key in arithmetic that does not overflow. */
#include "kernels/visibility.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

__extension__ typedef __int128 wide; /* gcc and clang have it on every 64-bit target */

static const int64_t far[] = {INT64_MIN,
                              INT64_MIN + 1,
                              INT64_MIN + 7,
                              INT64_MIN / 2,
                              INT64_MIN / 2 - 1,
                              -((int64_t)1 << 32),
                              -100,
                              -41,
                              -8,
                              -7,
                              -2,
                              -1,
                              0,
                              1,
                              2,
                              6,
                              7,
                              8,
                              40,
                              100,
                              (int64_t)1 << 32,
                              INT64_MAX / 2,
                              INT64_MAX / 2 + 1,
                              INT64_MAX - 7,
                              INT64_MAX - 1,
                              INT64_MAX};

enum { N_FAR = sizeof far / sizeof far[0] };

static bool is_seen(const sattn_visibility *v, int64_t i, int64_t j)
{
    const wide self = (wide)i + v->causal_offset;
    if (j < 0 || j >= v->n_k || (v->causal && j > self))
        return false;
    if (!v->has_window)
        return true;
    return (v->window_left < 0 || j >= self - v->window_left) &&
           (v->window_right < 0 || j <= self + v->window_right);
}

/* Tries keys [first, first + n). */
static void check_keys(const sattn_visibility *v, int64_t i, int64_t first, int64_t n)
{
    const sattn_key_range range = sattn_visible_range(v, i);
    for (int64_t j = first; j - first < n; ++j)
        assert_int_equal(j >= range.begin && j < range.end, is_seen(v, i, j));
    assert_true(range.begin >= 0 && range.begin <= range.end && range.end <= v->n_k);
}

/* The limits of one row tell those of the rows after it, as a strip of a fused kernel reads them.
 */
static void check_steps(const sattn_visibility *v, int64_t i)
{
    static const int64_t steps[] = {0, 1, 40, SATTN_TILE_QUERIES_MAX - 1};
    const int64_t low = -SATTN_TILE_QUERIES_MAX;
    const sattn_key_range limits = sattn_limits(v, i);
    const int64_t first = limits.begin < low ? low : limits.begin < v->n_k ? limits.begin : v->n_k;
    const int64_t last = limits.end < low ? low : limits.end < v->n_k ? limits.end : v->n_k;
    for (size_t at = 0; at < sizeof steps / sizeof steps[0]; ++at) {
        if (i > INT64_MAX - steps[at])
            continue;
        for (int64_t j = 0; j < v->n_k; ++j)
            assert_int_equal(j >= first + steps[at] && j < last + steps[at],
                             is_seen(v, i + steps[at], j));
    }
}

/* All numbers that decide, on both sides of where they begin to decide. */
static void test_extremes(void **state)
{
    (void)state;
    static const int64_t rows[] = {0, 1, 6, 40, (int64_t)1 << 40, INT64_MAX - 1, INT64_MAX};
    static const int64_t lengths[] = {0, 1, 8, 41};
    for (int at = 0; at < N_FAR * N_FAR * N_FAR; ++at) {
        sattn_visibility v = {.causal_offset = far[at % N_FAR],
                              .window_left = far[at / N_FAR % N_FAR],
                              .window_right = far[at / N_FAR / N_FAR]};
        if (v.window_left < -1 || v.window_right < -1)
            continue;
        for (int kind = 0; kind < 4; ++kind)
            for (size_t row = 0; row < sizeof rows / sizeof rows[0]; ++row)
                for (size_t length = 0; length < sizeof lengths / sizeof lengths[0]; ++length) {
                    v.causal = kind & 1;
                    v.has_window = kind & 2;
                    v.n_k = lengths[length];
                    check_keys(&v, rows[row], 0, v.n_k);
                    check_steps(&v, rows[row]);
                }
    }
}

/* More keys than can be tried: those at both ends, and around the row's own place. */
static void test_most_keys(void **state)
{
    (void)state;
    for (int at = 0; at < N_FAR * N_FAR; ++at)
        for (int kind = 0; kind < 4; ++kind) {
            const int64_t width = far[at / N_FAR];
            const sattn_visibility v = {.n_k = INT64_MAX,
                                        .causal = kind & 1,
                                        .has_window = kind & 2,
                                        .causal_offset = far[at % N_FAR],
                                        .window_left = width < -1 ? -1 : width,
                                        .window_right = width < -1 ? 3 : width};
            check_keys(&v, 5, 0, 60);
            check_keys(&v, 5, INT64_MAX - 60, 60);
            check_keys(&v, INT64_MAX, INT64_MAX / 2 - 30, 60);
            if (v.causal_offset > 100 && v.causal_offset < INT64_MAX - 100)
                check_keys(&v, 5, v.causal_offset - 30, 60);
        }
}

/* Every small case. */
static void test_small(void **state)
{
    (void)state;
    for (int64_t n_k = 0; n_k <= 6; ++n_k)
        for (int64_t offset = -8; offset <= 8; ++offset)
            for (int64_t left = -1; left <= 7; ++left)
                for (int64_t right = -1; right <= 7; ++right)
                    for (int at = 0; at < 4 * 7; ++at) {
                        const sattn_visibility v = {.n_k = n_k,
                                                    .causal = at & 1,
                                                    .has_window = at & 2,
                                                    .causal_offset = offset,
                                                    .window_left = left,
                                                    .window_right = right};
                        check_keys(&v, at / 4, 0, n_k);
                        check_steps(&v, at / 4);
                    }
}

/* An empty interval has one form, so that loops from begin to end are safe whatever they add. */
static void test_empty(void **state)
{
    (void)state;
    const sattn_visibility before = {.n_k = 9, .causal = true, .causal_offset = INT64_MIN};
    const sattn_visibility behind = {
        .n_k = 9, .has_window = true, .causal_offset = INT64_MAX, .window_right = -1};
    const sattn_visibility none = {.n_k = 0};
    const sattn_visibility *const all[] = {&before, &behind, &none};
    for (int at = 0; at < 3; ++at) {
        const sattn_key_range range = sattn_visible_range(all[at], 3);
        assert_true(range.begin == 0 && range.end == 0);
    }
}

static void test_held_sums(void **state)
{
    (void)state;
    for (int at = 0; at < N_FAR * N_FAR; ++at) {
        const int64_t a = far[at % N_FAR];
        const int64_t b = far[at / N_FAR];
        const wide sum = (wide)a + b;
        const wide held = sum > INT64_MAX ? INT64_MAX : sum < INT64_MIN ? INT64_MIN : sum;
        assert_true(sattn_add_held(a, b) == held);
    }
}

static void test_mask_rows(void **state)
{
    (void)state;
    static const uint8_t bytes[100];
    static const float floats[100];
    const sattn_visibility none = {0};
    const sattn_visibility boolean = {
        .mask_bool = bytes, .mask_group_stride = 20, .mask_row_stride = 3};
    const sattn_visibility additive = {
        .mask_add = floats, .mask_group_stride = 0, .mask_row_stride = 7};
    assert_null(sattn_mask_bool_row(&none, 2, 3));
    assert_null(sattn_mask_add_row(&none, 2, 3));
    assert_ptr_equal(sattn_mask_bool_row(&boolean, 2, 3), bytes + 49);
    assert_null(sattn_mask_add_row(&boolean, 2, 3));
    assert_ptr_equal(sattn_mask_add_row(&additive, 2, 3), floats + 21);
    assert_null(sattn_mask_bool_row(&additive, 2, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_extremes),  cmocka_unit_test(test_most_keys),
        cmocka_unit_test(test_small),     cmocka_unit_test(test_empty),
        cmocka_unit_test(test_held_sums), cmocka_unit_test(test_mask_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
