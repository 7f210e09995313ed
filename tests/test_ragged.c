/* SPDX-License-Identifier: MIT
 *
 * test_ragged.c: a batch of sequences of different lengths, stored without padding. It has the bits
 * of a call for each sequence, touches no row that is in none, and refuses by name what it cannot
 * mean. */
#include "tests/support/call.h"
#include "tests/support/one_kernel.h"

#include "bench/verify/compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

enum { SEQUENCES_MAX = 8, BEFORE = 2, BEHIND = 3 }; /* rows in no sequence, at either end */

/* Lengths of queries and keys of each sequence. */
typedef struct lengths {
    int n;
    int64_t of[SEQUENCES_MAX][2];
} lengths;

static const lengths batches[] = {
    {4, {{5, 5}, {0, 0}, {1, 1}, {40, 40}}},
    {5, {{1, 300}, {1, 1}, {1, 0}, {1, 129}, {1, 64}}},
    {6, {{70, 130}, {3, 200}, {0, 50}, {20, 0}, {33, 33}, {129, 257}}},
    {1, {{17, 31}}},
    {3, {{0, 0}, {0, 7}, {0, 0}}},
    {2, {{40, 8}, {2, 500}}},
    {0, {{0, 0}}},
};

/* A feature to a bit. */
enum {
    CAUSAL = 1,
    WINDOW = 2,
    ALIBI = 4,
    SOFTCAP = 8,
    SINKS = 16,
    OFFSETS = 32,
    IN_PLACE = 64,
    HIDDEN_NAN = 128,
    VARIANTS = 256
};

typedef struct ragged_call {
    call c;
    const lengths *of;
    int64_t q_starts[SEQUENCES_MAX + 1], k_starts[SEQUENCES_MAX + 1];
    int64_t offsets[SEQUENCES_MAX];
    sattn_ragged ragged;
} ragged_call;

static call_shape shape_of(const ragged_call *r, int variant)
{
    static const call_layout layouts[] = {CALL_DENSE, CALL_ROWS_FIRST, CALL_GAPS, CALL_PACKED};
    return (call_shape){.batch = 1,
                        .n_q_heads = variant % 3 == 0 ? 4 : 3,
                        .n_kv_heads = variant % 3 == 0 ? 2 : 1,
                        .n_q = r->q_starts[r->of->n] + BEHIND,
                        .n_k = r->k_starts[r->of->n] + BEHIND,
                        .d = 9,
                        .d_v = variant & IN_PLACE ? 9 : 17,
                        .layout = layouts[variant % 4],
                        .in_place = (variant & IN_PLACE) != 0,
                        .softcap = variant & SOFTCAP ? 1.5f : 0.0f,
                        .alibi = (variant & ALIBI) != 0,
                        .sinks = variant & SINKS ? CALL_SINKS_SOME : CALL_SINKS_NONE,
                        .causal = (variant & CAUSAL) != 0,
                        .has_window = (variant & WINDOW) != 0,
                        .window_left = 20,
                        .window_right = variant & SINKS ? 2 : -1,
                        .lse = variant % 5 != 0};
}

/* Whether a row, of queries or keys, is in a sequence that has both. */
static bool is_inside(const ragged_call *r, const int64_t *starts, int64_t i)
{
    for (int b = 0; b < r->of->n; ++b)
        if (i >= starts[b] && i < starts[b + 1])
            return starts == r->q_starts || r->of->of[b][0] > 0;
    return false;
}

static void spoil_rows(ragged_call *r, int tensor, const int64_t *starts, int64_t n_rows)
{
    const int64_t n_heads = tensor == CALL_Q ? r->c.args.n_q_heads : r->c.args.n_kv_heads;
    const int64_t columns = tensor == CALL_V ? r->c.args.d_v : r->c.args.d;
    for (int64_t h = 0; h < n_heads; ++h)
        for (int64_t i = 0; i < n_rows; ++i)
            for (int64_t x = 0; !is_inside(r, starts, i) && x < columns; ++x)
                call_input_row(&r->c, tensor, 0, h, i)[x] = NAN;
}

