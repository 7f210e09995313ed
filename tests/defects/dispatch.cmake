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
sattn_dispatch_defect(forced_kernel_ignored FILE dispatch/choose.c COMMAND test_chain
  FROM [[*kernel = forced ? forced : first_of(&selection);]]
  TO [[*kernel = forced ? first_of(&selection) : first_of(&selection);]])
sattn_dispatch_defect(ports_of_any_vendor FILE dispatch/cpu.c COMMAND test_dispatch
  FROM [[strcmp(record->vendor, "GenuineIntel") == 0;]] TO [[record->vendor[0] != 0;]])
sattn_dispatch_defect(followed_rows_of_no_vendor FILE dispatch/cpu.c COMMAND test_dispatch
  FROM [[cpu.follows_rows = is_intel_with_avx512(record, cpu.hardware);]] TO [[]])
sattn_dispatch_defect(five_rows_are_not_several FILE dispatch/registry.c COMMAND test_dispatch
  FROM [[n_group * n_q >= SATTN_SEVERAL_ROWS_MIN;]] TO [[n_group * n_q > SATTN_SEVERAL_ROWS_MIN;]])
sattn_dispatch_defect(several_rows_of_any_cpu FILE dispatch/registry.c COMMAND test_dispatch
  FROM [[cpu->shuffles_take_fma_port && phase]] TO [[cpu && phase]])
sattn_dispatch_defect(prefill_of_several_rows FILE dispatch/registry.c COMMAND test_dispatch
  FROM [[cpu->shuffles_take_fma_port && phase != SATTN_PHASE_PREFILL &&]]
  TO [[cpu->shuffles_take_fma_port &&]])
sattn_dispatch_defect(row_for_several_taken_for_all FILE dispatch/registry.c COMMAND test_dispatch
  FROM [[(is_for_all || selection->is_several)]] TO [[(is_for_all || selection->phase)]])

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
  FROM [[move_offset(&from, i0 - j0);]] TO [[move_offset(&from, -j0);]])
sattn_dispatch_defect(window_not_widened_where_the_offset_is_held FILE dispatch/unit.c COMMAND test_shares
  FROM [[moved_width(visible->window_left, -missing);]] TO [[visible->window_left;]])
sattn_dispatch_defect(slope_of_the_first_head FILE dispatch/unit.c COMMAND test_semantics --kernel=sattn_fused_f32_scalar --first
  FROM [[a->alibi_slopes ? a->alibi_slopes + head : NULL;]] TO [[a->alibi_slopes;]])
sattn_dispatch_defect(alibi_from_key_0 FILE dispatch/unit.c COMMAND test_semantics --kernel=sattn_fused_f32_scalar --first
  FROM [[a->causal || a->has_window || a->alibi_slopes;]] TO [[a->causal || a->has_window;]])
sattn_dispatch_defect(block_begins_a_row_late FILE dispatch/unit.c COMMAND test_chain
  FROM [[rows.q = row_of(unit->q, unit->q_stride, i0);]]
  TO [[rows.q = row_of(unit->q, unit->q_stride, i0 + (i0 > 0 && i0 + 1 < unit->n_q));]])
sattn_dispatch_defect(lse_not_moved_with_the_block FILE dispatch/unit.c COMMAND test_chain
  FROM [[rows.lse = output_row_of(unit->lse, 1, i0);]] TO [[rows.lse = unit->lse;]])
sattn_dispatch_defect(default_scale_of_d_v FILE dispatch/plan.c ${cases}
  FROM [[(float)(1.0 / sqrt((double)args->d));]] TO [[(float)(1.0 / sqrt((double)args->d_v));]])
sattn_dispatch_defect(scale_of_zero_taken_as_unset FILE dispatch/plan.c ${cases}
  FROM [[args->has_scale ? args->scale]]
  TO [[args->has_scale && args->scale != 0.0f ? args->scale]])

# ---- key splits and their merge
sattn_dispatch_defect(split_off_by_a_block FILE dispatch/attend.c ${cases}
  FROM [[(blocks + c->splits - 1) / c->splits * SATTN_KEY_BLOCK;]]
  TO [[blocks / c->splits * SATTN_KEY_BLOCK;]])
sattn_dispatch_defect(split_by_the_keys_of_a_block FILE dispatch/attend.c COMMAND test_chain
  FROM [[const int64_t rows = unit->n_group * unit->i1, end = c->rows->keys.end;]]
  TO [[const int64_t rows = unit->n_group * unit->i1,
       end = sattn_visible_range(&unit->visible, unit->i1 - 1).end;]])
