/* SPDX-License-Identifier: MIT
 *
 * explain_shape.c: from options to the shape that is explained. */
#include "bench/explain/explain_given.h"

#include "bench/suggest.h"
#include "bench/tune/regret_shapes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *sattn_extent_option(sattn_extent extent)
{
    static const char *const names[SATTN_EXTENTS] = {"--n-q",   "--n-k",      "--d",     "--d-v",
                                                     "--heads", "--kv-heads", "--batch", "--n"};
    return names[extent];
}

static bool complain(const char *word, const char *text)
{
    fprintf(stderr, "simdattn explain: %s%s\n", word, text);
    return false;
}

const sattn_shape *sattn_explain_shape_at(size_t index)
{
    size_t count, n_regret;
    const sattn_shape *const shapes = sattn_shapes(&count);
    const sattn_regret_shape *const regret = sattn_regret_shapes(&n_regret);
    return index < count              ? &shapes[index]
           : index - count < n_regret ? &regret[index - count].shape
                                      : NULL;
}

bool sattn_explain_set_shape(void *into, const char *name, char *error, size_t error_size)
{
    const sattn_shape **const shape = into;
    size_t count = 0, n_begin = 0;
    const sattn_shape *begins = NULL;
    char nearest[512];
    *shape = NULL;
    while (sattn_explain_shape_at(count))
        ++count;
    const char **const names = calloc(count + 1, sizeof *names);
    if (!names) {
        snprintf(error, error_size, "out of memory");
        return false;
    }
    for (size_t s = 0; s < count; ++s) {
        const sattn_shape *const named = sattn_explain_shape_at(s);
        if (strcmp(named->name, name) == 0)
            *shape = named;
        if (!*name || strncmp(named->name, name, strlen(name)) != 0)
            continue;
        begins = named;
        names[n_begin++] = named->name;
    }
    if (!*shape && n_begin == 1)
        *shape = begins;
    for (size_t s = 0; n_begin == 0 && s < count; ++s)
        names[s] = sattn_explain_shape_at(s)->name;
    sattn_suggest(name, names, n_begin ? n_begin : count, nearest, sizeof nearest);
    free(names);
    if (!*shape)
        snprintf(error, error_size, "%s '%s'%s",
                 n_begin ? "several names begin with" : "there is no", name, nearest);
    return *shape;
}

static sattn_shape_kind kind_of(sattn_op op)
{
    return op == SATTN_OP_additive     ? SATTN_SHAPE_ALIGNMENT
           : op == SATTN_OP_linear     ? SATTN_SHAPE_MAP
           : op == SATTN_OP_gru        ? SATTN_SHAPE_GATES
           : sattn_op_takes_arrays(op) ? SATTN_SHAPE_ARRAY
                                       : SATTN_SHAPE_ATTENTION;
}

/* Whether calls of the kind are given by a number of elements. */
static bool takes_length(sattn_shape_kind kind)
{
    return kind == SATTN_SHAPE_ARRAY || kind == SATTN_SHAPE_GATES;
}

/* What each op cannot do without, beside what a named shape has. */
static bool is_needed(sattn_op op, sattn_extent extent)
{
    const bool has_length = takes_length(kind_of(op));
    switch (extent) {
    case SATTN_EXTENT_N_Q:
    case SATTN_EXTENT_N_K:
        return !has_length;
    case SATTN_EXTENT_D:
        return !has_length && op != SATTN_OP_softmax && op != SATTN_OP_av;
    case SATTN_EXTENT_D_V:
        return op == SATTN_OP_av;
    case SATTN_EXTENT_LENGTH:
        return has_length;
    default:
        return false;
    }
}

/* What a call of a kind is given by beside what all but arrays and gates take. */
static bool may_have(sattn_shape_kind kind, sattn_extent extent)
{
    if (kind == SATTN_SHAPE_ATTENTION || takes_length(kind))
        return (extent == SATTN_EXTENT_LENGTH) == takes_length(kind);
    return extent == SATTN_EXTENT_N_Q || extent == SATTN_EXTENT_N_K || extent == SATTN_EXTENT_D ||
           (extent == SATTN_EXTENT_BATCH && kind == SATTN_SHAPE_ALIGNMENT);
}

