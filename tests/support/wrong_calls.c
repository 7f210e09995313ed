/* SPDX-License-Identifier: MIT
 *
 * wrong_calls.c: arguments spoilt one at a time. Each takes what it needs as memory of the problem.
 */
#include "tests/support/wrong_attention.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- offsets */

static bool has_position(const sattn_conform_problem *p)
{
    return p->args.causal || p->args.has_window;
}

typedef int64_t offset_fn(const sattn_conform_problem *p, int64_t b);

static bool move(sattn_conform_problem *p, offset_fn *of_entry)
{
    int64_t *const offset = sattn_conform_allocate(p, (size_t)p->args.batch, sizeof *offset);
    bool differs = false;
    for (int64_t b = 0; offset && b < p->args.batch; ++b) {
        offset[b] = of_entry(p, b);
        differs = differs || offset[b] != p->args.causal_offset[b];
    }
    p->args.causal_offset = offset;
    return offset && differs && has_position(p);
}

static int64_t one_more(const sattn_conform_problem *p, int64_t b)
{
    return p->args.causal_offset[b] + 1;
}

static int64_t one_less(const sattn_conform_problem *p, int64_t b)
{
    return p->args.causal_offset[b] - 1;
}

static int64_t none(const sattn_conform_problem *p, int64_t b)
{
    (void)p;
    (void)b;
    return 0;
}

static int64_t not_negative(const sattn_conform_problem *p, int64_t b)
{
    return p->args.causal_offset[b] < 0 ? 0 : p->args.causal_offset[b];
}

static int64_t bottom_right(const sattn_conform_problem *p, int64_t b)
{
    return (p->args.n_k_valid ? p->args.n_k_valid[b] : p->args.n_k) - p->args.n_q;
}

static int64_t of_first_entry(const sattn_conform_problem *p, int64_t b)
{
    (void)b;
    return p->args.causal_offset[0];
}

static bool offset_one_more(sattn_conform_problem *p)
{
    return move(p, one_more);
}

static bool offset_one_less(sattn_conform_problem *p)
{
    return move(p, one_less);
}

static bool offset_ignored(sattn_conform_problem *p)
{
    return move(p, none);
}

static bool offset_not_negative(sattn_conform_problem *p)
{
    return move(p, not_negative);
}

static bool offset_bottom_right(sattn_conform_problem *p)
{
    return move(p, bottom_right);
}

static bool offset_of_first_entry(sattn_conform_problem *p)
{
    return move(p, of_first_entry);
}

static bool causal_ignored(sattn_conform_problem *p)
{
    const bool was = p->args.causal;
    p->args.causal = false;
    return was;
}

/* ---- windows */

static bool window_ignored(sattn_conform_problem *p)
{
    const bool was = p->args.has_window;
    p->args.has_window = false;
    return was;
}

static bool window_only_if_causal(sattn_conform_problem *p)
{
    return !p->args.causal && window_ignored(p);
}

static bool widen(sattn_conform_problem *p, int64_t *side, int64_t by)
{
    if (!p->args.has_window || *side < 0 || (by < 0 ? *side == 0 : *side == INT64_MAX))
        return false;
    *side += by;
    return true;
}

static bool window_left_more(sattn_conform_problem *p)
{
    return widen(p, &p->args.window_left, 1);
}

static bool window_left_less(sattn_conform_problem *p)
{
    return widen(p, &p->args.window_left, -1);
}

static bool window_right_more(sattn_conform_problem *p)
{
    return widen(p, &p->args.window_right, 1);
}

static bool window_right_less(sattn_conform_problem *p)
{
    return widen(p, &p->args.window_right, -1);
}

static bool window_right_ignored(sattn_conform_problem *p)
{
    const bool was = p->args.has_window && p->args.window_right >= 0;
    p->args.window_right = -1;
    return was;
}

static bool window_left_ignored(sattn_conform_problem *p)
{
    const bool was = p->args.has_window && p->args.window_left >= 0;
    p->args.window_left = -1;
    return was;
}

/* ---- lengths */

static bool nonpad_ignored(sattn_conform_problem *p)
{
    const bool was = p->args.n_k_valid != NULL;
    p->args.n_k_valid = NULL;
    return was;
}

