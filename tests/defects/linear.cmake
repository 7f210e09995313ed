# SPDX-License-Identifier: MIT
# Defects of the linear kernels. What they share with qk (kernels/vec/score_*.h) has its own in
# qk.cmake; here are those that only linear can show.

set(scalar sattn_linear_f32_scalar)
set(prefill sattn_linear_f32_avx2 sattn_linear_f32_avx512 sattn_linear_f32_neon)
set(decode sattn_linear_f32_avx2_decode sattn_linear_f32_avx512_decode sattn_linear_f32_neon_decode)

# ---- linear_plain.h
set(plain KERNELS ${scalar} FILE kernels/linear/linear_plain.h)

sattn_defect(last_block_missing ${plain} GROUP outputs
  FROM [[done.o < a->o1; done.o += LINEAR_BLOCK) {]]
  TO [[done.o < a->o1 && (done.o == a->o0 || done.o + 1 < a->o1); done.o += LINEAR_BLOCK) {]])
sattn_defect(w_row_stride_ignored ${plain} GROUP layouts
  FROM [[a->packed ? a->n_in : a->w_stride;]] TO [[a->n_in;]])
sattn_defect(packed_rows_padded ${plain} GROUP packing
  FROM [[a->packed ? a->n_in : a->w_stride;]] TO [[a->packed ? (a->n_in + 3) / 4 * 4 : a->w_stride;]])
sattn_defect(rows_counted_from_zero ${plain} GROUP ranges
  FROM [[done.i = a->i0; done.i < a->i1;]] TO [[done.i = 0; done.i < a->i1 - a->i0;]])

# ---- linear_finish.h: bias and what Y holds
set(finish KERNELS ${scalar} ${decode} FILE kernels/linear/linear_finish.h)

sattn_defect(bias_of_the_first_output ${finish} GROUP ranges
  FROM [[a->bias + done->o : NULL;]] TO [[a->bias : NULL;]])
