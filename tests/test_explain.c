/* SPDX-License-Identifier: MIT
 *
 * test_explain.c: what `simdattn explain` makes of candidates, of result files and of profiles from
 * elsewhere. */
#include "bench/explain/explain_profile.h"
#include "bench/explain/explain_results.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* ---- candidates */

static const double unknown = (double)NAN;

static sattn_candidate candidate(double time_ns, double error, const char *reason)
{
    return (sattn_candidate){.plan = "fused",
                             .kernels = "sattn_fused_f32_scalar",
                             .is_eligible = true,
                             .reason = reason,
                             .time_ns = time_ns,
                             .time_p10_ns = time_ns,
                             .time_p90_ns = time_ns,
                             .samples = 5,
                             .error = error,
                             .error_bound = 10};
}

enum { CANDIDATES = 8 };

/* A default that is not taken; the one taken, not the fastest; a faster one; one that is slower and
 * more exact; two not measured; one too inexact; one that lacks features. */
static void make_rows(sattn_candidate candidates[CANDIDATES], sattn_explain_row rows[CANDIDATES])
{
    candidates[0] = candidate(300, 1.0, "slower");
    candidates[1] = candidate(200, 1.0, "");
    candidates[2] = candidate(198, 1.5, "within the spread");
    candidates[3] = candidate(400, 0.5, "slower");
    candidates[4] = candidate(unknown, unknown, "another is before it");
    candidates[5] = candidate(unknown, unknown, "another is before it");
    candidates[6] = candidate(50, 99, "too inexact");
    candidates[7] = candidate(unknown, unknown, "lacks features");
    candidates[0].is_default = candidates[1].is_taken = true;
    candidates[6].is_eligible = candidates[7].is_eligible = false;
    candidates[4].key_splits = 1;
    candidates[5].plan = "chain";
    candidates[5].kernels = "sattn_qk_f32_scalar,sattn_softmax_f32_scalar,sattn_av_f32_scalar";
    const sattn_explanation e = {.n_candidates = CANDIDATES, .candidates = candidates};
    sattn_explain_rows_begin(SATTN_CALL_ATTENTION, &e, rows);
}

static void test_names(void **state)
{
    (void)state;
    sattn_candidate candidates[CANDIDATES];
    sattn_explain_row rows[CANDIDATES];
    make_rows(candidates, rows);
    assert_string_equal(rows[0].name, "fused_scalar");
    assert_string_equal(rows[4].name, "fused_scalar in 1 key range");
    assert_string_equal(rows[5].name, "chain_scalar");
}

static void test_front(void **state)
{
    (void)state;
    sattn_candidate candidates[CANDIDATES];
    sattn_explain_row rows[CANDIDATES];
    make_rows(candidates, rows);
    sattn_explain_find_front(rows, CANDIDATES, SATTN_EXPLAIN_PROFILE);
    const bool expected[CANDIDATES] = {[1] = true, [2] = true, [3] = true};
    for (int r = 0; r < CANDIDATES; ++r)
        assert_int_equal(rows[r].figures[SATTN_EXPLAIN_PROFILE].is_on_front, expected[r]);
    rows[2].figures[SATTN_EXPLAIN_PROFILE].time_ns = 200; /* as fast, and less exact */
    sattn_explain_find_front(rows, CANDIDATES, SATTN_EXPLAIN_PROFILE);
    assert_false(rows[2].figures[SATTN_EXPLAIN_PROFILE].is_on_front);
    rows[2].figures[SATTN_EXPLAIN_PROFILE].error = 1; /* equal: neither is better */
    sattn_explain_find_front(rows, CANDIDATES, SATTN_EXPLAIN_PROFILE);
    assert_true(rows[1].figures[SATTN_EXPLAIN_PROFILE].is_on_front);
    assert_true(rows[2].figures[SATTN_EXPLAIN_PROFILE].is_on_front);
}

static void check_order(const sattn_explain_row *rows, const sattn_candidate *candidates,
                        const int *order)
{
    for (int r = 0; r < CANDIDATES; ++r)
        assert_int_equal(rows[r].candidate - candidates, order[r]);
}

