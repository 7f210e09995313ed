# SPDX-License-Identifier: MIT
# Defects of the calls that layers are made of: checks, packed weights, blocks, cells.

set(calls COMMAND test_layers_calls)
set(values COMMAND test_layers_values)

# ---- checks
sattn_dispatch_defect(layer_workspace_not_looked_at FILE dispatch/tensors.c ${calls}
  FROM [[status = check_workspace(tensors, count, workspace);]] TO [[status = workspace ? check_address(tensors) : SATTN_OK;
    (void)check_workspace;]])
sattn_dispatch_defect(layer_outputs_coincide_anywhere FILE dispatch/tensors.c ${calls}
  FROM [[a->may_coincide && b->may_coincide && a->data == b->data &&]] TO [[a->may_coincide && b->may_coincide &&]])
sattn_dispatch_defect(layer_outputs_coincide_by_other_strides FILE dispatch/tensors.c ${calls}
  FROM [[(a->operand.rows <= 1 || a->operand.stride_t == b->operand.stride_t);]] TO [[true;]])
sattn_dispatch_defect(layer_lengths_one_too_many FILE dispatch/tensors.c ${calls}
  FROM [[n_k_valid[b] > n_k)]] TO [[n_k_valid[b] > n_k + 1)]])
sattn_dispatch_defect(layer_extents_without_end FILE dispatch/tensors.c ${calls}
  FROM [[if (value > (int64_t)1 << 40)]] TO [[if (value > (int64_t)1 << 50)]])
sattn_dispatch_defect(gates_of_two_parts FILE dispatch/gates.c ${calls}
  FROM [[const int64_t n_gates = SATTN_GRU_PARTS * a->n_hidden;]] TO [[const int64_t n_gates = 2 * a->n_hidden;]])
sattn_dispatch_defect(cell_packed_input_overlaps FILE dispatch/cell.c ${calls}
  FROM [[plan.input.packed_size,]] TO [[0,]])
sattn_dispatch_defect(cell_packed_hidden_overlaps FILE dispatch/cell.c ${calls}
  FROM [[plan.hidden.packed_size,]] TO [[0,]])
sattn_dispatch_defect(cell_with_more_outputs FILE dispatch/cell.c ${calls}
  FROM [[if (n_out == parts * n_hidden)]] TO [[if (n_out >= parts * n_hidden)]])

# ---- packed weights
sattn_dispatch_defect(pack_of_other_inputs FILE dispatch/linear_pack.c ${calls}
  FROM [[tag.n_in != weights->n_in || tag.n_out != weights->n_out]] TO [[tag.n_out != weights->n_out]])
sattn_dispatch_defect(pack_of_other_tiles FILE dispatch/linear_pack.c ${calls}
  FROM [[(*kernel)->tile_keys != tag.tile_keys ||]] TO [[]])
sattn_dispatch_defect(pack_without_a_tag FILE dispatch/linear_pack.c ${calls}
  FROM [[if (memcmp(tag.magic, magic, sizeof magic) != 0 ||]] TO [[if (tag.magic[0] != magic[0] ||]])
sattn_dispatch_defect(pack_for_another_kernel FILE dispatch/linear.c ${calls}
  FROM [[if (may_run && (!named || named == plan->kernel))]] TO [[if (may_run)]])
sattn_dispatch_defect(pack_that_may_not_run FILE dispatch/linear.c ${calls}
  FROM [[(plan->kernel->needs & ~overrides->usable) == 0;]] TO [[overrides->usable | 1;]])
sattn_dispatch_defect(pack_in_one_block FILE dispatch/linear_pack.c ${values}
  FROM [[pack_block(weights, kernel, b * tile_keys, to + b * block);]]
  TO [[pack_block(weights, kernel, b * tile_keys, to + b * block * (b < 1));]])
sattn_dispatch_defect(packed_weights_not_told FILE dispatch/candidates.c ${calls}
  FROM [[else if (r->packed_for &&]] TO [[else if (r->packed_for && r->is_open &&]])
sattn_dispatch_defect(packed_rows_longer_few FILE dispatch/shape_class.h SOURCE dispatch/shape_class.c
  COMMAND test_selection
  FROM [[return is_packed ? 4 : SATTN_FEW_ROWS;]] TO [[return is_packed ? 5 : SATTN_FEW_ROWS;]])
sattn_dispatch_defect(class_without_packing FILE dispatch/shape_class.c COMMAND test_selection
  FROM [[    key = key << 1 | (uint64_t)c->is_packed;]] TO [[]])

# ---- what is computed
sattn_dispatch_defect(map_never_adds FILE dispatch/linear.c ${values}
  FROM [[.adds = run->rows->adds,]] TO [[.adds = false,]])
sattn_dispatch_defect(map_without_bias FILE dispatch/linear.c ${values}
  FROM [[.bias = weights->bias,]] TO [[.bias = NULL,]])
sattn_dispatch_defect(grid_without_its_rest FILE dispatch/share.c ${values}
  FROM [[(n_columns + grid.block_columns - 1) / grid.block_columns;]]
  TO [[n_columns > grid.block_columns ? n_columns / grid.block_columns : 1;]])
sattn_dispatch_defect(grid_blocks_of_the_first_row FILE dispatch/share.c ${values}
  FROM [[index / grid->n_column_blocks * grid->block_rows;]] TO [[index / grid->n_column_blocks * 0;]])
sattn_dispatch_defect(alignment_of_missing_keys_kept FILE dispatch/additive.c ${values}
  FROM [[fill_missing(&args, args.j1, block.j1);]] TO [[fill_missing(&args, args.j1 + 1, block.j1);]])
sattn_dispatch_defect(alignment_of_the_first_sequence FILE dispatch/additive.c ${values}
  FROM [[(batch > 1 ? b * view->stride_b : 0);]] TO [[(batch > 1 ? b * 0 : 0);]])
sattn_dispatch_defect(rnn_forgets_its_input FILE dispatch/cell.c ${values}
  FROM [[workspace + plan->hidden_at, true);]] TO [[workspace + plan->hidden_at, false);]])
sattn_dispatch_defect(gru_gates_in_one_place FILE dispatch/cell.c ${values}
  FROM [[plan->hidden_at = plan->kind == SATTN_CELL_GRU]] TO [[plan->hidden_at = plan->n_rows < 0]])
