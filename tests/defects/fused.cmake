# SPDX-License-Identifier: MIT
# Defects of what the fused kernels of all ISAs share.

set(scalar sattn_fused_f32_scalar)
set(prefill sattn_fused_f32_avx2 sattn_fused_f32_avx512 sattn_fused_f32_neon)
set(decode sattn_fused_f32_avx2_decode sattn_fused_f32_avx512_decode sattn_fused_f32_neon_decode)
set(every ${scalar} ${prefill} ${decode})

# ---- fused_strip.h: which row is where, what it sees, what its sums mean
set(strip KERNELS ${every} FILE kernels/fused/fused_strip.h)
set(lanes KERNELS ${prefill} ${decode} FILE kernels/fused/fused_strip.h)

sattn_defect(wrong_head_of_group ${strip} GROUP groups
  FROM [[last_head * a->q_group_stride : a->q_group_stride;]]
  TO [[last_head * a->q_group_stride : a->q_group_stride * (g > 0);]])
sattn_defect(output_row_stride_ignored ${strip} GROUP layouts
  FROM [[a->o_stride - last_head * a->o_group_stride]]
  TO [[a->d_v - last_head * a->o_group_stride]])
sattn_defect(head_of_next_strip ${strip} GROUP groups
  FROM [[int64_t g = first % a->n_group;]]
  TO [[int64_t g = 0;]])