static void test_order(void **state)
{
    (void)state;
    sattn_candidate candidates[CANDIDATES];
    sattn_explain_row rows[CANDIDATES];
    const int by_profile[CANDIDATES] = {1, 2, 0, 3, 4, 5, 6, 7};
    const int by_results[CANDIDATES] = {1, 5, 2, 0, 3, 4, 6, 7};
    make_rows(candidates, rows);
    sattn_explain_sort(rows, CANDIDATES, SATTN_EXPLAIN_PROFILE);
    check_order(rows, candidates, by_profile);
    for (int r = 0; r < CANDIDATES; ++r)
        if (rows[r].candidate == &candidates[5])
            rows[r].figures[SATTN_EXPLAIN_RESULTS].time_ns = 7;
    sattn_explain_sort(rows, CANDIDATES, SATTN_EXPLAIN_RESULTS);
    check_order(rows, candidates, by_results);
}

static void test_groups(void **state)
{
    (void)state;
    sattn_candidate candidates[CANDIDATES];
    sattn_explain_row rows[CANDIDATES];
    make_rows(candidates, rows);
    static const sattn_explain_section sections[CANDIDATES] = {[4] = SATTN_EXPLAIN_NOT_MEASURED,
                                                               [5] = SATTN_EXPLAIN_NOT_MEASURED,
                                                               [6] = SATTN_EXPLAIN_NOT_ELIGIBLE,
                                                               [7] = SATTN_EXPLAIN_NOT_ELIGIBLE};
    for (int r = 0; r < CANDIDATES; ++r)
        assert_int_equal(sattn_explain_section_of(&rows[r]), sections[r]);
    assert_int_equal(sattn_explain_group_of(rows, 4), 4);
    assert_int_equal(sattn_explain_group_of(rows, 5), 4);
    assert_int_equal(sattn_explain_group_of(rows, 7), 7);
    candidates[7].reason = candidates[4].reason; /* another section, another group */
    assert_int_equal(sattn_explain_group_of(rows, 7), 7);
    candidates[4].is_taken = true; /* it is shown, measured or not */
    assert_int_equal(sattn_explain_section_of(&rows[4]), SATTN_EXPLAIN_SHOWN);
    assert_int_equal(sattn_explain_group_of(rows, 5), 5);
}

/* ---- result files */

static const sattn_environment here = {.cpu_model = "A CPU",
                                       .build = {.kernel_hash = "0123", .compiler = "cc 1.0"}};

static void test_context(void **state)
{
    (void)state;
    static const char *const keys[] = {"simdattn_cpu_model", "simdattn_kernel_hash",
                                       "simdattn_compiler"};
    char note[SATTN_EXPLAIN_NOTE];
    json_t *const context =
        json_pack("{s:s,s:s,s:s}", keys[0], "A CPU", keys[1], "0123", keys[2], "cc 1.0");
    assert_true(sattn_explain_is_of_here(context, &here, note));
    for (size_t k = 0; k < COUNT(keys); ++k)
        for (int change = 0; change < 3; ++change) {
            json_t *const other = json_copy(context);
            if (change == 0)
                json_object_set_new(other, keys[k], json_string("other"));
            else if (change == 1)
                json_object_set_new(other, keys[k], json_null());
            else
                json_object_del(other, keys[k]);
            assert_false(sattn_explain_is_of_here(other, &here, note));
            assert_non_null(strstr(note, keys[k]));
            json_decref(other);
        }
    sattn_environment nameless = here; /* two that are not known need not be the same */
    snprintf(nameless.cpu_model, sizeof nameless.cpu_model, "unknown");
    json_object_set_new(context, keys[0], json_string("unknown"));
    assert_false(sattn_explain_is_of_here(context, &nameless, note));
    json_decref(context);
}

