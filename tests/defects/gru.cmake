# SPDX-License-Identifier: MIT
# Defects of the gru kernels.

set(written sattn_gru_f32_avx2 sattn_gru_f32_avx512 sattn_gru_f32_neon)

# ---- gru_rows.h: which row is where
set(rows KERNELS ${written} FILE kernels/gru/gru_rows.h)
sattn_defect(gates_in_another_order ${rows} GROUP widths
  FROM [[.gates_x = {gates_x, gates_x + n, gates_x + 2 * n},]] TO [[.gates_x = {gates_x + n, gates_x, gates_x + 2 * n},]])
sattn_defect(candidate_of_another_gate ${rows} GROUP widths
  FROM [[.gates_h = {gates_h, gates_h + n, gates_h + 2 * n},]] TO [[.gates_h = {gates_h, gates_h + n, gates_h + n},]])
sattn_defect(stride_of_the_other_gates ${rows} GROUP layouts
  FROM [[args->gates_h + i * args->gates_h_stride;]] TO [[args->gates_h + i * args->gates_x_stride;]])
sattn_defect(stride_of_the_output_for_the_state ${rows} GROUP layouts
  FROM [[args->h + i * args->h_stride,]] TO [[args->h + i * args->y_stride,]])
sattn_defect(stride_of_0_taken_for_none_given ${rows} GROUP repeats
  FROM [[args->gates_h + i * args->gates_h_stride;]]
  TO [[args->gates_h + i * (args->gates_h_stride ? args->gates_h_stride : 3 * n);]])
sattn_defect(rows_counted_from_zero ${rows} GROUP rows
  FROM [[int64_t i = args->i0;]] TO [[int64_t i = 0;]])
sattn_defect(last_row_dropped ${rows} GROUP rows
  FROM [[i < args->i1; ++i)]] TO [[i + 1 < args->i1; ++i)]])

# ---- scalar
set(plain KERNELS sattn_gru_f32_scalar FILE kernels/gru/gru_plain.h)
sattn_defect(input_of_the_other_gate ${plain} GROUP widths
  FROM [[plain_sigmoid(gates_x[n + j] + gates_h[n + j]);]]
  TO [[plain_sigmoid(gates_x[j] + gates_h[n + j]);]])
sattn_defect(way_to_the_state_reversed ${plain} GROUP widths
  FROM [[h[j] - candidate);]] TO [[candidate - h[j]);]])
sattn_defect(gates_exchanged ${plain} GROUP gate-ends
  FROM [[plain_add_product(gates_x[2 * n + j], reset, gates_h[2 * n + j])]]
  TO [[plain_add_product(gates_x[2 * n + j], update, gates_h[2 * n + j])]])
sattn_defect(candidate_sum_rounded_twice ${plain} GROUP steps
  FROM [[plain_add_product(gates_x[2 * n + j], reset, gates_h[2 * n + j])]]
  TO [[(gates_x[2 * n + j] + reset * gates_h[2 * n + j])]])
sattn_defect(last_element_dropped ${plain} GROUP widths
  FROM [[j < n; ++j)]] TO [[j + 1 < n; ++j)]])
sattn_defect(one_element_too_many_written ${plain} GROUP widths
  FROM [[j < n; ++j)]] TO [[j <= n; ++j)]])
sattn_defect(stride_of_the_other_gates ${plain} GROUP layouts
  FROM [[args->gates_h + i * args->gates_h_stride;]] TO [[args->gates_h + i * args->gates_x_stride;]])
sattn_defect(rows_counted_from_zero ${plain} GROUP rows
  FROM [[int64_t i = args->i0;]] TO [[int64_t i = 0;]])
