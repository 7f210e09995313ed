/* SPDX-License-Identifier: MIT
 *
 * test_selection_explain.c: sattn_explain says what a call does, and why it does nothing else. */
#include "tests/test_selection.h"

#include "dispatch/candidates.h"
#include "dispatch/warning.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static sattn_explanation *explain(const sattn_attention_args *args, const sattn_options *options)
{
    sattn_explanation *explanation;
    if (sattn_explain(&explanation, args, options) != SATTN_OK)
        fail_msg("%s", sattn_last_error());
    return explanation;
}

/* The candidate of these kernels, without key ranges of its own. */
static const sattn_candidate *candidate_of(const sattn_explanation *e, const char *kernels)
{
    for (size_t i = 0; i < e->n_candidates; ++i)
        if (strcmp(e->candidates[i].kernels, kernels) == 0 && e->candidates[i].key_splits == 0)
            return &e->candidates[i];
    fail_msg("no candidate %s", kernels);
    return NULL;
}

static void check_reason(const sattn_explanation *e, const char *kernels, const char *part)
{
    const sattn_candidate *const candidate = candidate_of(e, kernels);
    if (!strstr(candidate->reason, part))
        fail_msg("%s: \"%s\" does not say \"%s\"", kernels, candidate->reason, part);
}

static const char *plan_kernels(const sattn_attention_args *args, const sattn_options *options)
{
    static char names[SATTN_RECIPE_TEXT];
    sattn_plan *plan;
    assert_int_equal(sattn_plan_create(&plan, args, options), SATTN_OK);
    snprintf(names, sizeof names, "%s", sattn_plan_kernel(plan));
    sattn_plan_destroy(plan);
    return names;
}

/* One candidate is taken, which is what a plan runs; the others have a reason. */
static void check(const sattn_explanation *e, const char *kernels)
{
    int n_taken = 0, n_default = 0;
    for (size_t i = 0; i < e->n_candidates; ++i) {
        const sattn_candidate *const c = &e->candidates[i];
        n_taken += c->is_taken;
        n_default += c->is_default;
        assert_int_equal(c->reason[0] == '\0', c->is_taken);
        assert_true(c->is_eligible || !c->is_taken);
        assert_true(c->is_eligible || !c->is_on_front);
        if (c->is_taken)
            assert_string_equal(c->kernels, kernels);
    }
    assert_int_equal(n_taken, 1);
    assert_int_equal(n_default, 1);
}

static void test_without_profile(void **state)
{
    (void)state;
    static const int64_t shapes[][4] = {{1, 1, 1, 100}, {2, 1, 197, 197}, {1, 4, 5, 64}};
    const sattn_options nothing = {0}, chain = {.plan = "chain"}, named = {.kernels = scalar_fused},
                        none = {.profile = sattn_profile_none()};
    const sattn_options *const plans[] = {&nothing, &chain, &named, &none};
    for (size_t s = 0; s < COUNT(shapes); ++s)
        for (size_t p = 0; p < COUNT(plans); ++p) {
            const sattn_attention_args a =
                shape_of(shapes[s][0], shapes[s][1], shapes[s][2], shapes[s][3]);
            sattn_explanation *const e = explain(&a, plans[p]);
            check(e, plan_kernels(&a, plans[p]));
            assert_true(e->candidates[0].is_default && e->candidates[0].is_taken);
            assert_true(isnan(e->candidates[0].time_ns) && isnan(e->candidates[0].error));
            assert_int_equal(e->candidates[0].samples, 0);
            assert_string_equal(e->profile, "");
            assert_non_null(strstr(e->decision, plans[p]->kernels ? "by name"
                                                : plans[p]->profile
                                                    ? "order, since options.profile is none"
                                                    : "the registry's order, since "));
            sattn_explanation_destroy(e);
        }
}

