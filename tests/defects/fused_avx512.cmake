# SPDX-License-Identifier: MIT
# Defects of the fused kernels for AVX-512.

set(prefill sattn_fused_f32_avx512)

sattn_defect(prefill_skipped_rescale KERNELS ${prefill} FILE kernels/fused/fused_prefill_avx512.h
  FROM [[_mm512_mask_mul_ps(value, rescaled, value, factor)]] TO [[value]])
sattn_defect(prefill_skipped_sum_rescale KERNELS ${prefill} FILE kernels/fused/fused_prefill_avx512.h
  FROM [[_mm512_mask_mul_ps(sum, rescaled, sum, factor)]] TO [[sum]])
sattn_defect(prefill_wrong_lane_rescaled KERNELS ${prefill} FILE kernels/fused/fused_prefill_avx512.h
  FROM [[if (raised)
        _mm512_store_ps(row_max, max);]] TO [[if (raised)
        _mm512_store_ps(row_max, _mm512_permutexvar_ps(_mm512_set1_epi32(0), max));]])