/* A call of each kind, what gives it, and the ops that are such calls; a layer is several calls. */
static const struct {
    const char *name, *given_by, *ops;
} kind_words[] = {
    [SATTN_SHAPE_ATTENTION] = {"an attention", "--n-q, --n-k and --d", "fused, qk, softmax or av"},
    [SATTN_SHAPE_ARRAY] = {"an array", "its length, as --n 4096", "exp, tanh or sigmoid"},
    [SATTN_SHAPE_ALIGNMENT] = {"an alignment", "--n-q, --n-k and --d", "additive"},
    [SATTN_SHAPE_MAP] = {"a linear map", "--n-q (rows), --n-k (outputs) and --d (inputs)",
                         "linear"},
    [SATTN_SHAPE_GATES] = {"gated units", "their number, as --n 512", "gru"},
    [SATTN_SHAPE_DECODER] = {"a decoder", NULL, NULL},
    [SATTN_SHAPE_SELF] = {"a self-attention layer", NULL, NULL},
    [SATTN_SHAPE_GENERAL] = {"a general attention layer", NULL, NULL},
    [SATTN_SHAPE_ATTEND] = {"an attention layer", NULL, NULL}};

/* "<word><why>--op exp takes an array, given by ..." */
static bool complain_kind(const char *word, const char *why, sattn_op op)
{
    const sattn_shape_kind kind = kind_of(op);
    fprintf(stderr, "simdattn explain: %s%s--op %s takes %s, given by %s\n", word, why,
            sattn_op_name(op), kind_words[kind].name, kind_words[kind].given_by);
    return false;
}

static bool any_extent(const sattn_explain_given *given)
{
    for (int e = 0; e < SATTN_EXTENTS; ++e)
        if (given->extents[e] > 0)
            return true;
    return false;
}

/* Whether op, named shape and extents are all of one kind of call. */
static bool check_kinds(const sattn_explain_given *given)
{
    const sattn_op op = given->options->op;
    const sattn_shape_kind kind = kind_of(op);
    if (!given->named && !any_extent(given))
        return complain("which call? Name a shape, as --shape llama3-8b-decode-2049, or give ",
                        takes_length(kind) ? "--n" : "--n-q, --n-k and --d");
    if (given->named && given->named->kind != kind) {
        char why[128];
        const char *const name = kind_words[given->named->kind].name;
        const char *const ops = kind_words[given->named->kind].ops;
        if (ops)
            snprintf(why, sizeof why, " is %s, expected --op %s with it: ", name, ops);
        else
            snprintf(why, sizeof why, " is %s, whose parts are calls of their own: ", name);
        return complain_kind(given->named->name, why, op);
    }
    for (int x = 0; x < SATTN_EXTENTS; ++x)
        if (given->extents[x] > 0 && !may_have(kind, (sattn_extent)x))
            return complain_kind(sattn_extent_option((sattn_extent)x),
                                 x == SATTN_EXTENT_LENGTH
                                     ? " is of arrays and gated units, expected --op exp, tanh, "
                                       "sigmoid or gru with it: "
                                     : ": ",
                                 op);
    return true;
}

/* What was given of a whole attention alone, or of another kind of call; NULL: nothing. */
static const char *foreign_option(const sattn_explain_given *given)
{
    const sattn_explain_options *const o = given->options;
    const sattn_shape_kind kind = kind_of(o->op);
    const bool is_part = o->op != SATTN_OP_fused, is_apart = kind != SATTN_SHAPE_ATTENTION;
    const struct {
        bool is_foreign;
        const char *name;
    } options[] = {{is_part && o->plan, "--plan"},
                   {is_part && o->key_splits > 0, "--key-splits"},
                   {is_part && o->has_scores, "--scores"},
                   {is_apart && given->is_causal, "--causal"},
                   {is_apart && o->has_window, "--window"},
                   {is_apart && given->mask != SATTN_MASK_NONE, "--mask"},
                   {is_apart && given->is_strided, "--strided"},
                   {kind != SATTN_SHAPE_MAP && given->is_packed, "--packed"}};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; ++i)
        if (options[i].is_foreign)
            return options[i].name;
    return NULL;
}

