# SPDX-License-Identifier: MIT
# Defects of the choice by profile: classes, recipes, the table, who decides, what is told of it, and of
# the calls that go directly to their kernel.

# ---- classes
sattn_dispatch_defect(class_log2_rounded_down FILE dispatch/shape_class.c COMMAND test_selection
  FROM [[64 - __builtin_clzll((unsigned long long)n - 1);]] TO [[63 - __builtin_clzll((unsigned long long)n);]])
sattn_dispatch_defect(class_of_a_single_causal_query FILE dispatch/shape_class.c COMMAND test_selection
  FROM [[a->causal && (a->causal_offset || a->n_q > 1)]] TO [[a->causal]])
sattn_dispatch_defect(class_without_threads FILE dispatch/shape_class.c COMMAND test_selection
  FROM [[return key << 6 | count_rank(c->threads);]] TO [[return key << 6 | count_rank(1);]])
sattn_dispatch_defect(class_fields_overlap FILE dispatch/shape_class.c COMMAND test_selection
  FROM [[key = key << 6 | (uint64_t)c->d_v_log2;]] TO [[key = key << 5 | (uint64_t)c->d_v_log2;]])
sattn_dispatch_defect(class_of_one_key_strided FILE dispatch/shape_class.c COMMAND test_selection
  FROM [[a->n_k > 1 && (]] TO [[(]])
sattn_dispatch_defect(class_text_written_otherwise FILE dispatch/shape_class.c COMMAND test_selection
  FROM [[if (strcmp(text, again) != 0)]] TO [[if (strlen(text) < strlen(again))]])
sattn_dispatch_defect(class_count_between_buckets FILE dispatch/shape_class.c COMMAND test_selection
  FROM [[return *number > 0 && count_class(*number) == *number;]] TO [[return *number > 0;]])

# ---- recipes
sattn_dispatch_defect(recipe_of_another_op FILE dispatch/recipe.c COMMAND test_selection
  FROM [[if (!r.kernels[op] || r.kernels[op]->op != (sattn_op)op)]] TO [[if (!r.kernels[op])]])
sattn_dispatch_defect(recipe_with_more_behind_it FILE dispatch/recipe.c COMMAND test_selection
  FROM [[if (!is_known || *kernels != '\0' ||]] TO [[if (!is_known ||]])
sattn_dispatch_defect(chain_with_key_ranges FILE dispatch/recipe.c COMMAND test_selection
  FROM [[(key_splits > 0 && !may_split)]] TO [[(key_splits > 9 && !may_split)]])
sattn_dispatch_defect(needs_of_the_rest_kernel_forgotten FILE dispatch/recipe.c COMMAND test_selection
  FROM [[recipe->rest_kernel ? recipe->rest_kernel->needs : 0;]] TO [[0;]])

# ---- the table
sattn_dispatch_defect(entry_of_less_features FILE dispatch/profile.c COMMAND test_selection
  FROM [[(usable & ~entry->usable) == 0;]] TO [[(entry->usable & ~usable) == 0;]])
sattn_dispatch_defect(entry_whose_choice_needs_more FILE dispatch/profile.c COMMAND test_selection
  FROM [[(sattn_recipe_needs(&entry->tried[entry->taken].recipe) & ~usable) == 0)]] TO [[true)]])
sattn_dispatch_defect(entries_not_copied FILE dispatch/profile.c COMMAND test_selection
  FROM [[to->tried = (const sattn_tried *)(void *)memory;]] TO [[to->tried = from->tried;]])
sattn_dispatch_defect(only_the_first_slot FILE dispatch/profile.c COMMAND test_selection
  FROM [[if (profile->keys[at - 1] == key)]] TO [[if (at > 0)]])

# ---- who decides
set(calls COMMAND test_selection_calls)
sattn_dispatch_defect(profile_before_names FILE dispatch/choose.c ${calls}
  FROM [[if (names_an_op(overrides, plan->computation))]] TO [[if (names_an_op(overrides, plan->computation) && !overrides->profile)]])
sattn_dispatch_defect(names_of_the_recipe_ignored FILE dispatch/choose.c ${calls}
  FROM [[return names_allow(overrides, recipe) ?]] TO [[return true ?]])
sattn_dispatch_defect(profile_before_the_plan FILE dispatch/choose.c ${calls}
  FROM [[if ((is_other && !is_open) ||]] TO [[if ((is_other && 0 * is_open) ||]])
sattn_dispatch_defect(chain_where_ranges_are_asked_for FILE dispatch/choose.c ${calls}
  FROM [[recipe->computation == SATTN_COMPUTE_CHAIN && plan->key_splits > 1)]]
  TO [[recipe->computation == SATTN_COMPUTE_CHAIN && plan->key_splits > 9)]])
sattn_dispatch_defect(choice_that_cannot_run FILE dispatch/choose.c ${calls}
  FROM [[if (sattn_recipe_needs(recipe) & ~overrides->usable)]]
  TO [[if (sattn_recipe_needs(recipe) & ~sattn_cpu_this()->usable)]])
sattn_dispatch_defect(unfinished_entry_taken FILE dispatch/choose.c ${calls}
  FROM [[if (!entry->is_complete || entry->taken >= entry->n_tried)]] TO [[if (entry->taken >= entry->n_tried)]])
sattn_dispatch_defect(default_taken_as_a_recipe FILE dispatch/choose.c ${calls}
  FROM [[if (entry->taken == 0)]] TO [[if (entry->taken == 0 && entry->kept)]])
sattn_dispatch_defect(profile_of_one_thread FILE dispatch/choose.c ${calls}
  FROM [[return options && options->key_splits > 0 ? 1 : sattn_threads_asked(options);]]
  TO [[return sattn_threads_asked(options) > 0 ? 1 : 0;]])
sattn_dispatch_defect(fixed_ranges_by_threads FILE dispatch/choose.c ${calls}
  FROM [[return options && options->key_splits > 0 ? 1 : sattn_threads_asked(options);]]
  TO [[return sattn_threads_asked(options);]])
sattn_dispatch_defect(rest_kernel_of_the_registry FILE dispatch/choose.c ${calls}
  FROM [[plan->rest_kernel = recipe->rest_kernel;]] TO [[plan->rest_kernel = NULL;]])
sattn_dispatch_defect(key_ranges_of_the_profile_ignored FILE dispatch/choose.c ${calls}
  FROM [[plan->profile_splits = recipe->key_splits;]] TO [[plan->profile_splits = 0;]])
sattn_dispatch_defect(key_ranges_with_enough_blocks FILE dispatch/plan.c ${calls}
  FROM [[plan->profile_splits > 0 && blocks < (double)threads;]] TO [[plan->profile_splits > 0 && blocks > 0;]])
sattn_dispatch_defect(options_profile_ignored FILE dispatch/override.c ${calls}
  FROM [[options && options->profile ? options->profile : own->profile;]] TO [[own->profile;]])
sattn_dispatch_defect(ragged_by_a_chain FILE dispatch/ragged_plan.c ${calls}
  FROM [[sattn_plan_begin(plan, computation, false, &p->overrides, p->options);]]
  TO [[sattn_plan_begin(plan, computation, true, &p->overrides, p->options);]])

# ---- the list, and what is told of it
sattn_dispatch_defect(ranked_kernels_alone FILE dispatch/candidates.c ${calls}
  FROM [[        if (rows[i].op == op) {]] TO [[        if (rows[i].op == op && rows[i].phases) {]])
sattn_dispatch_defect(chain_refused_one_range FILE dispatch/candidates.c ${calls}
  FROM [[SATTN_COMPUTE_CHAIN && r->key_splits > 1)]] TO [[SATTN_COMPUTE_CHAIN && r->key_splits > 0)]])
sattn_dispatch_defect(open_where_a_plan_is_asked_for FILE dispatch/candidates.c ${calls}
  FROM [[recipe->computation != r->computation && !r->is_open;]] TO [[false;]])
sattn_dispatch_defect(chains_of_mixed_kinds FILE dispatch/candidates.c ${calls}
  FROM [[(rows[i].phases == 0) == (kernel->phases == 0))]] TO [[rows[i].phases != 0)]])