static bool nonpad_as(sattn_conform_problem *p, bool is_first, int64_t more)
{
    int64_t *const valid = sattn_conform_allocate(p, (size_t)p->args.batch, sizeof *valid);
    if (!p->args.n_k_valid || !valid)
        return false;
    for (int64_t b = 0; b < p->args.batch; ++b) {
        valid[b] = p->args.n_k_valid[is_first ? 0 : b] + more;
        valid[b] = valid[b] > p->args.n_k ? p->args.n_k : valid[b];
        valid[b] = valid[b] < 0 ? 0 : valid[b];
    }
    p->args.n_k_valid = valid;
    return true;
}

static bool nonpad_as_last_index(sattn_conform_problem *p)
{
    return nonpad_as(p, false, 1);
}

static bool nonpad_one_less(sattn_conform_problem *p)
{
    return nonpad_as(p, false, -1);
}

static bool nonpad_of_first_entry(sattn_conform_problem *p)
{
    return nonpad_as(p, true, 0);
}

static bool nonpad_at_least_1(sattn_conform_problem *p)
{
    int64_t *const valid = sattn_conform_allocate(p, (size_t)p->args.batch, sizeof *valid);
    if (!p->args.n_k_valid || !valid)
        return false;
    for (int64_t b = 0; b < p->args.batch; ++b)
        valid[b] = p->args.n_k_valid[b] ? p->args.n_k_valid[b] : 1;
    p->args.n_k_valid = valid;
    return true;
}

/* ---- masks */

static int64_t mask_size(const sattn_mask *mask)
{
    return mask->extent[0] * mask->extent[1] * mask->extent[2] * mask->extent[3];
}

/* A copy of the mask to write in; NULL: there is none of this kind. */
static void *own_mask(sattn_conform_problem *p, sattn_mask_kind kind)
{
    const size_t size = kind == SATTN_MASK_BOOL ? 1 : sizeof(float);
    if (p->args.mask.kind != kind)
        return NULL;
    const size_t count = (size_t)mask_size(&p->args.mask);
    void *const copy = sattn_conform_allocate(p, count, size);
    if (copy)
        memcpy(copy, p->args.mask.data, count * size);
    p->args.mask.data = copy;
    return copy;
}

static bool mask_ignored(sattn_conform_problem *p)
{
    const bool was = p->args.mask.kind != SATTN_MASK_NONE;
    p->args.mask.kind = SATTN_MASK_NONE;
    return was;
}

static bool mask_inverted(sattn_conform_problem *p)
{
    uint8_t *const mask = own_mask(p, SATTN_MASK_BOOL);
    for (int64_t n = 0; mask && n < mask_size(&p->args.mask); ++n)
        mask[n] = !mask[n];
    return mask != NULL;
}

typedef float bias_fn(float bias);

static bool rebias(sattn_conform_problem *p, bias_fn *of)
{
    float *const mask = own_mask(p, SATTN_MASK_ADDITIVE);
    for (int64_t n = 0; mask && n < mask_size(&p->args.mask); ++n)
        mask[n] = of(mask[n]);
    return mask != NULL;
}

static float negated(float bias)
{
    return bias == -INFINITY ? bias : -bias;
}

static float as_bool(float bias)
{
    return bias == -INFINITY ? bias : 0;
}

static float at_least_1e4(float bias)
{
    return bias == -INFINITY ? -1e4f : bias;
}

static float at_least_lowest(float bias)
{
    return bias == -INFINITY ? -FLT_MAX : bias;
}

static bool bias_subtracted(sattn_conform_problem *p)
{
    return rebias(p, negated);
}

static bool bias_as_bool(sattn_conform_problem *p)
{
    return rebias(p, as_bool);
}

static bool bias_inf_as_1e4(sattn_conform_problem *p)
{
    return rebias(p, at_least_1e4);
}

static bool bias_inf_as_lowest(sattn_conform_problem *p)
{
    return rebias(p, at_least_lowest);
}