static json_t *result_row(const char *kernel, const char *kernels)
{
    json_t *const row =
        json_pack("{s:s,s:s,s:s,s:s,s:i,s:s,s:s,s:f,s:f,s:f,s:i,s:f,s:f}", "run_type", "aggregate",
                  "simdattn_op", "fused", "simdattn_cache", "warm", "simdattn_shape_text",
                  "B=1 D=8", "threads", 2, "simdattn_kernel", kernel, "simdattn_status", "ok",
                  "simdattn_time_ns", 90.0, "simdattn_time_ns_p10", 80.0, "simdattn_time_ns_p90",
                  100.0, "simdattn_time_ns_n", 30, "simdattn_err", 0.25, "simdattn_err_bound", 8.0);
    if (kernels)
        json_object_set_new(row, "simdattn_kernels", json_string(kernels));
    return row;
}

static void test_row_for(void **state)
{
    (void)state;
    static const struct {
        const char *key, *value;
    } others[] = {{"run_type", "iteration"},
                  {"simdattn_op", "chain"},
                  {"simdattn_cache", "cold"},
                  {"simdattn_shape_text", "B=2 D=8"},
                  {"simdattn_kernel", "sattn_fused_f32_avx2"},
                  {"simdattn_kernels", "sattn_fused_f32_scalar,sattn_fused_f32_avx2"},
                  {"simdattn_status", "invalid: faster than its limit allows"}};
    const sattn_explain_wanted wanted = {.op = "", .shape = "B=1 D=8", .threads = 2};
    sattn_candidate c = candidate(unknown, unknown, "");
    json_t *const rows = json_array();
    assert_null(sattn_explain_row_for(rows, &wanted, &c));
    for (size_t i = 0; i < COUNT(others); ++i) {
        json_t *const row = result_row(c.kernels, NULL);
        json_object_set_new(row, others[i].key, json_string(others[i].value));
        json_array_append_new(rows, row);
    }
    json_t *const on_one_thread = result_row(c.kernels, NULL);
    json_object_set_new(on_one_thread, "threads", json_integer(1));
    json_array_append_new(rows, on_one_thread);
    json_t *const without_time = result_row(c.kernels, NULL);
    json_object_set_new(without_time, "simdattn_time_ns", json_null());
    json_array_append_new(rows, without_time);
    assert_null(sattn_explain_row_for(rows, &wanted, &c));
    json_array_append_new(rows, result_row(c.kernels, NULL));
    json_array_append_new(rows, result_row(c.kernels, NULL)); /* other data: the first counts */
    const size_t good = json_array_size(rows) - 2;
    assert_ptr_equal(sattn_explain_row_for(rows, &wanted, &c), json_array_get(rows, good));
    json_object_set_new(json_array_get(rows, good), "simdattn_status",
                        json_string("tainted: too few windows"));
    assert_ptr_equal(sattn_explain_row_for(rows, &wanted, &c), json_array_get(rows, good));
    c.key_splits = 2;
    assert_null(sattn_explain_row_for(rows, &wanted, &c));
    c = candidate(unknown, unknown, ""); /* "avx2 does the last rows", as the row of one name */
    c.kernels = others[5].value;
    assert_ptr_equal(sattn_explain_row_for(rows, &wanted, &c), json_array_get(rows, 5));
    json_decref(rows);
}

