/* SPDX-License-Identifier: MIT
 *
 * test_kvcache.c: a cache of keys and values that grows, and queries that come in chunks. All at
 * once, in chunks of any size and token by token give the same bits with one kernel, and with the
 * kernels that the library chooses by itself what the oracle says, within the bound.
 *
 * The cache declares more slots than it holds rows. Slots not yet filled hold NaN; or, where the
 * heads of a slot lie side by side, slots beyond the last row do not exist: behind it is a guard
 * page. */
#include "tests/support/call.h"
#include "tests/support/one_kernel.h"

#include "bench/verify/compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

/* Slots behind the last token: no more than the guard page has room for, so that what the call
 * declares is memory of no other operand. */
static int64_t spare_slots(const sattn_attention_args *a)
{
    enum { SMALLEST_PAGE = 4096 };
    const int64_t columns = a->d > a->d_v ? a->d : a->d_v;
    return SMALLEST_PAGE / (a->n_kv_heads * columns * (int64_t)sizeof(float));
}

/* Keys or values of all KV heads, for the tokens of a call and some more. */
typedef struct cache {
    test_operand memory;
    sattn_view view;
} cache;

static cache cache_make(const sattn_attention_args *a, int64_t columns, bool ends_at_guard)
{
    const int64_t n_kv_heads = a->n_kv_heads, n_rows = a->n_k;
    cache made = {.view.stride_t = columns, .view.stride_h = (n_rows + spare_slots(a)) * columns};
    int64_t size = n_kv_heads * made.view.stride_h;
    if (ends_at_guard) {
        made.view.stride_t = n_kv_heads * columns;
        made.view.stride_h = columns;
        size = n_rows * made.view.stride_t;
    }
    const test_extents extents = {.n_groups = 1,
                                  .n_rows = 1,
                                  .n_columns = size,
                                  .group_stride = size,
                                  .row_stride = size,
                                  .element_size = sizeof(float)};
    made.memory = test_operand_make(&extents, TEST_END_FLUSH, 0); /* filled with NaN */
    made.view.data = made.memory.data;
    return made;
}

/* What a decoder does with the keys or values of new tokens. */
static void cache_append(const cache *to, const call *from, int tensor, int64_t i0, int64_t i1)
{
    const int64_t columns = tensor == CALL_K ? from->args.d : from->args.d_v;
    for (int64_t h = 0; h < from->args.n_kv_heads; ++h)
        for (int64_t i = i0; i < i1; ++i)
            memcpy((float *)to->memory.data + h * to->view.stride_h + i * to->view.stride_t,
                   call_input_row(from, tensor, 0, h, i), (size_t)columns * sizeof(float));
}

/* What is decoded: one sequence, its features by bits. */
enum { WINDOW = 1, ALIBI = 2, SOFTCAP = 4, SINKS = 8, VARIANTS = 16 };

static call_shape sequence_of(int64_t n, int variant, bool is_wide)
{
    return (call_shape){.batch = 1,
                        .n_q_heads = is_wide ? 7 : 4,
                        .n_kv_heads = is_wide ? 1 : 2,
                        .n_q = n,
                        .n_k = n,
                        .d = is_wide ? 65 : 12,
                        .d_v = is_wide ? 33 : 10,
                        .layout = is_wide ? CALL_PACKED : CALL_DENSE,
                        .causal = true,
                        .has_window = (variant & WINDOW) != 0,
                        .window_left = 40,
                        .window_right = -1,
                        .alibi = (variant & ALIBI) != 0,
                        .softcap = variant & SOFTCAP ? 1.5f : 0.0f,
                        .sinks = variant & SINKS ? CALL_SINKS_SOME : CALL_SINKS_NONE,
                        .lse = true};
}

/* Tokens [i0, i1) of `whole`, which the caches hold up to i1. The offset by default is i0. */
static sattn_attention_args chunk_of(const call *whole, const cache *k, const cache *v, int64_t i0,
                                     const int64_t *i1)
{
    sattn_attention_args args = whole->args;
    args.n_q = *i1 - i0;
    args.n_k = whole->args.n_k + spare_slots(&whole->args);
    args.n_k_valid = i1;
    args.q.data = call_input_row(whole, CALL_Q, 0, 0, i0);
    args.k = k->view;
    args.v = v->view;
    args.o.data = call_o_row(whole, 0, 0, i0);
    args.lse = whole->args.lse + i0;
    return args;
}