static void test_reasons(void **state)
{
    (void)state;
    const sattn_attention_args a = shape_of(1, 1, 1, 100);
    size_t count;
    const sattn_kernel *const rows = sattn_registry(&count);
    const sattn_options capped = {.isa = "scalar"}, named = {.kernels = scalar_fused},
                        chain = {.plan = "chain"}, fused = {.plan = "fused"},
                        ranges = {.key_splits = 2};
    sattn_explanation *const e = explain(&a, NULL), *const by_cap = explain(&a, &capped),
                             *const by_name = explain(&a, &named);
    check(by_cap, plan_kernels(&a, &capped));
    for (size_t i = 0; i < count; ++i) {
        char features[160];
        if (rows[i].op != SATTN_OP_fused)
            continue;
        sattn_features_print(rows[i].needs & ~sattn_cpu_this()->usable, features, sizeof features);
        const bool runs = features[0] == '\0';
        if (!runs)
            check_reason(e, rows[i].name, features);
        else if (!(rows[i].phases & SATTN_PHASE_DECODE) ||
                 (rows[i].phases & SATTN_FOR_SEVERAL_ROWS))
            check_reason(e, rows[i].name, "not ranked for decode");
        sattn_features_print(rows[i].needs, features, sizeof features);
        if (runs && rows[i].needs != 0) {
            check_reason(by_cap, rows[i].name, features);
            check_reason(by_cap, rows[i].name, "the cap scalar");
            assert_false(candidate_of(by_cap, rows[i].name)->is_eligible);
            check_reason(by_name, rows[i].name, "sattn_fused_f32_scalar is asked for by name");
        }
    }
    check_reason(by_name, scalar_chain, "sattn_fused_f32_scalar is asked for by name");
    check_reason(e, scalar_chain, "a chain is not taken unless it is asked for");
    sattn_explanation_destroy(e);
    sattn_explanation_destroy(by_cap);
    sattn_explanation_destroy(by_name);
    const struct {
        const sattn_options *options;
        const char *kernels, *reason;
    } cases[] = {{&chain, scalar_fused, "other plan"},
                 {&fused, scalar_chain, "other plan"},
                 {&ranges, scalar_chain, "which a chain has not"}};
    for (size_t i = 0; i < COUNT(cases); ++i) {
        sattn_explanation *const other = explain(&a, cases[i].options);
        assert_false(candidate_of(other, cases[i].kernels)->is_eligible);
        check_reason(other, cases[i].kernels, cases[i].reason);
        sattn_explanation_destroy(other);
    }
    float scores[100];
    sattn_attention_args with_scores = a;
    with_scores.scores = scores;
    sattn_explanation *const other = explain(&with_scores, NULL);
    check_reason(other, scalar_fused, "only a chain returns");
    sattn_explanation_destroy(other);
}

enum { TRIED = 7 };

/* What a profile measured: a default, a choice, one that is slower and as exact, one that is slower
 * and more exact, one that is wrong, one that is hardly slower than the choice, and one whose error
 * is not known. `facts` are the entry's beside that. */
static sattn_profile *measured(const sattn_attention_args *a, const sattn_profile_entry *facts,
                               char names[TRIED][SATTN_RECIPE_TEXT])
{
    static const double times[TRIED] = {2000, 1000, 3000, 4000, 500, 1050, 900};
    static const double errors[TRIED] = {1.0, 1.0, 1.0, 0.5, 9.0, 1.0, (double)NAN};
    sattn_recipe_list list;
    sattn_tried tried[TRIED];
    size_t n = 0;
    assert_int_equal(sattn_list_recipes(&list, SATTN_CALL_ATTENTION, a, NULL), SATTN_OK);
    for (size_t i = 0; i < list.n && n < TRIED; ++i)
        if (list.items[i].verdict == SATTN_RECIPE_ELIGIBLE) {
            tried[n] = (sattn_tried){.recipe = list.items[i].recipe,
                                     .time_ns = times[n],
                                     .time_p10_ns = times[n] - 10,
                                     .time_p90_ns = times[n] + 10,
                                     .samples = 7,
                                     .error = errors[n],
                                     .error_bound = n == 4 && facts->max_error == 0 ? 8.0 : 20.0,
                                     .is_admitted = n != 4};
            sattn_recipe_print(&tried[n].recipe, names[n]);
            ++n;
        }
    if (n < TRIED) /* of a build without vectors */
        return NULL;
    sattn_profile_entry entry = *facts;
    entry.shape_class = list.shape_class;
    entry.usable = sattn_cpu_this()->usable;
    entry.shape = "a named shape";
    entry.is_complete = true;
    entry.margin = 0.25;
    entry.n_tried = TRIED;
    entry.tried = tried;
    return sattn_profile_make(&entry, 1, "of-a-test.json");
}

