/* SPDX-License-Identifier: MIT
 *
 * test_selection_calls.c: what a call runs where a profile has something to say: names, plans, caps
 * and key ranges asked for, features that are missing, and the list of all recipes. */
#include "tests/test_selection.h"

#include "dispatch/candidates.h"
#include "dispatch/choose.h"
#include "dispatch/share.h"
#include "dispatch/team.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static sattn_recipe recipe_named(const char *plan, const char *kernels, int key_splits)
{
    sattn_recipe recipe;
    if (!sattn_recipe_parse(SATTN_CALL_ATTENTION, plan, kernels, key_splits, &recipe))
        fail_msg("no recipe: %s of %s", plan, kernels);
    return recipe;
}

/* A profile that has the recipe for calls like this one, of one thread, on this CPU. */
static sattn_profile *profile_for(const sattn_attention_args *args, const sattn_recipe *recipe)
{
    const sattn_shape_class c = sattn_class_of(args, SATTN_COMPUTE_FUSED, 1);
    sattn_profile *const profile = profile_of_one(&c, sattn_cpu_this()->usable, recipe);
    assert_non_null(profile);
    return profile;
}

static sattn_plan plan_of(const sattn_attention_args *args, const sattn_options *options)
{
    sattn_plan plan;
    if (sattn_plan_make_attention(&plan, args, options) != SATTN_OK)
        fail_msg("%s", sattn_last_error());
    sattn_plan_name_kernels(&plan);
    return plan;
}

/* A kernel of the op other than the scalar one, that runs here; NULL: there is none. */
static const sattn_kernel *other_kernel(sattn_op op)
{
    size_t count;
    const sattn_kernel *const rows = sattn_registry(&count);
    for (size_t i = 0; i < count; ++i)
        if (rows[i].op == op && rows[i].needs != 0 &&
            (rows[i].needs & ~sattn_cpu_this()->usable) == 0)
            return &rows[i];
    return NULL;
}

typedef struct expectation {
    const char *what;
    sattn_options options; /* without its profile */
    bool has_scores;
    const char *plan, *kernels; /* of the profile's recipe */
    sattn_decision decision;
    sattn_computation computation;
} expectation;

static void check(const expectation *e)
{
    float scores[1];
    sattn_attention_args a = shape_of(1, 1, 40, 100);
    if (e->has_scores) {
        a.scores = scores;
        a.scores_stride_t = 100;
    }
    const sattn_recipe recipe = recipe_named(e->plan, e->kernels, 0);
    sattn_profile *const profile = profile_for(&a, &recipe);
    sattn_options options = e->options;
    options.profile = profile;
    const sattn_plan plan = plan_of(&a, &options);
    if (plan.decision != e->decision || plan.computation != e->computation)
        fail_msg("%s: decision %d, computation %d", e->what, (int)plan.decision,
                 (int)plan.computation);
    if (e->decision == SATTN_DECIDED_BY_PROFILE)
        assert_string_equal(plan.names, e->kernels);
    sattn_profile_destroy(profile);
}

