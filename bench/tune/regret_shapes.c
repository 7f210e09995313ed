/* SPDX-License-Identifier: MIT
 *
 * regret_shapes.c: the table of regret_shapes.def. */
#include "bench/tune/regret_shapes.h"

#define ROW(op_, name_, b, hq, hkv, tq, tk, depth, depth_v, ...)                                   \
    {                                                                                              \
        .op = SATTN_OP_##op_,                                                                      \
        .shape = {.name = name_,                                                                   \
                  .batch = b,                                                                      \
                  .n_q_heads = hq,                                                                 \
                  .n_kv_heads = hkv,                                                               \
                  .n_q = tq,                                                                       \
                  .n_k = tk,                                                                       \
                  .d = depth,                                                                      \
                  .d_v = depth_v,                                                                  \
                  .real_layer = -1,                                                                \
                  __VA_ARGS__},                                                                    \
    },
#define ARRAY(op_, name_, n) ROW(op_, name_, 1, 1, 1, 1, n, 1, 1, .kind = SATTN_SHAPE_ARRAY)
#define ALIGNMENT(name_, b, tq, tk, depth)                                                         \
    ROW(additive, name_, b, 1, 1, tq, tk, depth, depth, .kind = SATTN_SHAPE_ALIGNMENT)
#define MAP(name_, rows, outputs, inputs, packed)                                                  \
    ROW(linear, name_, 1, 1, 1, rows, outputs, inputs, 1, .kind = SATTN_SHAPE_MAP,                 \
        .is_packed = packed)
#define GATES(name_, rows, units)                                                                  \
    ROW(gru, name_, 1, 1, 1, rows, rows, 3 * (units), units, .kind = SATTN_SHAPE_GATES)
#define KEY_MASK(k) .mask = {SATTN_CONTENT_PADDING, SATTN_MASK_##k, .per_batch = true}
#define CAUSAL_MASK .mask = {SATTN_CONTENT_CAUSAL, SATTN_MASK_BOOL, .per_query = true}
#define BIAS_MASK                                                                                  \
    .mask = {SATTN_CONTENT_BIAS, SATTN_MASK_ADDITIVE, .per_head = true, .per_query = true}

static const sattn_regret_shape shapes[] = {
#include "bench/tune/regret_shapes.def"
};

const sattn_regret_shape *sattn_regret_shapes(size_t *count)
{
    *count = sizeof shapes / sizeof shapes[0];
    return shapes;
}
