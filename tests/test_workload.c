/* SPDX-License-Identifier: MIT
 *
 * test_workload.c: tensors of benchmark workloads lie where they should and hold what they should,
 * work is counted by what a call can see, every kernel is a variant of some op, and the calls of
 * kernels alone do what the call does. */
#include "bench/ops/decoder.h"
#include "bench/ops/kernel_calls.h"
#include "bench/ops/ops.h"
#include "bench/workload.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static sattn_shape small_shape(void)
{
    return (sattn_shape){.name = "small",
                         .batch = 2,
                         .n_q_heads = 4,
                         .n_kv_heads = 2,
                         .n_q = 5,
                         .n_k = 7,
                         .d = 3,
                         .d_v = 6,
                         .real_layer = -1};
}

static void open_with(const sattn_bench_task *task, const sattn_shape *shape,
                      const sattn_data *data, size_t cold_bytes, sattn_workload *workload)
{
    char error[256] = "";
    const sattn_workload_request request = {.shape = shape,
                                            .data = data,
                                            .tensors = task->tensors,
                                            .scores_in = task->scores_in,
                                            .spread = task->spread,
                                            .cold_bytes = cold_bytes};
    if (!sattn_workload_open(workload, &request, error, sizeof error))
        fail_msg("%s", error);
    assert_true((size_t)workload->n_sets * workload->set_bytes == sattn_workload_bytes(&request));
}

/* Every tensor that a task names is on a line of its own, within its set, apart from the others. */
static void test_layout(void **state)
{
    (void)state;
    const sattn_shape shape = small_shape();
    const sattn_bench_task *const tasks[] = {&sattn_task_attention, &sattn_task_qk,
                                             &sattn_task_softmax, &sattn_task_av};
    for (size_t t = 0; t < sizeof tasks / sizeof tasks[0]; ++t) {
        sattn_workload w;
        open_with(tasks[t], &shape, sattn_data_default(&shape), 50000, &w);
        assert_true(w.n_sets > 1 && (size_t)w.n_sets * w.set_bytes >= 50000);
        for (int64_t set = 0; set < w.n_sets; ++set) {
            const char *end = w.arena + (size_t)set * w.set_bytes;
            for (unsigned tensor = 1; tensor <= SATTN_TENSOR_O; tensor <<= 1) {
                size_t bytes;
                const char *const at = sattn_workload_piece(&w, set, tensor, &bytes);
                assert_true((at != NULL) == ((tasks[t]->tensors & tensor) != 0));
                if (!at)
                    continue;
                assert_true(at >= end && (uintptr_t)at % 64 == 0);
                end = at + bytes;
                const char *const first = sattn_workload_piece(&w, 0, tensor, &bytes);
                assert_int_equal(memcmp(at, first, bytes), 0); /* all sets hold the same */
            }
            assert_true(end <= w.arena + (size_t)(set + 1) * w.set_bytes);
        }
        sattn_attention_args args = w.args;
        sattn_workload_place(&w, 1, &args);
        size_t bytes;
        assert_ptr_equal(args.q.data, sattn_workload_piece(&w, 1, SATTN_TENSOR_Q, &bytes));
        assert_ptr_equal(args.scores, sattn_workload_piece(&w, 1, SATTN_TENSOR_SCORES, &bytes));
        sattn_workload_close(&w);
    }
}