static void test_precedence(void **state)
{
    (void)state;
    const expectation cases[] = {
        {"a chain",
         {0},
         false,
         "chain",
         scalar_chain,
         SATTN_DECIDED_BY_PROFILE,
         SATTN_COMPUTE_CHAIN},
        {"a fused kernel",
         {0},
         false,
         "fused",
         scalar_fused,
         SATTN_DECIDED_BY_PROFILE,
         SATTN_COMPUTE_FUSED},
        {"a name before a chain",
         {.kernels = scalar_fused},
         false,
         "chain",
         scalar_chain,
         SATTN_DECIDED_BY_NAME,
         SATTN_COMPUTE_FUSED},
        {"a name that the chain has too",
         {.kernels = "sattn_av_f32_scalar"},
         false,
         "chain",
         scalar_chain,
         SATTN_DECIDED_BY_PROFILE,
         SATTN_COMPUTE_CHAIN},
        {"a name of another op",
         {.kernels = "sattn_exp_f32_scalar"},
         false,
         "chain",
         scalar_chain,
         SATTN_DECIDED_BY_PROFILE,
         SATTN_COMPUTE_CHAIN},
        {"a name in a chain asked for",
         {.plan = "chain", .kernels = "sattn_av_f32_scalar"},
         false,
         "chain",
         scalar_chain,
         SATTN_DECIDED_BY_NAME,
         SATTN_COMPUTE_CHAIN},
        {"no names",
         {.kernels = ""},
         false,
         "chain",
         scalar_chain,
         SATTN_DECIDED_BY_PROFILE,
         SATTN_COMPUTE_CHAIN},
        {"the same plan",
         {.plan = "chain"},
         false,
         "chain",
         scalar_chain,
         SATTN_DECIDED_BY_PROFILE,
         SATTN_COMPUTE_CHAIN},
        {"fused instead of the chain",
         {.plan = "fused"},
         false,
         "chain",
         scalar_chain,
         SATTN_DECIDED_UNFIT,
         SATTN_COMPUTE_FUSED},
        {"a chain instead of fused",
         {.plan = "chain"},
         false,
         "fused",
         scalar_fused,
         SATTN_DECIDED_UNFIT,
         SATTN_COMPUTE_CHAIN},
        {"scores by a chain",
         {0},
         true,
         "chain",
         scalar_chain,
         SATTN_DECIDED_BY_PROFILE,
         SATTN_COMPUTE_CHAIN},
        {"scores, which fused has not",
         {0},
         true,
         "fused",
         scalar_fused,
         SATTN_DECIDED_UNFIT,
         SATTN_COMPUTE_CHAIN},
        {"key ranges, which a chain has not",
         {.key_splits = 2},
         false,
         "chain",
         scalar_chain,
         SATTN_DECIDED_UNFIT,
         SATTN_COMPUTE_FUSED},
        {"one key range",
         {.key_splits = 1},
         false,
         "chain",
         scalar_chain,
         SATTN_DECIDED_BY_PROFILE,
         SATTN_COMPUTE_CHAIN},
        {"a cap that leaves all it needs",
         {.isa = "scalar"},
         false,
         "chain",
         scalar_chain,
         SATTN_DECIDED_BY_PROFILE,
         SATTN_COMPUTE_CHAIN},
    };
    for (size_t i = 0; i < COUNT(cases); ++i)
        check(&cases[i]);
    const sattn_kernel *const qk = other_kernel(SATTN_OP_qk);
    if (!qk)
        return;
    check(&(expectation){"another name",
                         {.kernels = qk->name},
                         false,
                         "chain",
                         scalar_chain,
                         SATTN_DECIDED_UNFIT,
                         SATTN_COMPUTE_FUSED});
    check(&(expectation){"a cap below its needs",
                         {.isa = "scalar"},
                         false,
                         "fused",
                         other_kernel(SATTN_OP_fused)->name,
                         SATTN_DECIDED_WITHOUT_ENTRY,
                         SATTN_COMPUTE_FUSED});
}

/* D05 of a profile: made for these features, and yet its choice needs more. */
static void test_choice_that_cannot_run(void **state)
{
    (void)state;
    const sattn_kernel *const kernel = other_kernel(SATTN_OP_fused);
    if (!kernel)
        return;
    const sattn_attention_args a = shape_of(1, 1, 40, 100);
    const sattn_shape_class c = sattn_class_of(&a, SATTN_COMPUTE_FUSED, 1);
    const sattn_recipe recipe = recipe_named("fused", kernel->name, 0);
    sattn_profile *const profile = profile_of_one(&c, SATTN_ISA_SCALAR, &recipe);
    const sattn_options options = {.profile = profile, .isa = "scalar"};
    const sattn_plan plan = plan_of(&a, &options);
    assert_int_equal(plan.decision, SATTN_DECIDED_MISSING);
    assert_string_equal(plan.names, scalar_fused);
    sattn_profile_destroy(profile);
}