static void ragged_make(ragged_call *r, const lengths *of, int variant, uint64_t seed)
{
    static const int64_t offsets[] = {3, -2, INT64_MAX, 0, INT64_MIN, 100};
    memset(r, 0, sizeof *r);
    r->of = of;
    r->q_starts[0] = r->k_starts[0] = BEFORE;
    for (int b = 0; b < of->n; ++b) {
        r->q_starts[b + 1] = r->q_starts[b] + of->of[b][0];
        r->k_starts[b + 1] = r->k_starts[b] + of->of[b][1];
        r->offsets[b] = offsets[(b + variant) % COUNT(offsets)];
    }
    r->ragged = (sattn_ragged){.q_starts = r->q_starts, .k_starts = r->k_starts};
    const call_shape shape = shape_of(r, variant);
    call_make(&r->c, &shape, seed);
    r->c.args.batch = of->n;
    r->c.args.causal_offset = variant & OFFSETS ? r->offsets : NULL;
    spoil_rows(r, CALL_Q, r->q_starts, shape.n_q);
    spoil_rows(r, CALL_K, r->k_starts, shape.n_k);
    spoil_rows(r, CALL_V, r->k_starts, shape.n_k);
    for (int b = 0; variant & HIDDEN_NAN && b < of->n; ++b)
        if (of->of[b][1] > 0) /* seen by some rows of a sequence, or by none */
            call_input_row(&r->c, CALL_V, 0, 0, r->k_starts[b + 1] - 1)[1] = NAN;
    for (int at = 0; at < CALL_OPERANDS; ++at)
        if (r->c.memory[at].map)
            test_operand_seal(&r->c.memory[at]);
}

/* A call of sequence b alone. */
static sattn_attention_args sequence_args(ragged_call *r, int b)
{
    sattn_attention_args args = r->c.args;
    args.batch = 1;
    args.n_q = r->of->of[b][0];
    args.n_k = r->of->of[b][1];
    args.q.data = call_input_row(&r->c, CALL_Q, 0, 0, r->q_starts[b]);
    args.k.data = call_input_row(&r->c, CALL_K, 0, 0, r->k_starts[b]);
    args.v.data = call_input_row(&r->c, CALL_V, 0, 0, r->k_starts[b]);
    args.o.data = call_o_row(&r->c, 0, 0, r->q_starts[b]);
    args.lse = args.lse ? args.lse + r->q_starts[b] : NULL;
    args.causal_offset = args.causal_offset ? &r->offsets[b] : NULL;
    return args;
}

/* Each sequence by a call of its own. */
static bool run_apart(test_run *run, ragged_call *r, const sattn_options *options)
{
    for (int b = 0; b < r->of->n; ++b) {
        const sattn_attention_args args = sequence_args(r, b);
        if (sattn_attention(&args, options) != SATTN_OK) {
            test_fail(run, "sequence %d on its own: %s", b, sattn_last_error());
            return false;
        }
    }
    return true;
}

/* The caller's rows outside of all sequences are as they were; then they are set to 0, so that they
 * count as written. */
static bool outside_is_untouched(ragged_call *r)
{
    call *const c = &r->c;
    const int64_t batch = c->args.batch;
    c->args.batch = 1;
    bool good = true;
    for (int64_t h = 0; h < c->args.n_q_heads; ++h)
        for (int64_t i = 0; i < c->args.n_q; ++i) {
            if (is_inside(r, r->q_starts, i))
                continue;
            float *const row = call_o_row(c, 0, h, i);
            for (int64_t y = 0; y < c->args.d_v; ++y) {
                /* The output's canary, or the NaN of the query that it would take the place of. */
                good &= sattn_classify_f32(row[y]) == SATTN_CLASS_NAN &&
                        test_is_canary(row[y]) != c->shape.in_place;
                row[y] = 0.0f;
            }
            if (c->args.lse) {
                good &= test_is_canary(*call_lse_at(c, 0, h, i));
                *call_lse_at(c, 0, h, i) = 0.0f;
            }
        }
    c->args.batch = batch;
    return good;
}

static bool run_ragged(test_run *run, ragged_call *r, const sattn_options *options, bool own_memory)
{
    enum { ALIGNMENT = 64 };
    sattn_options used = *options;
    size_t size = 0;
    sattn_status status =
        sattn_attention_ragged_workspace_size(&r->c.args, &r->ragged, options, &size);
    unsigned char *memory = NULL;
    if (status == SATTN_OK && own_memory) {
        memory = aligned_alloc(ALIGNMENT, (size / ALIGNMENT + 2) * ALIGNMENT);
        if (!memory)
            exit(2);
        memset(memory, 0xff, (size / ALIGNMENT + 2) * ALIGNMENT);
        used.workspace = memory;
        used.workspace_size = size;
    }
    if (status == SATTN_OK)
        status = sattn_attention_ragged(&r->c.args, &r->ragged, &used);
    if (status != SATTN_OK)
        test_fail(run, "%s: %s", sattn_status_string(status), sattn_last_error());
    for (size_t at = size; memory && at < size + ALIGNMENT; ++at)
        if (memory[at] != 0xff) {
            test_fail(run, "written behind the workspace of %zu bytes", size);
            break;
        }
    free(memory);
    return status == SATTN_OK;
}

