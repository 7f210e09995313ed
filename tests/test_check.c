/* SPDX-License-Identifier: MIT
 *
 * test_check.c: the tables, options and baselines of `simdattn check`, on runs made by hand. */
#if !defined(_XOPEN_SOURCE)
#define _XOPEN_SOURCE 700 /* mkstemp, unlink */
#endif
#include "bench/check/check.h"
#include "bench/check/check_baseline.h"
#include "bench/verbs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- tables */

/* No name twice, in either family: --shape and --data take names of both. */
static void test_names(void **state)
{
    (void)state;
    size_t n_shapes, n_lengths, n_ranges;
    const sattn_check_shape *const shapes = sattn_check_shapes(&n_shapes);
    const sattn_check_length *const lengths = sattn_check_lengths(&n_lengths);
    const sattn_check_range *const ranges = sattn_check_ranges(&n_ranges);
    for (size_t s = 0; s < n_shapes; ++s) {
        for (size_t t = 0; t < s; ++t)
            assert_string_not_equal(shapes[s].name, shapes[t].name);
        for (size_t l = 0; l < n_lengths; ++l)
            assert_string_not_equal(shapes[s].name, lengths[l].name);
        assert_true(shapes[s].note && *shapes[s].note);
        if (shapes[s].layer == SATTN_CHECK_NO_LAYER)
            assert_int_equal(shapes[s].n_q_heads % shapes[s].n_kv_heads, 0);
        assert_int_equal(sattn_check_full_only(shapes[s].name), shapes[s].full_only);
    }
    for (size_t r = 0; r < n_ranges; ++r) {
        assert_int_equal(sattn_input_from_name(ranges[r].name), -1);
        assert_string_not_equal(ranges[r].name, SATTN_CHECK_REAL_DATA);
    }
}

/* What a call may do to its scores: alone and with all the others, in prefill and in decode; and
 * heads that share K and V, up to 128. */
static void test_coverage(void **state)
{
    (void)state;
    enum { WINDOW = 1, SOFTCAP = 2, ALIBI = 4, SINKS = 8, ALL = 15 };
    static const int needed[] = {0, WINDOW, SOFTCAP, ALIBI, SINKS, ALL};
    int found[2][ALL + 1] = {{0}};
    bool has_widest_group[2] = {false};
    size_t n_shapes;
    const sattn_check_shape *const shapes = sattn_check_shapes(&n_shapes);
    for (size_t s = 0; s < n_shapes; ++s) {
        const sattn_check_shape *const a = &shapes[s];
        if (a->full_only || a->layer != SATTN_CHECK_NO_LAYER)
            continue;
        const int is_decode = a->n_q == 1;
        const int what = (a->has_window ? WINDOW : 0) | (a->softcap > 0 ? SOFTCAP : 0) |
                         (a->has_alibi ? ALIBI : 0) | (a->has_sinks ? SINKS : 0);
        ++found[is_decode][what];
        if (a->n_q_heads / a->n_kv_heads >= 128)
            has_widest_group[is_decode] = true;
    }
    for (int is_decode = 0; is_decode < 2; ++is_decode) {
        for (size_t n = 0; n < sizeof needed / sizeof needed[0]; ++n)
            assert_true(found[is_decode][needed[n]] > 0);
        assert_true(has_widest_group[is_decode]);
    }
}

static void test_ranges(void **state)
{
    (void)state;
    enum { N = 3000 };
    static float x[N], again[N];
    size_t count;
    const sattn_check_range *const ranges = sattn_check_ranges(&count);
    for (size_t r = 0; r < count; ++r) {
        bool varies = false;
        sattn_check_range_fill(&ranges[r], 3, x, N);
        sattn_check_range_fill(&ranges[r], 3, again, N);
        assert_memory_equal(x, again, sizeof x);
        for (int e = 0; e < N; ++e) {
            if (ranges[r].low < ranges[r].high)
                assert_true((double)x[e] >= ranges[r].low && (double)x[e] <= ranges[r].high);
            varies = varies || x[e] != x[0];
        }
        assert_true(varies);
    }
}

/* ---- options */

static bool parse(sattn_check_options *options, const char *a, const char *b)
{
    char first[128], second[128];
    char *argv[2] = {first, second};
    snprintf(first, sizeof first, "%s", a);
    snprintf(second, sizeof second, "%s", b ? b : "");
    return sattn_check_options_parse(b ? 2 : 1, argv, options);
}