/* Calls of another class, and entries that choose nothing, leave the registry's order. */
static void test_registry_order_remains(void **state)
{
    (void)state;
    const sattn_attention_args a = shape_of(1, 1, 40, 100);
    sattn_attention_args longer = a;
    longer.n_k = 129;
    const sattn_recipe recipe = recipe_named("chain", scalar_chain, 0);
    sattn_profile *profile = profile_for(&a, &recipe);
    const sattn_options options = {.profile = profile}, more = {.profile = profile, .threads = 2};
    assert_int_equal(plan_of(&a, NULL).decision, SATTN_DECIDED_WITHOUT_PROFILE);
    assert_int_equal(plan_of(&longer, &options).decision, SATTN_DECIDED_WITHOUT_ENTRY);
    if (sattn_team_is_built())
        assert_int_equal(plan_of(&a, &more).decision, SATTN_DECIDED_WITHOUT_ENTRY);
    size_t n;
    sattn_profile_entry entry = *sattn_profile_entries(profile, &n);
    static const struct {
        bool is_complete;
        size_t taken;
        sattn_decision decision;
    } cases[] = {{true, 0, SATTN_DECIDED_DEFAULT},
                 {false, 1, SATTN_DECIDED_UNFINISHED},
                 {true, 2, SATTN_DECIDED_UNFINISHED}};
    for (size_t i = 0; i < COUNT(cases); ++i) {
        entry.is_complete = cases[i].is_complete;
        entry.taken = cases[i].taken;
        sattn_profile *const other = sattn_profile_make(&entry, 1, "");
        const sattn_options by_other = {.profile = other};
        const sattn_plan plan = plan_of(&a, &by_other);
        assert_int_equal(plan.decision, cases[i].decision);
        assert_string_equal(plan.names, plan_of(&a, NULL).names);
        sattn_profile_destroy(other);
    }
    sattn_profile_destroy(profile);
}

/* A profile's key ranges are for calls that have fewer blocks than threads; the user's stay. */
static void test_key_splits(void **state)
{
    (void)state;
    if (!sattn_team_is_built())
        return;
    const sattn_attention_args one = shape_of(1, 1, 1, 8192), many = shape_of(64, 1, 1, 8192);
    const sattn_shape_class c = sattn_class_of(&one, SATTN_COMPUTE_FUSED, 8);
    const sattn_recipe recipe = recipe_named("fused", scalar_fused, 3);
    sattn_profile *const profile = profile_of_one(&c, sattn_cpu_this()->usable, &recipe);
    sattn_options options = {.profile = profile, .threads = 8};
    assert_int_equal(plan_of(&one, &options).splits, 3);
    assert_int_equal(plan_of(&many, &options).decision, SATTN_DECIDED_BY_PROFILE);
    assert_int_equal(plan_of(&many, &options).splits, 1);
    options.key_splits = 5;
    assert_int_equal(plan_of(&one, &options).splits, 5);
    assert_int_equal(plan_of(&many, &options).splits, 5);
    sattn_profile_destroy(profile);
}

static void test_rest_kernel(void **state)
{
    (void)state;
    const sattn_attention_args a = shape_of(2, 1, 197, 197);
    const sattn_kernel *const kernel = plan_of(&a, NULL).kernels[SATTN_OP_fused];
    if (kernel->needs == 0) /* there is but one */
        return;
    char names[200];
    snprintf(names, sizeof names, "%s,%s", kernel->name, scalar_fused);
    const sattn_recipe recipe = recipe_named("fused", names, 0),
                       alone = recipe_named("fused", kernel->name, 0);
    sattn_profile *const profile = profile_for(&a, &recipe), *const other = profile_for(&a, &alone);
    const sattn_options options = {.profile = profile}, by_other = {.profile = other};
    assert_string_equal(plan_of(&a, &options).names, names);
    assert_string_equal(plan_of(&a, &by_other).names, kernel->name);
    sattn_profile_destroy(profile);
    sattn_profile_destroy(other);
}

