/* SPDX-License-Identifier: MIT
 *
 * candidates.c: see candidates.h. */
#include "dispatch/candidates.h"

#include "dispatch/choose.h"
#include "dispatch/share.h"

#include <string.h>

/* What the verdicts depend on beside the recipe. */
typedef struct request {
    const sattn_overrides *overrides;
    sattn_computation computation; /* that options and arguments ask for */
    bool is_open;                  /* neither asks for one */
    const sattn_kernel *named;     /* for an op of it, or NULL */
    bool has_scores;
    int key_splits;
    const sattn_kernel *packed_for; /* NULL: no weights, or not packed */
} request;

/* A kernel for an op of the recipe that is asked for by name, or NULL. */
static const sattn_kernel *named_for(const sattn_recipe *recipe, const sattn_overrides *overrides)
{
    for (int op = 0; op < SATTN_OP_COUNT; ++op)
        if (recipe->kernels[op] && overrides->forced[op])
            return overrides->forced[op];
    return NULL;
}

/* A kernel of the recipe that needs features which are not in `usable`, or NULL. */
static const sattn_kernel *kernel_beyond(const sattn_recipe *recipe, sattn_features usable)
{
    for (int op = 0; op < SATTN_OP_COUNT; ++op)
        if (recipe->kernels[op] && (recipe->kernels[op]->needs & ~usable))
            return recipe->kernels[op];
    const sattn_kernel *const rest = recipe->rest_kernel;
    return rest && (rest->needs & ~usable) ? rest : NULL;
}

/* What is asked for by name and is not the recipe's, or NULL. */
static const sattn_kernel *named_instead(const request *r, const sattn_recipe *recipe)
{
    if (r->named && recipe->computation != r->computation)
        return r->named;
    for (int op = 0; op < SATTN_OP_COUNT; ++op) {
        const sattn_kernel *const named = r->overrides->forced[op];
        if (recipe->kernels[op] && named && named != recipe->kernels[op])
            return named;
    }
    return NULL;
}

static sattn_judged_recipe judge(const request *r, const sattn_recipe *recipe)
{
    sattn_judged_recipe judged = {.recipe = *recipe, .verdict = SATTN_RECIPE_ELIGIBLE};
    const bool is_other = recipe->computation != r->computation && !r->is_open;
    if ((judged.kernel = kernel_beyond(recipe, sattn_cpu_this()->usable)))
        judged.verdict = SATTN_RECIPE_MISSING;
    else if ((judged.kernel = kernel_beyond(recipe, r->overrides->usable)))
        judged.verdict = SATTN_RECIPE_CAPPED;
    else if (is_other)
        judged.verdict = r->has_scores ? SATTN_RECIPE_NO_SCORES : SATTN_RECIPE_OTHER_PLAN;
    else if ((judged.kernel = named_instead(r, recipe)))
        judged.verdict = SATTN_RECIPE_NOT_NAMED;
    else if (recipe->computation == SATTN_COMPUTE_CHAIN && r->key_splits > 1)
        judged.verdict = SATTN_RECIPE_CANNOT_SPLIT;
    else if (r->packed_for && recipe->kernels[r->packed_for->op] != r->packed_for) {
        judged.kernel = r->packed_for;
        judged.verdict = SATTN_RECIPE_NOT_PACKED;
    }
    return judged;
}

/* Where it is in the list, or its length. */
static size_t index_of(const sattn_recipe_list *list, const sattn_recipe *recipe)
{
    size_t index = 0;
    while (index < list->n && !sattn_recipes_equal(&list->items[index].recipe, recipe))
        ++index;
    return index;
}

/* Adds a recipe that the list does not have, if it is not full; returns where it is. */
static size_t add(sattn_recipe_list *list, const request *r, const sattn_recipe *recipe)
{
    const size_t index = index_of(list, recipe);
    if (index == list->n && list->n < SATTN_RECIPES_MAX)
        list->items[list->n++] = judge(r, recipe);
    return index;
}

/* Each kernel of an op alone. */
static void add_single(sattn_recipe_list *list, const request *r, sattn_op op,
                       sattn_computation computation)
{
    size_t count;
    const sattn_kernel *const rows = sattn_registry(&count);
    for (size_t i = 0; i < count; ++i)
        if (rows[i].op == op) {
            sattn_recipe recipe = {.computation = computation};
            recipe.kernels[op] = &rows[i];
            add(list, r, &recipe);
        }
}

/* The kernel of an op that goes with another op's: of the same level, and ranked, for some phase,
 * or not as that one. */
static const sattn_kernel *companion(const sattn_kernel *kernel, sattn_op op)
{
    size_t count;
    const sattn_kernel *const rows = sattn_registry(&count);
    for (size_t i = 0; i < count; ++i)
        if (rows[i].op == op && rows[i].needs == kernel->needs &&
            (rows[i].phases == 0) == (kernel->phases == 0))
            return &rows[i];
    return NULL;
}

/* One of each qk kernel. */
static void add_chains(sattn_recipe_list *list, const request *r)
{
    size_t count;
    const sattn_kernel *const rows = sattn_registry(&count);
    for (size_t i = 0; i < count; ++i) {
        if (rows[i].op != SATTN_OP_qk)
            continue;
        sattn_recipe recipe = {.computation = SATTN_COMPUTE_CHAIN};
        recipe.kernels[SATTN_OP_qk] = &rows[i];
        recipe.kernels[SATTN_OP_softmax] = companion(&rows[i], SATTN_OP_softmax);
        recipe.kernels[SATTN_OP_av] = companion(&rows[i], SATTN_OP_av);
        if (recipe.kernels[SATTN_OP_softmax] && recipe.kernels[SATTN_OP_av])
            add(list, r, &recipe);
    }
}

