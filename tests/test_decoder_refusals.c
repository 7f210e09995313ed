/* SPDX-License-Identifier: MIT
 *
 * test_decoder_refusals.c: what decoders refuse, naming it and leaving everything as it was. */
#include "dispatch/cpu.h"
#include "dispatch/registry.h"
#include "tests/support/decoder_call.h"

enum { MEMORY = 1 << 20 };

static _Alignas(64) unsigned char packed[MEMORY], workspace[MEMORY];

static void expect_message(sattn_status got, sattn_status status, const char *text)
{
    if (got != status)
        fail_msg("%s: status %d (%s), expected %d", text, (int)got, sattn_last_error(),
                 (int)status);
    if (!strstr(sattn_last_error(), text))
        fail_msg("message \"%s\" lacks \"%s\"", sattn_last_error(), text);
}

/* A decoder whose arguments have been changed is not made. */
#define NOT_MADE(status, text, change)                                                             \
    do {                                                                                           \
        static call c;                                                                             \
        sattn_decoder *made = (sattn_decoder *)(void *)&c;                                         \
        make_args(&c);                                                                             \
        change;                                                                                    \
        expect_message(sattn_decoder_create(&made, &c.args, &c.options), status, text);            \
        assert_null(made);                                                                         \
    } while (0)

/* A call that has been changed is refused, and writes nothing. */
#define REFUSED(run, status, text, change)                                                         \
    do {                                                                                           \
        static call c, before;                                                                     \
        make_call(&c);                                                                             \
        change;                                                                                    \
        memcpy(&before, &c, sizeof before);                                                        \
        expect_message(run(&c), status, text);                                                     \
        assert_memory_equal(&before, &c, sizeof before);                                           \
        sattn_decoder_destroy(c.decoder);                                                          \
    } while (0)

/* Packs weights for calls of so many rows; returns the last float of the pack. */
static float *pack(sattn_linear_weights *w, int64_t n_rows, const sattn_options *options)
{
    size_t size;
    assert_int_equal(sattn_linear_pack_size(w, n_rows, options, &size), SATTN_OK);
    assert_in_range(size, 1, MEMORY / 2);
    assert_int_equal(sattn_linear_pack(w, n_rows, options, packed, size), SATTN_OK);
    w->packed = packed;
    return (float *)(void *)(packed + size) - 1;
}

/* The decoder of the call's arguments as they are now. */
static void make_anew(call *c)
{
    sattn_decoder_destroy(c->decoder);
    if (sattn_decoder_create(&c->decoder, &c->args, &c->options) != SATTN_OK)
        fail_msg("%s", sattn_last_error());
}

/* The same with one of its maps packed. */
static float *pack_map(call *c, sattn_linear_weights *map, int64_t n_rows)
{
    float *const last = pack(map, n_rows, &c->options);
    make_anew(c);
    return last;
}

/* Gives the call this memory as its workspace; the memory. */
static float *work_in(call *c, unsigned char memory[MEMORY])
{
    assert_in_range(sattn_decoder_workspace_size(c->decoder), 1, MEMORY);
    c->workspace = memory;
    c->workspace_size = MEMORY;
    return (float *)(void *)memory;
}

