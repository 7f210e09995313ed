# SPDX-License-Identifier: MIT
# Defects of dispatch: which machine gets which kernel, which memory a work unit is given, and what is
# done with its results.

set(cases COMMAND test_cases --kernel=sattn_fused_f32_scalar --first)

# ---- the machine, the choice
sattn_dispatch_defect(xcr0_not_checked FILE dispatch/cpu.c COMMAND test_dispatch
  FROM [[xsave && (record->xcr0 & xcr0_ymm) == xcr0_ymm;]] TO [[xsave;]])
sattn_dispatch_defect(opmask_state_not_checked FILE dispatch/cpu.c COMMAND test_dispatch
  FROM [[xcr0_zmm = 0xe6;]] TO [[xcr0_zmm = 0xc6;]])
sattn_dispatch_defect(xgetbv_without_osxsave FILE dispatch/cpu.c COMMAND test_dispatch
  FROM [[if (bit(record->leaf1_ecx, LEAF1_ECX_OSXSAVE))]] TO [[if (record->max_leaf >= 1)]])
sattn_dispatch_defect(fma_taken_for_granted FILE dispatch/cpu.c COMMAND test_dispatch
  FROM [[{bit(record->leaf1_ecx, LEAF1_ECX_FMA), SATTN_FEATURE_FMA},]]
  TO [[{bit(record->leaf7_ebx, LEAF7_EBX_AVX2), SATTN_FEATURE_FMA},]])
sattn_dispatch_defect(leaf_7_not_asked_for_first FILE dispatch/cpu.c COMMAND test_dispatch
  FROM [[if (record->max_leaf >= 7) {]] TO [[if (record->max_leaf >= 1) {]])
sattn_dispatch_defect(neon_by_one_bit FILE dispatch/cpu.c COMMAND test_dispatch
  FROM [[(record->hwcap & hwcap_neon) == hwcap_neon)]] TO [[(record->hwcap & hwcap_neon) != 0)]])
