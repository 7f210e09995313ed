/* SPDX-License-Identifier: MIT
 *
 * test_profile.c: which texts are profiles, which are not, and what is said of those (D13, D14). */
#define _POSIX_C_SOURCE 200809L /* mkstemp */
#include "dispatch/profile_identity.h"
#include "dispatch/profile_read.h"
#include "dispatch/simdattn.h"
#include "tests/support/profile_text.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* Of no machine: tests decide what "here" is. */
static sattn_identity some_identity(void)
{
    sattn_identity identity;
    for (int field = 0; field < SATTN_IDENTITY_COUNT; ++field)
        snprintf(identity.text[field], SATTN_IDENTITY_TEXT, "some %s",
                 sattn_identity_name((sattn_identity_field)field));
    snprintf(identity.text[SATTN_IDENTITY_SCHEMA], SATTN_IDENTITY_TEXT, "%d", SATTN_PROFILE_SCHEMA);
    snprintf(identity.text[SATTN_IDENTITY_CPUS], SATTN_IDENTITY_TEXT, "2");
    snprintf(identity.text[SATTN_IDENTITY_FEATURES], SATTN_IDENTITY_TEXT, "avx avx2 f16c fma");
    return identity;
}

static char remark[SATTN_PROFILE_REMARK];

/* In a copy of its own size, so that a read behind the end shows. */
static sattn_profile *read_text(const char *text, size_t size, const sattn_identity *here)
{
    sattn_profile *profile = (sattn_profile *)(uintptr_t)1;
    char *const copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, text, size);
    memset(remark, 'x', sizeof remark);
    const sattn_status status = sattn_profile_read(&profile, copy, size, "a.json", here, remark);
    free(copy);
    assert_non_null(memchr(remark, '\0', sizeof remark));
    assert_int_equal(status, profile ? SATTN_OK : SATTN_ERR_PROFILE);
    assert_true(profile || remark[0] != '\0');
    return profile;
}

static sattn_profile *read_json(json_t *document)
{
    const sattn_identity here = some_identity();
    char *const text = json_dumps(document, 0);
    assert_non_null(text);
    sattn_profile *const profile = read_text(text, strlen(text), &here);
    free(text);
    json_decref(document);
    return profile;
}

/* The legal profile with one place changed. */
static sattn_profile *read_changed(const char *path, const char *value)
{
    const sattn_identity here = some_identity();
    json_t *const document = profile_json(&here);
    json_t *const json = value ? json_loads(value, JSON_DECODE_ANY, NULL) : NULL;
    assert_true(!value || json);
    profile_set(document, path, json);
    return read_json(document);
}

static void check_remark(const char *path, const char *value, const char *expected)
{
    if (!strstr(remark, expected))
        fail_msg("%s = %s: \"%s\"; expected \"%s\" in it", path, value ? value : "(removed)",
                 remark, expected);
}

static void refuses(const char *path, const char *value, const char *expected)
{
    sattn_profile *const profile = read_changed(path, value);
    if (profile)
        fail_msg("%s = %s is taken", path, value ? value : "(removed)");
    check_remark(path, value, expected);
}

static void takes(const char *path, const char *value, size_t n_entries)
{
    size_t n;
    sattn_profile *const profile = read_changed(path, value);
    if (!profile)
        fail_msg("%s = %s is refused: %s", path, value, remark);
    sattn_profile_entries(profile, &n);
    assert_int_equal(n, n_entries);
    sattn_profile_destroy(profile);
}

static const sattn_profile_entry *entry_of(const sattn_profile *profile, sattn_call call)
{
    size_t n;
    const sattn_profile_entry *const entries = sattn_profile_entries(profile, &n);
    for (size_t i = 0; i < n; ++i)
        if (entries[i].shape_class.call == call)
            return &entries[i];
    return NULL;
}