static void test_steps_and_arrays(void **state)
{
    (void)state;
    static const sattn_op ops[] = {SATTN_OP_qk, SATTN_OP_softmax, SATTN_OP_av};
    sattn_attention_args a = shape_of(1, 1, 40, 100);
    a.scores_stride_t = a.scores_in_stride_t = 100;
    for (int step = 0; step < 3; ++step) {
        const sattn_computation computation = (sattn_computation)(SATTN_COMPUTE_QK + step);
        const sattn_shape_class c = sattn_class_of(&a, computation, 1);
        sattn_recipe recipe = {.computation = computation};
        char name[64];
        snprintf(name, sizeof name, "sattn_%s_f32_scalar", sattn_op_name(ops[step]));
        recipe.kernels[ops[step]] = sattn_kernel_by_name(name);
        sattn_profile *const profile = profile_of_one(&c, sattn_cpu_this()->usable, &recipe);
        const sattn_options options = {.profile = profile};
        sattn_plan plan;
        assert_int_equal(sattn_plan_make(&plan, computation, &a, &options), SATTN_OK);
        assert_int_equal(plan.decision, SATTN_DECIDED_BY_PROFILE);
        assert_string_equal(plan.kernels[ops[step]]->name, name);
        assert_int_equal(plan_of(&a, &options).decision, SATTN_DECIDED_WITHOUT_ENTRY);
        sattn_profile_destroy(profile);
    }
    const sattn_shape_class c = sattn_class_of_array(SATTN_OP_exp, 100, 1);
    sattn_recipe recipe = {.computation = SATTN_COMPUTE_APART};
    recipe.kernels[SATTN_OP_exp] = sattn_kernel_by_name("sattn_exp_f32_scalar");
    sattn_profile *const profile = profile_of_one(&c, sattn_cpu_this()->usable, &recipe);
    const sattn_options options = {.profile = profile},
                        named = {.profile = profile, .kernels = "sattn_exp_f32_scalar"};
    sattn_overrides overrides;
    sattn_decision decision;
    const sattn_kernel *kernel;
    assert_int_equal(sattn_overrides_get(&options, &overrides), SATTN_OK);
    const sattn_shape_class longer = sattn_class_of_array(SATTN_OP_exp, 129, 1);
    const sattn_shape_class other = sattn_class_of_array(SATTN_OP_tanh, 100, 1);
    sattn_choose_apart(&c, &overrides, &kernel, &decision);
    assert_int_equal(decision, SATTN_DECIDED_BY_PROFILE);
    assert_ptr_equal(kernel, recipe.kernels[SATTN_OP_exp]);
    sattn_choose_apart(&longer, &overrides, &kernel, &decision);
    assert_int_equal(decision, SATTN_DECIDED_WITHOUT_ENTRY);
    sattn_choose_apart(&other, &overrides, &kernel, &decision);
    assert_int_equal(decision, SATTN_DECIDED_WITHOUT_ENTRY);
    assert_int_equal(sattn_overrides_get(&named, &overrides), SATTN_OK);
    sattn_choose_apart(&c, &overrides, &kernel, &decision);
    assert_int_equal(decision, SATTN_DECIDED_BY_NAME);
    sattn_profile_destroy(profile);
}

/* ---- whole calls */

enum { FLOATS = 1 << 16 };
static float q[FLOATS], k[FLOATS], v[FLOATS];

static void fill_inputs(void)
{
    uint32_t bits = 12345;
    for (int i = 0; i < FLOATS; ++i) {
        bits = bits * 1664525u + 1013904223u;
        q[i] = (float)(bits >> 20) / 2048.0f - 1.0f;
        k[i] = (float)(bits >> 12 & 4095) / 2048.0f - 1.0f;
        v[i] = (float)(bits >> 4 & 4095) / 2048.0f - 1.0f;
    }
}

static void set_data(sattn_attention_args *a, float *o)
{
    a->q.data = q;
    a->k.data = k;
    a->v.data = v;
    a->o.data = o;
}

/* Bit for bit what options that name the same give, in a workspace of the size that is asked for.
 */