sattn_dispatch_defect(last_row_wins FILE dispatch/registry.c COMMAND test_dispatch
  FROM [[    for (size_t i = 0; i < count; ++i)
        if (sattn_judge(&table[i],]]
  TO [[    for (size_t i = count; i-- > 0;)
        if (sattn_judge(&table[i],]])
sattn_dispatch_defect(needs_not_checked FILE dispatch/registry.c COMMAND test_dispatch
  FROM [[if (kernel->needs & ~selection->usable)]]
  TO [[if (kernel->needs & ~selection->usable & 1)]])
sattn_dispatch_defect(isa_cap_ignored FILE dispatch/override.c COMMAND test_dispatch
  FROM [[overrides->usable = usable & isa->needs;]] TO [[overrides->usable = usable;]])
sattn_dispatch_defect(isa_beyond_the_cpu_ignored FILE dispatch/override.c COMMAND test_dispatch
  FROM [[if (isa->needs & ~usable) {]] TO [[if (isa->needs & ~usable & 0) {]])
sattn_dispatch_defect(unknown_isa_ignored FILE dispatch/override.c COMMAND test_dispatch
  FROM [[    if (!isa)
        return]]
  TO [[    if (!isa)
        return SATTN_OK;
    if (!isa)
        return]])
sattn_dispatch_defect(forced_kernel_ignored FILE dispatch/plan.c COMMAND test_chain
  FROM [[.forced = forced ? forced->name : NULL};]] TO [[.forced = NULL};]])

# ---- the memory of a work unit
sattn_dispatch_defect(wrong_head FILE dispatch/unit.c ${cases}
  FROM [[const int64_t head = kv * n_group, heads]] TO [[const int64_t head = kv, heads]])
sattn_dispatch_defect(k_of_the_first_head FILE dispatch/unit.c ${cases}
  FROM [[a->k.stride_b, a->n_kv_heads, kv, a->k.stride_h)]]
  TO [[a->k.stride_b, a->n_kv_heads, 0, a->k.stride_h)]])
sattn_dispatch_defect(batch_stride_ignored FILE dispatch/unit.c ${cases}
  FROM [[(a->batch > 1 ? b * stride_b : 0)]]
  TO [[(a->batch > 1 ? b * n_heads * stride_h : 0)]])
sattn_dispatch_defect(stride_of_an_extent_of_1_used FILE dispatch/unit.c ${cases}
  FROM [[mask->extent[axis] > 1 ? mask->stride[axis] : 0;]] TO [[mask->stride[axis];]])
sattn_dispatch_defect(mask_of_the_first_batch_entry FILE dispatch/unit.c ${cases}
  FROM [[b * stride[0] + head * stride[1];]] TO [[head * stride[1];]])
sattn_dispatch_defect(n_k_valid_ignored FILE dispatch/unit.c ${cases}
  FROM [[a->n_k_valid ? a->n_k_valid[b] : a->n_k;]] TO [[a->n_k;]])
sattn_dispatch_defect(n_k_valid_of_the_first_batch_entry FILE dispatch/unit.c COMMAND test_api
  FROM [[a->n_k_valid ? a->n_k_valid[b] : a->n_k;]] TO [[a->n_k_valid ? a->n_k_valid[0] : a->n_k;]])
sattn_dispatch_defect(causal_from_the_top_left FILE dispatch/attention_check.h
  SOURCE dispatch/unit.c ${cases}
  FROM [[args->causal_offset[b] : n_k - args->n_q;]] TO [[args->causal_offset[b] : 0;]])
sattn_dispatch_defect(lse_of_the_first_head FILE dispatch/unit.c COMMAND test_chain
  FROM [[.lse_group_stride = one_head ? 0 : a->lse_stride_h,]] TO [[.lse_group_stride = 0,]])
sattn_dispatch_defect(mask_not_moved_with_the_block FILE dispatch/unit.c COMMAND test_chain
  FROM [[i0 * visible->mask_row_stride + j0 * visible->mask_key_stride;]]
  TO [[j0 * visible->mask_key_stride;]])
sattn_dispatch_defect(limit_not_moved_with_the_block FILE dispatch/unit.c COMMAND test_chain
  FROM [[sattn_add_held(visible->causal_offset, i0 - j0);]]
  TO [[sattn_add_held(visible->causal_offset, -j0);]])
sattn_dispatch_defect(default_scale_of_d_v FILE dispatch/plan.c ${cases}
  FROM [[(float)(1.0 / sqrt((double)args->d));]] TO [[(float)(1.0 / sqrt((double)args->d_v));]])
sattn_dispatch_defect(scale_of_zero_taken_as_unset FILE dispatch/plan.c ${cases}
  FROM [[args->has_scale ? args->scale]]
  TO [[args->has_scale && args->scale != 0.0f ? args->scale]])

# ---- key splits and their merge
sattn_dispatch_defect(split_off_by_a_block FILE dispatch/execute.c ${cases}
  FROM [[(blocks + splits - 1) / splits * SATTN_KEY_BLOCK;]]
  TO [[blocks / splits * SATTN_KEY_BLOCK;]])
sattn_dispatch_defect(parts_normalised_before_the_merge FILE dispatch/execute.c ${cases}
  FROM [[piece.partial = true;]] TO [[piece.partial = false;]])
sattn_dispatch_defect(merged_weight_of_another_part FILE dispatch/merge.c ${cases}
  FROM [[const float weight = part_weight(row_max[c * stat_step], m);]]
  TO [[const float weight = part_weight(row_max[(n_parts - 1 - c) * stat_step], m);]])
sattn_dispatch_defect(merge_by_the_first_maximum FILE dispatch/merge.c ${cases}
  FROM [[if (row_max[c * stat_step] > m)]] TO [[if (c == 0)]])
sattn_dispatch_defect(merged_part_without_keys FILE dispatch/merge.c ${cases}
  FROM [[return part_max == row_max ? 1.0f : expf(part_max - row_max);]]
  TO [[return expf(part_max - row_max);]])
sattn_dispatch_defect(log_of_the_maximum_dropped FILE dispatch/merge.c COMMAND test_chain
  FROM [[(float)((double)row_max + log((double)row_sum));]] TO [[(float)log((double)row_sum);]])

# ---- hidden values that are not finite
sattn_dispatch_defect(repair_skipped FILE dispatch/execute.c COMMAND test_api
  FROM [[if (hides && sattn_output_is_suspect(&averaged))]]
  TO [[if (hides && c->o_is_q && sattn_output_is_suspect(&averaged))]])
sattn_dispatch_defect(queries_not_kept FILE dispatch/execute.c COMMAND test_api
  FROM [[    if (c->o_is_q) {
        again.q = c->q_copy;]]
  TO [[    if (0) {
        again.q = c->q_copy;]])
sattn_dispatch_defect(repair_hides_visible_values FILE dispatch/repair.c COMMAND test_api
  FROM [[again[y] = is_not_finite(v[y]) ? row[y] : again[y];]] TO [[again[y] = again[y];]])
sattn_dispatch_defect(repair_ignores_the_mask FILE dispatch/repair.c COMMAND test_api
  FROM [[j >= range.end || !mask_lets_through(a->visible, g, i, j))]] TO [[j >= range.end)]])
sattn_dispatch_defect(last_column_not_scanned FILE dispatch/repair.c COMMAND test_api
  FROM [[for (int64_t y = 0; y < columns; ++y)]] TO [[for (int64_t y = 0; y + 1 < columns; ++y)]])
sattn_dispatch_defect(window_does_not_hide FILE dispatch/repair.c COMMAND test_chain
  FROM [[last.end < visible->n_k || last.begin > 0;]] TO [[last.end < visible->n_k;]])

# ---- the chain, the steps
sattn_dispatch_defect(last_block_of_rows_missing FILE dispatch/chain.c COMMAND test_chain
  FROM [[i0 < unit->n_q; i0 += plan->block_rows)]]
  TO [[i0 < unit->n_q && (i0 == 0 || i0 + 1 < unit->n_q); i0 += plan->block_rows)]])