sattn_defect(causal_one_key_too_many ${strip} GROUP causal
  FROM [[fused_held(s->limits.end + s->step[r],]] TO [[fused_held(s->limits.end + s->step[r] + 1,]])
sattn_defect(causal_one_key_too_few ${strip} GROUP causal
  FROM [[s->limits.end = fused_held(limits.end,]]
  TO [[s->limits.end = fused_held(limits.end - (a->visible.causal ? 1 : 0),]])
sattn_defect(window_one_key_short_on_the_left ${strip} GROUP windows
  FROM [[fused_held(s->limits.begin + s->step[r],]] TO [[fused_held(s->limits.begin + s->step[r] + 1,]])
sattn_defect(window_one_key_too_wide_on_the_left ${strip} GROUP windows
  FROM [[fused_held(s->limits.begin + s->step[r],]] TO [[fused_held(s->limits.begin + s->step[r] - 1,]])
sattn_defect(window_one_key_short_on_the_right ${strip} GROUP windows
  FROM [[s->limits.end = fused_held(limits.end,]]
  TO [[s->limits.end = fused_held(limits.end - (a->visible.window_right >= 0 ? 1 : 0),]])
sattn_defect(window_ignored ${strip} GROUP windows
  FROM [[const sattn_key_range limits = sattn_limits(&a->visible, s->first_query);]]
  TO [[sattn_visibility open = a->visible;
    open.has_window = false;
    const sattn_key_range limits = sattn_limits(&open, s->first_query);]])
sattn_defect(keys_before_the_range_seen ${strip} GROUP ranges
  FROM [[fused_held(s->limits.begin + s->step[r], s->j0,]]
  TO [[fused_held(s->limits.begin + s->step[r], 0,]])
sattn_defect(limit_held_at_the_first_key ${strip} GROUP causal
  FROM [[fused_held(limits.end, -SATTN_TILE_QUERIES_MAX, a->j1)]] TO [[fused_held(limits.end, 0, a->j1)]])
sattn_defect(window_held_at_the_first_key ${strip} GROUP windows
  FROM [[fused_held(limits.begin, -SATTN_TILE_QUERIES_MAX, a->j1)]]
  TO [[fused_held(limits.begin, 0, a->j1)]])
sattn_defect(limits_move_on_with_heads ${strip} GROUP groups
  FROM [[fused_held(s->limits.end + s->step[r],]] TO [[fused_held(s->limits.end + r,]])
sattn_defect(slope_of_the_first_head ${strip} GROUP alibi
  FROM [=[-a->visible.alibi_slopes[s->head[r]]]=] TO [=[-a->visible.alibi_slopes[0]]=])
sattn_defect(alibi_raises_scores ${strip} GROUP alibi
  FROM [=[-a->visible.alibi_slopes[s->head[r]]]=]
  TO [=[a->visible.alibi_slopes[s->head[r]]]=])
sattn_defect(alibi_without_offset ${strip} GROUP alibi
  FROM [[sattn_add_held(a->visible.causal_offset, s->first_query + s->step[r]);]]
  TO [[s->first_query + s->step[r];]])
sattn_defect(long_distances_rounded_twice KERNELS ${prefill} ${decode} FILE kernels/visibility.h
  GROUP alibi-exact
  FROM [[((int64_t)1 << 24) - SATTN_KEY_BLOCK;]] TO [[((int64_t)1 << 30);]])
sattn_defect(long_distances_without_their_size KERNELS ${every} FILE kernels/visibility.h
  GROUP alibi-exact
  FROM [[(float)(position >= j ? ahead : 0 - ahead);]] TO [[(float)(int64_t)ahead;]])
sattn_defect(mask_of_first_head ${strip} GROUP masks
  FROM [[sattn_mask_bool_row(&a->visible, s->head[r], i);
        s->mask_add[r] = sattn_mask_add_row(&a->visible, s->head[r], i);]]
  TO [[sattn_mask_bool_row(&a->visible, 0, i);
        s->mask_add[r] = sattn_mask_add_row(&a->visible, 0, i);]])
sattn_defect(statistics_of_first_head ${strip} GROUP groups
  FROM [[s->head[r] * a->stat_group_stride + s->first_query]] TO [[s->first_query]])
sattn_defect(partial_flag_ignored ${strip} GROUP partial
  FROM [[return a->partial ?]] TO [[return a->partial && a->row_max == NULL ?]])
sattn_defect(all_minus_infinity_as_no_key ${strip} GROUP specials
  FROM [[seen && row_sum == 0.0f ? 1.0f : row_sum]]
  TO [[row_sum]])

sattn_defect(row_without_keys_counts_as_seen ${strip} GROUP causal
  FROM [[if (row_sum != 0.0f || keys.begin >= keys.end)]] TO [[if (row_sum != 0.0f)]])
sattn_defect(row_hidden_by_its_mask_counts_as_seen ${strip} GROUP masks
  FROM [[return shown != 0;]] TO [[return shown != 1u << 31;]])
sattn_defect(scores_of_minus_infinity_count_as_hidden ${strip} GROUP alibi-overflow
  FROM [[shown |= s->mask_add[r][j + u] != -INFINITY ? 1u : 0u;]]
  TO [[shown |= s->mask_add[r][j + u] != s->mask_add[r][j + u] ? 1u : 0u;]])
sattn_defect(mask_asked_behind_the_causal_limit ${strip} GROUP masks
  FROM [[fused_held(keys.end - j, 0, SATTN_KEY_BLOCK)]] TO [[fused_held(s->j1 - j, 0, SATTN_KEY_BLOCK)]])
sattn_defect(mask_asked_before_the_window ${strip} GROUP combined
  FROM [[for (int64_t j = keys.begin; j < keys.end; j += SATTN_KEY_BLOCK)]]
  TO [[for (int64_t j = s->j0; j < keys.end; j += SATTN_KEY_BLOCK)]])

# ---- exp_poly.h, exp_powers.h
sattn_defect(exp_off_by_a_thousandth KERNELS ${scalar} sattn_fused_f32_neon
  FILE kernels/vec/exp_poly.h
  GROUP weights
  FROM [[#define SATTN_EXP2_C1 0x1.62e43p-1f]]
  TO [[#define SATTN_EXP2_C1 0x1.633ep-1f]])
sattn_defect(exp_low_part_dropped KERNELS ${prefill} FILE kernels/vec/exp_poly.h
  GROUP weights
  FROM [[#define SATTN_LOG2E_LO 0x1.4ae0cp-26f]]
  TO [[#define SATTN_LOG2E_LO 0.0f]])
set(powers16 KERNELS sattn_fused_f32_avx512 FILE kernels/vec/exp_powers.h GROUP weights)
set(powers8 KERNELS sattn_fused_f32_avx2 FILE kernels/vec/exp_powers.h GROUP weights)
sattn_defect(one_of_16_powers_off ${powers16} FROM [[0x3f75583f]] TO [[0x3f75584f]])
sattn_defect(one_of_8_powers_off ${powers8}
  FROM [[0x3f7504f3, 0x3f75672a]] TO [[0x3f7504f3, 0x3f75673a]])
sattn_defect(coefficient_off_beside_16_powers ${powers16}
  FROM [[SATTN_POWERS16_C1    0x1.62e43p-1f]] TO [[SATTN_POWERS16_C1    0x1.62e8p-1f]])
sattn_defect(coefficient_off_beside_8_powers ${powers8}
  FROM [[SATTN_POWERS8_C1    0x1.62e43p-1f]] TO [[SATTN_POWERS8_C1    0x1.62e8p-1f]])
sattn_defect(16_powers_at_other_places ${powers16}
  FROM [[SATTN_POWERS16_MAGIC 0x1.8p+19f]] TO [[SATTN_POWERS16_MAGIC 0x1.8p+20f]])
sattn_defect(8_powers_at_other_places ${powers8}
  FROM [[SATTN_POWERS8_MAGIC 0x1.8p+20f]] TO [[SATTN_POWERS8_MAGIC 0x1.8p+19f]])
sattn_defect(rest_below_the_limit_left KERNELS sattn_fused_f32_avx2
  FILE kernels/vec/exp_powers_avx2.h GROUP masks
  FROM [[        r[u] = _mm256_and_ps(r[u], is_alive);
]]
  TO [[]])
sattn_defect(lost_weights_kept KERNELS ${prefill} ${decode} sattn_fused_f32_avx512_quad
  FILE kernels/vec/exp_poly.h
  GROUP weights
  FROM [[#define SATTN_FUSED_EXP_LOWEST (-62.383244f)]]
  TO [[#define SATTN_FUSED_EXP_LOWEST SATTN_EXP_LOWEST]])
sattn_defect(factors_lost_like_weights KERNELS ${prefill} ${decode} sattn_fused_f32_avx512_quad
  FILE kernels/vec/exp_poly.h
  GROUP weights
  FROM [[#define SATTN_EXP_LOWEST       (-87.33654f)]]
  TO [[#define SATTN_EXP_LOWEST       (-62.383244f)]])

# ---- fused_prefill.h
set(blocks KERNELS ${prefill} FILE kernels/fused/fused_prefill.h)
sattn_defect(strip_without_keys_not_written ${blocks} GROUP causal
  FROM [[    else
        fused_prefill_finish(a, st);]]
  TO [[]])
sattn_defect(strip_with_one_key_taken_for_none ${blocks} GROUP causal
  FROM [[if (st->strip->key_begin_min < st->strip->key_end_max)]]
  TO [[if (st->strip->key_begin_min + 1 < st->strip->key_end_max)]])

sattn_defect(maximum_before_mask ${blocks} GROUP hidden-garbage
  FROM [[capped || sloped || masked;]] TO [[capped || sloped;]])
sattn_defect(maximum_before_softcap ${blocks} GROUP softcap
  FROM [[capped || sloped || masked;]] TO [[sloped || masked;]])
sattn_defect(maximum_before_alibi ${blocks} GROUP alibi
  FROM [[capped || sloped || masked;]] TO [[capped || masked;]])
sattn_defect(scores_behind_the_limit_lifted ${blocks} GROUP combined
  FROM [[fused_prefill_hide(ops, st, block, &span);]]
  TO [[if (sloped)
                fused_prefill_hide(ops, st, block, &span);]])
sattn_defect(scores_before_the_window_lifted ${blocks} GROUP combined
  FROM [[{vec, 1, span->begin, begin}]] TO [[{vec, 1, begin, begin}]])
sattn_defect(scores_behind_the_window_lifted ${blocks} GROUP combined
  FROM [[{vec, 1, end, span->end}]] TO [[{vec, 1, end, end}]])
sattn_defect(mask_hides_from_the_cut_only ${blocks} GROUP masks
  FROM [[if (masked)
            ops->bias]]
  TO [[if (masked && block->sure_end[vec] >= block->n_keys)
            ops->bias]])
sattn_defect(keys_of_the_first_vector_alone_not_scored ${blocks} GROUP windows
  FROM [[{0, 1, 0, block->both_begin}]] TO [[{0, 1, 0, 0}]])
sattn_defect(keys_of_the_second_vector_alone_not_scored ${blocks} GROUP causal
  FROM [[{1, 1, block->both_end, block->n_keys}]] TO [[{1, 1, block->n_keys, block->n_keys}]])
sattn_defect(output_of_the_strip_before ${blocks} GROUP rows-alone
  FROM [[st->is_fresh[0] = st->is_fresh[1] = true;]]
  TO [[st->is_fresh[0] = st->is_fresh[1] = st->strip->first_query == 0;]])
sattn_defect(second_vector_fresh_too_long ${blocks} GROUP causal
  FROM [[st->is_fresh[1] && block->both_begin == block->n_keys;]] TO [[st->is_fresh[1];]])
sattn_defect(softcap_skipped ${blocks} GROUP softcap
  FROM [[const bool capped = a->softcap != 0.0f;]] TO [[const bool capped = a->softcap > 100.0f;]])
sattn_defect(softcap_of_the_first_vector_only ${blocks} GROUP softcap
  FROM [[ops->cap(st->s_t + block->both_begin * width, (int64_t)n_both * width, softcap);]]
  TO [[for (int j = block->both_begin; j < block->both_end; ++j)
        ops->cap(st->s_t + j * width, n_both > 0 ? ops->lanes : 0, softcap);]])
sattn_defect(softcap_of_the_common_keys_only ${blocks} GROUP combined
  FROM [[for (int j = block->both_end; j < block->n_keys; ++j)]]
  TO [[for (int j = block->n_keys; j < block->n_keys; ++j)]])
sattn_defect(alibi_starts_anew_with_each_block ${blocks} GROUP alibi
  FROM [[(float)sattn_add_held(strip->position[r], -block->first);]]
  TO [[(float)strip->position[r];]])
sattn_defect(last_row_without_alibi_from_far ${blocks} GROUP alibi-exact
  FROM [[!near && r < end; ++r)]] TO [[!near && r + 1 < strip->n_rows; ++r)]])
sattn_defect(softcap_after_alibi ${blocks} GROUP combined
  FROM [[fused_prefill_alibi(ops, st, block, &span);]]
  TO [[{
            fused_prefill_alibi(ops, st, block, &span);
            if (capped && vec == 1)
                fused_prefill_cap(ops, st, block, a->softcap);
        }]])
sattn_defect(softcap_after_mask ${blocks} GROUP combined
  FROM [[            ops->maximum]]
  TO [[            for (int j = span.begin; capped && j < span.end; ++j)
                ops->cap(st->s_t + j * 2 * ops->lanes + vec * ops->lanes, ops->lanes, a->softcap);
            ops->maximum]])
sattn_defect(first_block_of_keys_skipped_too_far ${blocks} GROUP windows
  FROM [[int64_t j = st[0].strip->key_begin_min,]] TO [[int64_t j = st[0].strip->key_begin_max,]])
sattn_defect(last_block_missing ${blocks} GROUP tiles
  FROM [[j < end; j = stop)]]
  TO [[j < end && (j == a->j0 || j + 1 < end); j = stop)]])
sattn_defect(v_taken_from_the_start_of_the_range ${blocks} GROUP ranges
  FROM [[block.v = a->v + block.first * a->v_stride;]]
  TO [[block.v = a->v + (block.first - a->j0) * a->v_stride;]])
sattn_defect(k_row_stride_ignored ${blocks} GROUP layouts
  FROM [[.k_stride = a->k_stride,]]
  TO [[.k_stride = a->d,]])
sattn_defect(v_row_stride_ignored ${blocks} GROUP layouts
  FROM [[.v_stride = a->v_stride,]]
  TO [[.v_stride = a->d_v,]])
sattn_defect(sums_of_the_strip_before ${blocks} GROUP rows-alone
  FROM [[st->row_sum[r] = 0.0f;]]
  TO [[st->row_sum[r] = st->strip->first_query == 0 ? 0.0f : st->row_sum[r];]])
sattn_defect(maximum_starts_at_zero ${blocks} GROUP tiles
  FROM [[st->row_max[r] = -INFINITY;]]
  TO [[st->row_max[r] = 0.0f;]])

sattn_defect(outputs_of_strips_in_one_place ${blocks} GROUP rows-together
  FROM [[        st[i].o_t = fused_prefill_take(&next, a->d_v * width);]]
  TO [[        st[i].o_t = i % 2 ? st[i - 1].o_t : fused_prefill_take(&next, a->d_v * width);]])
sattn_defect(sums_of_strips_in_one_place ${blocks} GROUP rows-together
  FROM [[        st[i].row_sum = fused_prefill_take(&next, width);]]
  TO [[        st[i].row_sum = i % 2 ? st[i - 1].row_sum : fused_prefill_take(&next, width);]])
sattn_defect(keys_of_the_first_strip_only ${blocks} GROUP rows-together
  FROM [[const int64_t end = st[n - 1].strip->key_end_max;]]
  TO [[const int64_t end = st[0].strip->key_end_max;]])
sattn_defect(last_strip_together_left_out ${blocks} GROUP rows-together
  FROM [[        for (int i = 0; i < n; ++i)
            fused_prefill_keys]]
  TO [[        for (int i = 0; i < (n > 2 ? n - 1 : n); ++i)
            fused_prefill_keys]])
sattn_defect(strip_behind_overwrites_one_at_work ${blocks} GROUP rows-together
  FROM [[ring->at = ring->at < ring->n ? ring->at + 1 : 0;]]
  TO [[ring->at = ring->at + 1 < ring->n ? ring->at + 1 : ring->n > 1 ? 0 : 1 - ring->at;]])

# ---- fused_tiles.h
set(tiles KERNELS sattn_fused_f32_avx2 sattn_fused_f32_avx512 sattn_fused_f32_avx512_ymm FILE kernels/fused/fused_tiles.h)

sattn_defect(tail_of_columns_dropped ${tiles} GROUP every-d_v
  FROM [[        case 3:
            tile(job, at, 3, n_vec, what);]]
  TO [[        case 3:
            tile(job, at, 2, n_vec, what);]])

# ---- fused_span.h
set(spans KERNELS ${prefill} FILE kernels/fused/fused_span.h)

sattn_defect(keys_of_the_last_row_alone_left_out ${spans} GROUP causal
  FROM [[fused_row_keys(strip, (vec + 1) * lanes - 1).end;]]
  TO [[fused_row_keys(strip, (vec + 1) * lanes - 2).end;]])
sattn_defect(causal_limit_not_applied ${spans} GROUP causal
  FROM [[at + n > block->sure_end[span->vec];]] TO [[at >= block->n_keys;]])
sattn_defect(tile_at_the_limit_counts_as_seen ${spans} GROUP causal
  FROM [[at + n > block->sure_end[span->vec];]] TO [[at >= block->sure_end[span->vec];]])
sattn_defect(tile_at_the_window_counts_as_seen ${spans} GROUP windows
  FROM [[at < block->sure_begin[span->vec + span->n_vec - 1] ||]]
  TO [[at + n <= block->sure_begin[span->vec + span->n_vec - 1] ||]])
sattn_defect(left_limit_of_the_window_not_applied ${spans} GROUP windows
  FROM [[at < block->sure_begin[span->vec + span->n_vec - 1] ||]] TO [[at < 0 ||]])
sattn_defect(cut_where_the_first_row_begins ${spans} GROUP windows
  FROM [[block->limit_begin + strip->step[(vec + 1) * lanes - 1];]]
  TO [[block->limit_begin + strip->step[vec * lanes];]])
sattn_defect(cut_where_the_last_row_ends ${spans} GROUP causal
  FROM [[block->limit_end + strip->step[vec * lanes];]]
  TO [[block->limit_end + strip->step[(vec + 1) * lanes - 1];]])
sattn_defect(group_that_one_row_sees_taken_off ${spans} GROUP masks
  FROM [[if (fused_vector_shows(strip, lanes, vec, key_stride, start, *end))]]
  TO [[if (fused_strip_shows(strip, vec * lanes, start * key_stride,
                                   key_stride ? *end - start : 1))]])
sattn_defect(block_that_one_row_sees_taken_off ${spans} GROUP masks
  FROM [[!fused_vector_shows(strip, lanes, vec, key_stride, *begin, *end))]]
  TO [[!fused_strip_shows(strip, vec * lanes, *begin * key_stride,
                                  key_stride ? *end - *begin : 1))]])
sattn_defect(one_group_too_many_taken_off ${spans} GROUP masks
  FROM [[        *end = start;]] TO [[        *end = start > *begin ? start - 1 : start;]])
sattn_defect(mask_looked_at_with_key_stride_1 ${spans} GROUP masks
  FROM [[fused_strip_bias(strip, (vec + 1) * lanes - 1, key * key_stride)]]
  TO [[fused_strip_bias(strip, (vec + 1) * lanes - 1, key)]])

# ---- fused_decode.h
set(blocks KERNELS ${decode} FILE kernels/fused/fused_decode.h)
set(unpacked KERNELS sattn_fused_f32_avx2_decode sattn_fused_f32_neon_decode
  FILE kernels/vec/score_tile.h) # what AVX-512 has steps of its own for
set(bends KERNELS ${decode} FILE kernels/fused/fused_decode_mask.h)
set(states KERNELS ${decode} FILE kernels/fused/fused_decode_state.h)

sattn_defect(skipped_rescale ${blocks} GROUP rising-rows
  FROM [[o[y] = o[y] * factor + 0.0f;]]
  TO [[o[y] = o[y] + 0.0f;]])
sattn_defect(skipped_sum_rescale ${blocks} GROUP rising-rows
  FROM [[st->row_sum[r] *= factor;]]
  TO [[]])
sattn_defect(wrong_row_rescaled ${blocks} GROUP rising-rows
  FROM [[float *const o = st->o + r * st->o_pitch;]]
  TO [[float *const o = st->o + (r > 0 ? r - 1 : 0) * st->o_pitch;]])
sattn_defect(reference_trails_too_far ${blocks} GROUP rising-rows
  FROM [[st->row_max[r] > SATTN_LAZY_THRESHOLD)]]
  TO [[st->row_max[r] > 2.0f * SATTN_LAZY_THRESHOLD)]])
sattn_defect(threshold_added_to_the_old_reference ${blocks} GROUP spaced-scores
  FROM [[!(st->block_max[r] - st->row_max[r] > SATTN_LAZY_THRESHOLD)]]
  TO [[!(st->block_max[r] > st->row_max[r] + SATTN_LAZY_THRESHOLD)]])
sattn_defect(maximum_before_mask ${blocks} GROUP hidden-garbage
  FROM [[if (bent || masked || cut)]] TO [[if (bent || cut)]])
sattn_defect(maximum_before_softcap_and_alibi ${blocks} GROUP combined
  FROM [[if (bent || masked || cut)]] TO [[if (masked || cut)]])
sattn_defect(columns_behind_the_last_key_weighed ${blocks} GROUP ranges
  FROM [[masked || cut || n > block->n_keys)]] TO [[masked || cut)]])
sattn_defect(left_limit_of_the_window_not_applied ${blocks} GROUP windows
  FROM [[strip->key_begin_max > block->first || strip->key_end_min]] TO [[strip->key_end_min]])
sattn_defect(softcap_skipped ${bends} GROUP softcap
  FROM [[        if (a->softcap != 0.0f)]] TO [[        if (a->softcap > 100.0f)]])
sattn_defect(softcap_of_the_first_row_only ${bends} GROUP softcap
  FROM [[        if (a->softcap != 0.0f)]] TO [[        if (a->softcap != 0.0f && r == 0)]])
sattn_defect(softcap_after_mask ${blocks} GROUP combined
  FROM [[    if (bent || masked || cut)
        ops->maximum]]
  TO [[    for (int r = 0; a->softcap != 0.0f && r < st->n_rows; ++r)
        ops->cap(st->s + r * FUSED_DECODE_KEYS, block->n_keys, a->softcap);
    if (bent || masked || cut)
        ops->maximum]])
sattn_defect(alibi_starts_anew_with_each_block ${bends} GROUP alibi
  FROM [[(float)(strip->position[r] - block->first)]] TO [=[(float)strip->position[r]]=])
sattn_defect(no_alibi_from_far ${bends} GROUP alibi-exact
  FROM [[} else if (a->visible.alibi_slopes) {]] TO [[} else if (a->visible.alibi_slopes == a->q) {]])
sattn_defect(key_before_the_window_stays_visible ${bends} GROUP windows
  FROM [[for (int j = 0; j < begin; ++j)]] TO [[for (int j = 0; j + 1 < begin; ++j)]])
sattn_defect(keys_before_the_window_read ${blocks} GROUP windows
  FROM [[scored = strip->key_begin_min, added]] TO [[scored = a->j0, added]])
sattn_defect(mask_polarity ${bends} GROUP masks
  FROM [[s[j] = mask[j] ? s[j] : -INFINITY;]]
  TO [[s[j] = mask[j] ? -INFINITY : s[j];]])
sattn_defect(mask_tail_dropped ${bends} GROUP masks
  FROM [[for (int j = 0; j < n; ++j)
        s[j] = mask[j] ?]]
  TO [[for (int j = 0; j < (n > 8 ? n - n % 8 : n); ++j)
        s[j] = mask[j] ?]])
sattn_defect(hidden_score_stays_nan ${bends} GROUP hidden-garbage
  FROM [[s[j] = mask[j] != -INFINITY ? biased : -INFINITY;]]
  TO [[s[j] = biased;]])
sattn_defect(bias_added_twice ${bends} GROUP masks
  FROM [[const float biased = s[j] + mask[j];]]
  TO [[const float biased = s[j] + mask[j] + mask[j];]])
sattn_defect(bias_of_next_key ${bends} GROUP masks
  FROM [[fused_decode_mask_add(s, strip->mask_add[r] + j, n);]]
  TO [[fused_decode_mask_add(s, strip->mask_add[r] + j + (n > 1), n);]])
sattn_defect(mask_from_the_first_key_of_the_block ${bends} GROUP combined
  FROM [[s + begin, block->first + begin, end - begin);]]
  TO [[s + begin, block->first, end - begin);]])
sattn_defect(minus_infinity_not_guarded ${states} GROUP masks
  FROM [[return st->row_max[r] == -INFINITY ? 0.0f : st->row_max[r];]]
  TO [[return st->row_max[r];]])
sattn_defect(last_block_missing ${blocks} GROUP tiles
  FROM [[scored < end;) {]]
  TO [[scored < end && (scored == a->j0 || scored + 1 < end);) {]])
sattn_defect(scores_of_the_first_block_of_a_span ${blocks} GROUP large-memory
  FROM [[fused_decode_take(st, i);
            fused_decode_add_block]]
  TO [[fused_decode_take(st, 0);
            fused_decode_add_block]])
sattn_defect(span_longer_than_its_scores ${blocks} GROUP large-memory NATIVE
  FROM [[FUSED_DECODE_ROWS / st->slot;]] TO [[2 * FUSED_DECODE_ROWS / st->slot;]])
sattn_defect(k_row_stride_ignored ${blocks} GROUP layouts
  FROM [[.k_stride = a->k_stride,]]
  TO [[.k_stride = a->d,]])
sattn_defect(v_row_stride_ignored ${blocks} GROUP layouts
  FROM [[.v_stride = a->v_stride,]]
  TO [[.v_stride = a->d_v,]])
sattn_defect(query_of_fused_read_beyond_its_end ${unpacked} GROUP every-d
  FROM [[x + lane < d ? scale * from[x + lane] : 0.0f;]]
  TO [[scale * from[x + lane];]])
sattn_defect(scale_of_fused_applied_twice ${unpacked} GROUP every-d
  FROM [[                    to[lane] = scale * from[x + lane];]]
  TO [[                    to[lane] = scale * (scale * from[x + lane]);]])
sattn_defect(key_behind_the_last_of_fused_read FILE kernels/vec/score_tile.h GROUP keys
  KERNELS sattn_fused_f32_avx2_decode sattn_fused_f32_avx512_decode
  FROM [[(i < n_left ? stride : 0)]]
  TO [[stride]])
sattn_defect(last_column_not_stored ${blocks} GROUP every-d_v
  FROM [[for (int64_t y = 0; y < a->d_v; ++y)
            to[]]
  TO [[for (int64_t y = 0; y + 1 < a->d_v; ++y)
            to[]])
sattn_defect(one_column_too_many_stored ${blocks} GROUP every-d_v
  FROM [[for (int64_t y = 0; y < a->d_v; ++y)
            to[]]
  TO [[for (int64_t y = 0; y <= a->d_v; ++y)
            to[]])

# ---- fused_plain.h
set(plain KERNELS ${scalar} FILE kernels/fused/fused_plain.h)
set(scores KERNELS ${scalar} FILE kernels/vec/score_plain.h)

sattn_defect(skipped_rescale ${plain} GROUP rising-rows
  FROM [[            o[y] *= factor;]]
  TO [[            o[y] *= 1.0f;]])
sattn_defect(skipped_sum_rescale ${plain} GROUP rising-rows
  FROM [[        st->row_sum[r] *= factor;]]
  TO [[]])
sattn_defect(wrong_row_rescaled ${plain} GROUP rising-rows
  FROM [[        float *const o = st->o + r * d_v;]]
  TO [[        float *const o = st->o + (r > 0 ? r - 1 : 0) * d_v;]])
sattn_defect(two_keys_of_four_swapped ${scores} GROUP keys
  FROM [[s1 = plain_multiply_add(q[x], k1[x], s1);
        s2 = plain_multiply_add(q[x], k2[x], s2);]]
  TO [[s2 = plain_multiply_add(q[x], k1[x], s2);
        s1 = plain_multiply_add(q[x], k2[x], s1);]])
sattn_defect(third_key_of_a_rest_dropped ${scores} GROUP keys
  FROM [[if (n > 2)
        s[2] = s2;]]
  TO [[if (n > 3)
        s[2] = s2;]])
sattn_defect(last_features_dropped ${scores} GROUP every-d
  FROM [[for (int64_t x = 0; x < d; ++x) {]]
  TO [[for (int64_t x = 0; x < (d > 4 ? d - d % 4 : d); ++x) {]])
sattn_defect(key_behind_the_rest_read ${scores} GROUP keys
  FROM [[k + (n > 1 ? k_stride : 0);]] TO [[k + k_stride;]])
sattn_defect(lanes_added_from_both_ends ${plain} GROUP same-keys
  FROM [[part[lane] += part[lane + half];]] TO [[part[lane] += part[2 * half - 1 - lane];]])
sattn_defect(scores_of_another_row_behind_the_last ${plain} GROUP keys
  FROM [[        s[n] = -INFINITY;]] TO [[        s[n] = s[n];]])
sattn_defect(mask_polarity ${plain} GROUP masks
  FROM [[s[j] = mask[j] != 0 ? s[j] : -INFINITY;]]
  TO [[s[j] = mask[j] == 0 ? s[j] : -INFINITY;]])
sattn_defect(hidden_score_stays_nan ${plain} GROUP hidden-garbage
  FROM [[const float kept = bias[j] != -INFINITY ? s[j] : -INFINITY;]]
  TO [[const float kept = s[j];]])
sattn_defect(bias_added_twice ${plain} GROUP masks
  FROM [[s[j] = kept + bias[j];]]
  TO [[s[j] = kept + bias[j] + bias[j];]])
sattn_defect(minus_infinity_not_guarded ${plain} GROUP specials
  FROM [[const float m = st->row_max[r] == -INFINITY ? 0.0f : st->row_max[r];]]
  TO [[const float m = st->row_max[r];]])
sattn_defect(sum_of_the_last_block_only ${plain} GROUP keys
  FROM [[st->row_sum[r] += plain_exp_sum(s, m, n);]]
  TO [[st->row_sum[r] = plain_exp_sum(s, m, n);]])
sattn_defect(value_of_the_key_before ${plain} GROUP keys
  FROM [[sum = plain_multiply_add(p2, v2[y], sum);]]
  TO [[sum = plain_multiply_add(p2, v1[y], sum);]])
sattn_defect(block_before_added_again ${plain} GROUP keys
  FROM [[    for (int64_t y = 0; y < d_v; ++y)
        part[y] = 0.0f;]]
  TO [[]])
sattn_defect(block_not_summed_from_zero ${plain} NATIVE GROUP long-rows
  FROM [[        part[y] = 0.0f;
    int j = 0;]]
  TO [[        part[y] = o[y], o[y] = 0.0f;
    int j = 0;]])
sattn_defect(softcap_skipped ${plain} GROUP softcap
  FROM [[if (a->softcap != 0.0f)]] TO [[if (a->softcap > 100.0f)]])
sattn_defect(softcap_after_alibi ${plain} GROUP combined
  FROM [[    bool visible = true;]]
  TO [[    if (a->softcap != 0.0f)
        plain_softcap(st->s, n, a->softcap);
    bool visible = true;]])
sattn_defect(distance_without_its_size ${plain} GROUP alibi
  FROM [[fabsf((float)(position - j))]] TO [[(float)(position - j)]])
sattn_defect(alibi_of_the_key_before ${plain} GROUP alibi
  FROM [[(float)(position - j)]] TO [[(float)(position - j + 1)]])
sattn_defect(alibi_starts_anew_with_each_block ${plain} GROUP alibi
  FROM [[(int)(query - first);]] TO [[(int)query;]])
sattn_defect(alibi_rounded_twice KERNELS ${scalar} FILE kernels/vec/vec_plain.h NATIVE GROUP alibi-exact
  FROM [[(float)((double)sum + (double)a * (double)b);]] TO [[sum + a * b;]])
sattn_defect(last_key_without_alibi ${plain} GROUP alibi
  FROM [[        for (int j = 0; j < n; ++j)
            s[j] = plain_add_slope(s[j], slope, fabsf]]
  TO [[        for (int j = 0; j < n - (n > 1); ++j)
            s[j] = plain_add_slope(s[j], slope, fabsf]])
sattn_defect(keys_before_the_window_seen ${plain} GROUP windows
  FROM [[keys.begin > first ? keys.begin : first;]] TO [[first;]])
sattn_defect(nan_score_weighs_nothing KERNELS ${scalar} FILE kernels/vec/vec_plain.h GROUP specials
  FROM [[const float t = score < -88.0f ? -88.0f : score;]]
  TO [[const float t = score > -88.0f ? score : -88.0f;]])
sattn_defect(weights_below_range_not_zero KERNELS ${scalar} FILE kernels/vec/vec_plain.h
  GROUP hidden-garbage
  FROM [[return weight < least ? 0.0f : weight;]]
  TO [[return weight < least ? least : weight;]])
sattn_defect(lost_weights_kept KERNELS ${scalar} FILE kernels/vec/vec_plain.h GROUP weights
  FROM [[plain_exp_from(score, 0x1p-90f);]] TO [[plain_exp_from(score, FLT_MIN);]])
sattn_defect(factors_lost_like_weights ${plain} GROUP weights
  FROM [[plain_exp(old_max - block_max);]] TO [[plain_fused_exp(old_max - block_max);]])