static void test_create(void **state)
{
    (void)state;
    NOT_MADE(SATTN_ERR_ARGUMENT, "batch = 0", c.args.batch = 0);
    NOT_MADE(SATTN_ERR_ARGUMENT, "n_k = 0", c.args.n_k = 0);
    NOT_MADE(SATTN_ERR_TOO_LARGE, "", c.args.batch = c.args.n_k = (int64_t)1 << 40);
    NOT_MADE(SATTN_ERR_ARGUMENT, "cell = 5", c.args.cell = (sattn_cell_kind)5);
    NOT_MADE(SATTN_ERR_ARGUMENT, "w_hidden.n_out = 12: expected w_hidden.n_in = 4",
             c.args.cell = SATTN_CELL_RNN);
    NOT_MADE(SATTN_ERR_ARGUMENT, "w_hidden.n_out = 11: expected 3 w_hidden.n_in = 12",
             c.args.w_hidden.n_out = 11);
    NOT_MADE(SATTN_ERR_ARGUMENT, "w_embedded.n_out = 13", c.args.w_embedded.n_out = 13);
    NOT_MADE(SATTN_ERR_ARGUMENT, "w_context.n_out = 13", c.args.w_context.n_out = 13);
    NOT_MADE(SATTN_ERR_ARGUMENT, "w_context.n_in = 5: expected w_encoded.n_in = 6",
             c.args.w_context.n_in = 5);
    NOT_MADE(SATTN_ERR_ARGUMENT, "w_state.n_in = 3: expected w_hidden.n_in = 4",
             c.args.w_state.n_in = 3);
    NOT_MADE(SATTN_ERR_ARGUMENT, "w_state.n_out = 4: expected w_encoded.n_out = 3",
             c.args.w_state.n_out = 4);
    NOT_MADE(SATTN_ERR_ARGUMENT, "w_out.n_in = 3: expected w_hidden.n_in = 4",
             c.args.w_out.n_in = 3);
    NOT_MADE(SATTN_ERR_ARGUMENT, "w_start.n_in = 5: expected w_encoded.n_in = 6",
             c.args.w_start.n_in = 5);
    NOT_MADE(SATTN_ERR_ARGUMENT, "w_start.n_out = 3: expected w_hidden.n_in = 4",
             c.args.w_start.n_out = 3);
    NOT_MADE(SATTN_ERR_ARGUMENT, "w_out.w.data is NULL", c.args.w_out.w.data = NULL);
    NOT_MADE(SATTN_ERR_ARGUMENT, "w_state.w.stride_t = 3", c.args.w_state.w.stride_t = 3);
    NOT_MADE(SATTN_ERR_ARGUMENT, "v is NULL", c.args.v = NULL);
    NOT_MADE(SATTN_ERR_ARGUMENT, "h.stride_t = 5", c.args.h.stride_t = 5);
    NOT_MADE(SATTN_ERR_ARGUMENT, "embedding.stride_t = 4", c.args.embedding.stride_t = 4);
    NOT_MADE(SATTN_ERR_ARGUMENT, "options.threads = -3", c.options.threads = -3);
    NOT_MADE(SATTN_ERR_KERNEL, "avx9", c.options.isa = "avx9");
    NOT_MADE(SATTN_ERR_UNSUPPORTED, "options.key_splits = 2: options.plan asks for",
             (c.options.key_splits = 2, c.options.plan = "chain"));
    static call c;
    sattn_decoder *made;
    make_args(&c);
    assert_int_equal(sattn_decoder_create(NULL, &c.args, NULL), SATTN_ERR_ARGUMENT);
    assert_int_equal(sattn_decoder_create(&made, NULL, NULL), SATTN_ERR_ARGUMENT);
    assert_null(made);
    sattn_decoder_destroy(NULL);
}

/* Packed weights of other extents, and packed for a kernel that may not run. */
static void test_create_packed(void **state)
{
    (void)state;
    size_t count;
    const sattn_kernel *const rows = sattn_registry(&count);
    static const float zeros[N_HIDDEN * N_ALIGN];
    sattn_linear_weights turned = weights_of(zeros, N_HIDDEN, N_ALIGN);
    NOT_MADE(SATTN_ERR_ARGUMENT, "w_out.packed: its tag", c.args.w_out.packed = workspace);
    NOT_MADE(SATTN_ERR_ARGUMENT, "w_out.packed = 0x", c.args.w_out.packed = packed + 4);
    pack(&turned, BATCH, NULL);
    NOT_MADE(SATTN_ERR_ARGUMENT,
             "w_state.packed: the weights packed are [4, 3]: expected [n_out, n_in] = [3, 4]",
             c.args.w_state.packed = packed);
    for (size_t i = 0; i < count; ++i) {
        const sattn_options named = {.kernels = rows[i].name};
        if (rows[i].op == SATTN_OP_linear && rows[i].needs != 0 &&
            (rows[i].needs & ~sattn_cpu_this()->usable) == 0)
            NOT_MADE(SATTN_ERR_ARGUMENT, "which may not run here",
                     (pack(&c.args.w_encoded, BATCH * N_K, &named), c.options.isa = "scalar"));
    }
}