sattn_dispatch_defect(parts_normalised_before_the_merge FILE dispatch/attend.c ${cases}
  FROM [[piece.partial = true;
    piece.o =]]
  TO [[piece.partial = false;
    piece.o =]])
sattn_dispatch_defect(last_part_not_merged FILE dispatch/attend.c ${cases}
  FROM [[merge_rows(c, unit, c->memory->parts, c->splits);]]
  TO [[merge_rows(c, unit, c->memory->parts, c->splits - 1);]])
sattn_dispatch_defect(merged_weight_of_another_part FILE dispatch/merge.c ${cases}
  FROM [[part_weight(parts->row_max[c * parts->stat_step], max);]]
  TO [[part_weight(parts->row_max[(parts->n_parts - 1 - c) * parts->stat_step], max);]])
sattn_dispatch_defect(merge_by_the_first_maximum FILE dispatch/merge.c ${cases}
  FROM [[if (row_max[c * step] > m)]] TO [[if (c == 0)]])
sattn_dispatch_defect(merged_part_without_keys FILE dispatch/merge.c ${cases}
  FROM [[return part_max == row_max ? 1.0f : expf(part_max - row_max);]]
  TO [[return expf(part_max - row_max);]])
sattn_dispatch_defect(log_of_the_maximum_dropped FILE dispatch/merge.c COMMAND test_chain
  FROM [[(float)((double)row_max + log((double)row_sum));]] TO [[(float)log((double)row_sum);]])

# ---- sinks
sattn_dispatch_defect(sink_ignored FILE dispatch/merge.c COMMAND test_api
  FROM [[} else if (sink > -INFINITY) {]] TO [[} else if (sink > INFINITY) {]])
sattn_dispatch_defect(sink_counted_for_each_part FILE dispatch/merge.c COMMAND test_thread_counts threads_after_fork_from_the_start
  FROM [[sum += part_weight(sink, m);]] TO [[sum += (float)parts->n_parts * part_weight(sink, m);]])
sattn_dispatch_defect(sink_never_the_maximum FILE dispatch/merge.c COMMAND test_api
  FROM [[float m = sink_spoils(sink) ? -INFINITY : sink, sum]] TO [[float m = -INFINITY, sum]])
sattn_dispatch_defect(infinite_sink_only_dilutes FILE dispatch/merge.c COMMAND test_api
  FROM [[return isnan(sink) || sink == INFINITY;]] TO [[return isnan(sink);]])
sattn_dispatch_defect(sink_of_the_first_head FILE dispatch/unit.c COMMAND test_api
  FROM [[.sinks = a->sinks ? a->sinks + head : NULL,]] TO [[.sinks = a->sinks,]])
sattn_dispatch_defect(sink_of_another_head_of_the_group FILE dispatch/attend.c COMMAND test_api
  FROM [[c->rows->sinks ? c->rows->sinks[g] : -INFINITY]]
  TO [[c->rows->sinks ? c->rows->sinks[0] : -INFINITY]])
sattn_dispatch_defect(lse_without_sink FILE dispatch/rows.c COMMAND test_api
  FROM [[sattn_add_sink(&a->row_max[stat], &a->row_sum[stat], sinks[g]));]]
  TO [[sattn_add_sink((float[]){a->row_max[stat]}, (float[]){a->row_sum[stat]}, sinks[g]));]])
sattn_dispatch_defect(sink_halved_in_a_chain FILE dispatch/merge.c COMMAND test_api
  FROM [[const double sum = seen + exp((double)sink - (double)max);]]
  TO [[const double sum = seen + 0.5 * exp((double)sink - (double)max);]])
