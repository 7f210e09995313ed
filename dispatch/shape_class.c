/* SPDX-License-Identifier: MIT
 *
 * shape_class.c: see shape_class.h. One table says which fields the class of a call has; text is
 * written and read by it. */
#include "dispatch/shape_class.h"

#include "dispatch/share.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNTED_EXACTLY = 8, COUNT_LOG2_MAX = 30 }; /* of groups and threads */

static int ceil_log2(int64_t n)
{
    return n <= 1 ? 0 : 64 - __builtin_clzll((unsigned long long)n - 1);
}

/* Up to 8 the count itself, then the power of two above. */
static int count_class(int64_t count)
{
    if (count <= COUNTED_EXACTLY)
        return count > 1 ? (int)count : 1;
    const int log2 = ceil_log2(count);
    return 1 << (log2 < COUNT_LOG2_MAX ? log2 : COUNT_LOG2_MAX);
}

/* Numbers the counts that count_class gives. */
static uint64_t count_rank(int count)
{
    return (uint64_t)(count <= COUNTED_EXACTLY ? count : COUNTED_EXACTLY + ceil_log2(count));
}

sattn_mask_class sattn_mask_class_of(const sattn_attention_args *a, sattn_computation computation)
{
    if (!sattn_computation_sees(computation))
        return SATTN_MASKED_BY_NOTHING;
    if (a->mask.kind != SATTN_MASK_NONE)
        return SATTN_MASKED_BY_MASK;
    if (a->has_window)
        return SATTN_MASKED_BY_WINDOW;
    return a->causal && (a->causal_offset || a->n_q > 1) ? SATTN_MASKED_BY_CAUSAL
                                                         : SATTN_MASKED_BY_NOTHING;
}

sattn_shape_class sattn_class_of(const sattn_attention_args *a, sattn_computation computation,
                                 int threads)
{
    const sattn_call call = sattn_call_of_computation(computation);
    const bool has_k = call == SATTN_CALL_ATTENTION || call == SATTN_CALL_QK;
    const bool has_v = call == SATTN_CALL_ATTENTION || call == SATTN_CALL_AV;
    const int64_t n_group = sattn_group_of(a);
    int64_t rows;
    if (__builtin_mul_overflow(n_group, a->n_q, &rows))
        rows = INT64_MAX;
    return (sattn_shape_class){
        .call = call,
        .phase = sattn_phase_of(n_group, a->n_q),
        .rows_log2 = ceil_log2(rows),
        .keys_log2 = ceil_log2(a->n_k),
        .d_log2 = has_k ? ceil_log2(a->d) : 0,
        .d_v_log2 = has_v ? ceil_log2(a->d_v) : 0,
        .group = count_class(n_group),
        .mask = sattn_mask_class_of(a, computation),
        .is_strided =
            a->n_k > 1 && ((has_k && a->k.stride_t != a->d) || (has_v && a->v.stride_t != a->d_v)),
        .threads = count_class(threads),
    };
}

sattn_shape_class sattn_class_of_array(sattn_op op, int64_t n, int threads)
{
    return (sattn_shape_class){
        .call = sattn_call_of_op(op), .keys_log2 = ceil_log2(n), .threads = count_class(threads)};
}

sattn_shape_class sattn_class_of_additive(int64_t n_q, int64_t n_k, int64_t d, bool is_strided,
                                          int threads)
{
    return (sattn_shape_class){.call = SATTN_CALL_ADDITIVE,
                               .phase = sattn_phase_of(1, n_q),
                               .rows_log2 = ceil_log2(n_q),
                               .keys_log2 = ceil_log2(n_k),
                               .d_log2 = ceil_log2(d),
                               .is_strided = is_strided,
                               .threads = count_class(threads)};
}

static sattn_phase phase_of_linear(int64_t n_rows, bool is_packed)
{
    return n_rows > sattn_few_rows_of(is_packed) ? SATTN_PHASE_PREFILL : sattn_phase_of(1, n_rows);
}

sattn_shape_class sattn_class_of_linear(int64_t n_rows, int64_t n_out, int64_t n_in, bool is_packed,
                                        int threads)
{
    return (sattn_shape_class){.call = SATTN_CALL_LINEAR,
                               .phase = phase_of_linear(n_rows, is_packed),
                               .rows_log2 = ceil_log2(n_rows),
                               .keys_log2 = ceil_log2(n_out),
                               .d_log2 = ceil_log2(n_in),
                               .is_packed = is_packed,
                               .threads = count_class(threads)};
}

