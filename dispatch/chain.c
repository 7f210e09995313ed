/* SPDX-License-Identifier: MIT
 *
 * chain.c: qk, softmax and av over blocks of query rows. */
#include "dispatch/chain.h"

#include "kernels/visibility.h"

#include <math.h>

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t sattn_chain_columns(const sattn_attention_args *a, int64_t block_rows)
{
    const int64_t right = a->causal ? 0 : a->window_right;
    if (!a->has_window || a->window_left < 0 || right < 0 || a->window_left >= a->n_k ||
        right >= a->n_k || (a->scores && a->scores_stage == SATTN_SCORES_PROBABILITIES))
        return a->n_k;
    /* The first row's first key, less what rounding down to a key block adds, to the last row's
     * last key. */
    const int64_t seen = a->window_left + 1 + right + block_rows - 1;
    return least(a->n_k, seen + SATTN_KEY_BLOCK - 1);
}

/* Rows whose scores take at most so many bytes, 0 or more. */
static int64_t rows_within(const sattn_attention_args *a, int64_t n_group, int64_t bytes)
{
    int64_t rows = a->n_q > 1 ? a->n_q : 1;
    for (int pass = 0; pass < 2; ++pass) { /* a window makes rows shorter where there are fewer */
        const int64_t columns = sattn_chain_columns(a, pass == 0 ? 1 : rows);
        const int64_t stride = columns > 0 ? sattn_chain_row_stride(columns) : 1;
        rows = least(rows, bytes / (int64_t)sizeof(float) / stride / n_group);
    }
    return rows;
}

int64_t sattn_chain_block_rows(const sattn_attention_args *a, int64_t n_group, int64_t tile_rows)
{
    int64_t rows = rows_within(a, n_group, SATTN_CHAIN_BYTES);
    const int64_t tile = (tile_rows - 1) / n_group + 1; /* rows of a head to fill a tile */
    if (rows < tile)
        rows = least(tile, rows_within(a, n_group, SATTN_CHAIN_BYTES_MAX));
    else if (rows < a->n_q)
        rows -= rows % tile;
    return rows > 1 ? rows : 1;
}

/* Rows of scores, of a block or of the caller's memory: key 0 of row 0 of the group's first head.
 */
typedef struct score_rows {
    float *data;
    int64_t stride, group_stride;
} score_rows;

typedef struct block {
    const sattn_plan *plan;
    const sattn_unit *unit; /* the block's rows */
    const sattn_unit_memory *memory;
    sattn_key_range seen; /* keys that some row may see, from a multiple of the key block on */
    score_rows own;       /* memory of the block; key seen.begin at [0] */
    score_rows asked;     /* the caller's, key 0 at [0]; data NULL: none is asked for */
} block;

/* The keys that one of n_rows rows may see. */
static sattn_key_range seen_by(const sattn_visibility *visible, int64_t n_rows)
{
    sattn_key_range seen = {visible->n_k, 0};
    for (int64_t i = 0; i < n_rows; ++i) {
        const sattn_key_range row = sattn_visible_range(visible, i);
        if (row.begin == row.end)
            continue;
        seen.begin = row.begin < seen.begin ? row.begin : seen.begin;
        seen.end = row.end > seen.end ? row.end : seen.end;
    }
    seen.begin -= seen.begin % SATTN_KEY_BLOCK;
    return seen.begin < seen.end ? seen : (sattn_key_range){0, 0};
}

static const float *key_row(sattn_key_rows rows, int64_t j)
{
    return rows.data ? rows.data + j * rows.stride : NULL;
}

/* Scores of the keys [keys.begin, keys.end); the first goes to s.data[column]. */
static void score(const block *b, float softcap, sattn_key_range keys, const score_rows *s,
                  int64_t column)
{
    const sattn_unit *const u = b->unit;
    const sattn_key_rows k = {u->k, u->k_stride};
    const sattn_qk_args args = {.q = u->q,
                                .k = key_row(k, keys.begin - column),
                                .s = s->data,
                                .q_stride = u->q_stride,
                                .k_stride = k.stride,
                                .s_stride = s->stride,
                                .q_group_stride = u->q_group_stride,
                                .s_group_stride = s->group_stride,
                                .n_group = u->n_group,
                                .i1 = u->n_q,
                                .j0 = column,
                                .j1 = column + keys.end - keys.begin,
                                .d = u->d,
                                .scale = b->plan->scale,
                                .softcap = softcap,
                                .scratch = b->memory->scratch};
    if (keys.begin < keys.end)
        b->plan->kernels[SATTN_OP_qk]->fn.qk(&args);
}

/* Weights p of the keys [keys.begin, keys.end), which lie at s[0] and p[0] on; columns of p behind
 * them, up to n_columns, become 0. */
static void weigh(const block *b, sattn_key_range keys, int64_t n_columns, const score_rows *s,
                  const score_rows *p)
{
    const sattn_unit *const u = b->unit;
    const bool has_stats = u->lse || u->sinks;
    const sattn_softmax_args args = {
        .s = s->data,
        .p = p->data,
        .s_stride = s->stride,
        .p_stride = p->stride,
        .s_group_stride = s->group_stride,
        .p_group_stride = p->group_stride,
        .n_group = u->n_group,
        .i1 = u->n_q,
        .n_columns = n_columns,
        .visible = sattn_visibility_from(&u->visible, 0, keys.begin, keys.end - keys.begin),
        .row_max = has_stats ? b->memory->row_max : NULL,
        .row_sum = has_stats ? b->memory->row_sum : NULL,
        .stat_group_stride = u->n_q,
        .scratch = b->memory->scratch};
    b->plan->kernels[SATTN_OP_softmax]->fn.softmax(&args);
    if (u->sinks)
        sattn_weigh_sinks(&args, u->sinks);
}