static bool verify_chunk(test_run *run, const sattn_attention_args *args)
{
    const sattn_verify_selection selection = {.all_rows = true};
    const sattn_bound_params params =
        one_kernel_is_chain(run) ? sattn_bound_chain() : sattn_bound_defaults();
    sattn_verify_result result;
    const char *why = "";
    sattn_verify_result_init(&result);
    const sattn_status status = sattn_verify_attention(args, &selection, &params, &result, &why);
    if (status == SATTN_OK && sattn_verify_passed(&result))
        return true;
    char text[300];
    sattn_verify_describe(&result, text, sizeof text);
    test_fail(run, "chunk of %lld, %lld keys: %s %s", (long long)args->n_q,
              (long long)*args->n_k_valid, text, why);
    return false;
}

/* Chunks of so many tokens; of CHUNK_GENERATION, half of the tokens and then one by one. */
enum { CHUNK_GENERATION = -1 };

static int64_t chunk_end(int64_t i0, int64_t n, int64_t chunk)
{
    if (chunk == CHUNK_GENERATION)
        chunk = i0 == 0 && n > 1 ? n / 2 : 1;
    return i0 + chunk < n ? i0 + chunk : n;
}

/* The sequence in chunks, through caches; o and lse go where those of `c` are. */
static bool decode(test_run *run, call *c, int64_t chunk, const sattn_options *options,
                   bool with_oracle)
{
    const sattn_attention_args *const a = &c->args;
    const bool ends_at_guard = run->step % 2 == 1;
    cache k = cache_make(a, a->d, ends_at_guard);
    cache v = cache_make(a, a->d_v, ends_at_guard);
    bool good = true;
    for (int64_t i0 = 0, i1; good && i0 < a->n_q; i0 = i1) {
        i1 = chunk_end(i0, a->n_q, chunk);
        cache_append(&k, c, CALL_K, i0, i1);
        cache_append(&v, c, CALL_V, i0, i1);
        const sattn_attention_args args = chunk_of(c, &k, &v, i0, &i1);
        const sattn_status status = sattn_attention(&args, options);
        good = status == SATTN_OK;
        if (!good)
            test_fail(run, "tokens %lld to %lld: %s", (long long)i0, (long long)i1,
                      sattn_last_error());
        good = good && (!with_oracle || verify_chunk(run, &args));
    }
    test_operand_free(&k.memory);
    test_operand_free(&v.memory);
    return good;
}

static void check_chunks(test_run *run, const call *whole, int64_t chunk)
{
    const sattn_options options = one_kernel_options(run);
    call c;
    call_make(&c, &whole->shape, whole->seed);
    if (decode(run, &c, chunk, &options, false) && !(call_check(&c) && call_same_bits(&c, whole)))
        test_fail(run, "in chunks of %lld: %s", (long long)chunk, c.failure);
    call_free(&c);
}

static const int64_t chunks[] = {1, 3, 16, 128, 200, CHUNK_GENERATION};

/* One shot, chunks, tokens: bit for bit. */
static void test_same_bits(test_run *run)
{
    static const int64_t lengths[] = {1, 2, 5, 31, 64, 127, 128, 129, 130, 200, 255, 256, 257, 300};
    const sattn_options options = one_kernel_options(run);
    for (int variant = 0; variant < VARIANTS; ++variant)
        for (int at = 0; at < COUNT(lengths); ++at) {
            /* Short ones always, of the long ones one in four; each comes about in both widths. */
            if (lengths[at] > 64 && (at + variant) % 4 != 0)
                continue;
            const call_shape shape = sequence_of(lengths[at], variant, (at + variant / 4) % 2);
            call whole;
            call_make(&whole, &shape, run->seed + (uint64_t)variant);
            whole.is_sampled = lengths[at] > 64;
            bool is_made = false;
            for (int which = 0; which < COUNT(chunks); ++which) {
                if (!test_step(run, TEST_SAMPLED))
                    continue;
                if (!is_made && !(call_run(&whole, &options) &&
                                  call_verify(&whole, one_kernel_is_chain(run) ? 0 : 1)))
                    test_fail(run, "at once: %s", whole.failure);
                is_made = true;
                check_chunks(run, &whole, chunks[which]);
            }
            call_free(&whole);
        }
}