static void test_whole(void **state)
{
    (void)state;
    const sattn_identity here = some_identity();
    sattn_profile *const profile = read_json(profile_json(&here));
    assert_non_null(profile);
    assert_string_equal(remark, "");
    assert_string_equal(sattn_profile_path(profile), "a.json");
    const sattn_profile_entry *const e = entry_of(profile, SATTN_CALL_ATTENTION);
    assert_non_null(e);
    assert_int_equal(e->shape_class.rows_log2, 6);
    assert_int_equal(e->usable, SATTN_ISA_AVX2);
    assert_string_equal(e->shape, "some-shape");
    assert_true(e->is_complete && e->kept == SATTN_KEPT_FOR_NOTHING && !e->is_tainted);
    assert_true(e->margin == 0.25 && e->spread == 0.01 && e->max_error == 0);
    assert_int_equal(e->n_tried, 2);
    assert_int_equal(e->taken, 1);
    const sattn_tried *const chain = &e->tried[1];
    assert_int_equal(chain->recipe.computation, SATTN_COMPUTE_CHAIN);
    assert_ptr_equal(chain->recipe.kernels[SATTN_OP_av],
                     sattn_kernel_by_name("sattn_av_f32_scalar"));
    assert_true(chain->time_ns == 100 && chain->time_p10_ns == 90 && chain->error == 0.5);
    assert_true(chain->samples == 24 && chain->error_bound == 4 && chain->is_admitted);
    assert_int_equal(entry_of(profile, SATTN_CALL_QK)->kept, SATTN_KEPT_IN_A_TIE);
    assert_false(entry_of(profile, SATTN_CALL_EXP)->is_complete);
    sattn_profile_destroy(profile);
}

/* Of each field: another value, an empty one, "unknown", none, one of another type. */
static void test_identity(void **state)
{
    (void)state;
    for (int i = 0; i < SATTN_IDENTITY_COUNT; ++i) {
        const sattn_identity_field field = (sattn_identity_field)i;
        char path[64], expected[80];
        const bool is_number = sattn_identity_is_number(field);
        snprintf(path, sizeof path, "identity/%s", sattn_identity_name(field));
        snprintf(expected, sizeof expected, "identity.%s ", sattn_identity_name(field));
        refuses(path, is_number ? "7" : "\"other\"", expected);
        assert_non_null(strstr(remark, is_number ? "is \"7\", here \"" : "is \"other\", here \""));
        refuses(path, is_number ? "\"2\"" : "\"\"", expected);
        refuses(path, is_number ? "-1" : "\"unknown\"", expected);
        refuses(path, NULL, expected);
        refuses(path, is_number ? "1.0" : "1", expected);
        refuses(path, "null", expected);
    }
    refuses("identity/schema", "4294967297", "identity.schema is 4294967297; expected an integer");
    refuses("identity/arch", "\"a\\nb\\u001b[2Jc\"", "identity.arch is \"a?b?[2Jc\", here");
    refuses("identity/more", "1", "identity.more is not a field");
    refuses("identity", "[]", "identity is an array; expected an object");
}

/* Nothing is the same as "unknown", not even itself; all else is itself. */
static void test_identity_compare(void **state)
{
    (void)state;
    const sattn_identity a = some_identity();
    assert_int_equal(sattn_identity_compare(&a, &a), SATTN_IDENTITY_COUNT);
    for (int field = 0; field < SATTN_IDENTITY_COUNT; ++field) {
        sattn_identity b = a;
        snprintf(b.text[field], SATTN_IDENTITY_TEXT, "%s", "other");
        assert_int_equal(sattn_identity_compare(&a, &b), field);
        assert_int_equal(sattn_identity_compare(&b, &a), field);
        snprintf(b.text[field], SATTN_IDENTITY_TEXT, "%s", "unknown");
        assert_int_equal(sattn_identity_compare(&b, &b), field);
        b.text[field][0] = '\0';
        assert_int_equal(sattn_identity_compare(&b, &b), field);
    }
}