static void test_calls_run_the_recipe(void **state)
{
    (void)state;
    static float by_profile[FLOATS], by_names[FLOATS];
    sattn_attention_args a = shape_of(2, 2, 19, 150);
    set_data(&a, by_profile);
    const sattn_recipe recipe = recipe_named("chain", scalar_chain, 0);
    sattn_profile *const profile = profile_for(&a, &recipe);
    sattn_options options = {.profile = profile};
    const sattn_options names = {.plan = "chain", .kernels = scalar_chain};
    size_t size, size_by_names;
    assert_int_equal(sattn_attention_workspace_size(&a, &options, &size), SATTN_OK);
    assert_int_equal(sattn_attention_workspace_size(&a, &names, &size_by_names), SATTN_OK);
    assert_int_equal(size, size_by_names);
    options.workspace = aligned_alloc(64, (size + 63) / 64 * 64);
    options.workspace_size = size;
    assert_int_equal(sattn_attention(&a, &options), SATTN_OK);
    a.o.data = by_names;
    assert_int_equal(sattn_attention(&a, &names), SATTN_OK);
    assert_memory_equal(by_profile, by_names, sizeof by_names);
    sattn_plan *plan;
    assert_int_equal(sattn_plan_create(&plan, &a, &options), SATTN_OK);
    assert_string_equal(sattn_plan_kernel(plan), scalar_chain);
    sattn_profile_destroy(profile); /* a plan does not need it any more */
    const sattn_pointers pointers = {.q = q, .k = k, .v = v, .o = by_profile};
    memset(by_profile, 0, sizeof by_profile);
    assert_int_equal(sattn_plan_run(plan, &pointers, NULL, 0), SATTN_OK);
    assert_memory_equal(by_profile, by_names, sizeof by_names);
    sattn_plan_destroy(plan);
    free(options.workspace);
}

/* The same bits for every number of threads, whatever the profile has for each. */
static void test_fixed_key_splits(void **state)
{
    (void)state;
    static float of_one[FLOATS], of_two[FLOATS];
    sattn_attention_args a = shape_of(2, 1, 40, 150);
    const sattn_recipe recipe = recipe_named("chain", scalar_chain, 0);
    const sattn_shape_class of_two_threads = sattn_class_of(&a, SATTN_COMPUTE_FUSED, 2);
    sattn_profile *const profiles[] = {
        profile_for(&a, &recipe),
        profile_of_one(&of_two_threads, sattn_cpu_this()->usable, &recipe)};
    for (size_t i = 0; i < COUNT(profiles); ++i) {
        sattn_options options = {.profile = profiles[i], .key_splits = 1, .threads = 2};
        set_data(&a, of_two);
        assert_int_equal(plan_of(&a, &options).decision,
                         i == 0 ? SATTN_DECIDED_BY_PROFILE : SATTN_DECIDED_WITHOUT_ENTRY);
        assert_int_equal(sattn_attention(&a, &options), SATTN_OK);
        options.threads = 1;
        set_data(&a, of_one);
        assert_int_equal(sattn_attention(&a, &options), SATTN_OK);
        assert_memory_equal(of_one, of_two, sizeof of_one);
        sattn_profile_destroy(profiles[i]);
    }
}

/* Not even the process's own. */
static void test_none(void **state)
{
    (void)state;
    const sattn_attention_args a = shape_of(1, 1, 40, 100);
    const sattn_options options = {.profile = sattn_profile_none()};
    assert_int_equal(plan_of(&a, &options).decision, SATTN_DECIDED_WITHOUT_PROFILE);
}

/* A ragged batch takes what fits it, for the largest sequence of each phase. */
static void test_ragged(void **state)
{
    (void)state;
    static float by_profile[FLOATS], expected[FLOATS];
    const int64_t q_starts[] = {0, 40, 75}, k_starts[] = {0, 40, 140};
    const sattn_ragged ragged = {q_starts, k_starts};
    sattn_attention_args a = shape_of(1, 1, 75, 140);
    a.batch = 2;
    set_data(&a, by_profile);
    sattn_attention_args largest = shape_of(1, 1, 40, 100);
    for (int chain = 0; chain < 2; ++chain) {
        const sattn_recipe recipe =
            recipe_named(chain ? "chain" : "fused", chain ? scalar_chain : scalar_fused, 0);
        sattn_profile *const profile = profile_for(&largest, &recipe);
        const sattn_options options = {.profile = profile},
                            as_chain = {.profile = profile, .plan = "chain"};
        a.o.data = by_profile;
        assert_int_equal(sattn_attention_ragged(&a, &ragged, &options), SATTN_OK);
        /* Fused, as ever, where the profile would have a chain. */
        const sattn_options names = {.kernels = chain ? NULL : scalar_fused};
        a.o.data = expected;
        assert_int_equal(sattn_attention_ragged(&a, &ragged, &names), SATTN_OK);
        assert_memory_equal(by_profile, expected, sizeof expected);
        a.o.data = by_profile;
        assert_int_equal(sattn_attention_ragged(&a, &ragged, &as_chain), SATTN_OK);
        const sattn_options chain_names = {.plan = "chain", .kernels = chain ? scalar_chain : NULL};
        a.o.data = expected;
        assert_int_equal(sattn_attention_ragged(&a, &ragged, &chain_names), SATTN_OK);
        assert_memory_equal(by_profile, expected, sizeof expected);
        sattn_profile_destroy(profile);
    }
}

