/* SPDX-License-Identifier: MIT
 *
 * tune_corners.c: the least and the greatest odd extent of each bucket, and some between. */
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

/* Of shapes inside a class with few queries: no cache holds so many bytes of K and V. */
static const double beyond_caches = 80e6;

/* Rows of each head so that those of a group are in their bucket and of the phase; odd if that can
 * be. */
static int64_t rows_of(const sattn_shape_class *c, int64_t n_group, bool most)
{
    const int64_t bucket_low = c->rows_log2 > 0 ? (int64_t)1 << (c->rows_log2 - 1) : 0;
    int64_t low = bucket_low / n_group + 1;
    int64_t high = ((int64_t)1 << c->rows_log2) / n_group;
    const int64_t few = sattn_few_rows_of(c->is_packed) / n_group;
    if (c->phase == SATTN_PHASE_DECODE)
        return 1;
    if (c->phase == SATTN_PHASE_PREFILL && low <= few)
        low = few + 1;
    if (c->phase == SATTN_PHASE_FEW_QUERY) {
        low = low > 2 ? low : 2;
        high = high < few ? high : few;
    }
    if (most)
        return high % 2 == 0 && high > low ? high - 1 : high;
    return low % 2 == 0 && low < high ? low + 1 : low;
}

/* Of what has no phases: numbers of an array, or units of one row. */
static void set_length(sattn_shape *shape, int64_t n)
{
    if (shape->kind == SATTN_SHAPE_ARRAY) {
        shape->n_k = n;
        return;
    }
    shape->n_q = shape->n_k = 1;
    shape->d_v = n;
    shape->d = 3 * n;
}

bool sattn_tune_corner(const sattn_tune_job *job, int corner, sattn_shape *shape)
{
    const sattn_shape_class *const c = &job->shape_class;
    const bool is_tall = corner == 1;
    *shape = job->shape;
    shape->batch = 1;
    if (c->phase == 0) {
        set_length(shape, is_tall ? least_of(c->keys_log2) : most_of(c->keys_log2));
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
        if (shape->kind == SATTN_SHAPE_ALIGNMENT)
            shape->d_v = shape->d;
        if (c->d_v_log2 > 0)
            shape->d_v = is_tall ? most_of(c->d_v_log2) : least_of(c->d_v_log2);
    }
    const sattn_shape_class of_corner = sattn_tune_class_of(job->op, shape, job->threads);
    return sattn_class_key(&of_corner) == sattn_class_key(c);
}

/* ---- inside */

/* So far up its bucket, whose lower end is half its upper one. */
static int64_t within(int log2, double part)
{
    const double top = (double)((int64_t)1 << log2);
    const int64_t n = (int64_t)(top * (1 + part) / 2);
    return n > least_of(log2) ? n : least_of(log2);
}

static void fill_inside(const sattn_shape_class *c, bool is_few, bool is_large, sattn_shape *s)
{
    const int64_t n_group = s->n_q_heads / s->n_kv_heads;
    s->n_k = within(c->keys_log2, is_large ? 0.75 : 0.3);
    if (!is_few) { /* few rows with many keys, and the other way round */
        const int64_t rows = within(c->rows_log2, is_large ? 0.3 : 0.75) / n_group;
        s->n_q = rows > 1 ? rows : 1;
    }
    s->batch = 1;
    if (is_few && is_large) {
        const double bytes = 4.0 * (double)s->n_kv_heads * (double)s->n_k * (double)(s->d + s->d_v);
        s->batch += (int64_t)(beyond_caches / bytes);
    } else if (!s->is_interleaved) {
        s->n_kv_heads = s->n_kv_heads < 2 ? 1 : 2;
        s->n_q_heads = s->n_kv_heads * n_group;
    }
}

bool sattn_tune_inside(const sattn_tune_job *job, int which, sattn_tune_job *inside)
{
    const sattn_shape_class *const c = &job->shape_class;
    sattn_shape *const s = &inside->shape;
    *inside = *job;
    inside->is_whole = true;
    if (c->phase == 0) {
        set_length(s, within(c->keys_log2, which == 1 ? 0.75 : 0.3));
    } else {
        const bool is_few = c->phase != SATTN_PHASE_PREFILL && c->call == SATTN_CALL_ATTENTION;
        fill_inside(c, is_few, which == 1, s);
    }
    const sattn_shape_class of_it = sattn_tune_class_of(job->op, s, job->threads);
    return sattn_class_key(&of_it) == sattn_class_key(c);
}