/* Records made by hand: a Zen 5, a family without extension, a core of Arm, and nothing known. */
static void test_identity_of_cpus(void **state)
{
    (void)state;
    sattn_identity identity;
    sattn_cpu_record record = {.arch = SATTN_ARCH_X86_64,
                               .max_leaf = 7,
                               .leaf1_eax = 0x00b00f21,
                               .vendor = "AuthenticAMD",
                               .model = "  Some CPU 9R45   "};
    sattn_identity_make(&record, 2, &identity);
    assert_string_equal(identity.text[SATTN_IDENTITY_CPU_VENDOR], "AuthenticAMD");
    assert_string_equal(identity.text[SATTN_IDENTITY_CPU_FAMILY], "26");
    assert_string_equal(identity.text[SATTN_IDENTITY_CPU_MODEL], "2");
    assert_string_equal(identity.text[SATTN_IDENTITY_CPU_STEPPING], "1");
    assert_string_equal(identity.text[SATTN_IDENTITY_CPU_NAME], "Some CPU 9R45");
    assert_string_equal(identity.text[SATTN_IDENTITY_FEATURES], "none");
    assert_string_equal(identity.text[SATTN_IDENTITY_CPUS], "2");
    record.leaf1_eax = 0x000306c3;
    sattn_identity_make(&record, 0, &identity);
    assert_string_equal(identity.text[SATTN_IDENTITY_CPU_FAMILY], "6");
    assert_string_equal(identity.text[SATTN_IDENTITY_CPU_MODEL], "60");
    assert_string_equal(identity.text[SATTN_IDENTITY_CPUS], "unknown");
    const sattn_cpu_record arm = {.arch = SATTN_ARCH_AARCH64, .midr = 0x413fd0c1};
    sattn_identity_make(&arm, 1, &identity);
    assert_string_equal(identity.text[SATTN_IDENTITY_CPU_VENDOR], "implementer 0x41");
    assert_string_equal(identity.text[SATTN_IDENTITY_CPU_MODEL], "part 0xd0c");
    assert_string_equal(identity.text[SATTN_IDENTITY_CPU_STEPPING], "r3p1");
    const sattn_cpu_record other = {.arch = SATTN_ARCH_OTHER};
    sattn_identity_make(&other, 1, &identity);
    for (int field = SATTN_IDENTITY_CPU_VENDOR; field <= SATTN_IDENTITY_CPU_NAME; ++field)
        assert_string_equal(identity.text[field], "unknown");
    assert_int_equal(strlen(identity.text[SATTN_IDENTITY_KERNEL_HASH]), 16);
}

static void test_features(void **state)
{
    (void)state;
    char text[SATTN_IDENTITY_TEXT];
    sattn_features set;
    sattn_identity_features(SATTN_ISA_AVX512, text);
    assert_string_equal(text, "avx avx2 avx512bw avx512dq avx512f avx512vl f16c fma");
    assert_true(sattn_identity_parse_features(text, &set) && set == SATTN_ISA_AVX512);
    assert_true(sattn_identity_parse_features("", &set) && set == 0);
    const char *const wrong[] = {" ",       "avx ",   " avx", "avx  avx2", "avx2 avx", "AVX",
                                 "avx avx", "avx512", "av",   "mmx",       "none",     "avx,avx2"};
    for (size_t i = 0; i < COUNT(wrong); ++i)
        assert_false(sattn_identity_parse_features(wrong[i], &set));
}

static void test_entries(void **state)
{
    (void)state;
    static const struct {
        const char *path, *value, *expected;
    } wrong[] = {
        {"schema_minor", "-1", "schema_minor is -1; expected an integer"},
        {"schema_minor", NULL, "schema_minor is missing"},
        {"comment", "\"hello\"", "comment is not a field of this schema"},
        {"entries", "{}", "entries is an object; expected an array"},
        {"entries/0", "7", "entries[0] is no object"},
        {"entries/0/clas", "1", "entries[0].clas is not a field"},
        {"entries/0/class", "-1", "entries[0].class is -1; expected a text"},
        {"entries/0/class", "1099511627776", "entries[0].class is 1099511627776"},
        {"entries/0/class", "\"-1\"", "entries[0].class is \"-1\"; expected a class"},
        {"entries/0/class", "\"1099511627776\"", "expected a class"},
        {"entries/1/class", NULL, "entries[1].class is missing"},
        {"entries/0/features", "\"mmx\"", "entries[0].features is \"mmx\""},
        {"entries/0/features", "\"avx512f\"", "expected some of \"avx avx2 f16c fma\""},
        {"entries/0/complete", "1", "entries[0].complete is 1; expected true or false"},
        {"entries/0/complete", "false", "entries[0].taken is 1; expected 0"},
        {"entries/0/max_error", "0", "entries[0].max_error is 0; expected a number above 0"},
        {"entries/0/shape", "null", "entries[0].shape is null; expected a text"},
        {"entries/0/taken", "2", "entries[0].taken is 2; expected an integer from 0 to 1"},
        {"entries/0/taken", "-1", "entries[0].taken is -1"},
        {"entries/0/taken", "1.0", "entries[0].taken is 1.0"},
        {"entries/0/taken", "true", "entries[0].taken is true"},
        {"entries/0/kept", "\"tie\"", "entries[0].taken is 1; expected 0, the default, where"},
        {"entries/0/kept", "\"slower elsewhere\"", "entries[0].taken is 1; expected 0"},
        {"entries/0/kept", "\"slower\"", "entries[0].kept is \"slower\"; expected \"tie\", "},
        {"entries/0/kept", "false", "entries[0].kept is false; expected a text"},
        {"entries/0/tainted", "null", "entries[0].tainted is null"},
        {"entries/0/margin", "\"0\"", "entries[0].margin is \"0\"; expected a number or null"},
        {"entries/0/spread", "-0.5", "entries[0].spread is -0.5; expected a number from 0 on"},
        {"entries/0/candidates", "[]", "entries[0].candidates is an array; expected at least"},
        {"entries/0/candidates", "null", "entries[0].candidates is null; expected an array"},
        {"entries/0/candidates/1", "[]", "entries[0].candidates[1] is no object"},
    };
    for (size_t i = 0; i < COUNT(wrong); ++i)
        refuses(wrong[i].path, wrong[i].value, wrong[i].expected);
    takes("entries", "[]", 0);
    takes("entries/0/margin", "null", 3);
    takes("entries/0/margin", "-1", 3);
    takes("entries/0/spread", "0", 3);
    takes("entries/0/max_error", "2.5", 3);
    takes("entries/0/taken", "0", 3);
    takes("entries/1/kept", "\"slower elsewhere\"", 3);
    takes("entries/1/kept", "\"not confirmed elsewhere\"", 3);
    takes("entries/0/features", "\"\"", 3);
}