sattn_defect(bias_dropped_where_it_adds ${finish} GROUP bias-and-sum
  FROM [[sums[o] + bias[o]; /* rounded]] TO [[sums[o] + 0 * bias[o]; /* rounded]])
sattn_defect(bias_added_to_y_first ${finish} GROUP bias-and-sum
  FROM [[y[o] += sum;]] TO [[y[o] = (y[o] + bias[o]) + sums[o];]])
sattn_defect(y_overwritten ${finish} GROUP bias-and-sum
  FROM [[else if (adds)]] TO [[else if (adds && n > 1000)]])
sattn_defect(y_read_where_it_need_not ${finish} GROUP rows
  FROM [[y[o] = sums[o] + bias[o];]] TO [[y[o] = 0 * y[o] + sums[o] + bias[o];]])
sattn_defect(rows_of_y_from_zero ${finish} GROUP ranges
  FROM [[a->y + done->i * a->y_stride + done->o;]]
  TO [[a->y + (done->i - a->i0) * a->y_stride + done->o;]])
sattn_defect(y_row_stride_ignored KERNELS ${decode} FILE kernels/linear/linear_finish.h GROUP layouts
  FROM [[y + r * a->y_stride,]] TO [[y + r * a->o1,]])

# ---- linear_strip.h: which row is where
set(strip KERNELS ${prefill} ${decode} FILE kernels/linear/linear_strip.h)

sattn_defect(x_row_stride_ignored ${strip} GROUP layouts
  FROM [[a->x + (i + r) * a->x_stride;]] TO [[a->x + (i + r) * a->n_in;]])
sattn_defect(rows_counted_from_zero ${strip} GROUP ranges
  FROM [[a->x + (i + r) * a->x_stride;]] TO [[a->x + (i - a->i0 + r) * a->x_stride;]])
sattn_defect(y_row_stride_ignored KERNELS ${prefill} FILE kernels/linear/linear_strip.h GROUP layouts
  FROM [[a->y + (i + r) * a->y_stride;]] TO [[a->y + (i + r) * a->o1;]])

# ---- linear_prefill.h
set(panels KERNELS ${prefill} FILE kernels/linear/linear_prefill.h)

sattn_defect(last_chunk_missing ${panels} GROUP outputs
  FROM [[first < a->o1; first += chunk) {]]
  TO [[first < a->o1 && (first == a->o0 || a->o1 - first > 1); first += chunk) {]])
sattn_defect(second_chunk_reads_the_first_outputs ${panels} GROUP outputs
  FROM [[a->w + first * a->w_stride, a->w_stride,]]
  TO [[a->w + a->o0 * a->w_stride, a->w_stride,]])
sattn_defect(packed_outputs_counted_from_zero ${panels} GROUP ranges
  FROM [[return a->packed + first * a->n_in;]] TO [[return a->packed + (first - a->o0) * a->n_in;]])
sattn_defect(rows_of_the_strip_before ${panels} GROUP chunks
  FROM [[if (!single || first == a->o0) {]] TO [[if (i == a->i0 || first == a->o0) {]])
sattn_defect(first_panel_of_the_chunk_only ${panels} GROUP chunks
  FROM [[panel.k = panels + o * a->n_in;]] TO [[panel.k = panels;]])
sattn_defect(outputs_counted_from_zero ${panels} GROUP ranges
  FROM [[panel.j = first + o;]] TO [[panel.j = first - a->o0 + o;]])
sattn_defect(w_row_stride_ignored ${panels} GROUP layouts
  FROM [[a->w_stride, a->w_stride,]] TO [[a->w_stride, a->n_in,]])

# The same in each ISA: what a tile does before it stores its sums.
foreach(isa IN ITEMS avx512 avx2 neon)
  set(tile KERNELS sattn_linear_f32_${isa} FILE kernels/linear/linear_f32_${isa}.c)
  sattn_defect(bias_of_the_first_output ${tile} GROUP outputs
    FROM [[panel->bias + panel->j,]] TO [[panel->bias,]])
  sattn_defect(bias_added_to_y_first ${tile} GROUP bias-and-sum
    FROM [[if (panel->bias)
        add_bias(acc, panel->bias + panel->j, panel->n_keys, n_rows, n_vec);
    if (panel->adds)
        add_to(acc, panel, row, n_rows, n_vec);]]
    TO [[if (panel->adds)
        add_to(acc, panel, row, n_rows, n_vec);
    if (panel->bias)
        add_bias(acc, panel->bias + panel->j, panel->n_keys, n_rows, n_vec);]])
  sattn_defect(y_of_the_first_row ${tile} GROUP bias-and-sum
    FROM [[panel->s[row + r] + panel->j;]] TO [[panel->s[row] + panel->j;]])
  sattn_defect(y_overwritten ${tile} GROUP bias-and-sum
    FROM [[if (panel->adds)]] TO [[if (panel->adds && !panel->bias)]])
endforeach()
foreach(isa IN ITEMS avx2 neon)
  sattn_defect(bias_of_the_last_vector_twice KERNELS sattn_linear_f32_${isa}
    FILE kernels/linear/linear_f32_${isa}.c GROUP outputs
    FROM [[(acc[r][0], bias_first);]] TO [[(acc[r][0], bias_last);]])
endforeach()
set(tile KERNELS sattn_linear_f32_avx512 FILE kernels/linear/linear_f32_avx512.c)
sattn_defect(bias_of_the_first_vector_for_all ${tile} GROUP outputs
  FROM [[(bias + v * PANEL_LANES, lanes);]] TO [[(bias, lanes);]])
sattn_defect(y_of_the_first_vector_for_all ${tile} GROUP bias-and-sum
  FROM [[(y + v * PANEL_LANES, lanes);]] TO [[(y, lanes);]])

# ---- linear_decode.h
set(groups KERNELS ${decode} FILE kernels/linear/linear_decode.h)

sattn_defect(last_block_missing ${groups} GROUP models
  FROM [[o < n; o += block) {]] TO [[o < n && (o == 0 || o + 4 < n); o += block) {]])
sattn_defect(last_chunk_missing ${groups} GROUP outputs
  FROM [[done.o < a->o1; done.o += LINEAR_CHUNK) {]]
  TO [[done.o < a->o1 && (done.o == a->o0 || done.o + 1 < a->o1); done.o += LINEAR_CHUNK) {]])
sattn_defect(first_chunk_again ${groups} GROUP outputs
  FROM [[+ (first + o) * group->k_stride;]] TO [[+ (a->o0 + o) * group->k_stride;]])
sattn_defect(x_of_the_first_group ${groups} GROUP rows
  FROM [[group->q = x + r * x_pitch;]] TO [[group->q = x;]])
sattn_defect(sums_of_the_first_block ${groups} GROUP models
  FROM [[sums + (r + i) * LINEAR_PITCH + o;]] TO [[sums + (r + i) * LINEAR_PITCH;]])
sattn_defect(w_row_stride_ignored ${groups} GROUP layouts
  FROM [[a->packed ? x_pitch : a->w_stride,]] TO [[a->packed ? x_pitch : a->n_in,]])
sattn_defect(packed_without_padding ${groups} GROUP packing
  FROM [[a->packed ? x_pitch : a->w_stride,]] TO [[a->packed ? a->n_in : a->w_stride,]])

# ---- decode, by ISA
set(few KERNELS sattn_linear_f32_avx512_decode FILE kernels/linear/linear_f32_avx512_decode.c)

sattn_defect(next_output_for_the_next_block ${few} GROUP outputs
  FROM [[block += group->k_stride * LINEAR_PACKED;]] TO [[block += group->k_stride;]])
sattn_defect(last_features_dropped ${few} GROUP packing
  FROM [[const int64_t n = group->k_stride * LINEAR_PACKED;]]
  TO [[const int64_t n = (group->d > 16 ? group->d / 16 * 16 : 16) * LINEAR_PACKED;]])
sattn_defect(two_outputs_swapped ${few} GROUP packing
  FROM [[+ b + i % LINEAR_PACKED] = sums[i];]] TO [[+ b + (i ^ 1) % LINEAR_PACKED] = sums[i];]])
sattn_defect(block_behind_the_last_read ${few} GROUP outputs
  FROM [[if (b == 0 || j + b < group->n_keys)]] TO [[if (b >= 0)]])

set(few KERNELS sattn_linear_f32_avx2_decode FILE kernels/linear/linear_f32_avx2_decode.c)

sattn_defect(block_behind_the_last_read ${few} GROUP outputs
  FROM [[has_second ? block + size : block;]] TO [[has_second || block ? block + size : block;]])
sattn_defect(last_features_dropped ${few} GROUP packing
  FROM [[const int64_t n = group->k_stride * LINEAR_PACKED;]]
  TO [[const int64_t n = (group->d > 8 ? group->d / 8 * 8 : 8) * LINEAR_PACKED;]])
sattn_defect(third_row_is_the_second ${few} GROUP rows
  FROM [[group->s[2] + j,]] TO [[group->s[1] + j,]])
sattn_defect(second_block_is_the_first ${few} GROUP packing
  FROM [[j + LINEAR_PACKED < group->n_keys;]] TO [[j + 2 * LINEAR_PACKED < group->n_keys;]])

set(few KERNELS sattn_linear_f32_neon_decode FILE kernels/linear/linear_f32_neon_decode.c)

sattn_defect(block_behind_the_last_read ${few} GROUP outputs
  FROM [[j + LINEAR_PACKED < group->n_keys ? block + size : block;]] TO [[block + size;]])
sattn_defect(last_features_dropped ${few} GROUP packing
  FROM [[at < size;]] TO [[at < size && (at == 0 || at + LINEAR_PACKED * SCORE_LANES < size);]])
sattn_defect(two_rows_swapped ${few} GROUP rows
  FROM [[vst1q_f32(group->s[r] + j + i,]]
  TO [[vst1q_f32(group->s[n_rows == 4 ? r ^ 1 : r] + j + i,]])
sattn_defect(next_output_for_the_next_block ${few} GROUP outputs
  FROM [[block += n_keys * group->k_stride)]] TO [[block += group->k_stride)]])
