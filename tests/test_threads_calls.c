/* SPDX-License-Identifier: MIT
 *
 * test_threads_calls.c: threads in the steps and array functions, and the places that a call may
 * come from: threads of the user's, a parallel region, a child process, a small stack. */
#define _POSIX_C_SOURCE 200809L
#include "tests/test_threads.h"

#include "tests/support/harness.h"

#include <fenv.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const int counts[] = {1, 2, 3, 7, 16};

/* Enough work for seven threads. */
static const call_shape shared_shape = {.batch = 1,
                                        .n_q_heads = 4,
                                        .n_kv_heads = 2,
                                        .n_q = 150,
                                        .n_k = 300,
                                        .d = 48,
                                        .d_v = 48,
                                        .causal = true,
                                        .sinks = CALL_SINKS_FINITE,
                                        .lse = true};

/* A decode call that is split, with the queries' place as its output. */
static const call_shape split_shape = {.batch = 1,
                                       .n_q_heads = 2,
                                       .n_kv_heads = 1,
                                       .n_q = 1,
                                       .n_k = 8000,
                                       .d = 64,
                                       .d_v = 64,
                                       .in_place = true,
                                       .mask = CALL_MASK_BOOL,
                                       .mask_axes = 8,
                                       .poison = CALL_POISON_HIDDEN,
                                       .lse = true};

static const call_shape *const kinds[] = {&shared_shape, &split_shape};

static sattn_options options_of(int threads)
{
    return (sattn_options){.threads = threads, .key_splits = 3};
}

static void expect_good(bool good, const call *c)
{
    if (!good)
        fail_msg("%s", c->failure);
}

/* Each step of a chain by itself: scores, weights in place of them, output. */
static void run_steps(call *c, float *scores, int threads)
{
    const sattn_options options = {.threads = threads};
    sattn_attention_args a = c->args;
    a.scores = scores;
    a.scores_stride_t = a.scores_in_stride_t = a.n_k;
    a.scores_stride_h = a.scores_in_stride_h = a.n_q * a.n_k;
    a.scores_stride_b = a.scores_in_stride_b = a.n_q_heads * a.n_q * a.n_k;
    a.scores_stage = SATTN_SCORES_SOFTCAPPED;
    assert_int_equal(sattn_qk(&a, &options), SATTN_OK);
    a.scores_in = scores;
    assert_int_equal(sattn_softmax(&a, &options), SATTN_OK);
    a.scores = NULL;
    assert_int_equal(sattn_av(&a, &options), SATTN_OK);
}

static void check_steps(call_shape shape, call_layout layout)
{
    shape.alibi = true;
    shape.softcap = 4.0f;
    shape.poison = CALL_POISON_VISIBLE;
    const size_t n_scores = (size_t)(shape.n_q_heads * shape.n_q * shape.n_k);
    float *const scores = test_allocate(2 * n_scores * sizeof(float));
    call want, c;
    call_make(&want, &shape, 3);
    shape.layout = layout;
    call_make(&c, &shape, 3);
    run_steps(&want, scores, 1);
    for (size_t at = 0; at < COUNT(counts); ++at) {
        call_reset(&c);
        memset(scores + n_scores, 0xff, n_scores * sizeof(float));
        run_steps(&c, scores + n_scores, counts[at]);
        assert_memory_equal(scores, scores + n_scores, n_scores * sizeof(float));
        expect_good(call_check(&c) && call_same_bits(&c, &want), &c);
    }
    call_free(&want);
    call_free(&c);
    free(scores);
}

void threads_steps(void **state)
{
    (void)state;
    call_shape many_heads = shared_shape;
    many_heads.n_q_heads = many_heads.n_kv_heads = 32;
    many_heads.n_q = 70;
    many_heads.n_k = 100;
    many_heads.d_v = 32;
    check_steps(shared_shape, CALL_GAPS);
    check_steps(many_heads, CALL_ROWS_FIRST); /* dense copies of V, for one of the two */
}