static void test_source(void **state)
{
    (void)state;
    REFUSED(prepare, SATTN_ERR_ARGUMENT, "h is NULL", c.source.h = NULL);
    REFUSED(prepare, SATTN_ERR_ARGUMENT, "keys is NULL", c.source.keys = NULL);
    REFUSED(prepare, SATTN_ERR_OVERLAP, "keys overlaps h", c.source.keys = c.h + 4);
    REFUSED(prepare, SATTN_ERR_OVERLAP, "keys overlaps w_encoded.w.data", c.source.keys = c.w[1]);
    REFUSED(prepare, SATTN_ERR_ARGUMENT, "n_k_valid[0] = 6", c.n_k_valid[0] = 6);
    REFUSED(step, SATTN_ERR_ARGUMENT, "keys is NULL", c.source.keys = NULL);
    REFUSED(greedy, SATTN_ERR_ARGUMENT, "n_k_valid[1] = -1", c.n_k_valid[1] = -1);
    REFUSED(start, SATTN_ERR_ARGUMENT, "state.data is NULL", c.start.data = NULL);
    REFUSED(start, SATTN_ERR_OVERLAP, "state.data overlaps w_start.w.data", c.start.data = c.w[6]);
    REFUSED(start, SATTN_ERR_ARGUMENT, "state.stride_t = 3", c.start.stride_t = 3);
}

static void test_step(void **state)
{
    (void)state;
    REFUSED(step, SATTN_ERR_ARGUMENT, "tokens[1] = 7: expected 0 to n_vocab - 1 = 6",
            c.inputs[1] = 7);
    REFUSED(step, SATTN_ERR_ARGUMENT, "tokens[0] = -1", c.inputs[0] = -1);
    REFUSED(step, SATTN_ERR_ARGUMENT, "embedded.data is NULL", c.step.tokens = NULL);
    REFUSED(step, SATTN_ERR_ARGUMENT, "state.data is NULL", c.step.state.data = NULL);
    REFUSED(step, SATTN_ERR_ARGUMENT, "next.data is NULL", c.step.next.data = NULL);
    REFUSED(step, SATTN_ERR_ARGUMENT, "logits.stride_t = 6", c.step.logits.stride_t = 6);
    REFUSED(step, SATTN_ERR_OVERLAP, "weights: with these strides", c.step.weights.stride_t = 0);
    REFUSED(step, SATTN_ERR_OVERLAP, "or exactly state", c.step.next.data = c.state + 1);
    REFUSED(step, SATTN_ERR_OVERLAP, "context.data overlaps h", c.step.context.data = c.h);
    REFUSED(step, SATTN_ERR_OVERLAP, "weights.data overlaps keys", c.step.weights.data = c.keys);
    REFUSED(step, SATTN_ERR_OVERLAP, "logits.data overlaps embedding.data",
            c.step.logits.data = c.table);
    REFUSED(step, SATTN_ERR_UNSUPPORTED, "next.dtype", c.step.next.dtype = SATTN_F16);
    static _Alignas(64) unsigned char memory[128];
    REFUSED(step, SATTN_ERR_WORKSPACE, "workspace_size = 128",
            (c.workspace = memory, c.workspace_size = sizeof memory));
    REFUSED(step, SATTN_ERR_WORKSPACE, "expected a multiple of 64",
            (c.workspace = memory + 8, c.workspace_size = sizeof memory));
}