static void average_block(const block *b, const score_rows *p)
{
    const sattn_unit *const u = b->unit;
    const sattn_key_rows v = sattn_unit_v(u), given = {u->v, u->v_stride};
    const sattn_av_args args = {.p = p->data,
                                .v = key_row(v, b->seen.begin),
                                .o = u->o,
                                .p_stride = p->stride,
                                .v_stride = v.stride,
                                .o_stride = u->o_stride,
                                .p_group_stride = p->group_stride,
                                .o_group_stride = u->o_group_stride,
                                .n_group = u->n_group,
                                .i1 = u->n_q,
                                .d_v = u->d_v,
                                .visible = sattn_visibility_from(&u->visible, 0, b->seen.begin,
                                                                 b->seen.end - b->seen.begin),
                                .scratch = b->memory->scratch};
    sattn_average(b->plan, &args, (sattn_key_rows){key_row(given, b->seen.begin), given.stride},
                  &b->memory->repair);
}

/* How far query row i stands from key j. */
static float distance(const sattn_visibility *visible, int64_t i, int64_t j)
{
    const int64_t position = sattn_add_held(visible->causal_offset, i);
    return position > j ? (float)((uint64_t)position - (uint64_t)j)
                        : (float)((uint64_t)j - (uint64_t)position);
}

/* Rounded once but for ties in double, where the product is exact; the baseline has no FMA. */
static float sloped(float score, float slope, float distance)
{
    return (float)((double)score - (double)slope * (double)distance);
}

/* The caller's scores get their bias, and -inf where the row does not see the key. */
static void add_bias(const block *b)
{
    const sattn_unit *const u = b->unit;
    for (int64_t g = 0; g < u->n_group; ++g)
        for (int64_t i = 0; i < u->n_q; ++i) {
            float *const s = b->asked.data + g * b->asked.group_stride + i * b->asked.stride;
            const sattn_key_range range = sattn_visible_range(&u->visible, i);
            const uint8_t *const allow = sattn_mask_bool_row(&u->visible, g, i);
            const float *const bias = sattn_mask_add_row(&u->visible, g, i);
            const int64_t key_stride = u->visible.mask_key_stride;
            for (int64_t j = 0; j < range.begin; ++j)
                s[j] = -INFINITY;
            for (int64_t j = range.end; j < u->n_k; ++j)
                s[j] = -INFINITY;
            for (int64_t j = range.begin; u->visible.alibi_slopes && j < range.end; ++j)
                s[j] = sloped(s[j], u->visible.alibi_slopes[g], distance(&u->visible, i, j));
            for (int64_t j = range.begin; allow && j < range.end; ++j)
                s[j] = allow[j * key_stride] ? s[j] : -INFINITY;
            for (int64_t j = range.begin; bias && j < range.end; ++j)
                s[j] = bias[j * key_stride] == -INFINITY ? -INFINITY : s[j] + bias[j * key_stride];
        }
}

/* Scores are the caller's, up to the stage asked for; from there on the block has its own. */
static void run_with_scores(const block *b)
{
    const sattn_attention_args *const a = &b->plan->args;
    const sattn_key_range all = {0, b->unit->visible.n_k};
    const int64_t n_seen = b->seen.end - b->seen.begin;
    score_rows from = b->asked; /* the caller's from the first seen key on */
    from.data += b->seen.begin;
    switch (a->scores_stage) {
    case SATTN_SCORES_SCALED:
        score(b, 0.0f, all, &b->asked, 0);
        if (a->softcap == 0.0f) {
            weigh(b, b->seen, n_seen, &from, &b->own);
        } else {
            score(b, a->softcap, b->seen, &b->own, 0);
            weigh(b, b->seen, n_seen, &b->own, &b->own);
        }
        average_block(b, &b->own);
        break;
    case SATTN_SCORES_SOFTCAPPED:
        score(b, a->softcap, all, &b->asked, 0);
        weigh(b, b->seen, n_seen, &from, &b->own);
        average_block(b, &b->own);
        break;
    case SATTN_SCORES_BIASED:
        score(b, a->softcap, b->seen, &b->asked, b->seen.begin);
        weigh(b, b->seen, n_seen, &from, &b->own);
        average_block(b, &b->own);
        add_bias(b);
        return;
    case SATTN_SCORES_PROBABILITIES:
        score(b, a->softcap, b->seen, &b->asked, b->seen.begin);
        weigh(b, all, b->unit->n_k, &b->asked, &b->asked);
        average_block(b, &from);
        return;
    }
    sattn_fill_missing(b->unit);
}

void sattn_chain_run(const sattn_plan *plan, const sattn_unit *rows,
                     const sattn_unit_memory *memory)
{
    block b = {.plan = plan, .unit = rows, .memory = memory};
    b.seen = seen_by(&rows->visible, rows->n_q);
    const int64_t n_seen = b.seen.end - b.seen.begin;
    b.own.data = memory->scores;
    b.own.stride = sattn_chain_row_stride(n_seen);
    b.own.group_stride = rows->n_q * b.own.stride;
    if (rows->scores && rows->n_k > 0) {
        b.asked = (score_rows){rows->scores, rows->scores_stride, rows->scores_group_stride};
        run_with_scores(&b);
    } else {
        score(&b, plan->args.softcap, b.seen, &b.own, 0);
        weigh(&b, b.seen, n_seen, &b.own, &b.own);
        average_block(&b, &b.own);
    }
    if (rows->sinks)
        sattn_spoil_by_sinks(rows);
    if (rows->lse)
        sattn_write_lse(rows, memory->row_max, memory->row_sum);
}
