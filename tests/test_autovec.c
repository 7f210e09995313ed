/* SPDX-License-Identifier: MIT
 *
 * test_autovec.c: what a run says of hand-written kernels against their autovec siblings: no more
 * than the rounds show, and nothing of rows that were not compared. */
#include "bench/bench/bench_autovec.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { HAND_FAST, HAND_SLOW, HAND_OPEN, AUTOVEC, SCALAR, N_ROWS };

typedef struct fixture {
    sattn_variant variants[N_ROWS];
    sattn_bench_row rows[N_ROWS];
    sattn_bench_job job;
    sattn_bench_jobs list;
} fixture;

static sattn_stat ratio_of(double low, double median, double high)
{
    return (sattn_stat){
        .median = median, .p10 = low, .p90 = high, .low = low, .high = high, .n = 20};
}

static void make(fixture *f)
{
    static const char *const names[N_ROWS] = {"fast", "slow", "open", "autovec", "scalar"};
    *f = (fixture){0};
    for (int r = 0; r < N_ROWS; ++r) {
        sattn_variant *const variant = &f->variants[r];
        snprintf(variant->name, sizeof variant->name, "%s", names[r]);
        variant->kind = SATTN_ROW_HAND;
        sattn_bench_row *const row = &f->rows[r];
        snprintf(row->name, sizeof row->name, "%s/shape/data/warm/t1", names[r]);
        row->variant = variant;
        row->is_ranked = true;
        row->state = SATTN_ROW_MEASURED;
        row->autovec = &f->rows[AUTOVEC];
    }
    f->variants[AUTOVEC].kind = SATTN_ROW_AUTOVEC;
    f->variants[SCALAR].kind = SATTN_ROW_SCALAR;
    f->rows[SCALAR].autovec = NULL;
    f->rows[HAND_FAST].over_autovec = ratio_of(3.8, 4, 4.1);
    f->rows[HAND_SLOW].over_autovec = ratio_of(0.9, 0.9375, 0.95);
    f->rows[HAND_OPEN].over_autovec = ratio_of(0.97, 0.99, 1.01);
    f->rows[AUTOVEC].over_autovec = ratio_of(0.5, 0.5, 0.5);
    f->job = (sattn_bench_job){.rows = f->rows, .n_rows = N_ROWS};
    f->list = (sattn_bench_jobs){.jobs = &f->job, .count = 1};
}

static void test_verdicts(void **state)
{
    (void)state;
    fixture f;
    make(&f);
    assert_int_equal(sattn_bench_against_autovec(&f.rows[HAND_FAST]), SATTN_AGAINST_FASTER);
    assert_int_equal(sattn_bench_against_autovec(&f.rows[HAND_SLOW]), SATTN_AGAINST_SLOWER);
    assert_int_equal(sattn_bench_against_autovec(&f.rows[HAND_OPEN]), SATTN_AGAINST_OPEN);
    assert_int_equal(sattn_bench_against_autovec(&f.rows[AUTOVEC]), SATTN_AGAINST_NOTHING);
    assert_int_equal(sattn_bench_against_autovec(&f.rows[SCALAR]), SATTN_AGAINST_NOTHING);
    f.rows[HAND_SLOW].over_autovec.n = 5; /* too few rounds for an interval */
    assert_int_equal(sattn_bench_against_autovec(&f.rows[HAND_SLOW]), SATTN_AGAINST_OPEN);
    f.rows[HAND_FAST].autovec = NULL;
    assert_int_equal(sattn_bench_against_autovec(&f.rows[HAND_FAST]), SATTN_AGAINST_NOTHING);
    f.rows[HAND_OPEN].state = SATTN_ROW_FAILED;
    assert_int_equal(sattn_bench_against_autovec(&f.rows[HAND_OPEN]), SATTN_AGAINST_NOTHING);
    assert_null(sattn_against_name(SATTN_AGAINST_NOTHING));
    assert_string_equal(sattn_against_name(SATTN_AGAINST_SLOWER), "slower");
}

static void expect_text(const fixture *f, const char *want)
{
    char text[1024];
    FILE *const file = tmpfile();
    assert_non_null(file);
    sattn_bench_print_autovec(&f->list, file);
    rewind(file);
    const size_t n = fread(text, 1, sizeof text - 1, file);
    assert_int_equal(ferror(file), 0);
    fclose(file);
    text[n] = '\0';
    assert_string_equal(text, want);
}

static void test_text(void **state)
{
    (void)state;
    fixture f;
    make(&f);
    expect_text(&f,
                "hand-written against autovec: 1 faster, 1 SLOWER, 1 undecided (no 95 % interval "
                "that excludes equal speed)\n"
                "SLOWER: slow/shape/data/warm/t1 at 0.938x the speed of autovec (95 % interval "
                "0.900 to 0.950, 20 rounds)\n");
    snprintf(f.rows[AUTOVEC].part, sizeof f.rows[AUTOVEC].part, "3 of 16 heads");
    f.rows[HAND_SLOW].measured.status = SATTN_MEASURE_TAINTED;
    f.rows[HAND_OPEN].over_autovec = f.rows[HAND_FAST].over_autovec;
    expect_text(&f,
                "hand-written against autovec: 2 faster, 1 SLOWER\n"
                "SLOWER: slow/shape/data/warm/t1 at ~0.938x the speed of autovec (95 % interval "
                "0.900 to 0.950, 20 rounds; scaled from 3 of 16 heads)\n");
    f.rows[HAND_SLOW].is_ranked = false;
    expect_text(&f,
                "hand-written against autovec: 2 faster, 1 SLOWER\n"
                "SLOWER: slow/shape/data/warm/t1 at ~0.938x the speed of autovec (95 % interval "
                "0.900 to 0.950, 20 rounds; scaled from 3 of 16 heads; run by name, not ranked "
                "for this shape)\n");
    f.rows[HAND_SLOW].over_autovec = f.rows[HAND_FAST].over_autovec;
    expect_text(&f, "hand-written against autovec: 3 faster, none slower\n");
    for (int r = 0; r < AUTOVEC; ++r)
        f.rows[r].autovec = NULL;
    expect_text(&f, "");
    f.list.count = 0;
    expect_text(&f, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