static void test_greedy(void **state)
{
    (void)state;
    REFUSED(greedy, SATTN_ERR_ARGUMENT, "bos = 7", c.greedy.bos = 7);
    REFUSED(greedy, SATTN_ERR_ARGUMENT, "bos = -1", c.greedy.bos = -1);
    REFUSED(greedy, SATTN_ERR_ARGUMENT, "eos = -1", (c.greedy.has_eos = true, c.greedy.eos = -1));
    REFUSED(greedy, SATTN_ERR_ARGUMENT, "eos = 7", (c.greedy.has_eos = true, c.greedy.eos = 7));
    REFUSED(greedy, SATTN_ERR_ARGUMENT, "max_steps = 0", c.greedy.max_steps = 0);
    REFUSED(greedy, SATTN_ERR_ARGUMENT, "tokens is NULL", c.greedy.tokens = NULL);
    REFUSED(greedy, SATTN_ERR_ARGUMENT, "n_steps is NULL", c.greedy.n_steps = NULL);
    REFUSED(greedy, SATTN_ERR_ARGUMENT, "start.data is NULL", c.greedy.start.data = NULL);
    REFUSED(greedy, SATTN_ERR_OVERLAP, "states.data overlaps start.data",
            c.greedy.states.data = c.state);
    REFUSED(greedy, SATTN_ERR_OVERLAP, "tokens overlaps n_steps",
            c.greedy.n_steps = c.tokens + BATCH * MAX_STEPS - 1);
    REFUSED(greedy, SATTN_ERR_OVERLAP, "logits: with these strides", c.greedy.logits.stride_b = 1);
}

/* Outputs on the last float of what is packed. */
static void test_packed_memory(void **state)
{
    (void)state;
    REFUSED(prepare, SATTN_ERR_OVERLAP, "keys overlaps w_encoded.packed",
            c.source.keys = pack_map(&c, &c.args.w_encoded, BATCH * N_K));
    REFUSED(start, SATTN_ERR_OVERLAP, "state.data overlaps w_start.packed",
            c.start.data = pack_map(&c, &c.args.w_start, BATCH));
    REFUSED(step, SATTN_ERR_OVERLAP, "logits.data overlaps w_out.packed",
            c.step.logits.data = pack_map(&c, &c.args.w_out, BATCH));
    REFUSED(greedy, SATTN_ERR_OVERLAP, "states.data overlaps w_hidden.packed",
            c.greedy.states.data = pack_map(&c, &c.args.w_hidden, BATCH));
}

/* The workspace is no memory that a call reads or writes. */
static void test_workspace(void **state)
{
    (void)state;
    REFUSED(prepare, SATTN_ERR_OVERLAP, "workspace overlaps h",
            c.source.h = work_in(&c, workspace));
    REFUSED(prepare, SATTN_ERR_OVERLAP, "workspace overlaps keys",
            c.source.keys = work_in(&c, workspace));
    REFUSED(prepare, SATTN_ERR_OVERLAP, "workspace overlaps w_encoded.packed",
            (pack_map(&c, &c.args.w_encoded, BATCH * N_K), work_in(&c, packed)));
    REFUSED(start, SATTN_ERR_OVERLAP, "workspace overlaps h", c.source.h = work_in(&c, workspace));
    REFUSED(start, SATTN_ERR_OVERLAP, "workspace overlaps state.data",
            c.start.data = work_in(&c, workspace));
    REFUSED(start, SATTN_ERR_OVERLAP, "workspace overlaps w_start.w.data",
            (c.args.w_start.w.data = work_in(&c, workspace), make_anew(&c)));
    REFUSED(step, SATTN_ERR_OVERLAP, "workspace overlaps h", c.source.h = work_in(&c, workspace));
    REFUSED(step, SATTN_ERR_OVERLAP, "workspace overlaps keys",
            c.source.keys = work_in(&c, workspace));
    REFUSED(step, SATTN_ERR_OVERLAP, "workspace overlaps state.data",
            c.step.state.data = work_in(&c, workspace));
    REFUSED(step, SATTN_ERR_OVERLAP, "workspace overlaps next.data",
            c.step.next.data = work_in(&c, workspace));
    REFUSED(step, SATTN_ERR_OVERLAP, "workspace overlaps embedding.data",
            (c.args.embedding.data = work_in(&c, workspace), make_anew(&c)));
    REFUSED(step, SATTN_ERR_OVERLAP, "workspace overlaps v",
            (c.args.v = work_in(&c, workspace), make_anew(&c)));
    REFUSED(step, SATTN_ERR_OVERLAP, "workspace overlaps w_context.packed",
            (pack_map(&c, &c.args.w_context, BATCH), work_in(&c, packed)));
    REFUSED(greedy, SATTN_ERR_OVERLAP, "workspace overlaps h", c.source.h = work_in(&c, workspace));
    REFUSED(greedy, SATTN_ERR_OVERLAP, "workspace overlaps keys",
            c.source.keys = work_in(&c, workspace));
    REFUSED(greedy, SATTN_ERR_OVERLAP, "workspace overlaps start.data",
            c.greedy.start.data = work_in(&c, workspace));
    REFUSED(greedy, SATTN_ERR_OVERLAP, "workspace overlaps tokens",
            c.greedy.tokens = (int64_t *)(void *)work_in(&c, workspace));
    REFUSED(greedy, SATTN_ERR_OVERLAP, "workspace overlaps embedding.data",
            (c.args.embedding.data = work_in(&c, workspace), make_anew(&c)));
    REFUSED(greedy, SATTN_ERR_OVERLAP, "workspace overlaps w_out.w.data",
            (c.args.w_out.w.data = work_in(&c, workspace), make_anew(&c)));
    REFUSED(greedy, SATTN_ERR_OVERLAP, "workspace overlaps w_hidden.packed",
            (pack_map(&c, &c.args.w_hidden, BATCH), work_in(&c, packed)));
}

