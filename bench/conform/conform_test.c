/* SPDX-License-Identifier: MIT
 *
 * conform_test.c: one test of a manifest: operator, attributes, extents and operands. Every
 * operator has its own tables of what it knows, and since which opset. */
#include "bench/conform/conform_manifest.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const char *const input_names[SATTN_CONFORM_INPUTS] = {
    [SATTN_CONFORM_Q] = "q",           [SATTN_CONFORM_K] = "k",
    [SATTN_CONFORM_V] = "v",           [SATTN_CONFORM_MASK] = "mask",
    [SATTN_CONFORM_PAST_K] = "past_k", [SATTN_CONFORM_PAST_V] = "past_v",
    [SATTN_CONFORM_X] = "x",           [SATTN_CONFORM_NONPAD] = "nonpad_kv_seqlen"};
static const char *const output_names[SATTN_CONFORM_OUTPUTS] = {
    [SATTN_CONFORM_Y] = "y",
    [SATTN_CONFORM_QK] = "qk",
    [SATTN_CONFORM_PRESENT_K] = "present_k",
    [SATTN_CONFORM_PRESENT_V] = "present_v"};

#define BIT(n) (1u << (n))

/* What an operator takes: those without which there is no test, and all. */
static const struct {
    const char *name;
    int first_opset, last_opset;
    unsigned needs, takes, outputs;
} ops[SATTN_CONFORM_OPS] = {
    [SATTN_CONFORM_ATTENTION] = {"Attention", 23, 25,
                                 BIT(SATTN_CONFORM_Q) | BIT(SATTN_CONFORM_K) | BIT(SATTN_CONFORM_V),
                                 BIT(SATTN_CONFORM_Q) | BIT(SATTN_CONFORM_K) |
                                     BIT(SATTN_CONFORM_V) | BIT(SATTN_CONFORM_MASK) |
                                     BIT(SATTN_CONFORM_PAST_K) | BIT(SATTN_CONFORM_PAST_V) |
                                     BIT(SATTN_CONFORM_NONPAD),
                                 BIT(SATTN_CONFORM_OUTPUTS) - 1},
    [SATTN_CONFORM_FLEX_ATTENTION] =
        {"FlexAttention", 26, 26,
         BIT(SATTN_CONFORM_Q) | BIT(SATTN_CONFORM_K) | BIT(SATTN_CONFORM_V),
         BIT(SATTN_CONFORM_Q) | BIT(SATTN_CONFORM_K) | BIT(SATTN_CONFORM_V), BIT(SATTN_CONFORM_Y)},
    [SATTN_CONFORM_SOFTMAX] = {"Softmax", 13, 13, BIT(SATTN_CONFORM_X), BIT(SATTN_CONFORM_X),
                               BIT(SATTN_CONFORM_Y)},
    [SATTN_CONFORM_LOG_SOFTMAX] = {"LogSoftmax", 13, 13, BIT(SATTN_CONFORM_X), BIT(SATTN_CONFORM_X),
                                   BIT(SATTN_CONFORM_Y)},
};

const char *sattn_conform_op_name(sattn_conform_op op)
{
    return ops[op].name;
}

const char *sattn_conform_input_name(sattn_conform_input input)
{
    return input_names[input];
}

const char *sattn_conform_output_name(sattn_conform_output output)
{
    return output_names[output];
}

/* ---- attributes */

typedef enum attribute_kind {
    IS_FLAG,
    IS_SMALL,
    IS_EXTENT,
    IS_REAL,
    IS_MODE,
    IS_TYPE
} attribute_kind;

static const struct {
    const char *name;
    unsigned ops; /* that have it */
    int first_opset;
    attribute_kind kind;
    size_t at;
} attributes[] = {
#define AT(field) offsetof(sattn_conform_attributes, field)
    {"is_causal", BIT(SATTN_CONFORM_ATTENTION), 23, IS_FLAG, AT(is_causal)},
    {"scale", BIT(SATTN_CONFORM_ATTENTION) | BIT(SATTN_CONFORM_FLEX_ATTENTION), 23, IS_REAL,
     AT(scale)},
    {"softcap", BIT(SATTN_CONFORM_ATTENTION), 23, IS_REAL, AT(softcap)},
    {"q_num_heads", BIT(SATTN_CONFORM_ATTENTION), 23, IS_EXTENT, AT(q_num_heads)},
    {"kv_num_heads", BIT(SATTN_CONFORM_ATTENTION), 23, IS_EXTENT, AT(kv_num_heads)},
    {"qk_matmul_output_mode", BIT(SATTN_CONFORM_ATTENTION), 23, IS_MODE, AT(qk_matmul_output_mode)},
    {"softmax_precision", BIT(SATTN_CONFORM_ATTENTION), 23, IS_TYPE, AT(softmax_precision)},
    {"left_window_size", BIT(SATTN_CONFORM_ATTENTION), 25, IS_SMALL, AT(left_window_size)},
    {"right_window_size", BIT(SATTN_CONFORM_ATTENTION), 25, IS_SMALL, AT(right_window_size)},
    {"axis", BIT(SATTN_CONFORM_SOFTMAX) | BIT(SATTN_CONFORM_LOG_SOFTMAX), 13, IS_SMALL, AT(axis)},
#undef AT
};