/* As many as an explanation has room for. */
static void test_number_of_candidates(void **state)
{
    (void)state;
    const sattn_identity here = some_identity();
    for (size_t n = SATTN_TRIED_MAX; n <= SATTN_TRIED_MAX + 1; ++n) {
        json_t *const document = profile_json(&here);
        json_t *const list = profile_get(document, "entries/0/candidates");
        while (json_array_size(list) < n)
            json_array_append_new(list, json_deep_copy(json_array_get(list, 1)));
        sattn_profile *const profile = read_json(document);
        assert_int_equal(profile != NULL, n == SATTN_TRIED_MAX);
        sattn_profile_destroy(profile);
    }
    check_remark("entries/0/candidates", "65 of them", "expected at most 64");
}

static void test_candidates(void **state)
{
    (void)state;
    static const struct {
        const char *field, *value, *expected;
    } wrong[] = {
        {"plan", "\"fast\"", ".kernels is \"sattn_qk"},
        {"plan", "\"\"", ".kernels is \"sattn_qk"},
        {"plan", "\"fused\"", ".kernels is \"sattn_qk"},
        {"kernels", "\"\"", ".kernels is \"\"; expected kernels that"},
        {"kernels", "\"sattn_fused_f32_scalar\"", "expected kernels that"},
        {"kernels", "\"sattn_qk_f32_scalar,,sattn_av_f32_scalar\"", "expected kernels that"},
        {"kernels", "[]", ".kernels is an array; expected a text"},
        {"key_splits", "2", ".kernels is \"sattn_qk"}, /* a chain does not cut its keys */
        {"key_splits", "-1", ".key_splits is -1"},
        {"key_splits", "2147483648", ".key_splits is 2147483648"},
        {"time_ns", "0", ".time_ns is 0; expected a number above 0, or null"},
        {"time_ns", "-4", ".time_ns is -4; expected a number above 0, or null"},
        {"time_ns", "null", ".time_ns is null; expected null in all"},
        {"time_ns", "1e-400", ".time_ns is 0.0;"},
        {"time_ns", "\"NaN\"", ".time_ns is \"NaN\""},
        {"time_ns", "89", ".time_ns is 89; expected a number from time_p10_ns"},
        {"time_p10_ns", "101", ".time_ns is 100.0; expected a number from time_p10_ns"},
        {"time_p90_ns", "-1", ".time_p90_ns is -1"},
        {"samples", "0", ".samples is 0; expected 1 or more"},
        {"samples", "-1", ".samples is -1; expected an integer"},
        {"samples", "1.5", ".samples is 1.5"},
        {"samples", "1099511627776", ".samples is 1099511627776"},
        {"error", "-1", ".error is -1; expected a number from 0 on"},
        {"error", "5", ".admitted is true; expected false where error is above error_bound"},
        {"error_bound", "[]", ".error_bound is an array"},
        {"admitted", "false", "entries[0].taken is 1; expected the default, 0, or one admitted"},
        {"admitted", "0", ".admitted is 0"},
        {"plann", "0", ".plann is not a field"},
    };
    char path[80];
    for (size_t i = 0; i < COUNT(wrong); ++i) {
        snprintf(path, sizeof path, "entries/0/candidates/1/%s", wrong[i].field);
        refuses(path, wrong[i].value, wrong[i].expected);
        snprintf(path, sizeof path, "entries/0/candidates/1/%s", wrong[i].field);
    }
    static const char *const fields[] = {"plan",        "kernels",     "key_splits", "time_ns",
                                         "time_p10_ns", "time_p90_ns", "samples",    "error",
                                         "error_bound", "admitted"};
    for (size_t i = 0; i < COUNT(fields); ++i) {
        snprintf(path, sizeof path, "entries/0/candidates/1/%s", fields[i]);
        refuses(path, NULL, " is missing; expected ");
    }
    refuses("entries/0/max_error", "0.25",
            "entries[0].candidates[0].admitted is true; expected "
            "false where error is not within max_error");
    takes("entries/0/max_error", "0.5", 3);
    const sattn_identity here = some_identity();
    json_t *const document = profile_json(&here);
    profile_set(document, "entries/0/max_error", json_real(1));
    profile_set(document, "entries/0/candidates/1/error", json_null());
    assert_null(read_json(document)); /* nobody knows that it is within */
    check_remark("error", "null", "entries[0].candidates[1].admitted is true");
    takes("entries/0/candidates/1/error", "null", 3);
    takes("entries/0/candidates/1/error_bound", "null", 3);
}