void threads_arrays(void **state)
{
    (void)state;
    static const int64_t sizes[] = {0, 1, 63, 1000, 16384, 300001, 3000000};
    enum { MOST = 3000000 };
    float *const x = test_allocate(3 * MOST * sizeof(float));
    float *const want = x + MOST, *const y = want + MOST;
    for (int64_t i = 0; i < MOST; ++i)
        x[i] = (float)(i % 20011 - 10000) / 97.0f;
    for (size_t size = 0; size < COUNT(sizes) - (SATTN_TEST_DIVISOR > 3 ? 1 : 0); ++size)
        for (int is_tanh = 0; is_tanh < 2; ++is_tanh) {
            sattn_status (*const f)(const float *, float *, int64_t, const sattn_options *) =
                is_tanh ? sattn_tanh : sattn_exp;
            const int64_t n = sizes[size];
            assert_int_equal(f(x, want, n, NULL), SATTN_OK);
            for (size_t at = 0; at < COUNT(counts); ++at) {
                const sattn_options options = {.threads = counts[at]};
                memset(y, 0xff, (size_t)n * sizeof(float));
                assert_int_equal(f(x, y, n, &options), SATTN_OK);
                assert_memory_equal(y, want, (size_t)n * sizeof(float));
                memcpy(y, x, (size_t)n * sizeof(float));
                assert_int_equal(f(y, y, n, &options), SATTN_OK);
                assert_memory_equal(y, want, (size_t)n * sizeof(float));
            }
        }
    free(x);
}

static void check_control(uint64_t control, int rounding, bool differs)
{
    call want, c, plain;
    call *const calls[] = {&want, &c, &plain};
    for (int i = 0; i < 3; ++i) {
        call_make(calls[i], &shared_shape, 4);
        for (int64_t h = 0; h < shared_shape.n_kv_heads; ++h) /* V below FLT_MIN */
            for (int64_t j = 0; j < shared_shape.n_k; ++j)
                for (int64_t y = 0; y < shared_shape.d_v; ++y)
                    call_input_row(calls[i], CALL_V, 0, h, j)[y] *= 1e-39f;
        for (int at = 0; at < CALL_OPERANDS; ++at)
            if (calls[i]->memory[at].map)
                test_operand_seal(&calls[i]->memory[at]);
    }
    const sattn_options one = options_of(1), seven = options_of(7);
    const uint64_t before = test_fp_control();
    expect_good(call_run(&plain, &seven), &plain);
    test_fp_control_set(control);
    fesetround(rounding);
    const bool ran_one = call_run(&want, &one), ran_seven = call_run(&c, &seven);
    fesetround(FE_TONEAREST);
    test_fp_control_set(before);
    expect_good(ran_one, &want);
    expect_good(ran_seven && call_same_bits(&c, &want), &c);
    assert_int_equal(call_same_bits(&c, &plain), !differs);
    call_reset(&c); /* and the threads are as they were */
    expect_good(call_run(&c, &seven) && call_same_bits(&c, &plain), &c);
    for (int i = 0; i < 3; ++i)
        call_free(calls[i]);
}