/* The columns that were missing are attended, with no bias. */
static bool mask_completed_with_0(sattn_conform_problem *p)
{
    const sattn_conform_tensor *const given = &p->test->inputs[SATTN_CONFORM_MASK];
    const int64_t n_k = p->args.n_k;
    if (!given->data || given->shape[given->rank - 1] == n_k)
        return false;
    const sattn_mask_kind kind = p->args.mask.kind;
    void *const mask = own_mask(p, kind);
    for (int64_t n = 0; mask && n < mask_size(&p->args.mask); ++n) {
        if (n % n_k < given->shape[given->rank - 1])
            continue;
        if (kind == SATTN_MASK_BOOL)
            ((uint8_t *)mask)[n] = 1;
        else
            ((float *)mask)[n] = 0;
    }
    return mask != NULL;
}

static bool mask_column_broadcast(sattn_conform_problem *p)
{
    const sattn_conform_tensor *const given = &p->test->inputs[SATTN_CONFORM_MASK];
    sattn_mask *const mask = &p->args.mask;
    if (!given->data || given->shape[given->rank - 1] != 1 || p->args.n_k == 1)
        return false;
    mask->data = given->data;
    mask->extent[3] = 1;
    for (int axis = 3, stride = 1; axis >= 0; --axis) {
        mask->stride[axis] = stride;
        stride *= (int)mask->extent[axis];
    }
    return given->type != SATTN_NPY_F2;
}

static bool fold(sattn_conform_problem *p, int axis)
{
    sattn_mask *const mask = &p->args.mask;
    const bool was = mask->kind != SATTN_MASK_NONE && mask->extent[axis] > 1;
    mask->extent[axis] = 1;
    return was;
}

static bool mask_of_first_entry(sattn_conform_problem *p)
{
    return fold(p, 0);
}

static bool mask_of_first_head(sattn_conform_problem *p)
{
    return fold(p, 1);
}

static bool mask_of_first_row(sattn_conform_problem *p)
{
    return fold(p, 2);
}

static bool mask_rank_3_by_batch(sattn_conform_problem *p)
{
    sattn_mask *const mask = &p->args.mask;
    if (mask->kind == SATTN_MASK_NONE || mask->extent[0] > 1 || mask->extent[1] == 1 ||
        p->args.batch != p->args.n_q_heads)
        return false;
    mask->extent[0] = mask->extent[1];
    mask->stride[0] = mask->stride[1];
    mask->extent[1] = 1;
    return true;
}

/* ---- numbers */

static bool scale_of_d_v(sattn_conform_problem *p)
{
    if (p->args.has_scale || p->args.d == p->args.d_v)
        return false;
    p->args.has_scale = true;
    p->args.scale = (float)(1 / sqrt((double)p->args.d_v));
    return true;
}

static bool scale_ignored(sattn_conform_problem *p)
{
    const bool was = p->args.has_scale;
    p->args.has_scale = false;
    return was;
}

static bool scale_0_as_default(sattn_conform_problem *p)
{
    return p->args.scale == 0 && scale_ignored(p);
}

static bool scale_left_out(sattn_conform_problem *p)
{
    if (p->args.d == 1 || p->args.has_scale)
        return false;
    p->args.has_scale = true;
    p->args.scale = 1;
    return true;
}

static bool softcap_ignored(sattn_conform_problem *p)
{
    const bool was = p->args.softcap != 0;
    p->args.softcap = 0;
    return was;
}

/* ---- scores */

static bool stage_as(sattn_conform_problem *p, sattn_scores_stage from, sattn_scores_stage to)
{
    const bool was = p->has_qk && p->args.scores_stage == from;
    if (was)
        p->args.scores_stage = to;
    return was;
}

static bool stage_0_softcapped(sattn_conform_problem *p)
{
    return stage_as(p, SATTN_SCORES_SCALED, SATTN_SCORES_SOFTCAPPED);
}

static bool stage_1_not_softcapped(sattn_conform_problem *p)
{
    return stage_as(p, SATTN_SCORES_SOFTCAPPED, SATTN_SCORES_SCALED);
}

static bool stage_1_biased(sattn_conform_problem *p)
{
    return stage_as(p, SATTN_SCORES_SOFTCAPPED, SATTN_SCORES_BIASED);
}

static bool stage_2_not_biased(sattn_conform_problem *p)
{
    return stage_as(p, SATTN_SCORES_BIASED, SATTN_SCORES_SOFTCAPPED);
}

static bool stage_3_biased(sattn_conform_problem *p)
{
    return stage_as(p, SATTN_SCORES_PROBABILITIES, SATTN_SCORES_BIASED);
}

