# SPDX-License-Identifier: MIT
# Defects of layers and decoders: which map, which scale, which row, which place in the workspace.

set(layers COMMAND test_layers --isa=scalar)
set(self COMMAND test_self_attention --isa=scalar)
set(decoder COMMAND test_decoder --isa=scalar)
set(bits COMMAND test_layer_bits)
set(refusals COMMAND test_layer_refusals)
set(decoder_refusals COMMAND test_decoder_refusals)
set(ends COMMAND test_decoder_ends)

# ---- general attention
sattn_dispatch_defect(general_dot_scaled FILE dispatch/layers/general.c ${layers}
  FROM [[.has_scale = a->align != SATTN_ALIGN_SCALED_DOT,]] TO [[.has_scale = false,]])
sattn_dispatch_defect(general_scale_of_the_other_side FILE dispatch/layers/general.c ${layers}
  FROM [[.d = plan->sums_rows ? a->d_x : a->d_q,]] TO [[.d = a->d_q,]])
sattn_dispatch_defect(general_values_are_keys FILE dispatch/layers/general.c ${layers}
  FROM [[                                  .v = a->x,
                                  .o = a->y,
                                  .has_scale]]
  TO [[                                  .v = inputs_of(plan, workspace),
                                  .o = a->y,
                                  .has_scale]])
sattn_dispatch_defect(general_scores_returned FILE dispatch/layers/general.c ${layers}
  FROM [[.scores_stage = SATTN_SCORES_PROBABILITIES,]] TO [[.scores_stage = SATTN_SCORES_SCALED,]])
sattn_dispatch_defect(general_lengths_left_out FILE dispatch/layers/general.c ${bits}
  FROM [[                            .scores = scores_of(plan, workspace),
                            .n_k_valid = a->n_k_valid};]]
  TO [[                            .scores = scores_of(plan, workspace)};]])
sattn_dispatch_defect(general_query_stride_of_the_batch FILE dispatch/layers/general.c ${layers}
  FROM [[a->q.stride_b : a->q.stride_t};]] TO [[a->q.stride_b : a->d_q - 1};]])
sattn_dispatch_defect(general_inputs_where_queries_lie FILE dispatch/layers/general.c ${layers}
  FROM [[workspace + plan->inputs_at, shared);]] TO [[workspace + plan->queries_at, shared);]])
sattn_dispatch_defect(general_room_for_one_sequence FILE dispatch/layers/general.c ${bits}
  FROM [[sattn_room_take(room, sattn_layer_product(a->batch, a->n_q), a->n_k, sizeof(float));]]
  TO [[sattn_room_take(room, a->n_q, a->n_k, sizeof(float));]])
sattn_dispatch_defect(general_d_unequal FILE dispatch/layers/general_check.c ${refusals}
  FROM [[return sattn_layer_check_equal("d_x", a->d_x, "d_q", a->d_q);]] TO [[return SATTN_OK;]])
sattn_dispatch_defect(general_bias_of_a_bilinear FILE dispatch/layers/general_check.c ${refusals}
  FROM [[is_bilinear && a->w_x.bias}]] TO [[false}]])
sattn_dispatch_defect(general_fields_of_another_alignment FILE dispatch/layers/general_check.c ${refusals}
  FROM [[status = check_unused(a);]] TO [[(void)check_unused(a);]])
sattn_dispatch_defect(layer_kernels_of_several_threads FILE dispatch/choose.c COMMAND test_layer_profile
  FROM [[return options && options->key_splits > 0 ? 1 : sattn_threads_asked(options);]] TO [[return sattn_threads_asked(options);]])
sattn_dispatch_defect(layer_ranges_of_a_chain FILE dispatch/layers/layer.c ${refusals}
  FROM [[if ((weights->data || is_chain) && options->key_splits > 1)]] TO [[if ((weights->data || (is_chain && is_fused)) && options->key_splits > 1)]])
sattn_dispatch_defect(layer_ranges_with_weights FILE dispatch/layers/layer.c ${refusals}
  FROM [[if ((weights->data || is_chain) && options->key_splits > 1)]] TO [[if (is_chain && options->key_splits > 1)]])
sattn_dispatch_defect(layer_size_left_where_refused FILE dispatch/error.c ${refusals}
  FROM [[    *size = 0;]] TO [[]])
