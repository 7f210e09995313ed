/* SPDX-License-Identifier: MIT
 *
 * plan.c: makes plans: checks the shape, chooses kernels, shares work, lays out the workspace. */
#include "dispatch/plan.h"

#include "dispatch/attention_check.h"
#include "dispatch/chain.h"
#include "dispatch/choose.h"
#include "dispatch/dense.h"
#include "dispatch/direct.h"
#include "dispatch/error.h"
#include "dispatch/share.h"
#include "dispatch/team.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

sattn_status sattn_options_check(const sattn_options *options)
{
    if (!options)
        return SATTN_OK;
    if (options->threads < 0)
        return sattn_fail(SATTN_ERR_ARGUMENT, "options.threads = %d: expected 0 or more",
                          options->threads);
    if (options->key_splits < 0)
        return sattn_fail(SATTN_ERR_ARGUMENT, "options.key_splits = %d: expected 0 or more",
                          options->key_splits);
    if (options->plan && strcmp(options->plan, "fused") != 0 && strcmp(options->plan, "chain") != 0)
        return sattn_fail(SATTN_ERR_ARGUMENT,
                          "options.plan = \"%.40s\": expected \"fused\", \"chain\" or NULL",
                          options->plan);
    return SATTN_OK;
}

static sattn_status check_extents_fit(const sattn_plan *plan)
{
    const int64_t most = (int64_t)1 << 40;
    const sattn_attention_args *const a = &plan->args;
    const bool fused = plan->computation == SATTN_COMPUTE_FUSED;
    const bool has_qk = plan->kernels[SATTN_OP_qk], has_av = plan->kernels[SATTN_OP_av];
    const struct {
        const char *name;
        int64_t value;
        bool counts;
    } extents[] = {
        {"d", a->d, fused || has_qk},
        {"d_v", a->d_v, fused || has_av},
        {"n_k", a->n_k, has_qk || plan->kernels[SATTN_OP_softmax]}, /* where scores are stored */
    };
    for (size_t i = 0; i < sizeof extents / sizeof extents[0]; ++i)
        if (extents[i].counts && extents[i].value > most)
            return sattn_fail(SATTN_ERR_TOO_LARGE, "%s = %" PRId64 ": expected at most 2^40",
                              extents[i].name, extents[i].value);
    return SATTN_OK;
}

/* More ranges than key blocks would only be empty. */
static int64_t at_most_blocks(int64_t splits, int64_t n_k)
{
    const int64_t blocks = n_k > SATTN_KEY_BLOCK ? (n_k - 1) / SATTN_KEY_BLOCK + 1 : 1;
    return splits < blocks ? splits : blocks;
}

int64_t sattn_splits_asked(int64_t n_k, int key_splits)
{
    return at_most_blocks(key_splits > 0 ? key_splits : 1, n_k);
}

int sattn_threads_asked(const sattn_options *options)
{
    return options && options->threads > 0 && sattn_team_is_built() ? options->threads : 1;
}

/* Key ranges where nothing asks for a number: with as many blocks as threads they have no use. */
static int64_t chosen_splits(const sattn_plan *plan, double blocks, int threads)
{
    const sattn_attention_args *const a = &plan->args;
    const bool is_profiled = plan->profile_splits > 0 && blocks < (double)threads;
    return at_most_blocks(is_profiled ? plan->profile_splits
                                      : sattn_chosen_splits(blocks, sattn_keys_per_row(a), threads),
                          a->n_k);
}

/* Blocks of rows, key ranges and workers, for as many threads as the work is worth. */
static void share_work(sattn_plan *plan, const sattn_options *options)
{
    const sattn_attention_args *const a = &plan->args;
    const int asked = sattn_threads_asked(options);
    const int threads =
        asked > 1 ? sattn_threads_for(sattn_work_of(a, plan->computation), asked) : 1;
    if (threads <= 1 || sattn_attention_is_empty(a))
        return;
    const int64_t n_units = a->batch * a->n_kv_heads;
    if (plan->phase == SATTN_PHASE_PREFILL) {
        const int64_t rows = sattn_block_rows((double)n_units * (double)a->n_q, plan->n_group,
                                              sattn_plan_tile_rows(plan), threads);
        plan->block_rows = rows < plan->block_rows ? rows : plan->block_rows;
        plan->n_blocks = (a->n_q + plan->block_rows - 1) / plan->block_rows;
    }
    const double blocks = (double)n_units * (double)plan->n_blocks;
    if (plan->computation == SATTN_COMPUTE_FUSED && plan->key_splits == 0)
        plan->splits = chosen_splits(plan, blocks, threads);
    plan->parts_apart = plan->splits > 1 && blocks < (double)threads;
    const double tasks = blocks * (double)(plan->parts_apart ? plan->splits : 1);
    plan->workers = tasks < (double)threads ? (int)tasks : threads;
}

static void plan_dense_copies(sattn_plan *plan)
{
    const sattn_attention_args *const a = &plan->args;
    plan->n_dense = sattn_dense_count(plan, a->batch * a->n_kv_heads, plan->n_blocks);
}

/* Field by field: to clear and copy the whole takes longer than all that a call of few numbers has
 * to do. */