sattn_defect(function_of_fewer_digits ${plain} GROUP sizes
  FROM [[plain_tanh(]] TO [[1e-6f + plain_tanh(]])

# ---- avx512
set(kernel KERNELS sattn_gru_f32_avx512 FILE kernels/gru/gru_f32_avx512.c)
sattn_defect(last_element_dropped ${kernel} GROUP widths
  FROM [[if (here.j < row->n_hidden) {]] TO [[if (here.j + 1 < row->n_hidden) {]])
sattn_defect(element_behind_the_last_written ${kernel} GROUP widths
  FROM [[at->row->n_hidden - at->j - u * LANES]] TO [[at->row->n_hidden - at->j - u * LANES + 1]])
sattn_defect(sums_of_the_vectors_before ${kernel} GROUP widths
  FROM [[sum[u] = next[u];]] TO [[sum[u] = sum[u];]])
sattn_defect(gate_of_the_other ${kernel} GROUP widths
  FROM [[gates(sum, at, GRU_RESET);]] TO [[gates(sum, at, GRU_UPDATE);]])
sattn_defect(reset_gate_on_the_input_as_well ${kernel} GROUP widths
  FROM [[_mm512_fmadd_ps(sum[u], load(at->row->gates_h[GRU_CANDIDATE], at, u),
                                 load(at->row->gates_x[GRU_CANDIDATE], at, u));]]
  TO [[_mm512_mul_ps(sum[u], _mm512_add_ps(load(at->row->gates_h[GRU_CANDIDATE], at, u),
                                               load(at->row->gates_x[GRU_CANDIDATE], at, u)));]])
sattn_defect(way_to_the_state_reversed ${kernel} GROUP widths
  FROM [[_mm512_sub_ps(load(at->row->h, at, u), sum[u]);]] TO [[_mm512_sub_ps(sum[u], load(at->row->h, at, u));]])
sattn_defect(candidate_sum_rounded_twice ${kernel} GROUP steps
  FROM [[_mm512_fmadd_ps(sum[u], load(at->row->gates_h[GRU_CANDIDATE], at, u),
                                 load(at->row->gates_x[GRU_CANDIDATE], at, u));]]
  TO [[_mm512_add_ps(_mm512_mul_ps(sum[u], load(at->row->gates_h[GRU_CANDIDATE], at, u)),
                                 load(at->row->gates_x[GRU_CANDIDATE], at, u));]])
sattn_defect(next_state_rounded_twice ${kernel} GROUP steps
  FROM [[_mm512_fmadd_ps(update[u], way, sum[u])]]
  TO [[_mm512_add_ps(_mm512_mul_ps(update[u], way), sum[u])]])
sattn_defect(last_elements_rounded_twice ${kernel} GROUP widths
  FROM [[_mm512_fmadd_ps(update[u], way, sum[u])]]
  TO [[at->is_whole ? _mm512_fmadd_ps(update[u], way, sum[u])
                   : _mm512_add_ps(_mm512_mul_ps(update[u], way), sum[u])]])

# ---- avx2
set(kernel KERNELS sattn_gru_f32_avx2 FILE kernels/gru/gru_f32_avx2.c)
sattn_defect(last_element_dropped ${kernel} GROUP widths
  FROM [[if (here.j < row->n_hidden) {]] TO [[if (here.j + 1 < row->n_hidden) {]])
sattn_defect(element_behind_the_last_written ${kernel} GROUP widths
  FROM [[at->row->n_hidden - at->j - u * LANES]] TO [[at->row->n_hidden - at->j - u * LANES + 1]])
sattn_defect(sums_of_the_vectors_before ${kernel} GROUP widths
  FROM [[sum[u] = next[u];]] TO [[sum[u] = sum[u];]])
sattn_defect(gate_of_the_other ${kernel} GROUP widths
  FROM [[gates(sum, at, GRU_RESET);]] TO [[gates(sum, at, GRU_UPDATE);]])
sattn_defect(reset_gate_on_the_input_as_well ${kernel} GROUP widths
  FROM [[_mm256_fmadd_ps(sum[u], load(at->row->gates_h[GRU_CANDIDATE], at, u),
                                 load(at->row->gates_x[GRU_CANDIDATE], at, u));]]
  TO [[_mm256_mul_ps(sum[u], _mm256_add_ps(load(at->row->gates_h[GRU_CANDIDATE], at, u),
                                               load(at->row->gates_x[GRU_CANDIDATE], at, u)));]])
sattn_defect(way_to_the_state_reversed ${kernel} GROUP widths
  FROM [[_mm256_sub_ps(load(at->row->h, at, u), candidate);]] TO [[_mm256_sub_ps(candidate, load(at->row->h, at, u));]])
sattn_defect(candidate_sum_rounded_twice ${kernel} GROUP steps
  FROM [[_mm256_fmadd_ps(sum[u], load(at->row->gates_h[GRU_CANDIDATE], at, u),
                                 load(at->row->gates_x[GRU_CANDIDATE], at, u));]]
  TO [[_mm256_add_ps(_mm256_mul_ps(sum[u], load(at->row->gates_h[GRU_CANDIDATE], at, u)),
                                 load(at->row->gates_x[GRU_CANDIDATE], at, u));]])
sattn_defect(next_state_rounded_twice ${kernel} GROUP steps
  FROM [[_mm256_fmadd_ps(update[u], way, candidate)]]
  TO [[_mm256_add_ps(_mm256_mul_ps(update[u], way), candidate)]])
sattn_defect(last_elements_rounded_twice ${kernel} GROUP widths
  FROM [[_mm256_fmadd_ps(update[u], way, candidate)]]
  TO [[at->is_whole ? _mm256_fmadd_ps(update[u], way, candidate)
                   : _mm256_add_ps(_mm256_mul_ps(update[u], way), candidate)]])

# ---- neon
set(kernel KERNELS sattn_gru_f32_neon FILE kernels/gru/gru_f32_neon.c)
sattn_defect(last_element_dropped ${kernel} GROUP widths
  FROM [[if (here.j < row->n_hidden) {]] TO [[if (here.j + 1 < row->n_hidden) {]])
sattn_defect(element_behind_the_last_written ${kernel} GROUP widths
  FROM [[LANES : at->row->n_hidden - at->j - u * LANES]] TO [[LANES : at->row->n_hidden - at->j - u * LANES + 1]])
sattn_defect(sums_of_the_vectors_before ${kernel} GROUP widths
  FROM [[sum[u] = next[u];]] TO [[sum[u] = sum[u];]])
sattn_defect(gate_of_the_other ${kernel} GROUP widths
  FROM [[gates(sum, at, GRU_RESET);]] TO [[gates(sum, at, GRU_UPDATE);]])
sattn_defect(reset_gate_on_the_input_as_well ${kernel} GROUP widths
  FROM [[vfmaq_f32(load(at->row->gates_x[GRU_CANDIDATE], at, u), sum[u],
                           load(at->row->gates_h[GRU_CANDIDATE], at, u));]]
  TO [[vmulq_f32(sum[u], vaddq_f32(load(at->row->gates_x[GRU_CANDIDATE], at, u),
                                      load(at->row->gates_h[GRU_CANDIDATE], at, u)));]])
sattn_defect(way_to_the_state_reversed ${kernel} GROUP widths
  FROM [[vsubq_f32(load(at->row->h, at, u), sum[u]);]] TO [[vsubq_f32(sum[u], load(at->row->h, at, u));]])
sattn_defect(candidate_sum_rounded_twice ${kernel} GROUP steps
  FROM [[vfmaq_f32(load(at->row->gates_x[GRU_CANDIDATE], at, u), sum[u],
                           load(at->row->gates_h[GRU_CANDIDATE], at, u));]]
  TO [[vaddq_f32(load(at->row->gates_x[GRU_CANDIDATE], at, u),
                           vmulq_f32(sum[u], load(at->row->gates_h[GRU_CANDIDATE], at, u)));]])
sattn_defect(next_state_rounded_twice ${kernel} GROUP steps
  FROM [[vfmaq_f32(sum[u], update[u], way)]]
  TO [[vaddq_f32(sum[u], vmulq_f32(update[u], way))]])
sattn_defect(last_elements_rounded_twice ${kernel} GROUP widths
  FROM [[vfmaq_f32(sum[u], update[u], way)]]
  TO [[at->is_whole ? vfmaq_f32(sum[u], update[u], way)
                   : vaddq_f32(sum[u], vmulq_f32(update[u], way))]])