/* Interleaved heads hold the same numbers, and the same scores are made of them. */
static void test_interleaved(void **state)
{
    (void)state;
    sattn_shape shapes[2] = {small_shape(), small_shape()};
    sattn_workload w[2], av[2];
    shapes[1].is_interleaved = true;
    for (int i = 0; i < 2; ++i) {
        open_with(&sattn_task_attention, &shapes[i], sattn_data_default(&shapes[i]), 0, &w[i]);
        open_with(&sattn_task_av, &shapes[i], sattn_data_default(&shapes[i]), 0, &av[i]);
        assert_int_equal(w[i].args.k.stride_t, i == 0 ? 3 : 2 * 3);
        assert_int_equal(w[i].args.v.stride_h, i == 0 ? 7 * 6 : 6);
        assert_int_equal(w[i].args.o.stride_t, i == 0 ? 6 : 4 * 6);
        assert_true(w[i].bytes[1] == w[0].bytes[1]);
    }
    for (int64_t b = 0; b < 2; ++b)
        for (int64_t h = 0; h < 2; ++h)
            for (int64_t j = 0; j < 7; ++j) {
                const float *row[2];
                for (int i = 0; i < 2; ++i) {
                    const sattn_view *const k = &w[i].args.k;
                    row[i] = (const float *)k->data + b * k->stride_b + h * k->stride_h +
                             j * k->stride_t;
                }
                assert_memory_equal(row[0], row[1], 3 * sizeof(float));
            }
    assert_memory_equal(av[0].args.scores_in, av[1].args.scores_in, 2 * 4 * 5 * 7 * sizeof(float));
    for (int i = 0; i < 2; ++i) {
        sattn_workload_close(&w[i]);
        sattn_workload_close(&av[i]);
    }
}

/* Weights are those of a softmax: each row adds up to 1 over the keys it sees, and sees no other.
 */
static void test_weights(void **state)
{
    (void)state;
    sattn_shape shape = small_shape();
    shape.causal = true;
    sattn_workload w;
    open_with(&sattn_task_av, &shape, sattn_data_default(&shape), 0, &w);
    for (int64_t row = 0; row < shape.batch * shape.n_q_heads * shape.n_q; ++row) {
        const int64_t visible = row % shape.n_q + 1 + shape.n_k - shape.n_q;
        double sum = 0;
        for (int64_t j = 0; j < shape.n_k; ++j) {
            const double weight = (double)w.args.scores_in[row * shape.n_k + j];
            assert_true(j < visible ? weight > 0 : weight == 0);
            sum += weight;
        }
        assert_true(fabs(sum - 1) < 1e-5);
    }
    sattn_workload_close(&w);
}

static void test_work(void **state)
{
    (void)state;
    sattn_shape shape = small_shape();
    shape.causal = true; /* 3, 4, 5, 6 and 7 keys */
    const double rows = 2 * 4, visible = rows * 25, all = rows * 35;
    sattn_workload w;
    open_with(&sattn_task_attention, &shape, sattn_data_default(&shape), 0, &w);
    const sattn_work attention = sattn_task_attention.work(&w.args);
    const sattn_work qk = sattn_task_qk.work(&w.args), av = sattn_task_av.work(&w.args);
    const sattn_work softmax = sattn_task_softmax.work(&w.args);
    assert_true(attention.flops == 2 * (3 + 6) * visible && attention.elements == 0);
    assert_true(attention.kv_bytes == 4.0 * 2 * 2 * 7 * (3 + 6));
    assert_true(qk.flops == 2 * 3 * all && av.flops == 2 * 6 * visible);
    assert_true(qk.kv_bytes + av.kv_bytes == attention.kv_bytes);
    assert_true(softmax.elements == visible && softmax.bytes == 4 * (visible + all));
    assert_true(sattn_work_amount(&qk) == qk.flops);
    assert_true(sattn_work_amount(&softmax) == softmax.elements);
    sattn_workload_close(&w);
}