static void check_batch(test_run *run, const lengths *of, int variant, int splits, int threads)
{
    ragged_call together, apart;
    sattn_options options = one_kernel_options(run);
    options.key_splits = splits;
    ragged_make(&together, of, variant, run->seed);
    ragged_make(&apart, of, variant, run->seed);
    bool good = run_apart(run, &apart, &options);
    options.threads = threads;
    good = good && run_ragged(run, &together, &options, variant % 2 == 0);
    if (good && !outside_is_untouched(&together))
        test_fail(run, "variant %d: a row in no sequence was written", variant);
    outside_is_untouched(&apart);
    together.c.args.batch = apart.c.args.batch = 1;
    if (good && !(call_check(&together.c) && call_same_bits(&together.c, &apart.c)))
        test_fail(run, "variant %d, %d sequences, %d splits, %d threads: %s", variant, of->n,
                  splits, threads, together.c.failure);
    call_free(&together.c);
    call_free(&apart.c);
}

static void test_same_bits(test_run *run)
{
    for (int variant = 0; variant < VARIANTS; variant += 3)
        for (int at = 0; at < COUNT(batches); ++at) {
            const int splits = one_kernel_is_chain(run) ? 1 : 1 + (variant + at) / 2 % 2;
            const int threads = (variant + at) % 2 ? 4 : 1;
            if (test_step(run, TEST_SAMPLED))
                check_batch(run, &batches[at], variant, splits, threads);
        }
}

/* The longest batch with each number of threads and splits. */
static void test_threads_and_splits(test_run *run)
{
    static const int variants[] = {CAUSAL, CAUSAL | WINDOW | ALIBI | SINKS | HIDDEN_NAN,
                                   CAUSAL | IN_PLACE | HIDDEN_NAN};
    for (int at = 0; at < COUNT(variants); ++at)
        for (int splits = 1; splits <= (one_kernel_is_chain(run) ? 1 : 2); ++splits)
            for (int threads = 1; threads <= 4; threads += 3)
                if (test_step(run, TEST_SAMPLED))
                    check_batch(run, &batches[2], variants[at], splits, threads);
}

typedef struct refusal {
    const char *names[2]; /* that the message must hold */
    int what;
} refusal;

enum {
    FALLING_Q,
    FALLING_K,
    NEGATIVE_Q,
    NEGATIVE_K,
    BEYOND_Q,
    BEYOND_K,
    FAR_BEYOND,
    NO_RAGGED,
    NO_Q_STARTS,
    NO_K_STARTS,
    WITH_MASK,
    WITH_SCORES,
    WITH_VALID,
    WITH_SLOPE,
    WITH_HEADS
};

static const refusal refusals[] = {
    {{"q_starts[2]", "1"}, FALLING_Q},
    {{"k_starts[3]", "4"}, FALLING_K},
    {{"q_starts[0]", "-1"}, NEGATIVE_Q},
    {{"k_starts[0]", "-7"}, NEGATIVE_K},
    {{"q_starts[4]", "1000"}, BEYOND_Q},
    {{"k_starts[4]", "1000"}, BEYOND_K},
    {{"k_starts[4]", "9223372036854775807"}, FAR_BEYOND},
    {{"ragged", "NULL"}, NO_RAGGED},
    {{"q_starts", "NULL"}, NO_Q_STARTS},
    {{"k_starts", "NULL"}, NO_K_STARTS},
    {{"mask", ""}, WITH_MASK},
    {{"scores", ""}, WITH_SCORES},
    {{"n_k_valid", ""}, WITH_VALID},
    {{"alibi_slopes[1]", "inf"}, WITH_SLOPE},
    {{"n_q_heads", ""}, WITH_HEADS},
};