uint64_t sattn_class_key(const sattn_shape_class *c)
{
    uint64_t key = (uint64_t)c->call + 1;
    key = key << 3 | (uint64_t)c->phase;
    key = key << 6 | (uint64_t)c->rows_log2;
    key = key << 6 | (uint64_t)c->keys_log2;
    key = key << 6 | (uint64_t)c->d_log2;
    key = key << 6 | (uint64_t)c->d_v_log2;
    key = key << 6 | count_rank(c->group);
    key = key << 2 | (uint64_t)c->mask;
    key = key << 1 | (uint64_t)c->is_strided;
    key = key << 1 | (uint64_t)c->is_packed;
    return key << 6 | count_rank(c->threads);
}

/* ---- text */

typedef enum field_kind { IS_PHASE, IS_LOG2, IS_COUNT, IS_MASK, IS_STRIDED, IS_PACKED } field_kind;

/* Calls that have the same fields. */
enum {
    OF_ATTENTION = 1,
    OF_QK = 2,
    OF_SOFTMAX = 4,
    OF_AV = 8,
    OF_ARRAYS = 16,
    OF_ADDITIVE = 32,
    OF_LINEAR = 64,
    OF_STEPS = OF_ATTENTION | OF_QK | OF_SOFTMAX | OF_AV,
    OF_ROWS = OF_STEPS | OF_ADDITIVE | OF_LINEAR,
};

static const unsigned groups[SATTN_CALL_COUNT] = {
    [SATTN_CALL_ATTENTION] = OF_ATTENTION, [SATTN_CALL_QK] = OF_QK,
    [SATTN_CALL_SOFTMAX] = OF_SOFTMAX,     [SATTN_CALL_AV] = OF_AV,
    [SATTN_CALL_EXP] = OF_ARRAYS,          [SATTN_CALL_TANH] = OF_ARRAYS,
    [SATTN_CALL_SIGMOID] = OF_ARRAYS,      [SATTN_CALL_ADDITIVE] = OF_ADDITIVE,
    [SATTN_CALL_LINEAR] = OF_LINEAR,       [SATTN_CALL_GRU] = OF_ARRAYS};

static const struct {
    field_kind kind;
    unsigned groups;
    const char *name;
    size_t at; /* of an int in the struct, where the field is a number */
} fields[] = {
    {IS_PHASE, OF_ROWS, " ", 0},
    {IS_LOG2, OF_ROWS, " rows<=", offsetof(sattn_shape_class, rows_log2)},
    {IS_LOG2, OF_STEPS | OF_ADDITIVE, " keys<=", offsetof(sattn_shape_class, keys_log2)},
    {IS_LOG2, OF_LINEAR, " outputs<=", offsetof(sattn_shape_class, keys_log2)},
    {IS_LOG2, OF_ARRAYS, " n<=", offsetof(sattn_shape_class, keys_log2)},
    {IS_LOG2, OF_ATTENTION | OF_QK | OF_ADDITIVE, " d<=", offsetof(sattn_shape_class, d_log2)},
    {IS_LOG2, OF_LINEAR, " inputs<=", offsetof(sattn_shape_class, d_log2)},
    {IS_LOG2, OF_ATTENTION | OF_AV, " d_v<=", offsetof(sattn_shape_class, d_v_log2)},
    {IS_COUNT, OF_STEPS, " group=", offsetof(sattn_shape_class, group)},
    {IS_MASK, OF_ATTENTION | OF_SOFTMAX | OF_AV, " ", 0},
    {IS_STRIDED, OF_ATTENTION | OF_QK | OF_AV | OF_ADDITIVE, " ", 0},
    {IS_PACKED, OF_LINEAR, " ", 0},
    {IS_COUNT, OF_ROWS | OF_ARRAYS, " threads=", offsetof(sattn_shape_class, threads)},
};
enum { FIELDS = sizeof fields / sizeof fields[0] };

static const char *const mask_names[SATTN_MASK_CLASS_COUNT] = {[SATTN_MASKED_BY_NOTHING] =
                                                                   "unmasked",
                                                               [SATTN_MASKED_BY_CAUSAL] = "causal",
                                                               [SATTN_MASKED_BY_WINDOW] = "window",
                                                               [SATTN_MASKED_BY_MASK] = "mask"};
static const char *const stride_names[2] = {"dense", "strided"};
static const char *const packing_names[2] = {"in-place", "packed"};
static const char *const phase_names[SATTN_PHASE_DECODE + 1] = {[SATTN_PHASE_PREFILL] = "prefill",
                                                                [SATTN_PHASE_FEW_QUERY] =
                                                                    "few-query",
                                                                [SATTN_PHASE_DECODE] = "decode"};