static void test_options(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {{"--preset", "huge"},
                                           {"--seed", "-1"},
                                           {"--seed", ""},
                                           {"--seed", "1.5"},
                                           {"--seed", "99999999999999999999"},
                                           {"--op", "fusd"},
                                           {"--op", ""},
                                           {"--data", "normal,"},
                                           {"--shape", "n1,n1x"},
                                           {"--baseline", ""},
                                           {"--jsn", NULL},
                                           {"--kernel", "x"},
                                           {"--baseline", NULL}};
    sattn_check_options options;
    for (size_t w = 0; w < sizeof wrong / sizeof wrong[0]; ++w) {
        assert_false(parse(&options, wrong[w][0], wrong[w][1]));
        sattn_check_options_free(&options);
    }
    assert_true(parse(&options, "--data=normal,unit,minilm", "--json"));
    assert_true(options.json && options.data.count == 3 && options.seed == 1 && !options.full);
    assert_true(sattn_check_wants(&options, "tile", "unit"));
    assert_false(sattn_check_wants(&options, "tile", "large8"));
    assert_false(sattn_check_wants(&options, "prefill-512", "normal")); /* preset full only */
    sattn_check_options_free(&options);
    assert_true(parse(&options, "--shape=prefill-512", "--seed=7"));
    assert_true(options.seed == 7 && sattn_check_wants(&options, "prefill-512", "normal"));
    sattn_check_options_free(&options);
}

/* ---- runs and baselines by hand */

enum { GOOD, ABSENT, UNWANTED, N_VARIANTS };

static sattn_check_options options = {.seed = 1};
static sattn_check_variant variants[N_VARIANTS] = {
    [GOOD] = {.op = "qk", .kernel = "good", .isa = "scalar", .is_wanted = true},
    [ABSENT] = {.op = "qk", .kernel = "absent", .why_not = "no such unit", .is_wanted = true},
    [UNWANTED] = {.op = "qk", .kernel = "unwanted", .isa = "scalar"},
};

typedef struct made_run {
    sattn_check_run run;
    sattn_check_entry entries[4];
} made_run;

static void add_entry(made_run *made, const char *data, double worst, double mean)
{
    sattn_check_entry *const entry = &made->entries[made->run.n_entries++];
    *entry = (sattn_check_entry){.variant = GOOD, .shape = "tile", .data = data};
    entry->result = (sattn_verify_result){.n_elements = 10,
                                          .n_measured = 10,
                                          .worst_error = worst,
                                          .mean_error = mean,
                                          .worst_error_bound = 50,
                                          .worst_ratio = worst / 50,
                                          .failed_why = ""};
}

/* Entries for "normal" (worst 4, mean 1) and "equal" (0, 0). */
static void make_run(made_run *made)
{
    *made =
        (made_run){.run = {.options = &options, .variants = variants, .n_variants = N_VARIANTS}};
    made->run.entries = made->entries;
    add_entry(made, "normal", 4, 1);
    add_entry(made, "equal", 0, 0);
}

static const char head[] = "{\"schema\": \"simdattn-accuracy\", \"version\": 1, \"seed\": 1,"
                           " \"environment\": {\"cpu\": \"other\"}, \"entries\": [";