sattn_dispatch_defect(weights_of_nothing_but_infinities_left FILE dispatch/rows.c COMMAND test_api
  FROM [[if (share == 0.0f) {]] TO [[if (share < 0.0f) {]])
sattn_dispatch_defect(sink_spoils_only_rows_with_keys FILE dispatch/rows.c COMMAND test_api
  FROM [[if (unit->sinks[g] < INFINITY)]] TO [[if (unit->sinks[g] <= INFINITY || unit->sinks[g] != unit->sinks[g])]])
sattn_dispatch_defect(slopes_not_checked FILE dispatch/attention_check.c COMMAND test_api
  FROM [[if (!isfinite(a->alibi_slopes[h]))]] TO [[if (isnan(a->alibi_slopes[h]))]])

# ---- hidden values that are not finite
sattn_dispatch_defect(repair_skipped FILE dispatch/attend.c COMMAND test_api
  FROM [[if (c->hides && sattn_output_is_suspect(&averaged)) {]]
  TO [[if (c->hides && c->o_is_q && sattn_output_is_suspect(&averaged)) {]])
sattn_dispatch_defect(queries_not_kept FILE dispatch/attend.c COMMAND test_api
  FROM [[    if (c->o_is_q) {
        again.q = c->memory->q_copy;]]
  TO [[    if (0) {
        again.q = c->memory->q_copy;]])
sattn_dispatch_defect(repair_hides_visible_values FILE dispatch/repair.c COMMAND test_api
  FROM [[again[y] = is_not_finite(v[y]) ? row[y] : again[y];]] TO [[again[y] = again[y];]])
sattn_dispatch_defect(repair_ignores_the_mask FILE dispatch/repair.c COMMAND test_api
  FROM [[j >= range.end || !sattn_mask_lets_through(a->visible, g, i, j))]] TO [[j >= range.end)]])
sattn_dispatch_defect(last_column_not_scanned FILE dispatch/repair.c COMMAND test_api
  FROM [[for (; y < columns; ++y)]] TO [[for (; y + 1 < columns; ++y)]])
sattn_dispatch_defect(whole_vectors_not_scanned FILE dispatch/repair.c COMMAND test_api
  FROM [[any |= found[u];]] TO [[any |= 0 * found[u];]])
sattn_dispatch_defect(window_does_not_hide FILE dispatch/repair.c COMMAND test_chain
  FROM [[last.end < visible->n_k || last.begin > 0;]] TO [[last.end < visible->n_k;]])

# ---- the chain, the steps
sattn_dispatch_defect(last_block_of_rows_missing FILE dispatch/execute.c COMMAND test_chain
  FROM [[const int64_t left = plan->args.n_q - i0;]]
  TO [[const int64_t left = plan->args.n_q - i0 - (plan->args.n_q - i0 > 1);]])
sattn_dispatch_defect(softcap_skipped FILE dispatch/chain.c COMMAND test_chain
  FROM [[score(&b, plan->args.softcap, b.seen, &b.own, 0);]]
  TO [[score(&b, 0.0f, b.seen, &b.own, 0);]])
sattn_dispatch_defect(seen_keys_of_the_first_row FILE dispatch/chain.c COMMAND test_chain
  FROM [[seen.end = row.end > seen.end ? row.end : seen.end;]]
  TO [[seen.end = seen.end > 0 ? seen.end : row.end;]])
sattn_dispatch_defect(v_from_the_first_key FILE dispatch/chain.c COMMAND test_chain
  FROM [[.v = key_row(v, b->seen.begin),]] TO [[.v = key_row(v, 0),]])
sattn_dispatch_defect(bias_added_to_hidden_scores FILE dispatch/chain.c
  COMMAND test_cases --kernel=sattn_qk_f32_scalar --group=scores --first
  FROM [[s[j] = bias[j * key_stride] == -INFINITY ? -INFINITY : s[j] + bias[j * key_stride];]]
  TO [[s[j] = s[j] + bias[j * key_stride];]])
sattn_dispatch_defect(alibi_missing_in_scores FILE dispatch/chain.c COMMAND test_semantics --kernel=sattn_qk_f32_scalar --first
  FROM [[u->visible.alibi_slopes && j < range.end; ++j)]] TO [[0 && j < range.end; ++j)]])
sattn_dispatch_defect(scores_behind_the_last_key_left FILE dispatch/rows.c COMMAND test_steps
  FROM [[for (int64_t j = unit->visible.n_k; j < unit->n_k; ++j)]]
  TO [[for (int64_t j = unit->visible.n_k + 1; j < unit->n_k; ++j)]])
sattn_dispatch_defect(workspace_one_block_short FILE dispatch/chain.c COMMAND test_steps
  FROM [[return least(a->n_k, seen + SATTN_KEY_BLOCK - 1);]] TO [[return least(a->n_k, seen);]])
sattn_dispatch_defect(stage_ignored_by_qk FILE dispatch/step_unit.c COMMAND test_steps
  FROM [[.softcap = capped ? plan->args.softcap : 0.0f,]] TO [[.softcap = plan->args.softcap,]])
sattn_dispatch_defect(overlap_of_scores_allowed FILE dispatch/overlap.c COMMAND test_steps
  FROM [[(on_input && m->scores_are_input))]] TO [[on_input)]])