/* The default with its keys cut otherwise, where there are too few blocks for the threads. */
static void add_splits(sattn_recipe_list *list, const request *r, const sattn_plan *plan,
                       const sattn_options *options)
{
    const sattn_attention_args *const a = &plan->args;
    const int threads =
        sattn_threads_for(sattn_work_of(a, plan->computation), sattn_threads_asked(options));
    const double blocks = (double)a->batch * (double)a->n_kv_heads * (double)plan->n_blocks;
    if (plan->computation != SATTN_COMPUTE_FUSED || r->key_splits > 0 || blocks >= (double)threads)
        return;
    sattn_recipe recipe = list->items[0].recipe;
    for (int splits = 1; splits <= threads;
         splits = splits < threads && 2 * splits > threads ? threads : 2 * splits) {
        recipe.key_splits = splits;
        if (splits != plan->splits && sattn_splits_asked(a->n_k, splits) == splits)
            add(list, r, &recipe);
    }
}

/* Last, since a list that is full leaves the others out. */
static void add_tried(sattn_recipe_list *list, const request *r)
{
    const sattn_profile_entry *const entry =
        sattn_profiled_entry(&list->overrides, &list->shape_class);
    for (size_t i = 0; entry && i < entry->n_tried; ++i)
        add(list, r, &entry->tried[i].recipe);
}

/* What a plan runs. */
static sattn_recipe recipe_of(const sattn_plan *plan)
{
    sattn_recipe recipe = {.computation = plan->computation, .key_splits = plan->profile_splits};
    memcpy(recipe.kernels, plan->kernels, sizeof recipe.kernels);
    if (sattn_plan_rest_rows(plan, plan->args.n_q) > 0)
        recipe.rest_kernel = plan->rest_kernel;
    return recipe;
}

static sattn_status make_plan(sattn_plan *plan, sattn_computation computation,
                              const sattn_attention_args *args, const sattn_options *options)
{
    return sattn_computes_attention(computation)
               ? sattn_plan_make_attention(plan, args, options)
               : sattn_plan_make(plan, computation, args, options);
}

/* The default, and what of it can be known by its plan. */
static sattn_status begin(sattn_recipe_list *list, request *r, sattn_plan *plan,
                          const sattn_attention_args *args, const sattn_options *options)
{
    sattn_options without = options ? *options : (sattn_options){0};
    without.profile = sattn_profile_none();
    const sattn_status status = make_plan(plan, r->computation, args, &without);
    if (status != SATTN_OK)
        return status;
    r->overrides = &list->overrides;
    r->has_scores = plan->args.scores;
    r->key_splits = without.key_splits;
    list->n = 0;
    list->asked_splits =
        r->key_splits > 0 ? (int)sattn_splits_asked(plan->args.n_k, r->key_splits) : 0;
    list->phase = plan->phase;
    list->is_several = plan->is_several;
    list->shape_class = sattn_plan_class(plan, options);
    const sattn_recipe recipe = recipe_of(plan);
    r->named = named_for(&recipe, r->overrides);
    add(list, r, &recipe);
    return SATTN_OK;
}

sattn_status sattn_list_recipes(sattn_recipe_list *list, sattn_call call,
                                const sattn_attention_args *args, const sattn_options *options)
{
    sattn_plan plan;
    request r = {.computation = sattn_call_computation(call)};
    sattn_status status = sattn_overrides_get(options, &list->overrides);
    if (status == SATTN_OK && call == SATTN_CALL_ATTENTION)
        status = sattn_choose_computation(args, options, &r.computation, &r.is_open);
    if (status == SATTN_OK)
        status = begin(list, &r, &plan, args, options);
    if (status != SATTN_OK)
        return status;
    add_single(list, &r, sattn_call_op(call), sattn_call_computation(call));
    if (call == SATTN_CALL_ATTENTION) {
        add_splits(list, &r, &plan, options);
        add_chains(list, &r);
    }
    status = make_plan(&plan, r.computation, args, options);
    if (status != SATTN_OK)
        return status;
    const sattn_recipe taken = recipe_of(&plan);
    list->taken = add(list, &r, &taken);
    list->decision = plan.decision;
    add_tried(list, &r);
    return SATTN_OK;
}

sattn_status sattn_list_apart_recipes(sattn_recipe_list *list, const sattn_shape_class *shape_class,
                                      const sattn_kernel *packed_for, const sattn_options *options)
{
    const sattn_op op = sattn_call_op(shape_class->call);
    const request r = {.overrides = &list->overrides,
                       .computation = SATTN_COMPUTE_APART,
                       .packed_for = packed_for};
    sattn_recipe taken = {.computation = SATTN_COMPUTE_APART}, first = taken;
    sattn_status status = sattn_options_check(options);
    list->phase = sattn_class_phase(shape_class);
    list->is_several = false;
    if (status == SATTN_OK)
        status = sattn_overrides_get(options, &list->overrides);
    if (status == SATTN_OK)
        status =
            sattn_choose_apart(shape_class, &list->overrides, &taken.kernels[op], &list->decision);
    if (status == SATTN_OK)
        status = sattn_choose_kernel(op, list->phase, &list->overrides, &first.kernels[op]);
    if (status != SATTN_OK)
        return status;
    if (packed_for) {
        first.kernels[op] = taken.kernels[op] = packed_for;
        list->decision = SATTN_DECIDED_BY_WEIGHTS;
    }
    list->n = 0;
    list->asked_splits = 0;
    list->shape_class = *shape_class;
    add(list, &r, &first);
    add_single(list, &r, op, SATTN_COMPUTE_APART);
    list->taken = add(list, &r, &taken);
    add_tried(list, &r);
    return SATTN_OK;
}