/* A kernel that needs what the entry's features lack would be an illegal instruction. */
static void test_needs(void **state)
{
    (void)state;
    size_t count;
    const sattn_kernel *const rows = sattn_registry(&count);
    for (size_t i = 0; i < count; ++i) {
        char value[120];
        if (rows[i].op != SATTN_OP_qk || (rows[i].needs & ~SATTN_ISA_AVX2) == 0)
            continue;
        snprintf(value, sizeof value, "\"%s\"", rows[i].name);
        refuses("entries/1/candidates/0/kernels", value, "which the entry's features lack");
    }
}

/* Kernels of other builds: the rest of an entry stays, unless it was about them. */
static void test_unknown_kernels(void **state)
{
    (void)state;
    const sattn_identity here = some_identity();
    takes("entries/0/candidates/1/kernels", "\"sattn_qk_f32_mmx,a,b\"", 2);
    check_remark("", "",
                 "entries[0].candidates[1].kernels names sattn_qk_f32_mmx, which is no kernel");
    takes("entries/0/candidates/0/kernels", "\"sattn_fused_f32_mmx\"", 2);
    check_remark("", "", "entries[0].candidates[0].kernels names sattn_fused_f32_mmx");
    json_t *document = profile_json(&here);
    json_t *const list =
        json_object_get(json_array_get(json_object_get(document, "entries"), 0), "candidates");
    json_t *const other = json_deep_copy(json_array_get(list, 0));
    json_object_set_new(other, "kernels", json_string("sattn_fused_f32_mmx"));
    json_array_insert_new(list, 1, other);
    profile_set(document, "entries/0/taken", json_integer(2));
    sattn_profile *const profile = read_json(document);
    assert_non_null(profile);
    assert_string_equal(remark, "");
    const sattn_profile_entry *const e = entry_of(profile, SATTN_CALL_ATTENTION);
    assert_int_equal(e->n_tried, 2);
    assert_int_equal(e->taken, 1);
    assert_int_equal(e->tried[1].recipe.computation, SATTN_COMPUTE_CHAIN);
    sattn_profile_destroy(profile);
}

static void test_twice(void **state)
{
    (void)state;
    const sattn_identity here = some_identity();
    json_t *const document = profile_json(&here);
    json_t *const entries = json_object_get(document, "entries");
    json_array_append_new(entries, json_deep_copy(json_array_get(entries, 1)));
    assert_null(read_json(document));
    assert_non_null(strstr(remark, "entries has \"qk "));
    assert_non_null(strstr(remark, "twice"));
}