static int load(const char *text, sattn_check_baseline *baseline)
{
    char path[] = "/tmp/simdattn-check-XXXXXX", error[512] = "";
    const int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    FILE *const file = fdopen(descriptor, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    const int code = sattn_check_baseline_load(path, 1, baseline, error, sizeof error);
    assert_int_equal(code != SATTN_EXIT_GOOD, error[0] != '\0');
    assert_int_equal(code != SATTN_EXIT_GOOD, baseline->document == NULL);
    unlink(path);
    return code;
}

/* head, entries of one variant and shape each, and the end. */
static sattn_check_comparison compare(const made_run *made, const char *entries)
{
    char text[2048];
    sattn_check_baseline baseline;
    sattn_check_comparison comparison;
    snprintf(text, sizeof text, "%s%s]}", head, entries);
    assert_int_equal(load(text, &baseline), SATTN_EXIT_GOOD);
    sattn_check_compare(&made->run, &baseline, &comparison);
    sattn_check_baseline_free(&baseline);
    return comparison;
}

#define ENTRY(kernel, errors)                                                                      \
    "{\"op\": \"qk\", \"kernel\": \"" kernel "\", \"shape\": \"tile\", \"errors\": {" errors "}}"

static void test_growth(void **state)
{
    (void)state;
    static const struct {
        const char *entries;
        int code;
        int64_t n_compared, n_grew, n_missing, n_new, n_skipped, n_absent;
    } cases[] = {
        {ENTRY("good", "\"normal\": [4, 1, 50], \"equal\": [0, 0, 50]"), 0, 2, 0, 0, 0, 0, 0},
        /* 1.5 * 2 + 1 = 4 is what the error is; a little less is too little */
        {ENTRY("good", "\"normal\": [2, 1, 50], \"equal\": [0, 0, 50]"), 0, 2, 0, 0, 0, 0, 0},
        {ENTRY("good", "\"normal\": [1.99, 1, 50], \"equal\": [0, 0, 50]"), 1, 2, 1, 0, 0, 0, 0},
        {ENTRY("good", "\"normal\": [4, 0, 50], \"equal\": [0, 0, 50]"), 0, 2, 0, 0, 0, 0, 0},
        {ENTRY("good", "\"normal\": [900, 900, 50], \"equal\": [0, 0, 50]"), 0, 2, 0, 0, 0, 0, 0},
        {ENTRY("good", "\"normal\": [4, 1, 50]"), 0, 1, 0, 0, 1, 0, 0},
        {ENTRY("good", "\"normal\": [4, 1, 50], \"rising\": [1, 1, 1]"), 1, 1, 0, 1, 1, 0, 0},
        {ENTRY("good", "\"rising\": [1, 1, 1]"), 1, 0, 0, 1, 2, 0, 0},
        {ENTRY("absent", "\"normal\": [1, 1, 1]"), 3, 0, 0, 0, 2, 0, 1},
        {ENTRY("unknown", "\"normal\": [1, 1, 1], \"equal\": [1, 1, 1]"), 3, 0, 0, 0, 2, 0, 2},
        {ENTRY("unwanted", "\"normal\": [1, 1, 1]"), 3, 0, 0, 0, 2, 1, 0},
        {ENTRY("absent", "\"normal\": [1, 1, 1]") ", " ENTRY("good", "\"normal\": [4, 1, 50]"), 0,
         1, 0, 0, 1, 0, 1},
    };
    made_run made;
    make_run(&made);
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; ++c) {
        sattn_check_comparison comparison = compare(&made, cases[c].entries);
        assert_int_equal(comparison.n_compared, cases[c].n_compared);
        assert_int_equal(comparison.n_grew, cases[c].n_grew);
        assert_int_equal(comparison.n_missing, cases[c].n_missing);
        assert_int_equal(comparison.n_new, cases[c].n_new);
        assert_int_equal(comparison.n_skipped, cases[c].n_skipped);
        assert_int_equal(comparison.n_absent, cases[c].n_absent);
        assert_int_equal(sattn_check_comparison_code(&comparison), cases[c].code);
        sattn_check_comparison_free(&comparison);
    }
    made.entries[0].result.mean_error = 2.6; /* 1.5 * 1 + 1 is less */
    sattn_check_comparison comparison =
        compare(&made, ENTRY("good", "\"normal\": [4, 1, 50], \"equal\": [0, 0, 50]"));
    assert_int_equal(comparison.n_grew, 1);
    assert_string_equal(comparison.differences[0].what, "mean");
    sattn_check_comparison_free(&comparison);
}

static void test_bad_files(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int code;
    } cases[] = {
        {"", SATTN_EXIT_USAGE},
        {"{", SATTN_EXIT_USAGE},
        {"[]", SATTN_EXIT_USAGE},
        {"{}", SATTN_EXIT_USAGE},
        {"{\"schema\": 1, \"version\": 1}", SATTN_EXIT_USAGE},
        {"{\"schema\": \"x\", \"version\": 1}", SATTN_EXIT_NOTHING},
        {"{\"schema\": \"simdattn-accuracy\", \"version\": 2}", SATTN_EXIT_NOTHING},
        {"{\"schema\": \"simdattn-accuracy\", \"version\": 1}", SATTN_EXIT_USAGE},
        {"{\"schema\": \"simdattn-accuracy\", \"version\": 1, \"seed\": 2, \"environment\": {},"
         " \"entries\": []}",
         SATTN_EXIT_NOTHING},
        {"{\"schema\": \"simdattn-accuracy\", \"version\": 1, \"seed\": 1, \"environment\": {},"
         " \"entries\": []}",
         SATTN_EXIT_NOTHING},
        {"{\"schema\": \"simdattn-accuracy\", \"version\": 1, \"seed\": 1, \"environment\": {},"
         " \"entries\": [1]}",
         SATTN_EXIT_USAGE},
        {"{\"schema\": \"simdattn-accuracy\", \"version\": 1, \"seed\": 1, \"entries\": []}",
         SATTN_EXIT_USAGE},
    };
    static const char *const wrong_errors[] = {"\"normal\": [1, 1]",
                                               "\"normal\": [1, 1, 1, 1]",
                                               "\"normal\": 1",
                                               "\"normal\": [1, 1, null]",
                                               "\"normal\": [1, \"1\", 1]",
                                               "\"normal\": [-1, 1, 1]",
                                               "\"normal\": [1, NaN, 1]",
                                               "\"normal\": [1, Infinity, 1]",
                                               "\"normal\": [1e999, 1, 1]",
                                               "\"normal\": [1, 1, true]",
                                               "\"normal\": null",
                                               "\"normal\": [1, 1, 1], \"normal\": [1, 1, 1]"};
    sattn_check_baseline baseline;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; ++c)
        assert_int_equal(load(cases[c].text, &baseline), cases[c].code);
    for (size_t w = 0; w < sizeof wrong_errors / sizeof wrong_errors[0]; ++w) {
        char text[1024];
        snprintf(
            text, sizeof text,
            "%s{\"op\": \"qk\", \"kernel\": \"good\", \"shape\": \"tile\", \"errors\": {%s}}]}",
            head, wrong_errors[w]);
        assert_int_equal(load(text, &baseline), SATTN_EXIT_USAGE);
    }
    char text[1024];
    snprintf(text, sizeof text, "%s%s,%s]}", head, ENTRY("good", "\"normal\": [1, 1, 1]"),
             ENTRY("good", "\"normal\": [1, 1, 1]"));
    assert_int_equal(load(text, &baseline), SATTN_EXIT_USAGE);
}