sattn_dispatch_defect(general_v_not_looked_at FILE dispatch/layers/general_check.c ${refusals}
  FROM [[if (a->align == SATTN_ALIGN_ADDITIVE)
        tensors]] TO [[if (a->align == SATTN_ALIGN_ADDITIVE && a->v)
        tensors]])
sattn_dispatch_defect(general_weights_overlap FILE dispatch/layers/general_check.c ${refusals}
  FROM [[if (plan->maps_inputs || plan->sums_rows)]] TO [[if (plan->sums_rows)]])
sattn_dispatch_defect(general_sums_of_one_query FILE dispatch/layers/general.c ${layers}
  FROM [[.scores_in_stride_t = a->n_q == 1 ? a->q.stride_b : a->q.stride_t};]] TO [[.scores_in_stride_t = a->n_q == 1 ? 0 : a->q.stride_t};]])
sattn_dispatch_defect(general_sums_of_one_entry FILE dispatch/layers/general.c ${layers}
  FROM [[.n_q = is_one ? a->batch * a->n_q : a->n_q,]] TO [[.n_q = a->n_q,]])
sattn_dispatch_defect(general_packed_queries_overlap FILE dispatch/layers/general_check.c ${refusals}
  FROM [[plan->queries.linear.packed_size,]] TO [[0,]])
sattn_dispatch_defect(general_packed_inputs_overlap FILE dispatch/layers/general_check.c ${refusals}
  FROM [[plan->maps_inputs ? plan->inputs.linear.packed_size : 0,]] TO [[0,]])

# ---- what layers share
sattn_dispatch_defect(layer_key_splits_follow_threads FILE dispatch/layers/layer.c ${bits}
  FROM [[inner.key_splits = 1;]] TO [[inner.key_splits = inner.threads > 1 ? 2 : 1;]])
sattn_dispatch_defect(layer_scratch_where_tensors_lie FILE dispatch/room.c ${layers}
  FROM [[*shared_at = (size_t)room->tensors.value;]] TO [[*shared_at = 0;]])
sattn_dispatch_defect(layer_overflow_unseen FILE dispatch/room.c ${refusals}
  FROM [[if (!size.overflow && size.value <= PTRDIFF_MAX)]] TO [[if (size.value <= PTRDIFF_MAX)]])
sattn_dispatch_defect(projection_of_one_run FILE dispatch/layers/layer.c ${layers}
  FROM [[(batch <= 1 || rows == 1 || stride_b == sattn_layer_product(rows, stride_t));]]
  TO [[(batch <= 1 || rows == 1 || stride_b <= sattn_layer_product(rows, stride_t));]])
sattn_dispatch_defect(projection_of_the_first_entry FILE dispatch/layers/layer.c ${bits}
  FROM [[const int64_t y_at = call > 0 ? call * projection->y_step : 0;]]
  TO [[const int64_t y_at = call > 1 ? call * projection->y_step : 0;]])
sattn_dispatch_defect(projection_of_single_rows FILE dispatch/layers/layer.c ${layers}
  FROM [[projection->y_stride = rows == 1 ? y->stride_b : y->stride_t;]]
  TO [[projection->y_stride = y->stride_b;]])
sattn_dispatch_defect(weighing_without_softmax FILE dispatch/layers/layer.c ${layers}
  FROM [[if (weighing->n_k > 0)]] TO [[if (weighing->n_k > 1000)]])

# ---- attention layer, self-attention
sattn_dispatch_defect(self_head_of_all_features FILE dispatch/layers/projected.c ${self}
  FROM [[.d = layer->w[SATTN_MAP_K]->n_out / layer->n_heads,]] TO [[.d = layer->w[SATTN_MAP_K]->n_out / layer->n_heads / 2 + 1,]])
sattn_dispatch_defect(self_heads_are_the_first FILE dispatch/layers/projected.c ${self}
  FROM [[made.stride_h = features / layer->n_heads;]] TO [[made.stride_h = map == SATTN_MAP_O ? features / layer->n_heads : 0;]])
sattn_dispatch_defect(self_causal_left_out FILE dispatch/layers/projected.c ${self}
  FROM [[.causal = layer->causal,]] TO [[.causal = false,]])