static void test_missing_structs(void **state)
{
    (void)state;
    static call c;
    make_call(&c);
    assert_int_equal(sattn_decoder_prepare(NULL, &c.source, NULL, 0), SATTN_ERR_ARGUMENT);
    assert_int_equal(sattn_decoder_prepare(c.decoder, NULL, NULL, 0), SATTN_ERR_ARGUMENT);
    assert_int_equal(sattn_decoder_start(c.decoder, &c.source, NULL, NULL, 0), SATTN_ERR_ARGUMENT);
    assert_int_equal(sattn_decoder_step(c.decoder, &c.source, NULL, NULL, 0), SATTN_ERR_ARGUMENT);
    assert_int_equal(sattn_decode_greedy(c.decoder, &c.source, NULL, NULL, 0), SATTN_ERR_ARGUMENT);
    sattn_decoder_destroy(c.decoder);
}

/* A decoder without an embedding or a start has steps of embeddings, and no more. */
static void test_left_out(void **state)
{
    (void)state;
    static call c;
    make_args(&c);
    c.args.embedding = (sattn_view){0};
    c.args.w_start = (sattn_linear_weights){0};
    assert_int_equal(sattn_decoder_create(&c.decoder, &c.args, NULL), SATTN_OK);
    assert_int_equal(prepare(&c), SATTN_OK);
    expect_message(step(&c), SATTN_ERR_ARGUMENT, "tokens is set");
    expect_message(greedy(&c), SATTN_ERR_ARGUMENT, "embedding.data is NULL");
    expect_message(start(&c), SATTN_ERR_ARGUMENT, "w_start.n_out = 0");
    c.step.tokens = NULL;
    c.step.embedded = (sattn_view){.data = c.table, .stride_t = N_EMBED};
    assert_int_equal(step(&c), SATTN_OK);
    assert_true(c.next[0] != 99.0f && c.outputs[0][0] != 99.0f && c.outputs[2][0] != 99.0f);
    sattn_decoder_destroy(c.decoder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_create),    cmocka_unit_test(test_create_packed),
        cmocka_unit_test(test_source),    cmocka_unit_test(test_step),
        cmocka_unit_test(test_greedy),    cmocka_unit_test(test_packed_memory),
        cmocka_unit_test(test_workspace), cmocka_unit_test(test_missing_structs),
        cmocka_unit_test(test_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
