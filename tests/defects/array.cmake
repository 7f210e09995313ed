# SPDX-License-Identifier: MIT
# Defects of exp, tanh and sigmoid over arrays.

set(exps sattn_exp_f32_scalar sattn_exp_f32_avx2 sattn_exp_f32_avx512 sattn_exp_f32_neon)
set(tanhs sattn_tanh_f32_scalar sattn_tanh_f32_avx2 sattn_tanh_f32_avx512 sattn_tanh_f32_neon)
set(sigmoids sattn_sigmoid_f32_scalar sattn_sigmoid_f32_avx2 sattn_sigmoid_f32_avx512
    sattn_sigmoid_f32_neon)

# ---- the polynomials
sattn_defect(coefficient_off_in_its_last_digits KERNELS ${exps} FILE kernels/vec/exp_full_poly.h
  GROUP long
  FROM [[#define SATTN_EXP_FULL_C2 0x1.fffffcp-2f]] TO [[#define SATTN_EXP_FULL_C2 0x1.ffff8cp-2f]])
sattn_defect(low_part_dropped KERNELS ${exps} ${sigmoids} FILE kernels/vec/exp_full_poly.h GROUP long
  FROM [[#define SATTN_LN2_LO         0x1.7f7d1cp-20f]] TO [[#define SATTN_LN2_LO         0.0f]])
sattn_defect(range_ends_too_early FILE kernels/vec/exp_full_poly.h GROUP ends
  KERNELS sattn_exp_f32_scalar sattn_exp_f32_avx2 sattn_exp_f32_neon
          sattn_sigmoid_f32_scalar sattn_sigmoid_f32_avx2 sattn_sigmoid_f32_neon
  FROM [[#define SATTN_EXP_FULL_LOWEST  (-176.0f)]] TO [[#define SATTN_EXP_FULL_LOWEST  (-103.5f)]])
sattn_defect(zero_too_early FILE kernels/vec/exp_full_poly.h GROUP ends
  KERNELS sattn_exp_f32_avx512 sattn_sigmoid_f32_avx512
  FROM [[#define SATTN_EXP_FULL_ZERO    (-104.0f)]] TO [[#define SATTN_EXP_FULL_ZERO    (-100.0f)]])
sattn_defect(coefficient_off_in_its_last_digits KERNELS ${tanhs} FILE kernels/vec/tanh_poly.h
  GROUP long
  FROM [[#define SATTN_TANH_C1 0x1.110be4p-3f]] TO [[#define SATTN_TANH_C1 0x1.110de4p-3f]])
sattn_defect(border_too_far_down KERNELS ${tanhs} FILE kernels/vec/tanh_poly.h GROUP long
  FROM [[#define SATTN_TANH_BORDER 1.0f]] TO [[#define SATTN_TANH_BORDER 0.25f]])
sattn_defect(limit_too_early KERNELS ${tanhs} FILE kernels/vec/tanh_poly.h GROUP ends
  FROM [[#define SATTN_TANH_LIMIT  10.0f]] TO [[#define SATTN_TANH_LIMIT  8.0f]])
sattn_defect(residual_of_the_wrong_weight KERNELS ${sigmoids} FILE kernels/vec/sigmoid.h GROUP long
  FROM [[#define SATTN_SIGMOID_SLOPE (-0.5f)]] TO [[#define SATTN_SIGMOID_SLOPE 0.5f]])

# ---- scalar
set(plain FILE kernels/vec/vec_plain.h)
sattn_defect(nan_lost KERNELS sattn_exp_f32_scalar ${plain} GROUP specials
  FROM [[plain_select(x < SATTN_EXP_FULL_LOWEST, SATTN_EXP_FULL_LOWEST, x)]]
  TO [[plain_select(x > SATTN_EXP_FULL_LOWEST, x, SATTN_EXP_FULL_LOWEST)]])
sattn_defect(sign_lost KERNELS sattn_tanh_f32_scalar ${plain} GROUP lengths
  FROM [[return copysignf(size, x);]] TO [[return x < -1.0f ? -size : size;]])
sattn_defect(last_element_dropped KERNELS sattn_exp_f32_scalar FILE kernels/exp/exp_plain.h
  GROUP lengths
  FROM [[i < n; ++i)]] TO [[i + 1 < n; ++i)]])
sattn_defect(one_element_too_many_written KERNELS sattn_tanh_f32_scalar
  FILE kernels/tanh/tanh_plain.h GROUP lengths
  FROM [[i < n; ++i)]] TO [[i <= n; ++i)]])
set(sigmoid KERNELS sattn_sigmoid_f32_scalar FILE kernels/vec/sigmoid_plain.h)
sattn_defect(sides_exchanged ${sigmoid} GROUP lengths FROM [[x < 0.0f, e, 1.0f]] TO [[x > 0.0f, e, 1.0f]])
sattn_defect(residual_dropped ${sigmoid} GROUP long
  FROM [[return plain_multiply_add(residual, weight, quotient);]] TO [[return quotient;]])
sattn_defect(last_element_dropped KERNELS sattn_sigmoid_f32_scalar
  FILE kernels/sigmoid/sigmoid_plain.h GROUP lengths
  FROM [[i < n; ++i)]] TO [[i + 1 < n; ++i)]])

# ---- AVX-512
set(map KERNELS sattn_exp_f32_avx512 sattn_tanh_f32_avx512 sattn_sigmoid_f32_avx512
    FILE kernels/vec/map_avx512.h)
sattn_defect(tail_dropped ${map} GROUP lengths FROM [[if (lanes)]] TO [[if (lanes && i == 0)]])
sattn_defect(element_behind_the_last_written ${map} GROUP lengths
  FROM [[vec_tail_m16(args->n - i);]] TO [[vec_tail_m16(args->n - i + (i < args->n));]])
sattn_defect(nan_lost KERNELS sattn_exp_f32_avx512 sattn_sigmoid_f32_avx512 FILE kernels/vec/vec_avx512.h
  GROUP specials
  FROM [[_mm512_set1_ps(table->zero), _CMP_NLT_UQ);]]
  TO [[_mm512_set1_ps(table->zero), _CMP_GE_OQ);]])
sattn_defect(sign_lost KERNELS sattn_tanh_f32_avx512 FILE kernels/vec/vec_avx512.h GROUP lengths
  FROM [[_mm512_or_ps(size, _mm512_and_ps(x[u], _mm512_set1_ps(-0.0f)));]] TO [[size;]])
set(sigmoid KERNELS sattn_sigmoid_f32_avx512 FILE kernels/vec/sigmoid_avx512.h)
sattn_defect(sides_exchanged ${sigmoid} GROUP lengths
  FROM [[_CMP_LT_OQ]] TO [[_CMP_GT_OQ]])
sattn_defect(residual_dropped ${sigmoid} GROUP long
  FROM [[x[u] = _mm512_fmadd_ps(residual, weight, quotient);]] TO [[x[u] = quotient;]])

# ---- AVX2
set(map KERNELS sattn_exp_f32_avx2 sattn_tanh_f32_avx2 sattn_sigmoid_f32_avx2
    FILE kernels/vec/map_avx2.h)
sattn_defect(tail_dropped ${map} GROUP lengths
  FROM [[if (i < args->n) {]] TO [[if (i < args->n && i == 0) {]])
sattn_defect(element_behind_the_last_written ${map} GROUP lengths
  FROM [[vec_tail_m8(args->n - i);]] TO [[vec_tail_m8(args->n - i + 1);]])
sattn_defect(nan_lost KERNELS sattn_exp_f32_avx2 sattn_sigmoid_f32_avx2 FILE kernels/vec/vec_avx2.h
  GROUP specials
  FROM [[_mm256_max_ps(_mm256_load_ps(table->lowest), x[u]);]]
  TO [[_mm256_max_ps(x[u], _mm256_load_ps(table->lowest));]])
sattn_defect(sign_lost KERNELS sattn_tanh_f32_avx2 FILE kernels/vec/vec_avx2.h GROUP lengths
  FROM [[return _mm256_or_ps(size, _mm256_and_ps(x, sign));]] TO [[return size;]])
set(sigmoid KERNELS sattn_sigmoid_f32_avx2 FILE kernels/vec/sigmoid_avx2.h)
sattn_defect(sides_exchanged ${sigmoid} GROUP lengths
  FROM [[_mm256_blendv_ps(one, e[u], x[u])]] TO [[_mm256_blendv_ps(e[u], one, x[u])]])
sattn_defect(residual_dropped ${sigmoid} GROUP long
  FROM [[x[u] = _mm256_fmadd_ps(residual, weight, quotient);]] TO [[x[u] = quotient;]])

# ---- NEON
set(map KERNELS sattn_exp_f32_neon sattn_tanh_f32_neon sattn_sigmoid_f32_neon
    FILE kernels/vec/map_neon.h)
sattn_defect(tail_dropped ${map} GROUP lengths
  FROM [[if (i < args->n) {]] TO [[if (i < args->n && i == 0) {]])
sattn_defect(element_behind_the_last_written ${map} GROUP lengths
  FROM [[lane < args->n - i; ++lane)]] TO [[lane <= args->n - i; ++lane)]])
sattn_defect(nan_lost KERNELS sattn_exp_f32_neon sattn_sigmoid_f32_neon FILE kernels/vec/vec_neon.h
  GROUP specials
  FROM [[vmaxq_f32(x[u], vdupq_n_f32(table->lowest));]]
  TO [[vmaxnmq_f32(x[u], vdupq_n_f32(table->lowest));]])
sattn_defect(sign_lost KERNELS sattn_tanh_f32_neon FILE kernels/vec/vec_neon.h GROUP lengths
  FROM [[x[u] = vbslq_f32(vdupq_n_u32(0x80000000u), x[u], size);]] TO [[x[u] = size;]])
set(sigmoid KERNELS sattn_sigmoid_f32_neon FILE kernels/vec/sigmoid_neon.h)
sattn_defect(sides_exchanged ${sigmoid} GROUP lengths
  FROM [[vcltzq_f32(x[u])]] TO [[vcgtzq_f32(x[u])]])
sattn_defect(residual_dropped ${sigmoid} GROUP long
  FROM [[x[u] = vfmaq_f32(quotient, residual, weight);]] TO [[x[u] = quotient;]])