static void test_measured(void **state)
{
    (void)state;
    char names[TRIED][SATTN_RECIPE_TEXT];
    const sattn_attention_args a = shape_of(1, 1, 1, 100);
    const sattn_profile_entry facts = {.taken = 1, .spread = 0.1};
    sattn_profile *const profile = measured(&a, &facts, names);
    if (!profile)
        return;
    const sattn_options options = {.profile = profile};
    sattn_explanation *const e = explain(&a, &options);
    check(e, plan_kernels(&a, &options));
    assert_string_equal(e->profile, "of-a-test.json");
    assert_non_null(strstr(e->profile_state, "in use"));
    assert_non_null(strstr(e->decision, "the profile's choice"));
    assert_non_null(strstr(e->decision, "at a named shape: faster than the next by 25.0 %"));
    assert_string_equal(e->measured, "a named shape");
    assert_false(e->is_tainted);
    assert_non_null(strstr(e->shape_class, "attention decode"));
    const sattn_candidate *const taken = candidate_of(e, names[1]);
    assert_true(taken->is_taken && taken->is_on_front && !taken->is_default);
    assert_true(taken->time_ns == 1000 && taken->time_p10_ns == 990 && taken->time_p90_ns == 1010);
    assert_true(taken->samples == 7 && taken->error == 1.0 && taken->error_bound == 20.0);
    check_reason(e, names[0], "100.0 % slower");
    check_reason(e, names[2], "200.0 % slower");
    check_reason(e, names[5], "not faster than what is taken by more than the spread of 10.0 %");
    assert_false(candidate_of(e, names[6])->is_on_front); /* how exact it is nobody knows */
    assert_false(candidate_of(e, names[0])->is_on_front);
    assert_false(candidate_of(e, names[2])->is_on_front);
    assert_true(candidate_of(e, names[3])->is_on_front); /* slower, and more exact */
    assert_false(candidate_of(e, names[4])->is_eligible);
    assert_false(candidate_of(e, names[4])->is_on_front);
    check_reason(e, names[4], "error of 9 is beyond what rounding explains, 8");
    for (size_t i = 0; i < e->n_candidates; ++i)
        if (isnan(e->candidates[i].time_ns))
            assert_false(e->candidates[i].is_on_front);
    sattn_explanation_destroy(e);
    sattn_profile_destroy(profile);
}

static void test_tie_and_budget(void **state)
{
    (void)state;
    char names[TRIED][SATTN_RECIPE_TEXT];
    const sattn_attention_args a = shape_of(1, 1, 1, 100);
    const sattn_profile_entry facts = {
        .kept = SATTN_KEPT_IN_A_TIE, .is_tainted = true, .spread = 0.1, .max_error = 2.5};
    sattn_profile *const profile = measured(&a, &facts, names);
    if (!profile)
        return;
    const sattn_options options = {.profile = profile},
                        more = {.profile = profile, .plan = "fused", .kernels = names[0]};
    sattn_explanation *e = explain(&a, &options);
    check(e, plan_kernels(&a, NULL));
    assert_non_null(strstr(e->decision, "nothing faster"));
    assert_non_null(strstr(e->decision, "a tie within 25.0 %, spread 10.0 %"));
    assert_true(e->is_tainted);
    check_reason(e, names[1], "not faster");
    check_reason(e, names[2], "50.0 % slower");
    check_reason(e, names[4], "error of 9 is beyond the profile's budget, 2.5");
    sattn_explanation_destroy(e);
    e = explain(&a, &more);
    assert_non_null(strstr(e->decision, "by name"));
    assert_true(candidate_of(e, names[1])->time_ns == 1000); /* told all the same */
    sattn_explanation_destroy(e);
    sattn_profile_destroy(profile);
}

/* What an explanation says of a faster recipe that `kept` stands against. */
static void check_kept(sattn_kept kept, const char *decision, const char *reason)
{
    char names[TRIED][SATTN_RECIPE_TEXT];
    const sattn_attention_args a = shape_of(1, 1, 1, 100);
    const sattn_profile_entry facts = {.kept = kept, .spread = 0.1};
    sattn_profile *const profile = measured(&a, &facts, names);
    if (!profile)
        return;
    const sattn_options options = {.profile = profile};
    sattn_explanation *const e = explain(&a, &options);
    check(e, plan_kernels(&a, NULL));
    assert_non_null(strstr(e->decision, decision));
    check_reason(e, names[1], reason);
    check_reason(e, names[2], "50.0 % slower");
    sattn_explanation_destroy(e);
    sattn_profile_destroy(profile);
}

/* The fastest lost on another shape of the class, or could not be run there. */
static void test_slower_elsewhere(void **state)
{
    (void)state;
    check_kept(SATTN_KEPT_SLOWER_ELSEWHERE,
               "the fastest is slower elsewhere, and here ahead by 25.0 %",
               "50.0 % faster here, but the fastest is slower elsewhere");
    check_kept(SATTN_KEPT_UNCONFIRMED,
               "the fastest could not be run elsewhere, and is here ahead by 25.0 %",
               "50.0 % faster here, but the fastest could not be run elsewhere");
}

