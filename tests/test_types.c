/* SPDX-License-Identifier: MIT
 *
 * test_types.c: element types are checked together, not one by one: of all combinations of the
 * operands' types only those are taken that a kernel computes, and the rest is refused by name
 * before anything is written (N22). */
#include "dispatch/simdattn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { OPERANDS = 4, TYPES = 3, COMBINATIONS = TYPES * TYPES * TYPES * TYPES };

static float q[2], k[2], v[2], o[2], scores[1];

static sattn_attention_args make_args(int combination)
{
    static const sattn_dtype types[TYPES] = {SATTN_F32, SATTN_F16, SATTN_BF16};
    sattn_dtype type[OPERANDS];
    for (int at = 0; at < OPERANDS; ++at, combination /= TYPES)
        type[at] = types[combination % TYPES];
    return (sattn_attention_args){.batch = 1,
                                  .n_q_heads = 1,
                                  .n_kv_heads = 1,
                                  .n_q = 1,
                                  .n_k = 1,
                                  .d = 2,
                                  .d_v = 2,
                                  .q = {.data = q, .dtype = type[0]},
                                  .k = {.data = k, .dtype = type[1]},
                                  .v = {.data = v, .dtype = type[2]},
                                  .o = {.data = o, .dtype = type[3]}};
}

static void check(sattn_status status, bool is_legal, const float *out, size_t size)
{
    unsigned char untouched[sizeof o];
    memset(untouched, 0x5a, sizeof untouched);
    assert_int_equal(status, is_legal ? SATTN_OK : SATTN_ERR_UNSUPPORTED);
    if (is_legal)
        return;
    assert_non_null(strstr(sattn_last_error(), ".dtype"));
    assert_memory_equal(out, untouched, size);
}

static void test_attention(void **state)
{
    (void)state;
    for (int combination = 0; combination < COMBINATIONS; ++combination) {
        const sattn_attention_args args = make_args(combination);
        for (int plan = 0; plan < 2; ++plan) {
            const sattn_options options = {.plan = plan ? "chain" : "fused"};
            size_t size = 0;
            sattn_plan *made;
            memset(o, 0x5a, sizeof o);
            check(sattn_attention(&args, &options), combination == 0, o, sizeof o);
            check(sattn_attention_workspace_size(&args, &options, &size), combination == 0, o,
                  sizeof o);
            check(sattn_plan_create(&made, &args, &options), combination == 0, o, sizeof o);
            sattn_plan_destroy(made);
        }
    }
}

/* A step looks at the types of its own operands, and at no others. */
static void test_steps(void **state)
{
    (void)state;
    for (int combination = 0; combination < COMBINATIONS; ++combination) {
        sattn_attention_args args = make_args(combination);
        args.scores = scores;
        memset(scores, 0x5a, sizeof scores);
        check(sattn_qk(&args, NULL), args.q.dtype == SATTN_F32 && args.k.dtype == SATTN_F32, scores,
              sizeof scores);
        args.scores = NULL;
        args.scores_in = scores;
        memset(o, 0x5a, sizeof o);
        check(sattn_av(&args, NULL), args.v.dtype == SATTN_F32 && args.o.dtype == SATTN_F32, o,
              sizeof o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attention),
        cmocka_unit_test(test_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