sattn_dispatch_defect(self_causal_from_the_last_valid FILE dispatch/layers/projected.c ${bits}
  FROM [[plan->has_offsets = layer->causal && layer->n_k_valid;]] TO [[plan->has_offsets = false;]])
sattn_dispatch_defect(self_output_of_the_values FILE dispatch/layers/projected.c ${self}
  FROM [[sattn_projection_run(&plan->maps[SATTN_MAP_O], workspace + plan->at[SATTN_MAP_O],]]
  TO [[sattn_projection_run(&plan->maps[SATTN_MAP_O], workspace + plan->at[SATTN_MAP_V],]])
sattn_dispatch_defect(self_weights_of_one_head FILE dispatch/layers/projected.c ${self}
  FROM [[.scores_stride_h = layer->weights.stride_h,]] TO [[.scores_stride_h = layer->weights.stride_t,]])
sattn_dispatch_defect(self_heads_divide_nothing FILE dispatch/layers/projected.c ${refusals}
  FROM [[status = check_heads("w_k.n_out", k->n_out, layer->n_heads);]] TO [[status = SATTN_OK;]])
sattn_dispatch_defect(self_head_stride_unchecked FILE dispatch/layers/projected.c ${refusals}
  FROM [[tensors[n].operand.heads = layer->n_heads;]] TO [[tensors[n].operand.heads = 1;]])
sattn_dispatch_defect(self_values_of_other_inputs FILE dispatch/layers/projected.c ${refusals}
  FROM [[sattn_layer_check_equal("w_o.n_in", o->n_in, "w_v.n_out", v->n_out);]] TO [[SATTN_OK;]])
sattn_dispatch_defect(self_packed_overlap FILE dispatch/layers/projected.c ${refusals}
  FROM [[plan->maps[map].linear.packed_size,]] TO [[0,]])
sattn_dispatch_defect(key_value_maps_swapped FILE dispatch/layers/attention_layer.c ${layers}
  FROM [[[SATTN_MAP_V] = &a->w_v}]] TO [[[SATTN_MAP_V] = &a->w_k}]])
sattn_dispatch_defect(self_keys_are_queries FILE dispatch/layers/self_attention.c ${self}
  FROM [[[SATTN_MAP_K] = &a->w_k]] TO [[[SATTN_MAP_K] = &a->w_q]])

# ---- decoders
sattn_dispatch_defect(decoder_context_replaces FILE dispatch/layers/decoder_run.c ${decoder}
  FROM [[decoder->n_enc), x, true, workspace);]] TO [[decoder->n_enc), x, false, workspace);]])
sattn_dispatch_defect(decoder_state_replaces FILE dispatch/layers/decoder_run.c ${decoder}
  FROM [[run->step->state, h, !is_gru, workspace);]] TO [[run->step->state, h, false, workspace);]])
sattn_dispatch_defect(decoder_logits_of_the_old_state FILE dispatch/layers/decoder_run.c ${decoder}
  FROM [[run_map(run, SATTN_DECODER_OUT, next, step->logits,]]
  TO [[(void)next, run_map(run, SATTN_DECODER_OUT, step->state, step->logits,]])
sattn_dispatch_defect(decoder_embedding_of_the_first FILE dispatch/layers/decoder_run.c ${decoder}
  FROM [[(token > 0 ? token * table->stride_t : 0)]] TO [[(token > 1 ? token * table->stride_t : 0)]])
sattn_dispatch_defect(decoder_mean_of_all FILE dispatch/layers/decoder_run.c ${ends}
  FROM [[1.0f / (float)mean.n_k_valid[b];]] TO [[1.0f / (float)mean.n_k;]])
sattn_dispatch_defect(decoder_start_without_tanh FILE dispatch/layers/decoder_run.c ${decoder}
  FROM [[    run_tanh(run, &sums, run->state);
]] TO [[    (void)sums;
]])
sattn_dispatch_defect(decoder_tanh_of_the_first_row FILE dispatch/layers/decoder_run.c ${bits}
  FROM [[(float *)y->data + (b > 0 ? b * y->stride_t : 0),]] TO [[(float *)y->data,]])
sattn_dispatch_defect(decoder_lengths_left_out FILE dispatch/layers/decoder_run.c ${bits}
  FROM [[if (run->source->n_k_valid)
        return]] TO [[if (run->source->n_k_valid && a->n_k < 0)
        return]])
sattn_dispatch_defect(decoder_weights_row_of_the_first FILE dispatch/layers/decoder_run.c ${bits}
  FROM [[sattn_copy_rows(step->weights.data, step->weights.stride_t,]] TO [[sattn_copy_rows(step->weights.data, 0,]])
sattn_dispatch_defect(decoder_token_beyond FILE dispatch/layers/decoder_run.c ${decoder_refusals}
  FROM [[tokens[b] >= decoder->n_vocab)]] TO [[tokens[b] > decoder->n_vocab)]])
sattn_dispatch_defect(decoder_gates_share_a_place FILE dispatch/layers/decoder.c ${decoder}
  FROM [[[SATTN_PLACE_GATES_X] = {decoder->n_gates, sizeof(float)},]] TO [[[SATTN_PLACE_GATES_X] = {decoder->n_hidden, sizeof(float)},]])
sattn_dispatch_defect(decoder_kernels_again FILE dispatch/layers/decoder.c ${ends}
  FROM [[other = 0; other < r;]] TO [[other = 1; other < r;]])
sattn_dispatch_defect(decoder_kernels_without_tanh FILE dispatch/layers/decoder.c ${ends}
  FROM [[decoder->gru ? decoder->gru : decoder->tanh}]] TO [[decoder->gru}]])
