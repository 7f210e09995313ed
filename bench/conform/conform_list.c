/* SPDX-License-Identifier: MIT
 *
 * conform_list.c: `simdattn conform --list`: what is in the suites, two lines for each test and its
 * note. */
#include "bench/conform/conform.h"

#include <inttypes.h>
#include <stdio.h>

/* "B2 H9/3 T4x6+12 D8/10 causal mask softcap" */
static void describe_attention(const sattn_conform_test *test, char *text, size_t size)
{
    const sattn_conform_dims *const n = &test->dims;
    const sattn_conform_attributes *const a = &test->attributes;
    char mask[32] = "", window[64] = "", past[32] = "", qk[16] = "";
    if (test->inputs[SATTN_CONFORM_MASK].data)
        snprintf(mask, sizeof mask, " mask=%s",
                 sattn_conform_type_name(test->inputs[SATTN_CONFORM_MASK].type));
    if (a->left_window_size >= 0 || a->right_window_size >= 0)
        snprintf(window, sizeof window, " window=%" PRId64 "/%" PRId64, a->left_window_size,
                 a->right_window_size);
    if (n->n_past > 0)
        snprintf(past, sizeof past, "%" PRId64 "+", n->n_past);
    if (test->outputs[SATTN_CONFORM_QK].data)
        snprintf(qk, sizeof qk, " qk=%d", a->qk_matmul_output_mode);
    snprintf(text, size,
             "B=%" PRId64 " H=%" PRId64 "/%" PRId64 " T=%" PRId64 "x%s%" PRId64 " D=%" PRId64
             "/%" PRId64 "%s%s%s%s%s%s%s%s",
             n->batch, n->q_heads, n->kv_heads, n->n_q, past, n->n_new, n->d, n->d_v,
             test->is_3d ? " 3D" : "", a->is_causal ? " causal" : "", mask, window,
             test->inputs[SATTN_CONFORM_NONPAD].data ? " nonpad" : "",
             a->softcap > 0 ? " softcap" : "", a->has_scale ? " scale" : "", qk);
}

static void describe_test(const sattn_conform_test *test, char *text, size_t size)
{
    const sattn_conform_tensor *const x = &test->inputs[SATTN_CONFORM_X];
    if (sattn_conform_is_attention(test->op)) {
        describe_attention(test, text, size);
        return;
    }
    int used = 0;
    for (int axis = 0; axis < x->rank; ++axis)
        used += snprintf(text + used, size - (size_t)used, "%s%" PRId64, axis ? "x" : "",
                         x->shape[axis]);
    snprintf(text + used, size - (size_t)used, ", axis %" PRId64, test->attributes.axis);
}

void sattn_conform_print_list(const sattn_conform_run *run)
{
    int64_t count = 0;
    for (size_t s = 0; s < run->suites.count; ++s) {
        const sattn_conform_suite *const suite = &run->suites.suites[s];
        printf("%s%s: %zu tests\n", s ? "\n" : "", suite->directory, suite->n_tests);
        for (size_t t = 0; t < suite->n_tests; ++t) {
            const sattn_conform_test *const test = &suite->tests[t];
            char text[512];
            if (!sattn_conform_wants(run->options, test))
                continue;
            ++count;
            describe_test(test, text, sizeof text);
            printf("  %s\n    %s %d, %s, %s\n", test->name, sattn_conform_op_name(test->op),
                   test->opset, sattn_conform_type_name(test->outputs[SATTN_CONFORM_Y].type), text);
            if (test->note)
                printf("    %s\n", test->note);
        }
    }
    printf("\n%" PRId64 " tests\n", count);
}