/* All threads round, and flush denormals, as the calling one does. */
void threads_control_state(void **state)
{
    (void)state;
    check_control(test_fp_control(), FE_TONEAREST, false);
#if defined(FE_UPWARD) && defined(FE_DOWNWARD) && defined(FE_TOWARDZERO)
    static const int others[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    for (size_t i = 0; i < COUNT(others); ++i)
        check_control(test_fp_control(), others[i], true);
#endif
    if (test_fp_control_flushing() != 0)
        check_control(test_fp_control_flushing(), FE_TONEAREST, true);
}

void threads_refusals(void **state)
{
    (void)state;
    static const int wrong[] = {-1, -2147483647 - 1};
    call c;
    float x = 1, y = 5;
    int64_t at;
    call_make(&c, &shared_shape, 5);
    for (size_t i = 0; i < COUNT(wrong); ++i) {
        const sattn_options options = {.threads = wrong[i]};
        size_t size = 0;
        char value[32];
        snprintf(value, sizeof value, "%d", wrong[i]);
        assert_int_equal(sattn_attention(&c.args, &options), SATTN_ERR_ARGUMENT);
        assert_non_null(strstr(sattn_last_error(), "threads"));
        assert_non_null(strstr(sattn_last_error(), value));
        assert_true(test_operand_is_unchanged(&c.memory[CALL_O], &at));
        assert_int_equal(sattn_attention_workspace_size(&c.args, &options, &size),
                         SATTN_ERR_ARGUMENT);
        assert_int_equal(sattn_exp(&x, &y, 1, &options), SATTN_ERR_ARGUMENT);
        assert_true(y == 5.0f);
    }
    const sattn_options most = {.threads = 2147483647, .key_splits = 3};
    expect_good(call_run_in_workspace(&c, &most), &c);
    call_free(&c);
}

/* One caller of several: runs `times` calls and compares each. */
typedef struct caller {
    pthread_t thread;
    const call *want;
    const sattn_plan *plan; /* NULL: sattn_attention */
    int threads, times;
    bool is_right;
    call c;
} caller;

static bool run_plan(caller *this)
{
    const size_t size = sattn_plan_workspace_size(this->plan);
    void *const workspace = aligned_alloc(64, (size / 64 + 1) * 64);
    const sattn_attention_args *const a = &this->c.args;
    const sattn_pointers pointers = {.q = a->q.data,
                                     .k = a->k.data,
                                     .v = a->v.data,
                                     .o = a->o.data,
                                     .mask = a->mask.data,
                                     .lse = a->lse,
                                     .sinks = a->sinks};
    const bool good =
        workspace && sattn_plan_run(this->plan, &pointers, workspace, size) == SATTN_OK;
    free(workspace);
    return good && call_check(&this->c);
}

static void *call_often(void *user)
{
    caller *const this = user;
    this->is_right = true;
    for (int time = 0; this->is_right && time < this->times; ++time) {
        const sattn_options options = options_of(1 + (this->threads + time) % 7);
        call_reset(&this->c);
        this->is_right = (this->plan ? run_plan(this) : call_run(&this->c, &options)) &&
                         call_same_bits(&this->c, this->want);
    }
    return NULL;
}

/* Emulated, one after the other: qemu-user 7.2 at times leaves the main thread spinning after its
 * threads have ended. */
static void run_callers(caller *callers, int n, const pthread_attr_t *attributes)
{
    for (int i = 0; i < n; ++i)
        if (SATTN_TEST_EMULATED)
            call_often(&callers[i]);
        else
            assert_int_equal(
                pthread_create(&callers[i].thread, attributes, call_often, &callers[i]), 0);
    for (int i = 0; i < n; ++i) {
        if (!SATTN_TEST_EMULATED)
            assert_int_equal(pthread_join(callers[i].thread, NULL), 0);
        if (!callers[i].is_right)
            fail_msg("caller %d: %s %s", i, callers[i].c.failure, sattn_last_error());
        call_free(&callers[i].c);
    }
}

static void check_callers(const call_shape *shape, int n, int times, bool with_plan,
                          const pthread_attr_t *attributes)
{
    enum { CALLERS_MAX = 8 };
    static caller callers[CALLERS_MAX];
    const sattn_options one = options_of(1), three = options_of(3);
    sattn_plan *plan = NULL;
    call want;
    call_make(&want, shape, 6);
    if (with_plan)
        assert_int_equal(sattn_plan_create(&plan, &want.args, &three), SATTN_OK);
    expect_good(call_run(&want, &one), &want);
    for (int i = 0; i < n; ++i) {
        callers[i] = (caller){.want = &want, .plan = plan, .threads = i, .times = times};
        call_make(&callers[i].c, shape, 6);
    }
    run_callers(callers, n, attributes);
    sattn_plan_destroy(plan);
    call_free(&want);
}

void threads_of_the_user(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < COUNT(kinds); ++kind)
        check_callers(kinds[kind], 8, 5, false, NULL);
}

