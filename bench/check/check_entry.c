/* SPDX-License-Identifier: MIT
 *
 * check_entry.c: one variant makes its call, and its outputs are compared with the oracle. */
#include "bench/check/check_entry.h"

#include "bench/verify/record.h"
#include "bench/verify/steps.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool sattn_check_applies(const sattn_check_variant *variant, const sattn_check_problem *problem,
                         sattn_input_kind kind)
{
    const sattn_check_shape *const shape = problem->shape;
    const bool is_biased = shape->has_alibi || shape->has_sinks;
    if (sattn_check_is_chain(variant))
        return true;
    switch (variant->row->op) {
    case SATTN_OP_fused:
        return true;
    case SATTN_OP_qk: /* masks and biases are not looked at */
        return shape->layer != SATTN_CHECK_NO_LAYER ||
               (sattn_input_mask_kind(kind) == SATTN_MASK_NONE && !is_biased);
    case SATTN_OP_softmax: /* nor is V */
        return kind != SATTN_INPUT_DENORMAL;
    case SATTN_OP_av:
        return !is_biased;
    default:
        return false;
    }
}

static void refuse(sattn_check_entry *entry, const char *what)
{
    snprintf(entry->refused, sizeof entry->refused, "%s", what);
}

static void check_attention(const sattn_check_variant *variant, sattn_check_problem *problem,
                            sattn_check_entry *entry)
{
    const sattn_options options = {.kernels =
                                       sattn_check_is_chain(variant) ? NULL : variant->kernel,
                                   .isa = sattn_check_is_chain(variant) ? variant->isa : NULL,
                                   .plan = sattn_check_is_chain(variant) ? variant->op : "fused"};
    if (sattn_attention(&problem->args, &options) != SATTN_OK) {
        refuse(entry, sattn_last_error());
        return;
    }
    const sattn_bound_params params =
        sattn_check_is_chain(variant) ? sattn_bound_chain() : sattn_bound_defaults();
    const int64_t n_heads = problem->args.batch * problem->args.n_q_heads > 1 ? 2 : 1;
    const int64_t n_random = problem->n_rows / n_heads - 2;
    const sattn_verify_selection selection = {.all_rows = problem->all_rows,
                                              .n_random = n_random > 1 ? n_random : 1,
                                              .n_heads = n_heads,
                                              .seed = problem->seed};
    const char *why = "";
    if (sattn_verify_attention(&problem->args, &selection, &params, &entry->result, &why) !=
        SATTN_OK)
        refuse(entry, why);
}

static void check_qk(sattn_check_problem *problem, const sattn_options *options,
                     sattn_check_entry *entry)
{
    sattn_attention_args args = problem->args;
    args.scores = problem->step;
    args.scores_stage = SATTN_SCORES_SOFTCAPPED;
    if (sattn_qk(&args, options) != SATTN_OK) {
        refuse(entry, sattn_last_error());
        return;
    }
    for (int64_t r = 0; r < problem->n_rows; ++r) {
        sattn_verify_place at = problem->rows[r];
        const float *const got = problem->step + sattn_check_row(problem, at) * args.n_k;
        const sattn_verify_scores row = {.q = sattn_check_query(problem, at.batch, at.head) +
                                              at.row * args.q.stride_t,
                                         .k = sattn_check_key(problem, at.batch, at.head),
                                         .k_stride = args.k.stride_t,
                                         .d = args.d,
                                         .n = sattn_check_visible(problem, at.batch, at.head).n_k,
                                         .scale = args.scale,
                                         .softcap = args.softcap};
        sattn_verify_scores_row(&row, got, at, &entry->result);
        for (int64_t j = row.n; j < args.n_k; ++j) {
            at.column = j;
            sattn_verify_record_bits(got[j], -INFINITY, "no such key: -inf", at, &entry->result);
        }
    }
}