/* ---- the list */

static bool has_kernel(const sattn_recipe_list *list, const sattn_kernel *kernel)
{
    for (size_t i = 0; i < list->n; ++i)
        if (list->items[i].recipe.kernels[kernel->op] == kernel)
            return true;
    return false;
}

static void check_list(const sattn_recipe_list *list)
{
    assert_true(list->n > 0 && list->taken < list->n && list->n < SATTN_RECIPES_MAX);
    for (size_t i = 0; i < list->n; ++i)
        for (size_t other = 0; other < i; ++other)
            assert_false(sattn_recipes_equal(&list->items[i].recipe, &list->items[other].recipe));
}

/* A profile may take each recipe that is eligible, and it then computes the same, nearly. */
static void take_each(const sattn_recipe_list *list, sattn_attention_args *a, int threads)
{
    static float expected[FLOATS], o[FLOATS];
    sattn_options options = {.threads = threads};
    set_data(a, expected);
    memset(expected, 0, sizeof expected);
    assert_int_equal(sattn_attention(a, &options), SATTN_OK);
    a->o.data = o;
    for (size_t i = 1; i < list->n; ++i) {
        char names[SATTN_RECIPE_TEXT];
        const sattn_recipe *const recipe = &list->items[i].recipe;
        if (list->items[i].verdict != SATTN_RECIPE_ELIGIBLE)
            continue;
        sattn_profile *const profile =
            profile_of_one(&list->shape_class, sattn_cpu_this()->usable, recipe);
        options.profile = profile;
        sattn_recipe_list again;
        assert_int_equal(sattn_list_recipes(&again, SATTN_CALL_ATTENTION, a, &options), SATTN_OK);
        check_list(&again);
        assert_int_equal(again.decision, SATTN_DECIDED_BY_PROFILE);
        assert_true(sattn_recipes_equal(&again.items[again.taken].recipe, recipe));
        assert_true(sattn_recipes_equal(&again.items[0].recipe, &list->items[0].recipe));
        memset(o, 0, sizeof o);
        assert_int_equal(sattn_attention(a, &options), SATTN_OK);
        sattn_recipe_print(recipe, names);
        for (int at = 0; at < FLOATS; ++at)
            if (!(fabsf(o[at] - expected[at]) < 1e-4f))
                fail_msg("%s, %d ranges: another result", names, recipe->key_splits);
        sattn_profile_destroy(profile);
    }
}

static void test_list(void **state)
{
    (void)state;
    static const struct {
        int64_t n_kv_heads, n_group, n_q, n_k;
        int threads;
    } shapes[] = {{1, 1, 1, 700, 1},   {2, 4, 1, 200, 1},  {1, 1, 20, 300, 1}, {1, 1, 33, 197, 1},
                  {2, 1, 197, 197, 1}, {1, 2, 3, 1000, 4}, {1, 1, 64, 64, 1}}; /* the last leaves no
                                                                                  rows over */
    size_t count;
    const sattn_kernel *const rows = sattn_registry(&count);
    for (size_t s = 0; s < COUNT(shapes); ++s) {
        sattn_attention_args a =
            shape_of(shapes[s].n_kv_heads, shapes[s].n_group, shapes[s].n_q, shapes[s].n_k);
        const sattn_options options = {.threads = shapes[s].threads};
        sattn_recipe_list list;
        char names[SATTN_RECIPE_TEXT];
        assert_int_equal(sattn_list_recipes(&list, SATTN_CALL_ATTENTION, &a, &options), SATTN_OK);
        check_list(&list);
        assert_int_equal(list.taken, 0);
        assert_int_equal(list.decision, SATTN_DECIDED_WITHOUT_PROFILE);
        sattn_recipe_print(&list.items[0].recipe, names);
        assert_string_equal(names, plan_of(&a, &options).names);
        for (size_t i = 0; i < count; ++i) /* also those that are ranked for no phase */
            assert_true(rows[i].op > SATTN_OP_av || has_kernel(&list, &rows[i]));
        for (size_t i = 0; i < list.n; ++i)
            assert_int_equal(
                list.items[i].verdict == SATTN_RECIPE_ELIGIBLE,
                (sattn_recipe_needs(&list.items[i].recipe) & ~sattn_cpu_this()->usable) == 0);
        take_each(&list, &a, shapes[s].threads);
    }
}