static const sattn_ragged *spoil(ragged_call *r, int what, float *scores, const uint8_t *mask,
                                 const int64_t *n_valid)
{
    sattn_attention_args *const a = &r->c.args;
    switch (what) {
    case FALLING_Q:
        r->q_starts[2] = 1;
        break;
    case FALLING_K:
        r->k_starts[3] = 4;
        break;
    case NEGATIVE_Q:
        r->q_starts[0] = -1;
        break;
    case NEGATIVE_K:
        r->k_starts[0] = -7;
        break;
    case BEYOND_Q:
        r->q_starts[4] = 1000;
        break;
    case BEYOND_K:
        r->k_starts[4] = 1000;
        break;
    case FAR_BEYOND:
        r->k_starts[4] = INT64_MAX;
        break;
    case NO_RAGGED:
        return NULL;
    case NO_Q_STARTS:
        r->ragged.q_starts = NULL;
        break;
    case NO_K_STARTS:
        r->ragged.k_starts = NULL;
        break;
    case WITH_MASK:
        a->mask = (sattn_mask){.kind = SATTN_MASK_BOOL, .data = mask, .extent = {1, 1, 1, 1}};
        break;
    case WITH_SCORES:
        a->scores = scores;
        a->scores_stride_t = a->n_k;
        a->scores_stride_h = a->n_q * a->n_k;
        break;
    case WITH_VALID:
        a->n_k_valid = n_valid;
        break;
    case WITH_SLOPE:
        r->c.slopes[1] = INFINITY;
        a->alibi_slopes = r->c.slopes;
        break;
    default:
        a->n_kv_heads = 2; /* for three query heads */
        break;
    }
    return &r->ragged;
}

/* Before anything is written, and with names. */
static void test_refusals(test_run *run)
{
    static float scores[4 * 64 * 64];
    static const int64_t n_valid[SEQUENCES_MAX] = {0};
    static const uint8_t mask[1] = {1};
    for (int at = 0; at < COUNT(refusals); ++at) {
        if (!test_step(run, TEST_ALWAYS))
            continue;
        const sattn_options options = one_kernel_options(run);
        ragged_call r;
        ragged_make(&r, &batches[0], 1, run->seed);
        const sattn_ragged *const ragged = spoil(&r, refusals[at].what, scores, mask, n_valid);
        const sattn_status status = sattn_attention_ragged(&r.c.args, ragged, &options);
        int64_t place;
        for (int name = 0; name < 2; ++name)
            if (status == SATTN_OK || !strstr(sattn_last_error(), refusals[at].names[name]))
                test_fail(run, "refusal %d: %s: \"%s\" does not name %s", at,
                          sattn_status_string(status), sattn_last_error(),
                          refusals[at].names[name]);
        for (int operand = 0; operand < CALL_OPERANDS; ++operand)
            if (r.c.memory[operand].map && !test_operand_is_unchanged(&r.c.memory[operand], &place))
                test_fail(run, "refusal %d: operand %d was written", at, operand);
        call_free(&r.c);
    }
}

/* The workspace of a batch has room for each of its sequences, whatever their phases. */
static void check_room(test_run *run, ragged_call *r, const sattn_options *options, size_t size)
{
    for (int b = 0; b < r->of->n; ++b) {
        const sattn_attention_args args = sequence_args(r, b);
        size_t alone = 0;
        if (sattn_attention_workspace_size(&args, options, &alone) != SATTN_OK)
            test_fail(run, "workspace size of sequence %d: %s", b, sattn_last_error());
        else if (alone > size)
            test_fail(run, "sequence %d takes %zu bytes alone, its batch %zu", b, alone, size);
    }
}

/* One byte too few is refused and nothing written; the size counts the starts that are given. */
static void test_workspace(test_run *run)
{
    if (!test_step(run, TEST_ALWAYS))
        return;
    sattn_options options = one_kernel_options(run);
    options.key_splits = one_kernel_is_chain(run) ? 1 : 2;
    ragged_call r;
    size_t size = 0;
    int64_t place;
    ragged_make(&r, &batches[2], CAUSAL | SINKS, run->seed);
    if (sattn_attention_ragged_workspace_size(&r.c.args, &r.ragged, &options, &size) != SATTN_OK)
        test_fail(run, "workspace size: %s", sattn_last_error());
    check_room(run, &r, &options, size);
    void *const memory = aligned_alloc(64, (size / 64 + 1) * 64);
    options.workspace = memory;
    options.workspace_size = size - 1;
    if (size > 0 && sattn_attention_ragged(&r.c.args, &r.ragged, &options) != SATTN_ERR_WORKSPACE)
        test_fail(run, "a workspace of %zu bytes instead of %zu is taken", size - 1, size);
    if (!test_operand_is_unchanged(&r.c.memory[CALL_O], &place))
        test_fail(run, "written although the workspace is too small");
    free(memory);
    call_free(&r.c);
}

int main(int argc, char **argv)
{
    static const test_group groups[] = {
        {"same-bits", test_same_bits},
        {"threads", test_threads_and_splits},
        {"refusals", test_refusals},
        {"workspace", test_workspace},
    };
    return test_main_of(argc, argv, test_op_asked_for(argc, argv), groups, COUNT(groups));
}