/* A window, whose hidden keys are neither work nor traffic; qk alone gives each pair its score. */
static void test_work_of_windows(void **state)
{
    (void)state;
    sattn_shape shape = small_shape();
    shape.n_q = 2;
    shape.window = 3; /* keys 3 to 5, and 4 to 6 */
    const double rows = 2 * 4;
    sattn_workload w;
    open_with(&sattn_task_attention, &shape, sattn_data_default(&shape), 0, &w);
    assert_true(w.args.has_window && w.args.window_left == 2 && w.args.window_right == 0);
    const sattn_work attention = sattn_task_attention.work(&w.args);
    const sattn_work qk = sattn_task_qk.work(&w.args), av = sattn_task_av.work(&w.args);
    assert_true(attention.flops == 2 * (3 + 6) * rows * 6 && av.flops == 2 * 6 * rows * 6);
    assert_true(qk.flops == 2 * 3 * rows * 14 && qk.kv_bytes == 4.0 * 2 * 2 * 7 * 3);
    assert_true(attention.kv_bytes == 4.0 * 2 * 2 * 4 * (3 + 6));
    assert_true(av.kv_bytes == 4.0 * 2 * 2 * 4 * 6);
    const sattn_workload_keys keys = sattn_workload_readable(&w.args, 1);
    assert_true(keys.begin == 3 && keys.end == 7);
    assert_false(sattn_workload_can_cut_rows(&w));
    sattn_workload_close(&w);
    /* What is cold is what is read: a narrower window needs more sets. */
    open_with(&sattn_task_attention, &shape, sattn_data_default(&shape), 50000, &w);
    const int64_t n_sets = w.n_sets;
    sattn_workload_close(&w);
    shape.window = 0;
    open_with(&sattn_task_attention, &shape, sattn_data_default(&shape), 50000, &w);
    assert_true(n_sets > w.n_sets);
    sattn_workload_close(&w);
}

/* Softcap, slopes and sinks are those that the shape asks for. */
static void test_semantics(void **state)
{
    (void)state;
    sattn_shape shape = small_shape();
    sattn_workload w;
    open_with(&sattn_task_attention, &shape, sattn_data_default(&shape), 0, &w);
    assert_true(w.args.softcap == 0 && !w.args.alibi_slopes && !w.args.sinks);
    assert_true(!w.args.has_window && sattn_workload_can_cut_rows(&w));
    sattn_workload_close(&w);
    shape.softcap = 50;
    shape.has_alibi = shape.has_sinks = true;
    open_with(&sattn_task_attention, &shape, sattn_data_default(&shape), 0, &w);
    assert_true(w.args.softcap == 50);
    static const float slopes[4] = {0x1p-2f, 0x1p-4f, 0x1p-6f, 0x1p-8f};
    assert_memory_equal(w.args.alibi_slopes, slopes, sizeof slopes);
    for (int h = 0; h < 4; ++h) {
        assert_true(isfinite(w.args.sinks[h]));
        assert_true(h == 0 || w.args.sinks[h] != w.args.sinks[h - 1]);
    }
    assert_false(sattn_workload_can_cut_rows(&w));
    sattn_workload_close(&w);
}

/* All hard data run in one memory, and each comes back whole whatever ran in between. */
static void test_sharing(void **state)
{
    (void)state;
    enum { MOST = 16 };
    const sattn_shape shape = small_shape();
    size_t n, bytes;
    const sattn_data *const data = sattn_data_hard(&n);
    sattn_workload w[MOST];
    assert_true(n > 2 && n <= MOST);
    assert_string_equal(data[0].name, "normal");
    for (size_t d = 0; d < n; ++d) {
        open_with(&sattn_task_attention, &shape, &data[d], 0, &w[d]);
        assert_true((w[d].args.mask.kind != SATTN_MASK_NONE) ==
                    (sattn_input_mask_kind(data[d].input) != SATTN_MASK_NONE));
    }
    assert_true(sattn_workload_share(w, n, false));
    static char before[MOST][1 << 16];
    for (int pass = 0; pass < 2; ++pass)
        for (size_t d = 0; d < n; ++d) {
            assert_ptr_equal(w[d].arena, w[0].arena);
            assert_ptr_equal(w[d].args.k.data, w[0].args.k.data);
            sattn_workload_restore(&w[d]);
            assert_true(w[d].set_bytes <= sizeof before[d]);
            if (pass == 0)
                memcpy(before[d], w[d].arena, w[d].set_bytes);
            else
                assert_int_equal(memcmp(before[d], w[d].arena, w[d].set_bytes), 0);
            void *const o = sattn_workload_piece(&w[d], 0, SATTN_TENSOR_O, &bytes);
            memset(o, 0xff, bytes);
        }
    for (size_t d = n; d-- > 0;)
        sattn_workload_close(&w[d]);
}

