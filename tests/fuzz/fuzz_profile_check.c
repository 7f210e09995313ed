/* SPDX-License-Identifier: MIT
 *
 * fuzz_profile_check.c: fuzz_check of profiles. The first byte says what the rest of an input is:
 * 0, the text of a profile; else a list of places in a legal one, each with what is put there. What
 * is read must be consistent, be found again, and be explained. */
#include "dispatch/profile_read.h"
#include "tests/fuzz/fuzz_bytes.h"
#include "tests/fuzz/fuzz_check.h"
#include "tests/support/profile_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void demand(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "FAIL profile: %s\n", what);
    abort();
}

static void make_identity(sattn_identity *identity)
{
    for (int field = 0; field < SATTN_IDENTITY_COUNT; ++field)
        snprintf(identity->text[field], SATTN_IDENTITY_TEXT, "some");
    snprintf(identity->text[SATTN_IDENTITY_SCHEMA], SATTN_IDENTITY_TEXT, "%d",
             SATTN_PROFILE_SCHEMA);
    snprintf(identity->text[SATTN_IDENTITY_CPUS], SATTN_IDENTITY_TEXT, "2");
    sattn_identity_features(SATTN_ISA_AVX2, identity->text[SATTN_IDENTITY_FEATURES]);
}

/* A value of any type, more often one that is legal somewhere. */
static json_t *make_value(fuzz_bytes *bytes)
{
    static const char *const texts[] = {"",
                                        "fused",
                                        "chain",
                                        "avx avx2 f16c fma",
                                        "avx512f",
                                        "sattn_fused_f32_scalar",
                                        "sattn_fused_f32_avx2",
                                        "sattn_fused_f32_mmx",
                                        "sattn_exp_f32_scalar,",
                                        "exp n<=1024 threads=1",
                                        "exp n<=1024 threads=16",
                                        "qk prefill rows<=64 keys<=1 d<=8 group=1 dense threads=1",
                                        "some"};
    switch (fuzz_choice(bytes, 8)) {
    case 0:
        return json_integer(fuzz_odd_number(bytes));
    case 1:
        return json_integer(fuzz_byte(bytes) % 8);
    case 2:
        return json_real((double)fuzz_byte(bytes) / 4);
    case 3:
        return json_null();
    case 4:
        return json_boolean(fuzz_byte(bytes) & 1);
    case 5:
        return fuzz_byte(bytes) & 1 ? json_array() : json_object();
    default:
        return json_string(texts[fuzz_choice(bytes, sizeof texts / sizeof texts[0])]);
    }
}

/* Another value of the same type, which may well be legal. */
static json_t *vary(const json_t *old, fuzz_bytes *bytes)
{
    const int factor = fuzz_byte(bytes);
    if (json_is_integer(old))
        return json_integer((int64_t)((uint64_t)json_integer_value(old) * (uint64_t)(factor / 64)));
    if (json_is_real(old))
        return json_real(json_real_value(old) * (0.9 + factor / 1024.0));
    if (json_is_boolean(old))
        return json_boolean(json_is_true(old) != factor / 128);
    if (json_is_null(old))
        return json_real(factor);
    return json_deep_copy(old);
}