/* A field may be new where the minor version says so, and nowhere else. */
static void test_newer_schema(void **state)
{
    (void)state;
    const sattn_identity here = some_identity();
    static const char *const places[] = {"new", "identity/new", "entries/0/new",
                                         "entries/0/candidates/0/new"};
    for (int minor = 0; minor <= 1; ++minor)
        for (size_t i = 0; i < COUNT(places); ++i) {
            json_t *const document = profile_json(&here);
            profile_set(document, "schema_minor", json_integer(SATTN_PROFILE_SCHEMA_MINOR + minor));
            profile_set(document, places[i], json_pack("{s:[i]}", "x", 1));
            sattn_profile *const profile = read_json(document);
            assert_int_equal(profile != NULL, minor == 1);
            sattn_profile_destroy(profile);
        }
}

static void test_texts_that_are_none(void **state)
{
    (void)state;
    const sattn_identity here = some_identity();
    static const struct {
        const char *text, *expected;
    } wrong[] = {
        {"", "not JSON"},
        {" \n", "not JSON"},
        {"null", "not JSON"},
        {"[]", "identity is missing"},
        {"{}", "identity is missing"},
        {"{\"identity\": {}, \"identity\": {}}", "duplicate"},
        {"{\"identity\": NaN}", "not JSON"},
        {"{\"identity\": 1e999}", "not JSON"},
        {"{\"a\": \"\\u0000\"}", "not JSON"},
        {"{\"a\": \"\xff\"}", "not JSON"},
        {"\xef\xbb\xbf{}", "not JSON"},
        {"{} {}", "not JSON"},
        {"{\"identity\": {\"schema\": 2, \"new\": 1}}", "identity.schema is \"2\", here \"1\""},
    };
    for (size_t i = 0; i < COUNT(wrong); ++i) {
        assert_null(read_text(wrong[i].text, strlen(wrong[i].text), &here));
        check_remark(wrong[i].text, "", wrong[i].expected);
    }
    assert_null(read_text("{}\0{}", 5, &here));
}

/* D14. Behind the last brace nothing is missing. */
static void test_cut_at_every_byte(void **state)
{
    (void)state;
    const sattn_identity here = some_identity();
    json_t *const document = profile_json(&here);
    char *const text = json_dumps(document, JSON_INDENT(1));
    assert_non_null(text);
    for (size_t size = 0; size < strlen(text); ++size)
        assert_null(read_text(text, size, &here));
    sattn_profile *const whole = read_text(text, strlen(text), &here);
    assert_non_null(whole);
    sattn_profile_destroy(whole);
    free(text);
    json_decref(document);
}

/* One byte changed at each place: refused, or still a profile. */
static void test_each_byte_changed(void **state)
{
    (void)state;
    static const char bytes[] = {'\0', '"', '{', ']', ',', '9', '-', 'e', '\\', (char)0xff};
    const sattn_identity here = some_identity();
    json_t *const document = profile_json(&here);
    char *const text = json_dumps(document, JSON_COMPACT);
    assert_non_null(text);
    const size_t size = strlen(text);
    size_t n_refused = 0;
    for (size_t at = 0; at < size; ++at) {
        const char kept = text[at];
        text[at] = bytes[at % sizeof bytes];
        sattn_profile *const profile = read_text(text, size, &here);
        n_refused += profile == NULL;
        sattn_profile_destroy(profile);
        text[at] = kept;
    }
    assert_true(n_refused > size / 2);
    free(text);
    json_decref(document);
}

/* 10 MB of '[', the same behind a text with brackets, and one byte too many. */
static void test_too_much(void **state)
{
    (void)state;
    const sattn_identity here = some_identity();
    const size_t size = 4000000, most = SATTN_PROFILE_MOST_BYTES;
    char *const text = malloc(most + 1);
    assert_non_null(text);
    memset(text, '[', size);
    assert_null(read_text(text, size, &here));
    assert_non_null(strstr(remark, "levels deep"));
    static const char begin[] = {'"', '\\', '"', '[', '"', ','};
    memcpy(text, begin, sizeof begin);
    assert_null(read_text(text, size, &here));
    assert_non_null(strstr(remark, "levels deep"));
    assert_null(read_text("[[[[[[[[[[[[[[[[[", 17, &here));
    assert_non_null(strstr(remark, "levels deep"));
    assert_null(read_text("[[[[[[[[[[[[[[[[\"[[[[\"", 22, &here));
    assert_non_null(strstr(remark, "not JSON"));
    memset(text, ' ', most + 1);
    assert_null(read_text(text, most + 1, &here));
    assert_non_null(strstr(remark, "expected at most 4194304"));
    for (size_t n = 99999; n <= 100000; ++n) { /* braces and commas, and the bracket */
        const size_t end = 3 * n + 1;
        for (size_t i = 1; i < end; ++i)
            text[i] = "{},"[(i - 1) % 3];
        text[0] = '[';
        text[end] = '0';
        text[end + 1] = ']';
        assert_null(read_text(text, end + 2, &here));
        assert_int_equal(strstr(remark, "more than 200000 values") != NULL, n == 100000);
    }
    text[0] = '"'; /* what stands in a text is none */
    memset(text + 1, '{', 300000);
    text[300001] = '"';
    assert_null(read_text(text, 300002, &here));
    assert_null(strstr(remark, "values"));
    free(text);
}