sattn_dispatch_defect(softcap_skipped FILE dispatch/chain.c COMMAND test_chain
  FROM [[score(&b, plan->args.softcap, b.seen, &b.own, 0);]]
  TO [[score(&b, 0.0f, b.seen, &b.own, 0);]])
sattn_dispatch_defect(seen_keys_of_the_first_row FILE dispatch/chain.c COMMAND test_chain
  FROM [[seen.end = row.end > seen.end ? row.end : seen.end;]]
  TO [[seen.end = seen.end > 0 ? seen.end : row.end;]])
sattn_dispatch_defect(v_from_the_first_key FILE dispatch/chain.c COMMAND test_chain
  FROM [[.v = key_rows(u->v, u->v_stride, b->seen.begin),]]
  TO [[.v = key_rows(u->v, u->v_stride, 0),]])
sattn_dispatch_defect(bias_added_to_hidden_scores FILE dispatch/chain.c
  COMMAND test_cases --kernel=sattn_qk_f32_scalar --group=scores --first
  FROM [[s[j] = bias[j * key_stride] == -INFINITY ? -INFINITY : s[j] + bias[j * key_stride];]]
  TO [[s[j] = s[j] + bias[j * key_stride];]])
sattn_dispatch_defect(scores_behind_the_last_key_left FILE dispatch/chain.c COMMAND test_steps
  FROM [[for (int64_t j = unit->visible.n_k; j < unit->n_k; ++j)]]
  TO [[for (int64_t j = unit->visible.n_k + 1; j < unit->n_k; ++j)]])
sattn_dispatch_defect(workspace_one_block_short FILE dispatch/chain.c COMMAND test_steps
  FROM [[return least(a->n_k, seen + SATTN_KEY_BLOCK - 1);]] TO [[return least(a->n_k, seen);]])
sattn_dispatch_defect(stage_ignored_by_qk FILE dispatch/execute.c COMMAND test_steps
  FROM [[.softcap = capped ? plan->args.softcap : 0.0f,]] TO [[.softcap = plan->args.softcap,]])
sattn_dispatch_defect(overlap_of_scores_allowed FILE dispatch/attention_check.c COMMAND test_steps
  FROM [[(on_input && in_place))]] TO [[on_input)]])
sattn_dispatch_defect(n_k_valid_not_checked FILE dispatch/attention_check.c COMMAND test_api
  FROM [[if (a->n_k_valid[b] < 0 || a->n_k_valid[b] > a->n_k)]] TO [[if (a->n_k_valid[b] < 0)]])

# ---- visibility.h, which the chain and the repair look through
sattn_dispatch_defect(window_one_key_short FILE kernels/visibility.h SOURCE dispatch/chain.c
  COMMAND test_chain
  FROM [[range.begin = first > range.begin ? first : range.begin;]]
  TO [[range.begin = first + 1 > range.begin ? first + 1 : range.begin;]])