sattn_status sattn_plan_begin(sattn_plan *plan, sattn_computation computation, bool is_open,
                              const sattn_overrides *overrides, const sattn_options *options)
{
    const sattn_attention_args *const args = &plan->args;
    plan->computation = computation;
    plan->may_hide = sattn_mask_class_of(args, computation) != SATTN_MASKED_BY_NOTHING;
    plan->n_group = sattn_group_of(args);
    plan->scale = args->has_scale ? args->scale : (float)(1.0 / sqrt((double)args->d));
    plan->parts_apart = false;
    plan->workers = 1;
    plan->n_dense = 0;
    plan->rows_are_followed = sattn_cpu_this()->follows_rows;
    plan->names[0] = '\0';
    sattn_status status = sattn_plan_choose(plan, is_open, overrides, options);
    if (status == SATTN_OK)
        status = check_extents_fit(plan);
    if (status != SATTN_OK)
        return status;
    plan->splits = plan->computation == SATTN_COMPUTE_FUSED
                       ? sattn_splits_asked(args->n_k, plan->key_splits)
                       : 1;
    plan->block_rows = args->n_q > 0 ? args->n_q : 1;
    plan->n_blocks = 1;
    if (plan->computation == SATTN_COMPUTE_CHAIN) {
        plan->block_rows =
            sattn_chain_block_rows(args, plan->n_group, plan->kernels[SATTN_OP_qk]->tile_rows);
        plan->n_blocks = args->n_q > 0 ? (args->n_q - 1) / plan->block_rows + 1 : 1;
    }
    return SATTN_OK;
}

sattn_status sattn_plan_check(const sattn_attention_args *args, sattn_computation computation,
                              const sattn_options *options,
                              sattn_operand operands[SATTN_OPERAND_COUNT])
{
    sattn_status status = sattn_attention_check_shape(args, computation, operands);
    if (status == SATTN_OK)
        status = sattn_options_check(options);
    if (status == SATTN_OK && computation == SATTN_COMPUTE_CHAIN && options &&
        options->key_splits > 1)
        status = sattn_fail(SATTN_ERR_UNSUPPORTED,
                            "options.key_splits = %d: a chain does not cut its keys; expected 0 "
                            "or 1",
                            options->key_splits);
    return status;
}

/* In halves of whole vectors, which compilers use for them. For all at once they would take a
 * string instruction, which is as long as a check of all arguments. */
static void copy_args(sattn_attention_args *to, const sattn_attention_args *from)
{
    enum { HALF = sizeof *to / 2 / 16 * 16 };
    memcpy(to, from, HALF);
    memcpy((char *)to + HALF, (const char *)from + HALF, sizeof *to - HALF);
}

static sattn_status make(sattn_plan *plan, sattn_computation computation, bool is_open,
                         const sattn_attention_args *args, const sattn_options *options)
{
    sattn_overrides overrides;
    if (!args)
        return sattn_fail(SATTN_ERR_ARGUMENT, "args is NULL: expected arguments");
    /* Fields of other steps must not count: threads, and so the workspace, follow the work. */
    copy_args(&plan->args, args);
    sattn_computation_narrow(computation, &plan->args);
    sattn_status status = sattn_plan_check(&plan->args, computation, options, plan->operands);
    if (status == SATTN_OK)
        status = sattn_overrides_get(options, &overrides);
    if (status == SATTN_OK)
        status = sattn_plan_begin(plan, computation, is_open, &overrides, options);
    if (status != SATTN_OK)
        return status;
    share_work(plan, options);
    if (!sattn_attention_is_empty(args))
        plan_dense_copies(plan);
    plan->is_direct = sattn_plan_is_direct(plan);
    plan->kv_bytes = plan->is_direct ? sattn_kv_bytes(args) : 0;
    status = sattn_layout_parts(plan);
    if (status != SATTN_OK)
        return status;
    return sattn_layout_places(&plan->layout, plan->workers,
                               plan->parts_apart ? args->batch * args->n_kv_heads * plan->n_blocks
                                                 : 0);
}

sattn_status sattn_plan_make(sattn_plan *plan, sattn_computation computation,
                             const sattn_attention_args *args, const sattn_options *options)
{
    return make(plan, computation, false, args, options);
}

sattn_status sattn_choose_computation(const sattn_attention_args *args,
                                      const sattn_options *options, sattn_computation *computation,
                                      bool *is_open)
{
    const bool has_scores = args && args->scores; /* only a chain has them */
    const char *const asked = options ? options->plan : NULL;
    const bool chain = asked ? strcmp(asked, "chain") == 0 : has_scores;
    *computation = chain ? SATTN_COMPUTE_CHAIN : SATTN_COMPUTE_FUSED;
    *is_open = !asked && !has_scores;
    if (chain || !has_scores)
        return SATTN_OK;
    const sattn_status status = sattn_options_check(options);
    if (status != SATTN_OK)
        return status;
    return sattn_fail(SATTN_ERR_UNSUPPORTED,
                      "options.plan = \"fused\": scores is set, which only a chain computes; "
                      "expected \"chain\" or NULL");
}

sattn_status sattn_plan_make_attention(sattn_plan *plan, const sattn_attention_args *args,
                                       const sattn_options *options)
{
    sattn_computation computation;
    bool is_open;
    const sattn_status status = sattn_choose_computation(args, options, &computation, &is_open);
    return status == SATTN_OK ? make(plan, computation, is_open, args, options) : status;
}