sattn_dispatch_defect(one_recipe_twice FILE dispatch/candidates.c ${calls}
  FROM [[if (index == list->n && list->n < SATTN_RECIPES_MAX)]] TO [[if (list->n < SATTN_RECIPES_MAX)]])
sattn_dispatch_defect(default_is_the_profiles FILE dispatch/candidates.c ${calls}
  FROM [[without.profile = sattn_profile_none();]] TO [[]])
sattn_dispatch_defect(rest_kernel_without_rows FILE dispatch/candidates.c ${calls}
  FROM [[if (sattn_plan_rest_rows(plan, plan->args.n_q) > 0)]] TO [[if (plan->rest_kernel)]])
sattn_dispatch_defect(key_ranges_of_many_blocks FILE dispatch/candidates.c ${calls}
  FROM [[|| blocks >= (double)threads)]] TO [[)]])
set(explain COMMAND test_selection_explain)
sattn_dispatch_defect(taken_behind_the_list FILE dispatch/candidates.c ${explain}
  FROM [[const sattn_recipe taken = recipe_of(&plan);]]
  TO [[const sattn_recipe taken = recipe_of(&plan); add_tried(list, &r);]])
sattn_dispatch_defect(wrong_kernel_eligible FILE dispatch/explain.c ${explain}
  FROM [[.is_eligible = may_run && (!tried || tried->is_admitted),]] TO [[.is_eligible = may_run,]])
sattn_dispatch_defect(ranges_asked_for_not_told FILE dispatch/explain.c ${explain}
  FROM [[list->asked_splits > 0 && !has_own]] TO [[list->asked_splits > 9 && !has_own]])
sattn_dispatch_defect(front_of_the_fastest_alone FILE dispatch/explain.c ${explain}
  FROM [[other->is_eligible && other->time_ns <= c->time_ns &&]] TO [[other->time_ns <= c->time_ns ||]])
sattn_dispatch_defect(budget_where_there_is_none FILE dispatch/explain.c ${explain}
  FROM [[budget > 0 && tried->error > budget)]] TO [[tried->error > 0)]])