/* Lengths at random. */
static void test_random_lengths(test_run *run)
{
    const sattn_options options = one_kernel_options(run);
    for (int time = 0; time < 30; ++time) {
        if (!test_step(run, TEST_SAMPLED))
            continue;
        test_random random = {.seed = test_step_seed(run)};
        const int64_t n = 1 + test_random_below(&random, 300);
        const call_shape shape =
            sequence_of(n, (int)test_random_below(&random, VARIANTS), time % 3 == 0);
        call whole;
        call_make(&whole, &shape, test_step_seed(run));
        if (call_run(&whole, &options))
            check_chunks(run, &whole, 1 + test_random_below(&random, n));
        else
            test_fail(run, "at once: %s", whole.failure);
        call_free(&whole);
    }
}

/* The library's own choice: a prefill kernel for long chunks, a decode kernel for tokens. */
static void test_across_kernels(test_run *run)
{
    static const int64_t lengths[] = {3, 130, 200};
    const sattn_options options = {.isa = sattn_isa_name(run->kernel->needs),
                                   .plan = one_kernel_is_chain(run) ? "chain" : NULL};
    for (int variant = 0; variant < VARIANTS; variant += 5)
        for (int at = 0; at < COUNT(lengths); ++at)
            for (int which = 0; which < COUNT(chunks); which += 2) {
                if (!test_step(run, TEST_SAMPLED))
                    continue;
                const call_shape shape = sequence_of(lengths[at], variant, at % 2);
                call c;
                call_make(&c, &shape, run->seed);
                decode(run, &c, chunks[which], &options, true);
                call_free(&c);
            }
}

/* One new token for each of several sequences whose caches are filled to different lengths. */
static void check_batch(test_run *run, int variant, int64_t n_q)
{
    enum { BATCH = 4 };
    static const int64_t lengths[BATCH] = {300, 1, 0, 129};
    const sattn_options options = one_kernel_options(run);
    call_shape shape = sequence_of(n_q, variant, variant % 2);
    shape.batch = BATCH;
    shape.n_k = 333;
    shape.layout = variant % 2 ? CALL_GAPS : CALL_ROWS_FIRST;
    call c, alone;
    call_make(&c, &shape, run->seed);
    call_make(&alone, &shape, run->seed);
    c.args.n_k_valid = lengths;
    for (int64_t b = 0; b < BATCH; ++b)
        for (int64_t h = 0; h < shape.n_kv_heads; ++h)
            for (int64_t j = lengths[b]; j < shape.n_k; ++j)
                for (int tensor = CALL_K; tensor <= CALL_V; ++tensor)
                    for (int64_t x = 0; x < (tensor == CALL_K ? shape.d : shape.d_v); ++x)
                        call_input_row(&c, tensor, b, h, j)[x] = NAN;
    const sattn_status status = sattn_attention(&c.args, &options);
    bool good = status == SATTN_OK;
    for (int64_t b = 0; good && b < BATCH; ++b) {
        sattn_attention_args args = alone.args;
        args.batch = 1;
        args.n_k = lengths[b];
        args.q.data = call_input_row(&alone, CALL_Q, b, 0, 0);
        args.k.data = call_input_row(&alone, CALL_K, b, 0, 0);
        args.v.data = call_input_row(&alone, CALL_V, b, 0, 0);
        args.o.data = call_o_row(&alone, b, 0, 0);
        args.lse = call_lse_at(&alone, b, 0, 0);
        good = sattn_attention(&args, &options) == SATTN_OK;
    }
    if (!good)
        test_fail(run, "%s", sattn_last_error());
    else if (!call_same_bits(&c, &alone))
        test_fail(run, "sequences in one batch: %s", c.failure);
    call_free(&c);
    call_free(&alone);
}

static void test_batch(test_run *run)
{
    for (int variant = 0; variant < VARIANTS; ++variant)
        for (int64_t n_q = 1; n_q <= 4; n_q += 3)
            if (test_step(run, TEST_SAMPLED))
                check_batch(run, variant, n_q);
}

int main(int argc, char **argv)
{
    static const test_group groups[] = {
        {"same-bits", test_same_bits},
        {"random-lengths", test_random_lengths},
        {"across-kernels", test_across_kernels},
        {"batch", test_batch},
    };
    return test_main_of(argc, argv, test_op_asked_for(argc, argv), groups, COUNT(groups));
}