/* Of a race of one round. */
static void test_no_spread(void **state)
{
    (void)state;
    char names[TRIED][SATTN_RECIPE_TEXT];
    const sattn_attention_args a = shape_of(1, 1, 1, 100);
    const sattn_profile_entry facts = {.taken = 1, .spread = (double)NAN};
    sattn_profile *const profile = measured(&a, &facts, names);
    if (!profile)
        return;
    const sattn_options options = {.profile = profile};
    sattn_explanation *const e = explain(&a, &options);
    assert_null(strstr(e->decision, "nan"));
    check_reason(e, names[5], "5.0 % slower");
    check_reason(e, names[6], "not clearly faster");
    for (size_t i = 0; i < e->n_candidates; ++i)
        assert_null(strstr(e->candidates[i].reason, "nan"));
    sattn_explanation_destroy(e);
    sattn_profile_destroy(profile);
}

/* A class was measured where no rows are left over, and has calls where some are: what these run is
 * not among what was tried. */
static void test_another_default(void **state)
{
    (void)state;
    const sattn_attention_args a = shape_of(2, 1, 197, 197);
    sattn_recipe_list list;
    sattn_tried tried[2];
    char names[SATTN_RECIPE_TEXT];
    assert_int_equal(sattn_list_recipes(&list, SATTN_CALL_ATTENTION, &a, NULL), SATTN_OK);
    sattn_recipe alone = list.items[0].recipe, scalar;
    if (!alone.rest_kernel) /* of a build without vectors */
        return;
    alone.rest_kernel = NULL;
    assert_true(sattn_recipe_parse(SATTN_CALL_ATTENTION, "fused", scalar_fused, 0, &scalar));
    fill_tried(tried, &alone, &scalar);
    tried[1].time_ns = (double)NAN;
    const sattn_profile_entry entry = {.shape_class = list.shape_class,
                                       .usable = sattn_cpu_this()->usable,
                                       .shape = "a named shape",
                                       .is_complete = true,
                                       .margin = (double)NAN,
                                       .spread = (double)NAN,
                                       .n_tried = 2,
                                       .tried = tried};
    sattn_profile *const profile = sattn_profile_make(&entry, 1, "");
    const sattn_options options = {.profile = profile};
    sattn_explanation *const e = explain(&a, &options);
    check(e, plan_kernels(&a, NULL));
    sattn_recipe_print(&alone, names);
    check_reason(e, names, "measured, but not against what this shape runs");
    check_reason(e, scalar_chain, "the profile has not tried it");
    sattn_explanation_destroy(e);
    sattn_profile_destroy(profile);
}

/* More than a file may have, of which the last is taken: it is among what is told. */
static void test_full_list(void **state)
{
    (void)state;
    enum { MANY = SATTN_RECIPES_MAX + 8 };
    static sattn_tried tried[MANY];
    const sattn_attention_args a = shape_of(1, 1, 1, 100);
    for (int i = 0; i < MANY; ++i) {
        tried[i] = (sattn_tried){.time_ns = 1000, .samples = 1, .is_admitted = true};
        assert_true(
            sattn_recipe_parse(SATTN_CALL_ATTENTION, "fused", scalar_fused, i, &tried[i].recipe));
    }
    const sattn_profile_entry entry = {.shape_class = sattn_class_of(&a, SATTN_COMPUTE_FUSED, 1),
                                       .usable = sattn_cpu_this()->usable,
                                       .shape = "a named shape",
                                       .is_complete = true,
                                       .n_tried = MANY,
                                       .tried = tried,
                                       .taken = MANY - 1};
    sattn_profile *const profile = sattn_profile_make(&entry, 1, "");
    const sattn_options options = {.profile = profile};
    sattn_explanation *const e = explain(&a, &options);
    check(e, scalar_fused);
    assert_int_equal(e->n_candidates, SATTN_RECIPES_MAX);
    sattn_explanation_destroy(e);
    sattn_profile_destroy(profile);
}

/* One head of a single query: with several threads its keys are cut, in one number of ranges or
 * another. A build without threads does not have the choice. */