static bool has_field(sattn_call call, int field)
{
    return (fields[field].groups & groups[call]) != 0;
}

static const char *word_of(const sattn_shape_class *c, field_kind kind)
{
    return kind == IS_PHASE    ? phase_names[c->phase]
           : kind == IS_MASK   ? mask_names[c->mask]
           : kind == IS_PACKED ? packing_names[c->is_packed]
                               : stride_names[c->is_strided];
}

void sattn_class_print(const sattn_shape_class *c, char text[SATTN_CLASS_TEXT])
{
    int used = snprintf(text, SATTN_CLASS_TEXT, "%s", sattn_call_name(c->call));
    for (int i = 0; i < FIELDS; ++i) {
        if (!has_field(c->call, i))
            continue;
        int number = 0;
        memcpy(&number, (const char *)c + fields[i].at, sizeof number);
        char *const at = text + used;
        const size_t left = SATTN_CLASS_TEXT - (size_t)used;
        if (fields[i].kind == IS_LOG2)
            used += snprintf(at, left, "%s%llu", fields[i].name, 1ull << number);
        else if (fields[i].kind == IS_COUNT)
            used += snprintf(at, left, "%s%d", fields[i].name, number);
        else
            used += snprintf(at, left, "%s%s", fields[i].name, word_of(c, fields[i].kind));
    }
}

/* Takes the name off the front of the text. */
static bool takes(const char **text, const char *name)
{
    const size_t length = strlen(name);
    if (strncmp(*text, name, length) != 0)
        return false;
    *text += length;
    return true;
}

/* The longest of the names that the text begins with, as a whole word; -1: none. */
static int take_word(const char **text, const char *const *names, int n_names)
{
    const size_t length = strcspn(*text, " ");
    for (int i = 0; i < n_names; ++i)
        if (names[i] && strlen(names[i]) == length && strncmp(*text, names[i], length) == 0) {
            *text += length;
            return i;
        }
    return -1;
}

/* A number; a power of two as its logarithm. */
static bool take_number(const char **text, field_kind kind, int *number)
{
    char *end;
    if (**text < '0' || **text > '9')
        return false;
    errno = 0;
    const unsigned long long value = strtoull(*text, &end, 10);
    *text = end;
    if (errno != 0 || value == 0)
        return false;
    if (kind == IS_LOG2) {
        *number = 63 - __builtin_clzll(value);
        return value == 1ull << *number;
    }
    *number = value <= 1ull << COUNT_LOG2_MAX ? (int)value : 0;
    return *number > 0 && count_class(*number) == *number;
}

static bool take_field(const char **text, int field, sattn_shape_class *c)
{
    int number = -1;
    if (!takes(text, fields[field].name))
        return false;
    switch (fields[field].kind) {
    case IS_PHASE:
        number = take_word(text, phase_names, SATTN_PHASE_DECODE + 1);
        c->phase = (sattn_phase)number;
        break;
    case IS_MASK:
        number = take_word(text, mask_names, SATTN_MASK_CLASS_COUNT);
        c->mask = (sattn_mask_class)number;
        break;
    case IS_STRIDED:
        number = take_word(text, stride_names, 2);
        c->is_strided = number == 1;
        break;
    case IS_PACKED:
        number = take_word(text, packing_names, 2);
        c->is_packed = number == 1;
        break;
    case IS_LOG2:
    case IS_COUNT:
        if (!take_number(text, fields[field].kind, &number))
            return false;
        memcpy((char *)c + fields[field].at, &number, sizeof number);
        break;
    }
    return number >= 0;
}

bool sattn_class_parse(const char *text, sattn_shape_class *shape_class)
{
    char again[SATTN_CLASS_TEXT];
    const char *at = text;
    sattn_shape_class c = {0};
    const char *names[SATTN_CALL_COUNT];
    for (int i = 0; i < SATTN_CALL_COUNT; ++i)
        names[i] = sattn_call_name((sattn_call)i);
    const int call = take_word(&at, names, SATTN_CALL_COUNT);
    bool is_legal = call >= 0;
    c.call = is_legal ? (sattn_call)call : SATTN_CALL_ATTENTION;
    for (int i = 0; is_legal && i < FIELDS; ++i)
        is_legal = !has_field(c.call, i) || take_field(&at, i, &c);
    if (!is_legal)
        return false;
    sattn_class_print(&c, again); /* numbers may be written otherwise, and more may follow */
    if (strcmp(text, again) != 0)
        return false;
    *shape_class = c;
    return true;
}