/* One plan with threads, run from several threads, each with a workspace of its own. */
void threads_one_plan(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < COUNT(kinds); ++kind)
        check_callers(kinds[kind], 6, 5, true, NULL);
}

/* A caller with the smallest usual stack. */
void threads_small_stack(void **state)
{
    (void)state;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    assert_int_equal(pthread_attr_setstacksize(&attributes, 128 << 10), 0);
    for (size_t kind = 0; kind < COUNT(kinds); ++kind)
        check_callers(kinds[kind], 2, 2, false, &attributes);
    pthread_attr_destroy(&attributes);
}

/* Calls from inside a parallel region of the user's. */
void threads_nested(void **state)
{
    (void)state;
#if defined(_OPENMP)
    enum { TEAM = 3 };
    for (size_t kind = 0; kind < COUNT(kinds); ++kind) {
        const sattn_options one = options_of(1), four = options_of(4);
        call want, c[TEAM];
        bool is_right[TEAM] = {false};
        call_make(&want, kinds[kind], 11);
        expect_good(call_run(&want, &one), &want);
        for (int i = 0; i < TEAM; ++i)
            call_make(&c[i], kinds[kind], 11);
#pragma omp parallel for num_threads(TEAM) schedule(static, 1)
        for (int i = 0; i < TEAM; ++i)
            is_right[i] = call_run(&c[i], &four) && call_same_bits(&c[i], &want);
        for (int i = 0; i < TEAM; ++i) {
            expect_good(is_right[i], &c[i]);
            call_free(&c[i]);
        }
        call_free(&want);
    }
#else
    print_message("not run: this test was built without OpenMP\n");
#endif
}

/* In a child: calls with threads, from its only thread and from a new one. */
static bool child_is_right(const call *want, call *c)
{
    enum { SECONDS = 120 };
    alarm(SECONDS); /* a child that hangs ends as a failure */
    caller other = {.want = want, .threads = 3, .times = 3};
    for (int time = 0; time < 3; ++time) {
        const sattn_options options = options_of(4);
        call_reset(c);
        if (!call_run(c, &options) || !call_same_bits(c, want))
            return false;
    }
    other.c = *c;
    return pthread_create(&other.thread, NULL, call_often, &other) == 0 &&
           pthread_join(other.thread, NULL) == 0 && other.is_right;
}

/* The parent has used OpenMP by itself, and not yet called the library, as in main. */
void threads_after_fork_from_the_start(void **state)
{
    (void)state;
#if defined(_OPENMP)
    enum { SECONDS = 60 };
    if (SATTN_TEST_EMULATED) {
        print_message("not run: emulated\n");
        return;
    }
    int n_threads = 0, status = 1;
#pragma omp parallel num_threads(3) reduction(+ : n_threads)
    ++n_threads;
    assert_true(n_threads > 0);
    call c;
    call_make(&c, &shared_shape, 15);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const sattn_options options = options_of(4);
        alarm(SECONDS); /* a child that hangs ends as a failure */
        _exit(call_run(&c, &options) && call_verify(&c, options.key_splits) ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    call_free(&c);
#else
    print_message("not run: this test was built without OpenMP\n");
#endif
}

/* The parent has used threads before the fork, and uses them again behind it. */
void threads_after_fork(void **state)
{
    (void)state;
    if (SATTN_TEST_EMULATED) {
        print_message("not run: emulated\n");
        return;
    }
    for (size_t kind = 0; kind < COUNT(kinds); ++kind) {
        const sattn_options options = options_of(4);
        call want, c;
        call_make(&want, kinds[kind], 12);
        call_make(&c, kinds[kind], 12);
        expect_good(call_run(&want, &options), &want);
        int status = 1;
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            _exit(child_is_right(&want, &c) ? 0 : 1);
        expect_good(call_run(&c, &options) && call_same_bits(&c, &want), &c);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        call_free(&want);
        call_free(&c);
    }
}