/* A decoder's weights fill their tensor; encoder states have a width of their own, as values. */
static void test_decoder(void **state)
{
    (void)state;
    enum { UNITS = 3, CHANNELS = 5 };
    static float weights[(SATTN_SHAPE_WORDS + 64) * UNITS];
    const sattn_shape shape = {.kind = SATTN_SHAPE_DECODER,
                               .batch = 1,
                               .n_q_heads = 1,
                               .n_kv_heads = 1,
                               .n_q = 1,
                               .n_k = 7,
                               .d = UNITS,
                               .d_v = CHANNELS};
    const sattn_decoder_args args = sattn_bench_decoder_args(&shape, weights);
    assert_int_equal(args.v + UNITS - weights, sattn_shape_weights(&shape));
    assert_int_equal(args.w_encoded.n_in, CHANNELS);
    assert_int_equal(args.w_context.n_in, CHANNELS);
    assert_int_equal(args.w_context.w.stride_t, UNITS + CHANNELS);
    const sattn_attention_args a = sattn_workload_args(&shape);
    assert_int_equal(a.q.stride_t, UNITS);
    assert_int_equal(a.k.stride_t, args.w_encoded.n_out);
    assert_int_equal(a.v.stride_t, args.h.stride_t);
    assert_int_equal(a.o.stride_t, UNITS);
}

/* A row of the registry is a variant of the op it names; names are unique. */
static void test_variants(void **state)
{
    (void)state;
    size_t n_kernels, n_variants, n_ops, n_calls = 0, n_steps = 0, n_parts = 0, n_attend = 0;
    size_t n_alignments[4] = {0};
    const sattn_kernel *const kernels = sattn_registry(&n_kernels);
    const sattn_variant *const variants = sattn_variants(&n_variants);
    const sattn_bench_op *const ops = sattn_bench_ops(&n_ops);
    assert_true(n_variants > n_kernels); /* and chains, ways to make a call, and layers */
    for (size_t v = 0; v < n_variants; ++v) {
        assert_ptr_equal(sattn_variant_by_name(variants[v].name), &variants[v]);
        assert_true(variants[v].op >= ops && variants[v].op < ops + n_ops);
        const bool is_call = strcmp(variants[v].op->name, "call") == 0;
        const bool is_layer = variants[v].op->task->is_layer;
        assert_true(v < n_kernels || is_call || is_layer ||
                    strncmp(variants[v].name, "chain_", 6) == 0);
        assert_true(!variants[v].part || variants[v].op->task == &sattn_task_decoder);
        n_steps += variants[v].op->task == &sattn_task_decoder && !variants[v].part;
        n_parts += variants[v].part != NULL;
        n_attend += variants[v].op->task == &sattn_task_attend;
        if (variants[v].op->task == &sattn_task_general)
            ++n_alignments[variants[v].align];
        assert_true(is_call == (variants[v].way != SATTN_WAY_NONE));
        assert_true(is_call == (variants[v].op->task == &sattn_task_call));
        n_calls += is_call;
    }
    assert_true(n_calls > 0 && n_calls % 4 == 0); /* all ways of each level */
    assert_true(n_steps > 0 && n_parts == SATTN_DECODER_PARTS * n_steps);
    /* At each level that has a decoder the other layers are too; a plain dot product costs what a
     * scaled one does. */
    assert_int_equal(n_attend, n_steps);
    assert_int_equal(n_alignments[SATTN_ALIGN_DOT], 0);
    assert_int_equal(n_alignments[SATTN_ALIGN_SCALED_DOT], n_steps);
    assert_int_equal(n_alignments[SATTN_ALIGN_BILINEAR], n_steps);
    assert_int_equal(n_alignments[SATTN_ALIGN_ADDITIVE], n_steps);
    for (size_t k = 0; k < n_kernels; ++k) {
        const sattn_variant *const variant = sattn_variant_by_name(kernels[k].name);
        assert_non_null(variant);
        assert_string_equal(variant->op->name, sattn_op_name(kernels[k].op));
        assert_string_equal(variant->kernels, kernels[k].name);
        const bool is_autovec = strstr(kernels[k].name, "_autovec") != NULL;
        const bool is_library = strstr(kernels[k].name, "_sleef") != NULL;
        assert_true(is_autovec == (variant->kind == SATTN_ROW_AUTOVEC));
        assert_true(is_library == (variant->kind == SATTN_ROW_LIBRARY));
    }
    assert_null(sattn_variant_by_name("chain_no-such-level"));
}