sattn_dispatch_defect(workspace_may_be_a_tensor FILE dispatch/overlap.c COMMAND test_api
  FROM [[    for (int i = 0; i < n; ++i) {
        const sattn_status status = check_apart(&workspace,]]
  TO [[    for (int i = 0; i < 0; ++i) {
        const sattn_status status = check_apart(&workspace,]])
sattn_dispatch_defect(spans_end_with_the_first_row FILE dispatch/operands.c COMMAND test_api
  FROM [[*bytes = size.value;]] TO [[*bytes = columns * element_size;]])
sattn_dispatch_defect(spans_of_inputs_left_out FILE dispatch/overlap.c COMMAND test_api
  FROM [[if (m->operands[i].bytes > 0)]] TO [[if (m->operands[i].bytes > 0 && i >= SATTN_OPERAND_LSE)]])
sattn_dispatch_defect(spans_of_arrays_left_out FILE dispatch/overlap.c COMMAND test_api
  FROM [[i < m->n_others; ++i)]] TO [[i < 0; ++i)]])
sattn_dispatch_defect(axes_nested_by_the_first FILE dispatch/region.c COMMAND test_dispatch
  FROM [[reach += (wide)r->step[next] * (r->extent[next] - 1);]] TO [[reach = r->step[next];]])
sattn_dispatch_defect(workspace_may_be_the_starts FILE dispatch/ragged_check.c COMMAND test_thread_counts threads_dense_ragged
  FROM [[if (status == SATTN_OK && meets(]] TO [[if (status != SATTN_OK && meets(]])
sattn_dispatch_defect(n_k_valid_not_checked FILE dispatch/attention_check.c COMMAND test_api
  FROM [[if (a->n_k_valid[b] < 0 || a->n_k_valid[b] > a->n_k)]] TO [[if (a->n_k_valid[b] < 0)]])

# ---- threads, ragged batches
sattn_dispatch_defect(memory_of_the_first_worker FILE dispatch/layout.c COMMAND test_shares
  FROM [[product((int64_t)at->worker_size, n_workers);]] TO [[product((int64_t)at->worker_size, 1);]])
sattn_dispatch_defect(last_part_finishes_twice FILE dispatch/attend.c COMMAND test_parts
  FROM [[if (atomic_fetch_sub_explicit(pending, 1, memory_order_acq_rel) > 1)]]
  TO [[if (atomic_fetch_sub_explicit(pending, 1, memory_order_acq_rel) > 2)]])
sattn_dispatch_defect(first_part_finishes FILE dispatch/attend.c COMMAND test_parts
  FROM [[if (atomic_fetch_sub_explicit(pending, 1, memory_order_acq_rel) > 1)]]
  TO [[if (atomic_fetch_sub_explicit(pending, 1, memory_order_acq_rel) < plan->splits)]])
sattn_dispatch_defect(queries_not_kept_by_the_last_part FILE dispatch/attend.c COMMAND test_parts
  FROM [[    if (c.hides && o_is_q)
        copy_queries(&args, memory->q_copy);
    merge_rows]]
  TO [[    merge_rows]])
sattn_dispatch_defect(parts_of_the_first_block FILE dispatch/rows.c COMMAND test_parts
  FROM [[workspace + at->blocks + (size_t)block * at->block_size : own;]]
  TO [[workspace + at->blocks : own;]])
sattn_dispatch_defect(chunk_of_an_array_missing FILE dispatch/steps.c COMMAND test_thread_counts threads_arrays
  FROM [[(n - 1) / SATTN_ARRAY_CHUNK + 1, run_chunk]] TO [[n / SATTN_ARRAY_CHUNK, run_chunk]])

# ---- what kernels are told of K and V
sattn_dispatch_defect(shared_heads_counted_each FILE dispatch/unit.c COMMAND test_shares
  FROM [[view->stride_h == 0 ? 1.0 : (double)a->n_kv_heads;]] TO [[(double)a->n_kv_heads;]])
sattn_dispatch_defect(keys_beyond_the_valid_counted FILE dispatch/unit.c COMMAND test_shares
  FROM [[if (!a->n_k_valid && !a->causal && !a->has_window)]] TO [[if (!a->causal && !a->has_window)]])
sattn_dispatch_defect(kernel_not_told_of_the_call FILE dispatch/execute.c COMMAND test_shares
  FROM [[rows.kv_bytes = e->kv_bytes;]] TO [[rows.kv_bytes = 0;]])
sattn_dispatch_defect(rest_rows_told_of_the_call FILE dispatch/attend.c COMMAND test_shares
  FROM [[rows.kv_bytes = 0; /* K and V have just been read */]] TO [[]])
sattn_dispatch_defect(plan_without_its_cpu FILE dispatch/plan.c COMMAND test_shares
  FROM [[plan->rows_are_followed = sattn_cpu_this()->follows_rows;]] TO [[]])
sattn_dispatch_defect(kernel_not_told_of_the_cpu FILE dispatch/attend.c COMMAND test_shares
  FROM [[.rows_are_followed = plan->rows_are_followed};]] TO [[.rows_are_followed = false};]])
set(fetch FILE kernels/fused/fused_decode_fetch.h SOURCE tests/support/fetch_rule.c COMMAND test_fetch)
sattn_dispatch_defect(rows_followed_by_every_core ${fetch}
  FROM [[.is_followed = a->rows_are_followed && !far &&]] TO [[.is_followed = !far &&]])
sattn_dispatch_defect(rows_of_memory_followed ${fetch}
  FROM [[.is_followed = a->rows_are_followed && !far &&]] TO [[.is_followed = a->rows_are_followed &&]])
sattn_dispatch_defect(several_rows_followed ${fetch}
  FROM [[strip->n_rows == 1 &&]] TO [[]])
sattn_dispatch_defect(rows_across_lines_followed ${fetch}
  FROM [[((uintptr_t)rows | (uintptr_t)stride * sizeof(float)) % VEC_LINE == 0;]]
  TO [[(uintptr_t)rows % VEC_LINE == 0 || stride == 0;]])
sattn_dispatch_defect(rows_that_meet_counted_for_every_core ${fetch}
  FROM [[a->rows_are_followed && n > most ? most : n]] TO [[n > most ? most : n]])
sattn_dispatch_defect(rows_meet_where_pages_are_whole ${fetch}
  FROM [[FUSED_FETCH_MEET * (FUSED_FETCH_PAGE >> shift);]] TO [[FUSED_FETCH_MEET + 0 * shift;]])

# ---- rest rows, dense copies
sattn_dispatch_defect(rest_rows_left_out FILE dispatch/attend.c COMMAND test_thread_counts test_same_bits
  FROM [[if (rows.i0 < rows.i1)]] TO [[if (rows.i0 < rows.i1 && rows.i0 == 0)]])
sattn_dispatch_defect(rest_rows_of_each_block FILE dispatch/unit.c COMMAND test_thread_counts test_same_bits
  FROM [[rows.n_rest = i1 - (rest_begin > i0 ? rest_begin : i0);]]
  TO [[rows.n_rest = unit->n_rest + 0 * rest_begin;]])
sattn_dispatch_defect(rest_rows_by_one_kernel_alone FILE dispatch/choose.c COMMAND test_shares
  FROM [[if (plan->computation != SATTN_COMPUTE_FUSED || plan->phase != SATTN_PHASE_PREFILL ||
        overrides->forced[SATTN_OP_fused])]]
  TO [[if (plan->computation != SATTN_COMPUTE_FUSED || plan->phase != SATTN_PHASE_PREFILL)]])
sattn_dispatch_defect(tile_with_a_quarter_empty FILE dispatch/share.c COMMAND test_shares
  FROM [[8 * empty <= tile_rows]] TO [[4 * empty <= tile_rows]])
sattn_dispatch_defect(rest_rows_fill_tiles FILE dispatch/share.c COMMAND test_shares
  FROM [[n_group * (n_q - sattn_rest_rows(n_group, n_q, tile_rows, d));]] TO [[n_group * n_q;]])
sattn_dispatch_defect(tile_not_looked_for FILE dispatch/choose.c COMMAND test_shares
  FROM [[plan->n_group * a->n_q < SATTN_FILLING_ROWS_MIN)]] TO [[plan->n_group * a->n_q <= SATTN_FEW_ROWS)]])
sattn_dispatch_defect(ragged_phase_by_rows_alone FILE dispatch/ragged_plan.c COMMAND test_thread_counts threads_dense_ragged
  FROM [[computation == SATTN_COMPUTE_FUSED ? sattn_prefill_tile_rows(&p->overrides) : 0;]] TO [[0;]])
sattn_dispatch_defect(rest_rows_cut_a_group FILE dispatch/share.c COMMAND test_shares
  FROM [[(of_one || of_two) && rest % n_group == 0 ?]] TO [[(of_one || of_two) ?]])
sattn_dispatch_defect(last_chunk_not_copied FILE dispatch/dense.c COMMAND test_shares
  FROM [[const int64_t n_chunks = (n_keys - 1) / SATTN_KEY_BLOCK + 1;]]
  TO [[const int64_t n_chunks = n_keys / SATTN_KEY_BLOCK;]])
sattn_dispatch_defect(copies_in_one_place FILE dispatch/dense.c COMMAND test_shares
  FROM [[.to = v ? to + k_floats : NULL,]] TO [[.to = v ? to + 0 * k_floats : NULL,]])
sattn_dispatch_defect(copy_taken_from_its_users FILE dispatch/dense.c COMMAND test_shares
  FROM [[unused = copy->users == 0 ? copy : unused;]] TO [[unused = copy;]])
sattn_dispatch_defect(copied_keys_from_the_first FILE dispatch/dense.c COMMAND test_shares
  FROM [[const int64_t begin = keys.begin + chunk * SATTN_KEY_BLOCK;]]
  TO [[const int64_t begin = chunk * SATTN_KEY_BLOCK;]])
sattn_dispatch_defect(copy_of_one_row_for_all FILE dispatch/dense.c COMMAND test_shares
  FROM [[if (stride == 0 || n_keys]] TO [[if (n_keys]])
sattn_dispatch_defect(repair_looks_at_the_copy FILE dispatch/attend.c COMMAND test_thread_counts threads_dense
  FROM [[.v = c->rows->v, /* a dense copy may lack hidden rows */]] TO [[.v = c->args->v,]])
sattn_dispatch_defect(copies_of_another_unit FILE dispatch/execute.c COMMAND test_thread_counts threads_steps
  FROM [[sattn_dense_enter(&e->dense, unit_index, &rows);]]
  TO [[sattn_dense_enter(&e->dense, unit_index / 2, &rows);]])
sattn_dispatch_defect(ragged_copies_of_another_unit FILE dispatch/ragged.c COMMAND test_thread_counts threads_dense_ragged
  FROM [[e->order[low] * s.n_kv_heads + kv, &block);]]
  TO [[e->order[low] * s.n_kv_heads + kv / 2, &block);]])
sattn_dispatch_defect(copies_not_reserved FILE dispatch/layout.c COMMAND test_shares
  FROM [[product((int64_t)at->dense_size, at->n_dense));]] TO [[product((int64_t)at->dense_size, 0));]])