sattn_dispatch_defect(decoder_weights_not_looked_at FILE dispatch/layers/decoder.c ${decoder_refusals}
  FROM [[return status == SATTN_OK ? sattn_decoder_check_weights(decoder) : status;]] TO [[return status;]])
sattn_dispatch_defect(decoder_maps_of_any_size FILE dispatch/layers/decoder_check.c ${decoder_refusals}
  FROM [[if (pairs[i].counts)]] TO [[if (pairs[i].counts && i > 2)]])
sattn_dispatch_defect(decoder_writes_on_keys FILE dispatch/layers/decoder_check.c ${decoder_refusals}
  FROM [[if (keys != SATTN_KEYS_UNUSED) {]] TO [[if (keys == SATTN_KEYS_WRITTEN) {]])
sattn_dispatch_defect(decoder_packed_overlap FILE dispatch/layers/decoder_check.c ${decoder_refusals}
  FROM [[decoder->maps[map].packed_size,]] TO [[0,]])
sattn_dispatch_defect(decoder_workspace_not_looked_at FILE dispatch/layers/decoder_check.c ${decoder_refusals}
  FROM [[sattn_tensors_check_data(tensors->list, n + decoder->n_weights, used);]]
  TO [[sattn_tensors_check_data(tensors->list, n + decoder->n_weights,
                                    used ? &(sattn_workspace){NULL, 0} : NULL);]])
sattn_dispatch_defect(greedy_last_of_equals FILE dispatch/layers/decoder_greedy.c ${ends}
  FROM [[if (logits[i] > logits[best])]] TO [[if (logits[i] >= logits[best])]])
sattn_dispatch_defect(greedy_bos_ends FILE dispatch/layers/decoder_greedy.c ${ends}
  FROM [[if (step == 0 || !ends(a, tokens[b])) {]] TO [[if (!ends(a, tokens[b])) {]])
sattn_dispatch_defect(greedy_eos_unasked FILE dispatch/layers/decoder_greedy.c ${ends}
  FROM [[return a->has_eos && token == a->eos;]] TO [[return token == a->eos;]])
sattn_dispatch_defect(greedy_eos_not_counted FILE dispatch/layers/decoder_greedy.c ${decoder}
  FROM [[a->n_steps[b] = step + 1;]] TO [[a->n_steps[b] = ends(a, tokens[b]) ? step : step + 1;]])
sattn_dispatch_defect(greedy_ends_with_the_first FILE dispatch/layers/decoder_greedy.c ${ends}
  FROM [[is_open = is_open || !ends(a, tokens[b]);]] TO [[is_open = !ends(a, tokens[b]);]])
sattn_dispatch_defect(greedy_rows_behind_the_end FILE dispatch/layers/decoder_greedy.c ${decoder}
  FROM [[a->tokens[b * a->max_steps + step] = a->eos;]] TO [[a->tokens[b * a->max_steps + step] = a->bos;]])