/* The list's verdicts are one way to say who comes before whom, the choice is the other: a recipe
 * is eligible exactly where a profile that has it decides. */
static void check_verdicts(const char *what, const sattn_attention_args *a, sattn_options options)
{
    sattn_recipe_list list;
    options.profile = sattn_profile_none();
    assert_int_equal(sattn_list_recipes(&list, SATTN_CALL_ATTENTION, a, &options), SATTN_OK);
    const bool is_named = list.decision == SATTN_DECIDED_BY_NAME;
    for (size_t i = 0; i < list.n; ++i) {
        sattn_profile *const profile =
            profile_of_one(&list.shape_class, sattn_cpu_this()->usable, &list.items[i].recipe);
        options.profile = profile;
        const sattn_decision decision = plan_of(a, &options).decision;
        sattn_profile_destroy(profile);
        if (is_named ? decision != SATTN_DECIDED_BY_NAME
                     : (decision == SATTN_DECIDED_BY_PROFILE) !=
                           (list.items[i].verdict == SATTN_RECIPE_ELIGIBLE)) {
            char names[SATTN_RECIPE_TEXT];
            sattn_recipe_print(&list.items[i].recipe, names);
            fail_msg("%s: %s: verdict %d, decision %d", what, names, (int)list.items[i].verdict,
                     (int)decision);
        }
    }
}

static void test_verdicts_are_decisions(void **state)
{
    (void)state;
    const sattn_kernel *const qk = other_kernel(SATTN_OP_qk);
    const struct {
        const char *what;
        sattn_options options;
    } cases[] = {{"nothing", {0}},
                 {"threads", {.threads = 4}},
                 {"a cap", {.isa = "scalar"}},
                 {"fused", {.plan = "fused"}},
                 {"a chain", {.plan = "chain"}},
                 {"one range", {.key_splits = 1}},
                 {"ranges", {.key_splits = 2, .threads = 4}},
                 {"ranges, fused", {.key_splits = 2, .plan = "fused"}},
                 {"a range of a chain", {.key_splits = 1, .plan = "chain"}},
                 {"a name", {.kernels = scalar_fused}},
                 {"a name of a chain", {.kernels = "sattn_av_f32_scalar"}},
                 {"another name of a chain", {.kernels = qk ? qk->name : NULL}},
                 {"names of a chain", {.kernels = scalar_chain, .plan = "chain"}},
                 {"a name of the other plan", {.kernels = scalar_fused, .plan = "chain"}},
                 {"a name under a cap", {.kernels = "sattn_av_f32_scalar", .isa = "scalar"}},
                 {"a name elsewhere", {.kernels = "sattn_exp_f32_scalar"}}};
    static float scores[1];
    static const int64_t shapes[][2] = {{1, 8000}, {40, 100}, {197, 197}};
    for (size_t s = 0; s < COUNT(shapes); ++s)
        for (size_t c = 0; c < COUNT(cases); ++c) {
            sattn_attention_args a = shape_of(1, 1, shapes[s][0], shapes[s][1]);
            check_verdicts(cases[c].what, &a, cases[c].options);
            a.scores = scores;
            a.scores_stride_t = shapes[s][1];
            const bool is_refused = cases[c].options.key_splits > 1 ||
                                    (cases[c].options.plan && cases[c].options.plan[0] == 'f');
            if (!is_refused) /* scores, by what computes none */
                check_verdicts(cases[c].what, &a, cases[c].options);
        }
}