sattn_dispatch_defect(copies_of_keys_for_a_chain FILE dispatch/dense.c COMMAND test_shares
  FROM [[return plan->computation == SATTN_COMPUTE_FUSED;]] TO [[return plan->computation <= SATTN_COMPUTE_CHAIN;]])

set(ragged COMMAND test_ragged --kernel=sattn_fused_f32_scalar --first)
sattn_dispatch_defect(ragged_offset_of_the_first FILE dispatch/ragged_plan.c ${ragged}
  FROM [[a->causal_offset ? a->causal_offset + b : NULL;]] TO [[a->causal_offset;]])
sattn_dispatch_defect(ragged_keys_of_the_first FILE dispatch/ragged_plan.c ${ragged}
  FROM [[s.k.data = row_of(a->k.data, a->n_k, k0, a->k.stride_t);]]
  TO [[s.k.data = row_of(a->k.data, a->n_k, ragged->k_starts[0], a->k.stride_t);]])
sattn_dispatch_defect(ragged_lse_not_moved FILE dispatch/ragged_plan.c ${ragged}
  FROM [[s.lse = a->lse ? a->lse + q0 : NULL;]] TO [[s.lse = a->lse;]])
sattn_dispatch_defect(ragged_memory_of_the_last_phase FILE dispatch/ragged_plan.c COMMAND test_ragged
    --kernel=sattn_fused_f32_scalar --group=workspace
  FROM [[worker_size = at->worker_size > worker_size ? at->worker_size : worker_size;]]
  TO [[worker_size = at->worker_size;]])
sattn_dispatch_defect(ragged_starts_may_fall FILE dispatch/ragged_check.c ${ragged}
  FROM [[least = starts[b];]] TO [[least = 0 * starts[b];]])

# ---- visibility.h, which the chain and the repair look through
sattn_dispatch_defect(window_one_key_short FILE kernels/visibility.h SOURCE dispatch/chain.c
  COMMAND test_chain
  FROM [[range.begin = range.begin > 0 ? range.begin : 0;]]
  TO [[range.begin = range.begin > 0 ? range.begin + 1 : 0;]])