enum { N_ATTRIBUTES = sizeof attributes / sizeof attributes[0] };

/* Sets one attribute; NULL or what was expected of its value. */
static const char *set_attribute(const json_t *value, int a, sattn_conform_attributes *all)
{
    void *const field = (char *)all + attributes[a].at;
    const json_int_t number = json_integer_value(value);
    const double real = json_number_value(value);
    switch (attributes[a].kind) {
    case IS_REAL:
        if (!json_is_number(value) || !isfinite((double)(float)real))
            return "a finite number";
        memcpy(field, &real, sizeof real);
        return NULL;
    case IS_FLAG:
        if (!json_is_integer(value) || number < 0 || number > 1)
            return "0 or 1";
        memcpy(field, &(bool){number == 1}, sizeof(bool));
        return NULL;
    case IS_MODE:
        if (!json_is_integer(value) || number < 0 || number > 3)
            return "0 to 3";
        memcpy(field, &(int){(int)number}, sizeof(int));
        return NULL;
    case IS_TYPE:
        if (!json_is_integer(value) ||
            (number != SATTN_CONFORM_PRECISION_F32 && number != SATTN_CONFORM_PRECISION_F16 &&
             number != SATTN_CONFORM_PRECISION_F64 && number != SATTN_CONFORM_PRECISION_BF16))
            return "1, 10, 11 or 16 (f32, f16, f64, bf16)";
        memcpy(field, &(int){(int)number}, sizeof(int));
        return NULL;
    case IS_EXTENT:
        if (!json_is_integer(value) || number < 1)
            return "1 or more";
        break;
    case IS_SMALL:
        if (!json_is_integer(value) || number < -SATTN_CONFORM_RANK_MAX)
            return "a whole number, -1 or more (an axis may count from the end)";
        break;
    }
    memcpy(field, &(int64_t){number}, sizeof(int64_t));
    return NULL;
}

static bool read_attributes(const sattn_conform_reader *reader, const json_t *object,
                            sattn_conform_test *test)
{
    const char *names[N_ATTRIBUTES] = {NULL};
    size_t count = 0;
    for (int a = 0; a < N_ATTRIBUTES; ++a)
        if (attributes[a].ops & BIT(test->op))
            names[count++] = attributes[a].name;
    if (!sattn_conform_known_keys(reader, object, "attributes", names, count))
        return false;
    sattn_conform_attributes *const all = &test->attributes;
    *all = (sattn_conform_attributes){.left_window_size = -1, .right_window_size = -1, .axis = -1};
    for (int a = 0; a < N_ATTRIBUTES; ++a) {
        const json_t *const value = json_object_get(object, attributes[a].name);
        if (!value)
            continue;
        if (test->opset < attributes[a].first_opset)
            return sattn_conform_refuse(reader, "%s: not in opset %d, only since %d",
                                        attributes[a].name, test->opset, attributes[a].first_opset);
        const char *const expected = set_attribute(value, a, all);
        if (expected)
            return sattn_conform_refuse(reader, "%s: expected %s", attributes[a].name, expected);
    }
    all->has_scale = json_object_get(object, "scale") != NULL;
    if (all->softcap < 0)
        return sattn_conform_refuse(reader, "softcap: expected 0 (off) or more");
    if (all->left_window_size < -1 || all->right_window_size < -1)
        return sattn_conform_refuse(reader, "window sizes: expected -1 (unbounded) or more");
    return true;
}

/* ---- operands */

static bool read_tensors(const sattn_conform_reader *reader, const json_t *object, const char *what,
                         const char *const *all_names, unsigned needs, unsigned takes,
                         sattn_conform_tensor *tensors)
{
    const char *names[SATTN_CONFORM_INPUTS] = {NULL};
    size_t count = 0;
    for (unsigned t = 0; takes >> t; ++t)
        if (takes & BIT(t))
            names[count++] = all_names[t];
    if (!sattn_conform_known_keys(reader, object, what, names, count))
        return false;
    for (unsigned t = 0; takes >> t; ++t) {
        const json_t *const description =
            takes & BIT(t) ? json_object_get(object, all_names[t]) : NULL;
        if (!description && needs & BIT(t))
            return sattn_conform_refuse(reader, "%s: there is no %s", what, all_names[t]);
        if (description &&
            !sattn_conform_tensor_read(reader, description, all_names[t], &tensors[t]))
            return false;
    }
    return true;
}