static void change(json_t *document, fuzz_bytes *bytes)
{
    static const char *const of_entry[] = {
        "",      "/class",   "/features", "/complete", "/max_error",  "/shape", "/taken",
        "/kept", "/tainted", "/margin",   "/spread",   "/candidates", "/more"};
    static const char *const of_candidate[] = {
        "",         "/plan",        "/kernels",     "/key_splits",
        "/time_ns", "/time_p10_ns", "/time_p90_ns", "/samples",
        "/error",   "/error_bound", "/admitted",    "/more"};
    static const char *const others[] = {"schema_minor",    "identity",      "entries",      "more",
                                         "identity/schema", "identity/cpus", "identity/arch"};
    char path[80];
    const int entry = fuzz_choice(bytes, 3);
    switch (fuzz_choice(bytes, 5)) {
    case 0:
        snprintf(path, sizeof path, "%s",
                 others[fuzz_choice(bytes, sizeof others / sizeof others[0])]);
        break;
    case 1:
    case 2:
        snprintf(path, sizeof path, "entries/%d%s", entry,
                 of_entry[fuzz_choice(bytes, sizeof of_entry / sizeof of_entry[0])]);
        break;
    default:
        snprintf(path, sizeof path, "entries/%d/candidates/%d%s", entry, entry == 0,
                 of_candidate[fuzz_choice(bytes, sizeof of_candidate / sizeof of_candidate[0])]);
    }
    const uint8_t how = fuzz_byte(bytes);
    profile_set(document, path,
                how < 16   ? NULL
                : how < 96 ? make_value(bytes)
                           : vary(profile_get(document, path), bytes));
}

static void check_entry(const sattn_profile *profile, const sattn_profile_entry *entry)
{
    sattn_shape_class class;
    char text[SATTN_CLASS_TEXT], kernels[SATTN_RECIPE_TEXT];
    sattn_class_print(&entry->shape_class, text);
    demand(sattn_class_parse(text, &class), "a class is no class");
    demand(sattn_profile_find(profile, &class, entry->usable) == entry, "an entry is not found");
    demand(entry->n_tried > 0 && entry->taken < entry->n_tried, "what is taken is not there");
    for (size_t i = 0; i < entry->n_tried; ++i) {
        const sattn_tried *const tried = &entry->tried[i];
        sattn_recipe again;
        sattn_recipe_print(&tried->recipe, kernels);
        demand(sattn_recipe_parse(class.call, sattn_recipe_plan(&tried->recipe), kernels,
                                  tried->recipe.key_splits, &again) &&
                   sattn_recipes_equal(&again, &tried->recipe),
               "a recipe is none");
        demand((sattn_recipe_needs(&again) & ~entry->usable) == 0, "a kernel cannot run");
        demand(isnan(tried->time_ns) ? tried->samples == 0
                                     : tried->time_ns > 0 && tried->samples > 0,
               "a time is none");
    }
    demand(entry->taken == 0 || (entry->tried[entry->taken].is_admitted &&
                                 entry->tried[entry->taken].samples > 0 && entry->is_complete),
           "what is taken must not be");
}

/* A call of the class, if there is one, and not too large for the products below. */
static sattn_status explain(const sattn_shape_class *class, const sattn_options *options,
                            sattn_explanation **explanation)
{
    if (class->rows_log2 > 20 || class->keys_log2 > 20 || class->d_log2 > 20 ||
        class->d_v_log2 > 20)
        return SATTN_ERR_TOO_LARGE;
    const int64_t one = 1, rows = one << class->rows_log2, n_k = one << class->keys_log2;
    const int64_t n_group = class->group > 0 ? class->group : 1;
    const int64_t n_q = rows > n_group ? rows / n_group : 1;
    const int64_t d = one << class->d_log2, d_v = one << class->d_v_log2;
    const sattn_attention_args a = {.batch = 1,
                                    .n_q_heads = n_group,
                                    .n_kv_heads = 1,
                                    .n_q = n_q,
                                    .n_k = n_k,
                                    .d = d,
                                    .d_v = d_v,
                                    .q = {.stride_h = d, .stride_t = n_group * d},
                                    .k = {.stride_t = d},
                                    .v = {.stride_t = d_v},
                                    .o = {.stride_h = d_v, .stride_t = n_group * d_v},
                                    .scores_stride_t = n_k,
                                    .scores_stride_h = n_k * n_q,
                                    .scores_in_stride_t = n_k,
                                    .scores_in_stride_h = n_k * n_q};
    const sattn_alignment_args alignment = {.batch = 1,
                                            .n_q = n_q,
                                            .n_k = n_k,
                                            .d = d,
                                            .k = {.stride_t = d},
                                            .scores = {.stride_t = n_k}};
    const sattn_linear_weights weights = {.n_in = d, .n_out = n_k, .w = {.stride_t = d}};
    switch (class->call) {
    case SATTN_CALL_QK:
        return sattn_explain_step(explanation, SATTN_STEP_QK, &a, options);
    case SATTN_CALL_SOFTMAX:
        return sattn_explain_step(explanation, SATTN_STEP_SOFTMAX, &a, options);
    case SATTN_CALL_AV:
        return sattn_explain_step(explanation, SATTN_STEP_AV, &a, options);
    case SATTN_CALL_EXP:
        return sattn_explain_exp(explanation, n_k, options);
    case SATTN_CALL_TANH:
        return sattn_explain_tanh(explanation, n_k, options);
    case SATTN_CALL_SIGMOID:
        return sattn_explain_sigmoid(explanation, n_k, options);
    case SATTN_CALL_ADDITIVE:
        return sattn_explain_additive(explanation, &alignment, options);
    case SATTN_CALL_LINEAR:
        return class->is_packed ? sattn_explain_linear_pack(explanation, &weights, n_q, options)
                                : sattn_explain_linear(explanation, &weights, n_q, options);
    case SATTN_CALL_GRU:
        return sattn_explain_gru(explanation, 1, n_k, options);
    default:
        return sattn_explain(explanation, &a, options);
    }
}

