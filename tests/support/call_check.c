/* SPDX-License-Identifier: MIT
 *
 * call_check.c: runs a call and judges what it left: bytes beside the outputs, bits, the oracle. */
#include "tests/support/call.h"

#include "bench/verify/compare.h"
#include "tests/support/harness.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool fail(call *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool fail(call *c, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int n = vsnprintf(c->failure, sizeof c->failure, format, arguments);
    va_end(arguments);
    if (n >= 0 && (size_t)n + 4 < sizeof c->failure) {
        memcpy(c->failure + n, "; ", 3);
        call_print(&c->shape, c->failure + n + 2, sizeof c->failure - (size_t)n - 2);
    }
    return false;
}

/* The operand that a row of an output lies in. */
static int memory_of(const call *c, const void *row)
{
    for (int at = 0; at < CALL_OPERANDS; ++at) {
        const test_operand *const memory = &c->memory[at];
        const unsigned char *const byte = row;
        if (memory->map && byte >= memory->pages && byte < memory->pages + memory->n_bytes)
            return at;
    }
    return -1;
}

/* Takes a row of outputs into what is expected; false: an element was never written. */
static bool expect_row(call *c, unsigned char *const *expected, const float *row, int64_t n)
{
    const int at = n > 0 ? memory_of(c, row) : -1;
    if (at < 0)
        return true;
    const ptrdiff_t place = (const unsigned char *)row - c->memory[at].pages;
    memcpy(expected[at] + place, row, (size_t)n * sizeof(float));
    for (int64_t x = 0; x < n; ++x)
        if (test_is_canary(row[x]))
            return false;
    return true;
}

static bool check_bytes(call *c, unsigned char *const *expected)
{
    static const char *const names[] = {"q", "k", "v", "o", "mask", "lse", "scores"};
    for (int at = 0; at < CALL_OPERANDS; ++at) {
        const test_operand *const memory = &c->memory[at];
        if (!memory->map || memcmp(memory->pages, expected[at], memory->n_bytes) == 0)
            continue;
        for (size_t byte = 0; byte < memory->n_bytes; ++byte)
            if (memory->pages[byte] != expected[at][byte])
                return fail(c, "written beside the elements of an output: memory of %s, byte %lld",
                            names[at],
                            (long long)(memory->pages + byte - (unsigned char *)memory->data));
    }
    return true;
}

bool call_check(call *c)
{
    unsigned char *expected[CALL_OPERANDS] = {NULL};
    bool is_written = true;
    for (int at = 0; at < CALL_OPERANDS; ++at)
        if (c->memory[at].map) {
            expected[at] = test_allocate(c->memory[at].n_bytes);
            memcpy(expected[at], c->memory[at].before, c->memory[at].n_bytes);
        }
    for (int64_t b = 0; b < c->args.batch; ++b)
        for (int64_t h = 0; h < c->args.n_q_heads; ++h)
            for (int64_t i = 0; i < c->args.n_q; ++i) {
                is_written &= expect_row(c, expected, call_o_row(c, b, h, i), c->args.d_v);
                if (c->args.lse)
                    is_written &= expect_row(c, expected, call_lse_at(c, b, h, i), 1);
                if (c->args.scores)
                    is_written &= expect_row(c, expected, call_scores_row(c, b, h, i), c->args.n_k);
            }
    bool good = check_bytes(c, expected);
    if (good && !is_written)
        good = fail(c, "an element of an output was not written");
    for (int at = 0; at < CALL_OPERANDS; ++at)
        free(expected[at]);
    return good;
}

bool call_run(call *c, const sattn_options *options)
{
    const uint64_t control = test_fp_control();
    const sattn_status status = sattn_attention(&c->args, options);
    if (status != SATTN_OK)
        return fail(c, "%s: %s", sattn_status_string(status), sattn_last_error());
    if (test_fp_control() != control)
        return fail(c, "the floating-point control state was changed");
    return call_check(c);
}

bool call_run_in_workspace(call *c, const sattn_options *options)
{
    enum { ALIGNMENT = 64 };
    size_t size = 0;
    sattn_options used = options ? *options : (sattn_options){0};
    if (sattn_attention_workspace_size(&c->args, options, &size) != SATTN_OK)
        return fail(c, "workspace size: %s", sattn_last_error());
    const test_extents extents = {.n_groups = 1,
                                  .n_rows = 1,
                                  .n_columns = (int64_t)size,
                                  .group_stride = (int64_t)size,
                                  .row_stride = (int64_t)size,
                                  .element_size = 1};
    test_operand memory =
        test_operand_make(&extents, TEST_END_FLUSH, (ALIGNMENT - size % ALIGNMENT) % ALIGNMENT);
    memset(memory.data, 0xff, size); /* NaN, should any of it be read before it is written */
    test_operand_seal(&memory);
    used.workspace = memory.data;
    used.workspace_size = size;
    bool good = call_run(c, &used);
    /* Around it nothing may have changed. */
    memset(memory.data, 0xff, size);
    int64_t at;
    if (good && !test_operand_is_unchanged(&memory, &at))
        good = fail(c, "written outside the workspace of %zu bytes, at byte %lld", size,
                    (long long)at);
    test_operand_free(&memory);
    return good;
}