/* ---- calls of kernels alone */

enum { HEADS = 3, ROWS = 50, KEYS = 40, D = 16 };

/* What the kernels of a call leave is what the call leaves, last rows and hidden keys included. */
static void check_kernel_calls(const sattn_attention_args *args, size_t least)
{
    float *const o = args->o.data;
    const size_t bytes = (size_t)(HEADS * ROWS * D) * sizeof *o;
    static float expected[HEADS * ROWS * D];
    sattn_plan *plan;
    sattn_kernel_calls calls;
    assert_int_equal(sattn_plan_create(&plan, args, NULL), SATTN_OK);
    const size_t size = (sattn_plan_workspace_size(plan) / 64 + 1) * 64;
    void *const workspace = aligned_alloc(64, size);
    assert_non_null(workspace);
    const sattn_pointers pointers = {
        .q = args->q.data, .k = args->k.data, .v = args->v.data, .o = o};
    memset(o, 0xff, bytes);
    assert_true(sattn_kernel_calls_record(&calls, plan, &pointers, workspace, size));
    memcpy(expected, o, bytes);
    assert_int_equal(sattn_plan_run(plan, &pointers, workspace, size), SATTN_OK);
    assert_memory_equal(o, expected, bytes); /* to be recorded changes nothing */
    memset(o, 0xff, bytes);
    sattn_kernel_calls_repeat(&calls);
    assert_memory_equal(o, expected, bytes);
    assert_true(calls.n >= least && calls.n % HEADS == 0);
    for (size_t c = 0; c < calls.n; ++c) { /* nothing of the recording is left in them */
        bool is_kernel = false;
        size_t n;
        const sattn_kernel *const rows = sattn_registry(&n);
        for (size_t r = 0; r < n; ++r)
            is_kernel = is_kernel || rows[r].fn.fused == calls.calls[c].kernel;
        assert_true(is_kernel);
    }
    sattn_kernel_calls_free(&calls);
    assert_int_equal(calls.n, 0);
    free(workspace);
    sattn_plan_destroy(plan);
}

static void test_kernel_calls(void **state)
{
    (void)state;
    static float q[HEADS * ROWS * D], k[HEADS * KEYS * D], v[HEADS * KEYS * D];
    static float o[HEADS * ROWS * D];
    sattn_attention_args args = {.batch = 1,
                                 .n_q_heads = HEADS,
                                 .n_kv_heads = HEADS,
                                 .n_q = ROWS,
                                 .n_k = KEYS,
                                 .d = D,
                                 .d_v = D,
                                 .q = {.data = q, .stride_h = ROWS * D, .stride_t = D},
                                 .k = {.data = k, .stride_h = KEYS * D, .stride_t = D},
                                 .v = {.data = v, .stride_h = KEYS * D, .stride_t = D},
                                 .o = {.data = o, .stride_h = ROWS * D, .stride_t = D}};
    for (int i = 0; i < HEADS * ROWS * D; ++i)
        q[i] = (float)(i % 7) * 0.25f;
    for (int i = 0; i < HEADS * KEYS * D; ++i) {
        k[i] = (float)(i % 5) * 0.125f;
        v[i] = (float)(i % 11) - 5;
    }
    check_kernel_calls(&args, HEADS);
    args.causal = true;
    args.n_q = KEYS;
    check_kernel_calls(&args, HEADS);
    args.n_q = 1;
    check_kernel_calls(&args, HEADS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layout),          cmocka_unit_test(test_interleaved),
        cmocka_unit_test(test_weights),         cmocka_unit_test(test_work),
        cmocka_unit_test(test_work_of_windows), cmocka_unit_test(test_semantics),
        cmocka_unit_test(test_sharing),         cmocka_unit_test(test_decoder),
        cmocka_unit_test(test_variants),        cmocka_unit_test(test_kernel_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