/* What is written is read again, and then nothing has changed. */
static void test_round_trip(void **state)
{
    (void)state;
    made_run made;
    make_run(&made);
    add_entry(&made, "rising", 1.0 / 3.0, 1e-12);
    json_t *const environment = json_pack("{s:s}", "cpu", "this");
    json_t *const document = sattn_check_document(&made.run, environment);
    char *text = NULL;
    size_t size = 0;
    FILE *const memory = open_memstream(&text, &size);
    assert_true(sattn_check_document_print(document, memory));
    fclose(memory);
    sattn_check_baseline baseline;
    assert_int_equal(load(text, &baseline), SATTN_EXIT_GOOD);
    assert_int_equal(baseline.n_entries, 3);
    sattn_check_comparison comparison;
    sattn_check_compare(&made.run, &baseline, &comparison);
    assert_int_equal(comparison.n_compared, 3);
    assert_int_equal(comparison.n_differences, 0);
    assert_int_equal(sattn_check_comparison_code(&comparison), SATTN_EXIT_GOOD);
    json_t *const report = sattn_check_report(&made.run, environment, &comparison, &baseline);
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(report, "baseline"), "compared")), 3);
    json_decref(report);
    sattn_check_comparison_free(&comparison);
    sattn_check_baseline_free(&baseline);

    /* an infinite error is null there, and such a file is not read */
    made.entries[0].result.worst_error = INFINITY;
    json_t *const wrong = sattn_check_document(&made.run, environment);
    free(text);
    FILE *const second = open_memstream(&text, &size);
    assert_true(sattn_check_document_print(wrong, second));
    fclose(second);
    assert_int_equal(load(text, &baseline), SATTN_EXIT_USAGE);
    free(text);
    json_decref(wrong);
    json_decref(document);
    json_decref(environment);
}

static void test_totals(void **state)
{
    (void)state;
    made_run made;
    char text[512];
    make_run(&made);
    sattn_check_total total = sattn_check_total_of(&made.run, GOOD);
    assert_true(total.n_entries == 2 && total.n_failed == 0 && total.n_elements == 20);
    assert_true(total.worst == 4 && total.mean == 0.5 && total.worst_bound == 50);
    assert_int_equal(sattn_check_total_of(&made.run, ABSENT).n_entries, 0);

    sattn_verify_result *const r = &made.entries[1].result;
    r->n_failed = 1;
    r->failed_why = "not finite";
    r->failed_got = (double)NAN;
    total = sattn_check_total_of(&made.run, GOOD);
    assert_true(total.n_failed == 1 && !total.is_finite);
    sattn_check_describe(&made.run, &made.entries[1], text, sizeof text);
    assert_non_null(strstr(text, "good, shape tile, data equal: 1 of 10 elements"));

    /* to have compared nothing is no pass, nor is a refused call */
    *r = (sattn_verify_result){.failed_why = ""};
    assert_false(sattn_check_entry_good(&made.entries[1]));
    make_run(&made);
    snprintf(made.entries[0].refused, sizeof made.entries[0].refused, "d = 0");
    assert_false(sattn_check_entry_good(&made.entries[0]));
    sattn_check_describe(&made.run, &made.entries[0], text, sizeof text);
    assert_non_null(strstr(text, "refused: d = 0"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),      cmocka_unit_test(test_coverage),
        cmocka_unit_test(test_ranges),     cmocka_unit_test(test_options),
        cmocka_unit_test(test_growth),     cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_totals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