static void test_figures(void **state)
{
    (void)state;
    sattn_candidate candidates[CANDIDATES];
    sattn_explain_row rows[CANDIDATES];
    const sattn_explain_wanted wanted = {.op = "", .shape = "B=1 D=8", .threads = 2};
    make_rows(candidates, rows);
    json_t *const benchmarks = json_array();
    json_t *const chain = result_row("chain_scalar", candidates[5].kernels);
    json_object_set_new(chain, "simdattn_op", json_string("chain"));
    json_object_set_new(chain, "simdattn_status", json_string("tainted: too few windows"));
    json_array_append_new(benchmarks, chain);
    sattn_explain_results results = {.document = json_pack("{s:o}", "benchmarks", benchmarks)};
    sattn_explain_results_take(&results, &wanted, rows, CANDIDATES);
    const sattn_explain_figures *const f = &rows[5].figures[SATTN_EXPLAIN_RESULTS];
    assert_int_equal(results.n_taken, 1);
    assert_true(f->time_ns == 90 && f->time_p10_ns == 80 && f->time_p90_ns == 100);
    assert_true(f->samples == 30 && f->error == 0.25 && f->error_bound == 8);
    assert_true(f->is_tainted && f->is_on_front);
    assert_int_equal(sattn_explain_section_of(&rows[5]), SATTN_EXPLAIN_SHOWN);
    assert_false(sattn_explain_is_measured(&rows[0], SATTN_EXPLAIN_RESULTS));
    assert_true(rows[0].figures[SATTN_EXPLAIN_PROFILE].time_ns == 300); /* as it was */
    sattn_explain_results_close(&results);
}

/* ---- profiles */

static json_t *identity_json(const sattn_identity *identity)
{
    json_t *const object = json_object();
    for (int f = 0; f < SATTN_IDENTITY_COUNT; ++f) {
        const sattn_identity_field field = (sattn_identity_field)f;
        json_object_set_new(object, sattn_identity_name(field),
                            sattn_identity_is_number(field) ? json_integer(f)
                                                            : json_string(identity->text[f]));
    }
    return object;
}

static void test_differences(void **state)
{
    (void)state;
    sattn_identity identity;
    sattn_explain_difference d[SATTN_IDENTITY_COUNT];
    for (int f = 0; f < SATTN_IDENTITY_COUNT; ++f)
        snprintf(identity.text[f], SATTN_IDENTITY_TEXT, "%d", f);
    json_t *const object = identity_json(&identity);
    json_t *const document = json_pack("{s:o}", "identity", object);
    assert_int_equal(sattn_explain_differences(document, &identity, d), 0);
    sattn_identity nameless = identity; /* two that are not known need not be the same */
    snprintf(nameless.text[SATTN_IDENTITY_CPU_NAME], SATTN_IDENTITY_TEXT, "unknown");
    json_object_set_new(object, "cpu_name", json_string("unknown"));
    assert_int_equal(sattn_explain_differences(document, &nameless, d), 1);
    assert_int_equal(d[0].field, SATTN_IDENTITY_CPU_NAME);
    json_object_set_new(object, "cpu_name", json_string(identity.text[SATTN_IDENTITY_CPU_NAME]));
    json_object_set_new(object, "kernel_hash", json_string("abc"));
    json_object_set_new(object, "cpus", json_integer(64));
    assert_int_equal(sattn_explain_differences(document, &identity, d), 2);
    assert_int_equal(d[0].field, SATTN_IDENTITY_CPUS);
    assert_string_equal(d[0].there, "64");
    assert_int_equal(d[1].field, SATTN_IDENTITY_KERNEL_HASH);
    assert_string_equal(d[1].there, "abc");
    assert_string_equal(d[1].here, identity.text[SATTN_IDENTITY_KERNEL_HASH]);
    json_object_set_new(object, "schema", json_integer(7)); /* says nothing of other fields */
    assert_int_equal(sattn_explain_differences(document, &identity, d), 1);
    assert_int_equal(d[0].field, SATTN_IDENTITY_SCHEMA);
    json_object_set_new(object, "schema", json_integer(SATTN_IDENTITY_SCHEMA));
    json_object_set_new(object, "cpu_name", json_integer(3)); /* no profile at all */
    assert_int_equal(sattn_explain_differences(document, &identity, d), 0);
    json_object_del(object, "cpu_name");
    assert_int_equal(sattn_explain_differences(document, &identity, d), 0);
    json_decref(document);
    assert_int_equal(sattn_explain_differences(NULL, &identity, d), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),   cmocka_unit_test(test_front),
        cmocka_unit_test(test_order),   cmocka_unit_test(test_groups),
        cmocka_unit_test(test_context), cmocka_unit_test(test_row_for),
        cmocka_unit_test(test_figures), cmocka_unit_test(test_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