static void check_softmax(sattn_check_problem *problem, const sattn_options *options,
                          sattn_check_entry *entry)
{
    sattn_attention_args args = problem->args;
    args.scores_in = problem->scores;
    args.scores = problem->step;
    args.scores_stage = SATTN_SCORES_PROBABILITIES;
    if (sattn_softmax(&args, options) != SATTN_OK) {
        refuse(entry, sattn_last_error());
        return;
    }
    for (int64_t r = 0; r < problem->n_rows; ++r) {
        const sattn_verify_place at = problem->rows[r];
        const int64_t number = sattn_check_row(problem, at);
        const sattn_visibility visible = sattn_check_visible(problem, at.batch, at.head);
        const sattn_verify_weights row = {.s = problem->scores + number * args.n_k,
                                          .n_columns = args.n_k,
                                          .visible = &visible,
                                          .i = at.row,
                                          .lse = args.lse + number,
                                          .sink = args.sinks ? args.sinks + at.head : NULL};
        sattn_verify_weights_row(&row, problem->step + number * args.n_k, NULL, NULL, at,
                                 &entry->result);
    }
}

static void check_av(sattn_check_problem *problem, const sattn_options *options,
                     sattn_check_entry *entry)
{
    sattn_attention_args args = problem->args;
    args.scores_in = problem->weights;
    if (sattn_av(&args, options) != SATTN_OK) {
        refuse(entry, sattn_last_error());
        return;
    }
    for (int64_t r = 0; r < problem->n_rows; ++r) {
        const sattn_verify_place at = problem->rows[r];
        const sattn_visibility visible = sattn_check_visible(problem, at.batch, at.head);
        const sattn_verify_outputs row = {.p = problem->weights +
                                               sattn_check_row(problem, at) * args.n_k,
                                          .v = sattn_check_value(problem, at.batch, at.head),
                                          .v_stride = args.v.stride_t,
                                          .d_v = args.d_v,
                                          .visible = &visible,
                                          .i = at.row,
                                          .repaired = true};
        const float *const got = (const float *)args.o.data + at.batch * args.o.stride_b +
                                 at.head * args.o.stride_h + at.row * args.o.stride_t;
        sattn_verify_outputs_row(&row, got, at, &entry->result);
    }
}

void sattn_check_entry_attention(const sattn_check_variant *variant, sattn_check_problem *problem,
                                 sattn_check_entry *entry)
{
    const sattn_options options = {.kernels = variant->kernel};
    sattn_check_poison(problem);
    if (sattn_check_is_chain(variant) || variant->row->op == SATTN_OP_fused)
        check_attention(variant, problem, entry);
    else if (variant->row->op == SATTN_OP_qk)
        check_qk(problem, &options, entry);
    else if (variant->row->op == SATTN_OP_softmax)
        check_softmax(problem, &options, entry);
    else
        check_av(problem, &options, entry);
}

void sattn_check_entry_array(const sattn_check_variant *variant, const float *x, float *y,
                             int64_t n, sattn_check_entry *entry)
{
    const sattn_op op = variant->row->op;
    const sattn_options options = {.kernels = variant->kernel};
    const sattn_verify_place at = {0};
    const double bound = sattn_kernel_stated_ulp(variant->row);
    if (!(bound > 0)) {
        refuse(entry, "the note of its registry row states no error in ULP");
        return;
    }
    memset(y, 0xff, (size_t)n * sizeof *y);
    const sattn_status status = op == SATTN_OP_exp    ? sattn_exp(x, y, n, &options)
                                : op == SATTN_OP_tanh ? sattn_tanh(x, y, n, &options)
                                                      : sattn_sigmoid(x, y, n, &options);
    const sattn_verify_function function = op == SATTN_OP_exp    ? SATTN_VERIFY_EXP
                                           : op == SATTN_OP_tanh ? SATTN_VERIFY_TANH
                                                                 : SATTN_VERIFY_SIGMOID;
    if (status == SATTN_OK)
        sattn_verify_array(function, x, y, n, bound, at, &entry->result);
    else
        refuse(entry, sattn_last_error());
}