/* A call of one head of each kind and one batch entry, with nothing hidden. */
static sattn_shape plain_shape(sattn_shape_kind kind)
{
    return (sattn_shape){.name = "",
                         .real_layer = -1,
                         .batch = 1,
                         .n_q_heads = 1,
                         .n_kv_heads = 1,
                         .n_q = 1,
                         .n_k = 1,
                         .d = 1,
                         .d_v = 1,
                         .kind = kind};
}

static void put(int64_t *to, int64_t given)
{
    if (given > 0)
        *to = given;
}

static void apply_extents(const sattn_explain_given *given, sattn_shape *shape)
{
    const int64_t *const e = given->extents;
    put(&shape->n_q, e[SATTN_EXTENT_N_Q]);
    put(&shape->n_k, e[SATTN_EXTENT_N_K]);
    put(&shape->n_k, e[SATTN_EXTENT_LENGTH]);
    put(&shape->d, e[SATTN_EXTENT_D]);
    put(&shape->d_v, e[SATTN_EXTENT_D]);
    put(&shape->d_v, e[SATTN_EXTENT_D_V]);
    put(&shape->batch, e[SATTN_EXTENT_BATCH]);
    if (!given->named && e[SATTN_EXTENT_HEADS] == 0)
        put(&shape->n_q_heads, e[SATTN_EXTENT_KV_HEADS]);
    put(&shape->n_q_heads, e[SATTN_EXTENT_HEADS]);
    if (!given->named)
        put(&shape->n_kv_heads, e[SATTN_EXTENT_HEADS]);
    put(&shape->n_kv_heads, e[SATTN_EXTENT_KV_HEADS]);
    if (shape->kind == SATTN_SHAPE_GATES && e[SATTN_EXTENT_LENGTH] > 0) { /* of one row */
        shape->n_q = shape->n_k = 1;
        shape->d_v = e[SATTN_EXTENT_LENGTH];
        shape->d = 3 * shape->d_v;
    }
    if (shape->kind == SATTN_SHAPE_MAP)
        shape->d_v = 1;
}

static void apply_flags(const sattn_explain_given *given, sattn_shape *shape)
{
    sattn_explain_options *const o = given->options;
    shape->causal = shape->causal || given->is_causal;
    shape->is_interleaved = shape->is_interleaved || given->is_strided;
    shape->is_packed = shape->is_packed || given->is_packed;
    if (given->mask != SATTN_MASK_NONE)
        shape->mask = (sattn_shape_mask){
            .content = SATTN_CONTENT_INPUT, .kind = given->mask, .per_query = true};
    if (o->has_window) {
        const bool is_named = o->window_left >= 0 && o->window_right == 0;
        shape->window = is_named ? o->window_left + 1 : 0;
    } else if (shape->window > 0) {
        o->has_window = true;
        o->window_left = shape->window - 1;
        o->window_right = 0;
    }
}

bool sattn_explain_complete(sattn_explain_given *given)
{
    sattn_explain_options *const o = given->options;
    const char *const foreign = foreign_option(given);
    if (!check_kinds(given))
        return false;
    if (foreign && kind_of(o->op) != SATTN_SHAPE_ATTENTION)
        return complain_kind(foreign, " means nothing to the call: ", o->op);
    if (foreign)
        return complain(foreign, given->is_packed
                                     ? " is of linear maps: expected it with --op linear"
                                     : " is of whole attentions: expected it without --op, or with "
                                       "--op fused");
    for (int e = 0; !given->named && e < SATTN_EXTENTS; ++e) {
        const bool is_square = e == SATTN_EXTENT_D_V && given->extents[SATTN_EXTENT_D] > 0;
        if (is_needed(o->op, (sattn_extent)e) && given->extents[e] == 0 && !is_square)
            return complain(sattn_extent_option((sattn_extent)e),
                            " is missing: a call is given by its extents, or by --shape");
    }
    const bool has_window = o->has_window;
    o->shape = given->named ? *given->named : plain_shape(kind_of(o->op));
    apply_extents(given, &o->shape);
    apply_flags(given, &o->shape);
    o->is_changed =
        given->named && (any_extent(given) || given->is_causal || given->is_strided ||
                         given->is_packed || given->mask != SATTN_MASK_NONE || has_window);
    return true;
}
