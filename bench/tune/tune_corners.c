/* SPDX-License-Identifier: MIT
 *
 * tune_corners.c: the least and the greatest odd extent of each bucket. */
#include "bench/tune/tune_corners.h"

/* Of a bucket (2^(log2 - 1), 2^log2]: odd, where there is an odd number in it. */
static int64_t least_of(int log2)
{
    return log2 < 2 ? log2 + 1 : ((int64_t)1 << (log2 - 1)) + 1;
}

static int64_t most_of(int log2)
{
    return log2 < 2 ? log2 + 1 : ((int64_t)1 << log2) - 1;
}

/* An oracle takes long for long rows. */
enum { LONG_KEYS_LOG2 = 12 };

/* Rows of each head so that those of a group are in their bucket and of the phase; odd if that can
 * be. */
static int64_t rows_of(const sattn_shape_class *c, int64_t n_group, bool most)
{
    const int64_t bucket_low = c->rows_log2 > 0 ? (int64_t)1 << (c->rows_log2 - 1) : 0;
    int64_t low = bucket_low / n_group + 1;
    int64_t high = ((int64_t)1 << c->rows_log2) / n_group;
    if (c->phase == SATTN_PHASE_DECODE)
        return 1;
    if (c->phase == SATTN_PHASE_PREFILL && low * n_group <= SATTN_FEW_ROWS)
        low = SATTN_FEW_ROWS / n_group + 1;
    if (c->phase == SATTN_PHASE_FEW_QUERY) {
        low = low > 2 ? low : 2;
        high = high < SATTN_FEW_ROWS / n_group ? high : SATTN_FEW_ROWS / n_group;
    }
    if (most)
        return high % 2 == 0 && high > low ? high - 1 : high;
    return low % 2 == 0 && low < high ? low + 1 : low;
}

bool sattn_tune_corner(const sattn_tune_job *job, int corner, sattn_shape *shape)
{
    const sattn_shape_class *const c = &job->shape_class;
    const bool is_tall = corner == 1;
    *shape = job->shape;
    shape->batch = 1;
    if (shape->is_array) {
        shape->n_k = is_tall ? least_of(c->keys_log2) : most_of(c->keys_log2);
    } else {
        const int64_t n_group = shape->n_q_heads / shape->n_kv_heads;
        shape->n_kv_heads = c->is_strided ? 2 : 1;
        shape->n_q_heads = shape->n_kv_heads * n_group;
        shape->is_interleaved = c->is_strided;
        shape->n_q = rows_of(c, n_group, is_tall);
        shape->n_k = is_tall || c->keys_log2 >= LONG_KEYS_LOG2 ? least_of(c->keys_log2)
                                                               : most_of(c->keys_log2);
        if (c->d_log2 > 0)
            shape->d = is_tall ? most_of(c->d_log2) : least_of(c->d_log2);
        if (c->d_v_log2 > 0)
            shape->d_v = is_tall ? most_of(c->d_v_log2) : least_of(c->d_v_log2);
    }
    const sattn_shape_class of_corner = sattn_tune_class_of(job->op, shape, job->threads);
    return sattn_class_key(&of_corner) == sattn_class_key(c);
}