sattn_dispatch_defect(tie_told_as_a_lead FILE dispatch/explain.c ${explain}
  FROM [[words[entry->kept],]] TO [[words[0],]])
sattn_dispatch_defect(slower_within_the_spread FILE dispatch/explain.c ${explain}
  FROM [[ratio - 1 > entry->spread : ratio > 1;]] TO [[ratio - 1 > 0 : ratio > 1;]])
sattn_dispatch_defect(kept_told_as_a_tie FILE dispatch/explain.c ${explain}
  FROM [[entry->kept == SATTN_KEPT_SLOWER_ELSEWHERE &&]] TO [[entry->kept == SATTN_KEPT_COUNT &&]])
sattn_dispatch_defect(spread_of_nothing_told FILE dispatch/explain.c ${explain}
  FROM [[    else if (isfinite(entry->spread))]] TO [[    else if (entry->n_tried > 0)]])
sattn_dispatch_defect(not_tried_told_of_what_was FILE dispatch/explain.c ${explain}
  FROM [[    else if (is_timed)]] TO [[    else if (is_timed && taken)]])
sattn_dispatch_defect(front_of_errors_not_known FILE dispatch/explain.c ${explain}
  FROM [[isfinite(c->time_ns) && isfinite(c->error);]] TO [[isfinite(c->time_ns);]])
sattn_dispatch_defect(cap_not_told FILE dispatch/candidates.c ${explain}
  FROM [[judged.verdict = SATTN_RECIPE_CAPPED;]] TO [[judged.verdict = SATTN_RECIPE_ELIGIBLE;]])
sattn_dispatch_defect(name_not_told FILE dispatch/candidates.c ${explain}
  FROM [[if (r->named && recipe->computation != r->computation)]] TO [[if (r->named && r->is_open && recipe->computation == r->computation)]])

# ---- calls that go directly to their kernel
set(direct COMMAND test_direct)
sattn_dispatch_defect(direct_overlap_not_seen FILE dispatch/direct.c ${direct}
  FROM [[!sattn_spans_meet(&o, &k) &&]] TO [[]])
sattn_dispatch_defect(direct_workspace_on_the_output FILE dispatch/direct.c ${direct}
  FROM [[ &&
           !sattn_spans_meet(&work, &o);]] TO [[;]])
sattn_dispatch_defect(direct_size_not_checked FILE dispatch/direct.c ${direct}
  FROM [[workspace_size >= plan->layout.size &&]] TO [[]])
sattn_dispatch_defect(direct_alignment_not_checked FILE dispatch/direct.c ${direct}
  FROM [[is_there && bits % sizeof(float) == 0 &&]] TO [[is_there &&]])
sattn_dispatch_defect(direct_more_than_planned FILE dispatch/direct.c ${direct}
  FROM [[&& !p->mask &&]] TO [[&&]])
sattn_dispatch_defect(direct_group_as_of_the_queries FILE dispatch/direct.c ${direct}
  FROM [[args->o_group_stride = one_head ? 0 : a->o.stride_h;]] TO [[args->o_group_stride = one_head ? 0 : a->q.stride_h;]])
sattn_dispatch_defect(direct_head_of_the_group FILE dispatch/direct.c ${direct}
  FROM [[moved(b, a->q.stride_b, head, a->q.stride_h);]] TO [[moved(b, a->q.stride_b, kv, a->q.stride_h);]])
sattn_dispatch_defect(direct_batch_stride FILE dispatch/direct.c ${direct}
  FROM [[moved(b, a->v.stride_b, kv, a->v.stride_h);]] TO [[moved(0, a->v.stride_b, kv, a->v.stride_h);]])
sattn_dispatch_defect(direct_rest_rows_forgotten FILE dispatch/direct.c ${direct}
  FROM [[sattn_plan_rest_rows(plan, a->n_q);]] TO [[0 * a->n_q;]])
sattn_dispatch_defect(direct_softcap_forgotten FILE dispatch/direct.c ${direct}
  FROM [[args->softcap = a->softcap;]] TO [[args->softcap = 0;]])
sattn_dispatch_defect(direct_with_hidden_keys FILE dispatch/direct.c ${direct}
  FROM [[!plan->may_hide && plan->workers == 1]] TO [[plan->workers == 1]])
sattn_dispatch_defect(direct_beside_threads FILE dispatch/direct.c ${direct}
  FROM [[plan->workers == 1 &&]] TO [[]])
sattn_dispatch_defect(direct_without_dense_copies FILE dispatch/direct.c ${direct}
  FROM [[plan->n_dense == 0 &&]] TO [[]])
sattn_dispatch_defect(direct_bytes_forgotten FILE dispatch/direct.c ${direct}
  FROM [[args->kv_bytes = plan->kv_bytes;]] TO [[args->kv_bytes = 0;]])
sattn_dispatch_defect(direct_kernel_not_told_of_the_cpu FILE dispatch/direct.c ${direct}
  FROM [[args->rows_are_followed = plan->rows_are_followed;]] TO [[args->rows_are_followed = false;]])
