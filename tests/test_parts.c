/* SPDX-License-Identifier: MIT
 *
 * test_parts.c: key ranges of a block that are tasks of their own, in orders that threads hardly
 * ever choose. Whichever range is done last, of however many blocks under way, it alone merges, and
 * the result has the bits of one thread. Here stands in place of team.c what runs the tasks one
 * after the other, so nothing depends on what threads happen to do; memory that no task has
 * written holds NaN. */
#include "dispatch/plan.h"
#include "dispatch/team.h"
#include "tests/support/call.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

enum { THREADS = 16 };

typedef enum task_order {
    IN_ORDER,
    BACKWARDS,
    BY_PARTS,           /* the first range of each block, then the second of each */
    BY_PARTS_BACKWARDS, /* the last one of each first */
    ORDERS,
} task_order;

static task_order order;
static int64_t n_splits; /* of a block into tasks */
static int64_t tasks_run;

static int64_t task_of_turn(int64_t turn, int64_t n_tasks)
{
    const int64_t n_blocks = n_tasks / n_splits;
    const int64_t at =
        order == BACKWARDS || order == BY_PARTS_BACKWARDS ? n_tasks - 1 - turn : turn;
    return order < BY_PARTS ? at : at % n_blocks * n_splits + at / n_blocks;
}

void sattn_team_run(int max_workers, int64_t n_tasks, sattn_task_fn *task, void *context)
{
    for (int64_t turn = 0; turn < n_tasks; ++turn)
        task(context, task_of_turn(turn, n_tasks), (int)(turn % max_workers));
    tasks_run = n_tasks;
}

bool sattn_team_is_built(void)
{
    return true;
}

int sattn_team_cpus(void)
{
    return THREADS;
}

const char *sattn_team_runtime(void)
{
    return "one after the other";
}

/* Units of few rows, and one of several blocks; each with less blocks than threads. */
static const call_shape shapes[] = {
    {.batch = 1,
     .n_q_heads = 8,
     .n_kv_heads = 2,
     .n_q = 1,
     .n_k = 3000,
     .d = 64,
     .d_v = 64,
     .lse = true},
    {.batch = 1,
     .n_q_heads = 4,
     .n_kv_heads = 2,
     .n_q = 20,
     .n_k = 1500,
     .d = 48,
     .d_v = 48,
     .in_place = true,
     .causal = true,
     .sinks = CALL_SINKS_SOME,
     .poison = CALL_POISON_VISIBLE,
     .lse = true},
    {.batch = 1,
     .n_q_heads = 3,
     .n_kv_heads = 1,
     .n_q = 97,
     .n_k = 1000,
     .d = 64,
     .d_v = 40,
     .mask = CALL_MASK_BOOL,
     .mask_axes = 12,
     .sinks = CALL_SINKS_FINITE},
};

static void expect_good(bool good, const call *c, const sattn_options *options)
{
    if (!good)
        fail_msg("%d queries, %d threads, %d splits, order %d: %s", (int)c->shape.n_q,
                 options->threads, options->key_splits, (int)order, c->failure);
}

static void check_orders(const call_shape *shape, int splits)
{
    sattn_options options = {.key_splits = splits, .plan = "fused"};
    sattn_plan plan;
    call want, c;
    call_make(&want, shape, 11);
    call_make(&c, shape, 11);
    order = IN_ORDER;
    n_splits = 1;
    expect_good(call_run_in_workspace(&want, &options) && call_verify(&want, splits), &want,
                &options);
    options.threads = THREADS;
    assert_int_equal(sattn_plan_make_attention(&plan, &c.args, &options), SATTN_OK);
    assert_true(plan.parts_apart);
    n_splits = plan.splits;
    for (int at = 0; at < ORDERS; ++at) {
        order = (task_order)at;
        call_reset(&c);
        expect_good(call_run_in_workspace(&c, &options) && call_same_bits(&c, &want), &c, &options);
        assert_int_equal(tasks_run, shape->batch * shape->n_kv_heads * plan.n_blocks * plan.splits);
    }
    call_free(&want);
    call_free(&c);
}

static void test_orders(void **state)
{
    (void)state;
    for (size_t at = 0; at < COUNT(shapes); ++at)
        for (int splits = 2; splits <= 4; ++splits)
            check_orders(&shapes[at], splits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_orders)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