static bool read_dims(const sattn_conform_reader *reader, const json_t *object,
                      sattn_conform_dims *dims)
{
    static const char *const names[] = {"B", "Hq", "Hkv", "Tq", "Tk", "Tpast", "Ttotal", "D", "Dv"};
    int64_t *const fields[] = {&dims->batch, &dims->q_heads, &dims->kv_heads,
                               &dims->n_q,   &dims->n_new,   &dims->n_past,
                               &dims->n_k,   &dims->d,       &dims->d_v};
    enum { N_DIMS = sizeof names / sizeof names[0] };
    if (!sattn_conform_known_keys(reader, object, "dims", names, N_DIMS))
        return false;
    for (int n = 0; n < N_DIMS; ++n) {
        const json_t *const value = json_object_get(object, names[n]);
        *fields[n] = json_integer_value(value);
        const bool may_be_0 = fields[n] == &dims->n_past;
        if (!json_is_integer(value) || *fields[n] < !may_be_0 || *fields[n] > 1 << 20)
            return sattn_conform_refuse(reader, "dims: %s: expected %d to 2^20", names[n],
                                        !may_be_0);
    }
    return true;
}

/* ---- the test */

static bool read_name(sattn_conform_reader *reader, const json_t *object, sattn_conform_test *test)
{
    static const char *const keys[] = {"name", "op",     "opset",   "origin",
                                       "note", "rtol",   "atol",    "layout",
                                       "dims", "inputs", "outputs", "attributes"};
    test->name = json_string_value(json_object_get(object, "name"));
    if (!test->name || !*test->name)
        return sattn_conform_refuse(reader, "a test: expected an object with a name");
    reader->test = test->name;
    test->note = json_string_value(json_object_get(object, "note"));
    return sattn_conform_known_keys(reader, object, "the test", keys, sizeof keys / sizeof keys[0]);
}

static bool read_op(const sattn_conform_reader *reader, const json_t *object,
                    sattn_conform_test *test)
{
    const char *const name = json_string_value(json_object_get(object, "op"));
    const json_t *const opset = json_object_get(object, "opset");
    int op = 0;
    while (name && op < SATTN_CONFORM_OPS && strcmp(name, ops[op].name) != 0)
        ++op;
    if (!name || op == SATTN_CONFORM_OPS)
        return sattn_conform_refuse(
            reader, "op: expected Attention, FlexAttention, Softmax or LogSoftmax, found %s",
            name ? name : "no text");
    test->op = (sattn_conform_op)op;
    if (!json_is_integer(opset) || json_integer_value(opset) < ops[op].first_opset ||
        json_integer_value(opset) > ops[op].last_opset)
        return sattn_conform_refuse(reader, "opset: expected %d to %d for %s", ops[op].first_opset,
                                    ops[op].last_opset, name);
    test->opset = (int)json_integer_value(opset);
    return true;
}

static bool read_tolerance(const sattn_conform_reader *reader, const json_t *object,
                           sattn_conform_test *test)
{
    const json_t *const rtol = json_object_get(object, "rtol");
    const json_t *const atol = json_object_get(object, "atol");
    test->rtol = json_number_value(rtol);
    test->atol = json_number_value(atol);
    if (json_is_number(rtol) && json_is_number(atol) && isfinite(test->rtol) &&
        isfinite(test->atol) && test->rtol >= 0 && test->atol >= 0)
        return true;
    return sattn_conform_refuse(reader, "rtol, atol: expected finite numbers, 0 or more");
}

static bool read_layout(const sattn_conform_reader *reader, const json_t *object,
                        sattn_conform_test *test)
{
    const char *const layout = json_string_value(json_object_get(object, "layout"));
    if (!sattn_conform_is_attention(test->op)) {
        if (json_object_get(object, "layout") || json_object_get(object, "dims"))
            return sattn_conform_refuse(reader, "layout and dims: %s has none", ops[test->op].name);
        return true;
    }
    if (!layout || (strcmp(layout, "BHTD") != 0 && strcmp(layout, "BT(HD)") != 0))
        return sattn_conform_refuse(reader, "layout: expected BHTD or BT(HD)");
    test->is_3d = strcmp(layout, "BHTD") != 0;
    return read_dims(reader, json_object_get(object, "dims"), &test->dims);
}

bool sattn_conform_test_read(const sattn_conform_reader *reader, const json_t *object,
                             sattn_conform_test *test)
{
    sattn_conform_reader of_test = *reader;
    *test = (sattn_conform_test){0};
    return read_name(&of_test, object, test) && read_op(&of_test, object, test) &&
           read_tolerance(&of_test, object, test) &&
           read_attributes(&of_test, json_object_get(object, "attributes"), test) &&
           read_layout(&of_test, object, test) &&
           read_tensors(&of_test, json_object_get(object, "inputs"), "inputs", input_names,
                        ops[test->op].needs, ops[test->op].takes, test->inputs) &&
           read_tensors(&of_test, json_object_get(object, "outputs"), "outputs", output_names,
                        BIT(SATTN_CONFORM_Y), ops[test->op].outputs, test->outputs) &&
           sattn_conform_shapes_agree(&of_test, test);
}