static void test_key_ranges(void **state)
{
    (void)state;
    const sattn_attention_args a = shape_of(1, 1, 1, 100000);
    const sattn_options options = {.threads = 4};
    sattn_explanation *const e = explain(&a, &options);
    check(e, plan_kernels(&a, &options));
    for (size_t i = 0; i < e->n_candidates; ++i)
        if (e->candidates[i].key_splits > 0)
            assert_non_null(strstr(e->candidates[i].reason, "the number of key ranges follows"));
    sattn_explanation_destroy(e);
    const struct {
        int asked, runs;
    } cases[] = {{3, 3}, {1, 1}, {1000000, (100000 - 1) / SATTN_KEY_BLOCK + 1}};
    for (size_t c = 0; c < COUNT(cases); ++c) {
        const sattn_options ranges = {.key_splits = cases[c].asked, .threads = 4};
        sattn_explanation *const asked = explain(&a, &ranges);
        check(asked, plan_kernels(&a, &ranges));
        for (size_t i = 0; i < asked->n_candidates; ++i)
            assert_int_equal(asked->candidates[i].key_splits,
                             strcmp(asked->candidates[i].plan, "fused") == 0 ? cases[c].runs : 0);
        sattn_explanation_destroy(asked);
    }
}

/* Its error is good enough where it is told: something else spoke against it. */
static void test_not_admitted(void **state)
{
    (void)state;
    char names[TRIED][SATTN_RECIPE_TEXT];
    const sattn_attention_args a = shape_of(1, 1, 1, 100);
    const sattn_profile_entry facts = {.taken = 1, .spread = 0.1, .max_error = 100};
    sattn_profile *const profile = measured(&a, &facts, names);
    if (!profile)
        return;
    const sattn_options options = {.profile = profile};
    sattn_explanation *const e = explain(&a, &options);
    assert_false(candidate_of(e, names[4])->is_eligible);
    check_reason(e, names[4], "on another shape of the class");
    sattn_explanation_destroy(e);
    sattn_profile_destroy(profile);
}

static void test_steps_and_arrays(void **state)
{
    (void)state;
    sattn_attention_args a = shape_of(1, 1, 40, 100);
    sattn_explanation *e;
    a.scores_stride_t = a.scores_in_stride_t = 100;
    for (int step = 0; step <= SATTN_STEP_AV; ++step) {
        assert_int_equal(sattn_explain_step(&e, (sattn_step)step, &a, NULL), SATTN_OK);
        check(e, e->candidates[0].kernels);
        assert_string_equal(e->candidates[0].plan, "");
        sattn_explanation_destroy(e);
    }
    assert_int_equal(sattn_explain_exp(&e, 1000, NULL), SATTN_OK);
    assert_string_equal(e->shape_class, "exp n<=1024 threads=1");
    sattn_explanation_destroy(e);
    const sattn_options named = {.kernels = "sattn_tanh_f32_scalar"};
    assert_int_equal(sattn_explain_tanh(&e, 1000, &named), SATTN_OK);
    check(e, "sattn_tanh_f32_scalar");
    sattn_explanation_destroy(e);
}

static void test_refusals(void **state)
{
    (void)state;
    sattn_attention_args a = shape_of(1, 1, 40, 100);
    sattn_explanation *e = (sattn_explanation *)&a;
    const sattn_options wrong = {.isa = "mmx"};
    assert_int_equal(sattn_explain(NULL, &a, NULL), SATTN_ERR_ARGUMENT);
    assert_int_equal(sattn_explain(&e, NULL, NULL), SATTN_ERR_ARGUMENT);
    assert_null(e);
    assert_int_equal(sattn_explain(&e, &a, &wrong), SATTN_ERR_KERNEL);
    assert_int_equal(sattn_explain_step(&e, (sattn_step)3, &a, NULL), SATTN_ERR_ARGUMENT);
    assert_int_equal(sattn_explain_exp(&e, -1, NULL), SATTN_ERR_ARGUMENT);
    a.d = 0;
    assert_int_equal(sattn_explain(&e, &a, NULL), SATTN_ERR_ARGUMENT);
    assert_null(e);
    sattn_explanation_destroy(NULL);
}

static void note_warning(void *context, const char *message)
{
    snprintf(context, 64, "%s", message);
}

static void test_warnings(void **state)
{
    (void)state;
    char said[64] = "";
    sattn_set_warning_handler(note_warning, said);
    sattn_warn("%s %d", "message", 5);
    assert_string_equal(said, "message 5");
    sattn_warn("%s", "one\ntwo \x1b[31m\x7f\r three");
    assert_string_equal(said, "one?two ?[31m?? three");
    sattn_set_warning_handler(NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_profile),  cmocka_unit_test(test_reasons),
        cmocka_unit_test(test_key_ranges),       cmocka_unit_test(test_not_admitted),
        cmocka_unit_test(test_measured),         cmocka_unit_test(test_tie_and_budget),
        cmocka_unit_test(test_steps_and_arrays), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_warnings),         cmocka_unit_test(test_full_list),
        cmocka_unit_test(test_slower_elsewhere), cmocka_unit_test(test_no_spread),
        cmocka_unit_test(test_another_default),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