static void test_list_of_key_ranges(void **state)
{
    (void)state;
    sattn_recipe_list list;
    sattn_options options = {.threads = 6};
    const sattn_attention_args one = shape_of(1, 1, 1, 8192), many = shape_of(64, 1, 1, 8192);
    static const int expected[] = {1, 2, 4, 6}; /* of which one is what is chosen anyway */
    int n_splits = 0;
    assert_int_equal(sattn_list_recipes(&list, SATTN_CALL_ATTENTION, &one, &options), SATTN_OK);
    const int64_t chosen = plan_of(&one, &options).splits;
    for (size_t i = 0; i < list.n; ++i) {
        const int splits = list.items[i].recipe.key_splits;
        bool is_expected = splits == 0;
        for (size_t e = 0; e < COUNT(expected); ++e)
            is_expected = is_expected || splits == expected[e];
        assert_true(is_expected && splits != chosen);
        n_splits += splits > 0;
    }
    assert_int_equal(n_splits, sattn_team_is_built() ? 3 : 0);
    assert_int_equal(sattn_list_recipes(&list, SATTN_CALL_ATTENTION, &many, &options), SATTN_OK);
    for (size_t i = 0; i < list.n; ++i)
        assert_int_equal(list.items[i].recipe.key_splits, 0);
    options.key_splits = 2;
    assert_int_equal(sattn_list_recipes(&list, SATTN_CALL_ATTENTION, &one, &options), SATTN_OK);
    for (size_t i = 0; i < list.n; ++i)
        assert_int_equal(list.items[i].recipe.key_splits, 0);
}

static void test_list_of_steps(void **state)
{
    (void)state;
    static const sattn_op ops[] = {
        SATTN_OP_qk,      SATTN_OP_softmax,  SATTN_OP_av,     SATTN_OP_exp,    SATTN_OP_tanh,
        SATTN_OP_sigmoid, SATTN_OP_additive, SATTN_OP_linear, SATTN_OP_linear, SATTN_OP_gru};
    const sattn_shape_class apart[] = {sattn_class_of_array(SATTN_OP_exp, 100, 1),
                                       sattn_class_of_array(SATTN_OP_tanh, 100, 1),
                                       sattn_class_of_array(SATTN_OP_sigmoid, 100, 1),
                                       sattn_class_of_additive(1, 100, 40, false, 1),
                                       sattn_class_of_linear(40, 100, 70, false, 1),
                                       sattn_class_of_linear(1, 100, 70, true, 1),
                                       sattn_class_of_array(SATTN_OP_gru, 100, 1)};
    size_t count;
    const sattn_kernel *const rows = sattn_registry(&count);
    sattn_attention_args a = shape_of(1, 1, 40, 100);
    a.scores_stride_t = a.scores_in_stride_t = 100;
    for (size_t s = 0; s < COUNT(ops); ++s) {
        sattn_recipe_list list;
        size_t n_of_op = 0;
        if (s < 3)
            assert_int_equal(sattn_list_recipes(&list, (sattn_call)(SATTN_CALL_QK + s), &a, NULL),
                             SATTN_OK);
        else
            assert_int_equal(sattn_list_apart_recipes(&list, &apart[s - 3], NULL, NULL), SATTN_OK);
        check_list(&list);
        for (size_t i = 0; i < count; ++i) {
            n_of_op += rows[i].op == ops[s];
            assert_true(rows[i].op != ops[s] || has_kernel(&list, &rows[i]));
        }
        assert_int_equal(list.n, n_of_op);
        assert_int_equal(list.taken, 0);
    }
    sattn_recipe_list list;
    assert_int_equal(sattn_list_recipes(&list, SATTN_CALL_ATTENTION, NULL, NULL),
                     SATTN_ERR_ARGUMENT);
}

int main(void)
{
    fill_inputs();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_precedence),
        cmocka_unit_test(test_choice_that_cannot_run),
        cmocka_unit_test(test_registry_order_remains),
        cmocka_unit_test(test_key_splits),
        cmocka_unit_test(test_rest_kernel),
        cmocka_unit_test(test_steps_and_arrays),
        cmocka_unit_test(test_calls_run_the_recipe),
        cmocka_unit_test(test_fixed_key_splits),
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_ragged),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_verdicts_are_decisions),
        cmocka_unit_test(test_list_of_key_ranges),
        cmocka_unit_test(test_list_of_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