/* Under a cap that leaves what every machine has, and so the kernels of the legal profile. */
static void check_explanation(const sattn_profile *profile, const sattn_profile_entry *entry)
{
    const sattn_options options = {
        .profile = profile, .isa = "scalar", .threads = entry->shape_class.threads};
    sattn_explanation *explanation;
    int n_taken = 0;
    if (explain(&entry->shape_class, &options, &explanation) != SATTN_OK)
        return;
    for (size_t i = 0; i < explanation->n_candidates; ++i) {
        const sattn_candidate *const candidate = &explanation->candidates[i];
        n_taken += candidate->is_taken;
        demand((candidate->reason[0] == '\0') == candidate->is_taken, "a reason is none");
    }
    demand(n_taken == 1, "not one is taken");
    sattn_explanation_destroy(explanation);
}

static fuzz_outcome check_text(const char *text, size_t size, const sattn_identity *here)
{
    sattn_profile *profile;
    size_t n;
    char remark[SATTN_PROFILE_REMARK];
    const sattn_status status = sattn_profile_read(&profile, text, size, "", here, remark);
    demand((status == SATTN_OK) == (profile != NULL), "status and profile disagree");
    demand(profile || (status == SATTN_ERR_PROFILE && remark[0] != '\0'), "no reason is given");
    if (!profile)
        return FUZZ_REFUSED;
    const sattn_profile_entry *const entries = sattn_profile_entries(profile, &n);
    for (size_t i = 0; i < n; ++i) {
        check_entry(profile, &entries[i]);
        check_explanation(profile, &entries[i]);
    }
    sattn_profile_destroy(profile);
    return remark[0] == '\0' ? FUZZ_VERIFIED : FUZZ_ACCEPTED;
}

fuzz_outcome fuzz_check(const uint8_t *data, size_t size)
{
    sattn_identity here;
    make_identity(&here);
    if (size > 0 && data[0] == 0)
        return check_text((const char *)data + 1, size - 1, &here);
    fuzz_bytes bytes = {.at = data, .left = size};
    json_t *const document = profile_json(&here);
    for (int n = fuzz_choice(&bytes, 3); n > 0; --n)
        change(document, &bytes);
    char *const text = json_dumps(document, JSON_COMPACT);
    demand(text != NULL, "out of memory");
    const fuzz_outcome outcome = check_text(text, strlen(text), &here);
    free(text);
    json_decref(document);
    return outcome;
}