static void take_warning(void *context, const char *message)
{
    snprintf(context, SATTN_PROFILE_REMARK, "%s", message);
}

/* Of this machine, if it says what it is; the same from memory and from a file. */
static void test_load(void **state)
{
    (void)state;
    char path[] = "/tmp/simdattn-profile-XXXXXX", warning[SATTN_PROFILE_REMARK] = "";
    sattn_identity here;
    sattn_profile *from_memory, *from_file;
    sattn_identity_read(&here);
    const sattn_identity_field unknown = sattn_identity_compare(&here, &here);
    json_t *const document = profile_json(&here);
    profile_set(document, "entries/1/candidates/0/kernels", json_string("sattn_qk_f32_mmx"));
    char *const text = json_dumps(document, 0);
    const int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), strlen(text));
    close(file);
    const sattn_status expected = unknown == SATTN_IDENTITY_COUNT ? SATTN_OK : SATTN_ERR_PROFILE;
    sattn_set_warning_handler(take_warning, warning);
    assert_int_equal(sattn_profile_load_buffer(&from_memory, text, strlen(text)), expected);
    assert_int_equal(sattn_profile_load(&from_file, path), expected);
    sattn_set_warning_handler(NULL, NULL);
    if (expected == SATTN_OK) {
        assert_non_null(strstr(warning, path));
        assert_non_null(strstr(warning, "sattn_qk_f32_mmx"));
        assert_string_equal(sattn_profile_path(from_memory), "");
        assert_string_equal(sattn_profile_path(from_file), path);
    } else {
        assert_non_null(strstr(sattn_last_error(), sattn_identity_name(unknown)));
        assert_true(from_memory == NULL && from_file == NULL);
    }
    sattn_profile_destroy(from_memory);
    sattn_profile_destroy(from_file);
    remove(path);
    free(text);
    json_decref(document);
}

static void test_load_nothing(void **state)
{
    (void)state;
    sattn_profile *profile = (sattn_profile *)(uintptr_t)1;
    assert_int_equal(sattn_profile_load(&profile, NULL), SATTN_ERR_ARGUMENT);
    assert_null(profile);
    assert_int_equal(sattn_profile_load(NULL, "x"), SATTN_ERR_ARGUMENT);
    assert_int_equal(sattn_profile_load_buffer(&profile, NULL, 0), SATTN_ERR_ARGUMENT);
    assert_int_equal(sattn_profile_load_buffer(NULL, "x", 1), SATTN_ERR_ARGUMENT);
    profile = (sattn_profile *)(uintptr_t)1;
    assert_int_equal(sattn_profile_load(&profile, "/no/such/file"), SATTN_ERR_PROFILE);
    assert_null(profile);
    assert_non_null(strstr(sattn_last_error(), "profile /no/such/file: it cannot be read: "));
    assert_int_equal(sattn_profile_load_buffer(&profile, "{", 1), SATTN_ERR_PROFILE);
    assert_non_null(strstr(sattn_last_error(), "profile in memory: it is not JSON: line 1"));
    sattn_profile_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_identity),
        cmocka_unit_test(test_identity_compare),
        cmocka_unit_test(test_identity_of_cpus),
        cmocka_unit_test(test_features),
        cmocka_unit_test(test_entries),
        cmocka_unit_test(test_candidates),
        cmocka_unit_test(test_number_of_candidates),
        cmocka_unit_test(test_needs),
        cmocka_unit_test(test_unknown_kernels),
        cmocka_unit_test(test_twice),
        cmocka_unit_test(test_newer_schema),
        cmocka_unit_test(test_texts_that_are_none),
        cmocka_unit_test(test_cut_at_every_byte),
        cmocka_unit_test(test_each_byte_changed),
        cmocka_unit_test(test_too_much),
        cmocka_unit_test(test_load),
        cmocka_unit_test(test_load_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