/* ---- layout */

/* New rows before the past ones. */
static bool swap_past(sattn_conform_problem *p, sattn_view *view, int64_t width)
{
    const sattn_conform_dims *const n = &p->test->dims;
    float *const copy =
        sattn_conform_allocate(p, (size_t)(n->batch * n->kv_heads * n->n_k * width), sizeof *copy);
    for (int64_t head = 0; copy && head < n->batch * n->kv_heads; ++head)
        for (int64_t t = 0; t < n->n_k; ++t)
            memcpy(copy + (head * n->n_k + (t + n->n_new) % n->n_k) * width,
                   (const float *)view->data + (head * n->n_k + t) * width,
                   (size_t)width * sizeof *copy);
    view->data = copy;
    return copy != NULL;
}

static bool past_behind_new(sattn_conform_problem *p)
{
    return p->test->dims.n_past > 0 && swap_past(p, &p->args.k, p->args.d) &&
           swap_past(p, &p->args.v, p->args.d_v);
}

static void as_4d(sattn_view *view, int64_t rows, int64_t width)
{
    view->stride_h = rows * width;
    view->stride_t = width;
}

/* Columns of a 3-D tensor cut into heads without the exchange of axes. */
static bool heads_not_exchanged(sattn_conform_problem *p)
{
    sattn_attention_args *const a = &p->args;
    if (!p->test->is_3d || a->n_q_heads == 1)
        return false;
    as_4d(&a->q, a->n_q, a->d);
    if (p->test->dims.n_past == 0) {
        as_4d(&a->k, a->n_k, a->d);
        as_4d(&a->v, a->n_k, a->d_v);
    }
    return true;
}

const wrong_call wrong_calls[] = {
    {"causal or window offset one more", offset_one_more},
    {"causal or window offset one less", offset_one_less},
    {"offset 0, past and padding ignored", offset_ignored},
    {"offset never below 0", offset_not_negative},
    {"offset keys less queries, always", offset_bottom_right},
    {"offset of the first batch entry", offset_of_first_entry},
    {"is_causal ignored", causal_ignored},
    {"window ignored", window_ignored},
    {"window ignored unless causal", window_only_if_causal},
    {"window one wider on the left", window_left_more},
    {"window one narrower on the left", window_left_less},
    {"window one wider on the right", window_right_more},
    {"window one narrower on the right", window_right_less},
    {"window's left side ignored", window_left_ignored},
    {"window's right side ignored", window_right_ignored},
    {"nonpad ignored as a length", nonpad_ignored},
    {"nonpad as index of the last key", nonpad_as_last_index},
    {"nonpad one less", nonpad_one_less},
    {"nonpad of the first batch entry", nonpad_of_first_entry},
    {"nonpad 0 taken for 1", nonpad_at_least_1},
    {"mask ignored", mask_ignored},
    {"boolean mask inverted", mask_inverted},
    {"bias subtracted", bias_subtracted},
    {"bias used as a boolean", bias_as_bool},
    {"-inf bias replaced by -1e4", bias_inf_as_1e4},
    {"-inf bias replaced by -FLT_MAX", bias_inf_as_lowest},
    {"short mask completed with 0 or true", mask_completed_with_0},
    {"mask of one column broadcast", mask_column_broadcast},
    {"mask of the first batch entry", mask_of_first_entry},
    {"mask of the first head", mask_of_first_head},
    {"mask of the first row", mask_of_first_row},
    {"rank-3 mask by batch entry", mask_rank_3_by_batch},
    {"default scale from Dv", scale_of_d_v},
    {"scale attribute ignored", scale_ignored},
    {"scale 0 taken for the default", scale_0_as_default},
    {"no scale", scale_left_out},
    {"softcap ignored", softcap_ignored},
    {"mode 0 softcapped", stage_0_softcapped},
    {"mode 1 not softcapped", stage_1_not_softcapped},
    {"mode 1 with the bias", stage_1_biased},
    {"mode 2 without the bias", stage_2_not_biased},
    {"mode 3 before softmax", stage_3_biased},
    {"past behind new keys", past_behind_new},
    {"3-D heads not exchanged with tokens", heads_not_exchanged},
};
const int n_wrong_calls = sizeof wrong_calls / sizeof wrong_calls[0];