/* A row that sees nothing is +0 to the bit, its log-sum-exp the sink or -inf. */
static bool check_blind_rows(call *c)
{
    static const float zero = 0.0f;
    for (int64_t b = 0; b < c->args.batch; ++b)
        for (int64_t h = 0; h < c->args.n_q_heads; ++h)
            for (int64_t i = 0; i < c->args.n_q; ++i) {
                bool sees = c->shape.sinks == CALL_SINKS_SPECIAL;
                for (int64_t j = 0; !sees && j < c->args.n_k; ++j)
                    sees = call_sees(c, b, h, i, j);
                if (sees)
                    continue;
                for (int64_t y = 0; y < c->args.d_v; ++y)
                    if (memcmp(call_o_row(c, b, h, i) + y, &zero, sizeof zero) != 0)
                        return fail(c, "row %lld of head %lld sees no key, but is %g", (long long)i,
                                    (long long)h, (double)call_o_row(c, b, h, i)[y]);
                const float lse = c->args.sinks ? c->args.sinks[h] : -INFINITY;
                const double got = c->args.lse ? (double)*call_lse_at(c, b, h, i) : (double)lse;
                if (!(got == (double)lse))
                    return fail(c, "log-sum-exp of a row that sees no key is %g instead of %g", got,
                                (double)lse);
            }
    return true;
}

bool call_verify(call *c, int64_t n_splits)
{
    const sattn_verify_selection selection = {
        .all_rows = !c->is_sampled, .n_random = 6, .seed = c->seed};
    sattn_bound_params params = n_splits > 0 ? sattn_bound_defaults() : sattn_bound_chain();
    params.n_splits = n_splits > 0 ? n_splits : 1;
    sattn_verify_result result;
    const char *why = "";
    sattn_attention_args args = c->args;
    args.scores = NULL;
    if (c->shape.in_place) /* as it was before the call */
        args.q.data = c->memory[CALL_Q].before +
                      ((const unsigned char *)c->args.q.data - c->memory[CALL_Q].pages);
    sattn_verify_result_init(&result);
    const sattn_status status = sattn_verify_attention(&args, &selection, &params, &result, &why);
    if (status != SATTN_OK || !sattn_verify_passed(&result)) {
        char text[300];
        sattn_verify_describe(&result, text, sizeof text);
        return fail(c, "%s %s", status == SATTN_OK ? text : "the oracle refuses:", why);
    }
    if (!check_blind_rows(c))
        return false;
    if (!c->args.scores || call_verify_scores(c))
        return true;
    char text[300];
    snprintf(text, sizeof text, "%.299s", c->failure);
    return fail(c, "%s", text);
}

static bool same_row(call *c, const char *what, const float *got, const float *want, int64_t n,
                     const int64_t place[3])
{
    for (int64_t x = 0; x < n; ++x)
        if (memcmp(&got[x], &want[x], sizeof got[x]) != 0)
            return fail(c, "%s of batch %lld, head %lld, row %lld, at %lld: %.9g instead of %.9g",
                        what, (long long)place[0], (long long)place[1], (long long)place[2],
                        (long long)x, (double)got[x], (double)want[x]);
    return true;
}

bool call_same_bits(call *c, const call *want)
{
    bool good = true;
    for (int64_t b = 0; b < c->args.batch; ++b)
        for (int64_t h = 0; h < c->args.n_q_heads; ++h)
            for (int64_t i = 0; good && i < c->args.n_q; ++i) {
                const int64_t at[3] = {b, h, i};
                good = same_row(c, "output", call_o_row(c, b, h, i), call_o_row(want, b, h, i),
                                c->args.d_v, at);
                if (good && c->args.lse && want->args.lse)
                    good = same_row(c, "log-sum-exp", call_lse_at(c, b, h, i),
                                    call_lse_at(want, b, h, i), 1, at);
                if (good && c->args.scores && want->args.scores)
                    good = same_row(c, "scores", call_scores_row(c, b, h, i),
                                    call_scores_row(want, b, h, i), c->args.n_k, at);
            }
    return good;
}
