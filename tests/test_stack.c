/* SPDX-License-Identifier: MIT
 *
 * test_stack.c: every kernel, by the public calls, on a thread whose stack is as small as some C
 * libraries make it (128 KiB), with rows of 40,000 keys: working memory is on the heap, whatever
 * the length of a row (B14). The stack is painted first, so that the test sees how much of it was
 * used. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "dispatch/registry.h"
#include "dispatch/simdattn.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Prefill takes few keys where the processor is emulated, or the code instrumented. */
#if SATTN_TEST_DIVISOR > 1
enum { D = 4, PREFILL_KEYS = 2000 };
#else
enum { D = 16, PREFILL_KEYS = 40000 };
#endif
enum {
    KEYS = 40000,
    HEADS = 2, /* of one group */
    MOST_ROWS = 15,
    STACK_SIZE = 128 << 10,
    GUARD_SIZE = 64 << 10, /* a multiple of every usual page size */
    MOST_USED = 32 << 10,  /* by optimised code without instrumentation */
    PAINT = 0xA5,
};

static float q[HEADS * MOST_ROWS * D], k[KEYS * D], v[KEYS * D], o[HEADS * MOST_ROWS * D];
static float lse[HEADS * MOST_ROWS], scores[HEADS * MOST_ROWS * KEYS];
static uint8_t allow[KEYS];
static const float slopes[HEADS] = {0.5f, -0.001f};

typedef struct job {
    const sattn_kernel *kernel;
    int64_t n_q;
    bool hides; /* a mask hides a key whose V row is NaN, which asks for the repair */
    sattn_status status;
    char error[256];
} job;

static void set_scores(sattn_attention_args *args, const float *in, float *out)
{
    args->scores = out;
    args->scores_in = in;
    args->scores_stride_t = args->scores_in_stride_t = args->n_k;
    args->scores_stride_h = args->scores_in_stride_h = args->n_q * args->n_k;
}

/* The kernel's own step of the call. */
static sattn_status run_step(const sattn_attention_args *args, const sattn_options *options,
                             sattn_op op)
{
    sattn_attention_args step = *args;
    step.lse = NULL;
    if (op == SATTN_OP_qk) {
        step.mask.kind = SATTN_MASK_NONE;
        step.causal = false;
        step.softcap = 30.0f;
        set_scores(&step, NULL, scores);
        step.scores_stage = SATTN_SCORES_SOFTCAPPED;
        return sattn_qk(&step, options);
    }
    if (op == SATTN_OP_softmax) {
        set_scores(&step, scores, scores);
        return sattn_softmax(&step, options);
    }
    set_scores(&step, scores, NULL);
    return sattn_av(&step, options);
}

static sattn_status run_attention(const job *this)
{
    const sattn_op op = this->kernel->op;
    const int64_t n_k = this->n_q == MOST_ROWS ? PREFILL_KEYS : KEYS;
    sattn_attention_args args = {.batch = 1,
                                 .n_q_heads = HEADS,
                                 .n_kv_heads = 1,
                                 .n_q = this->n_q,
                                 .n_k = n_k,
                                 .d = D,
                                 .d_v = D,
                                 .q = {.data = q, .stride_h = this->n_q * D, .stride_t = D},
                                 .k = {.data = k, .stride_t = D},
                                 .v = {.data = v, .stride_t = D},
                                 .o = {.data = o, .stride_h = this->n_q * D, .stride_t = D},
                                 .causal = true,
                                 .lse = lse,
                                 .lse_stride_h = this->n_q};
    const sattn_options options = {.kernels = this->kernel->name,
                                   .plan = op == SATTN_OP_fused ? "fused" : "chain"};
    if (this->hides) {
        args.softcap = 30.0f;
        args.alibi_slopes = slopes;
        args.has_window = true;
        args.window_left = n_k; /* key 3 stays in it, and asks for the repair */
    }
    if (this->hides)
        args.mask = (sattn_mask){.kind = SATTN_MASK_BOOL,
                                 .data = allow,
                                 .extent = {1, 1, 1, n_k},
                                 .stride = {0, 0, 0, 1}};
    const sattn_options alone = {.kernels = this->kernel->name};
    const sattn_status status = op == SATTN_OP_fused ? SATTN_OK : run_step(&args, &alone, op);
    return status == SATTN_OK ? sattn_attention(&args, &options) : status;
}

static bool is_attention(sattn_op op)
{
    return op == SATTN_OP_fused || op == SATTN_OP_qk || op == SATTN_OP_softmax || op == SATTN_OP_av;
}

/* A cell of one unit, whose weights are 0, on the rows of K: gates of 1/2 or tanh of 0. */
static sattn_status run_gru_cell(const sattn_options *options)
{
    static const float zeros[3 * D];
    const sattn_cell_weights weights = {
        .input = {.n_in = D, .n_out = 3, .w = {.data = zeros, .stride_t = D}},
        .hidden = {.n_in = 1, .n_out = 3, .w = {.data = zeros, .stride_t = 1}}};
    const sattn_cell_rows rows = {.n_rows = 1,
                                  .x = {.data = k, .stride_t = D},
                                  .h = {.data = v, .stride_t = 1},
                                  .next = {.data = scores, .stride_t = 1}};
    return sattn_gru_cell(&weights, &rows, options);
}

/* What is no part of an attention, so that the first number of `scores` is apart_result(). */
static sattn_status run_apart(const job *this)
{
    const sattn_options options = {.kernels = this->kernel->name};
    const sattn_alignment_args alignment = {.batch = 1,
                                            .n_q = this->n_q,
                                            .n_k = KEYS,
                                            .d = 1,
                                            .q = {.data = q, .stride_t = D},
                                            .k = {.data = k, .stride_t = D},
                                            .v = v,
                                            .scores = {.data = scores, .stride_t = KEYS}};
    const sattn_linear_weights weights = {
        .n_in = D, .n_out = KEYS, .w = {.data = k, .stride_t = D}};
    const sattn_linear_rows rows = {.n_rows = this->n_q,
                                    .x = {.data = q, .stride_t = 0},
                                    .y = {.data = scores, .stride_t = KEYS}};
    switch (this->kernel->op) {
    case SATTN_OP_exp:
        return sattn_exp(k, scores, KEYS, &options);
    case SATTN_OP_tanh:
        return sattn_tanh(k, scores, KEYS, &options);
    case SATTN_OP_sigmoid:
        return sattn_sigmoid(k, scores, KEYS, &options);
    case SATTN_OP_additive:
        return sattn_additive(&alignment, &options);
    case SATTN_OP_linear:
        return sattn_linear(&weights, &rows, &options);
    default:
        return run_gru_cell(&options);
    }
}

/* K and Q begin with 0. */
static float apart_result(sattn_op op)
{
    float dot = 0;
    for (int x = 0; x < D; ++x)
        dot += q[x] * k[x];
    return op == SATTN_OP_exp                             ? 1.0f
           : op == SATTN_OP_sigmoid || op == SATTN_OP_gru ? 0.5f
           : op == SATTN_OP_linear                        ? dot
                                                          : 0.0f;
}

static void *run_job(void *user)
{
    job *const this = user;
    this->status = is_attention(this->kernel->op) ? run_attention(this) : run_apart(this);
    if (this->status != SATTN_OK)
        snprintf(this->error, sizeof this->error, "%s", sattn_last_error());
    return NULL;
}

/* Runs the job on a stack of its own, and returns the bytes of it that were written. 0: no thread.
 */
static size_t run_on_small_stack(job *this)
{
    unsigned char *const memory = mmap(NULL, GUARD_SIZE + STACK_SIZE, PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_t attributes;
    pthread_t thread;
    size_t untouched = 0;
    if (memory == MAP_FAILED)
        return 0;
    unsigned char *const stack = memory + GUARD_SIZE;
    memset(stack, PAINT, STACK_SIZE);
    pthread_attr_init(&attributes);
    const bool ran = mprotect(memory, GUARD_SIZE, PROT_NONE) == 0 &&
                     pthread_attr_setstack(&attributes, stack, STACK_SIZE) == 0 &&
                     pthread_create(&thread, &attributes, run_job, this) == 0 &&
                     pthread_join(thread, NULL) == 0;
    pthread_attr_destroy(&attributes);
    while (ran && untouched < STACK_SIZE && stack[untouched] == PAINT)
        ++untouched;
    munmap(memory, GUARD_SIZE + STACK_SIZE);
    return ran ? STACK_SIZE - untouched : 0;
}

/* Every value that is seen is 1, so every output is 1 whatever the weights. */
static bool is_right(const job *this)
{
    if (!is_attention(this->kernel->op))
        return fabsf(scores[0] - apart_result(this->kernel->op)) == 0.0f;
    for (int64_t at = 0; at < HEADS * this->n_q * D; ++at)
        if (!(fabsf(o[at] - 1.0f) <= 1e-4f))
            return false;
    return true;
}

static bool check(const sattn_kernel *kernel, int64_t n_q, bool hides, size_t *most)
{
    job this = {.kernel = kernel, .n_q = n_q, .hides = hides, .status = SATTN_ERR_MEMORY};
    v[3 * D + 1] = hides ? NAN : 1.0f;
    /* The weights that av is given on its own. */
    for (int64_t at = 0; at < HEADS * n_q * KEYS; ++at)
        scores[at] = 1.0f / (float)KEYS;
    memset(o, 0xff, sizeof o);
    const size_t used = run_on_small_stack(&this);
    *most = used > *most ? used : *most;
    if (used == 0)
        fprintf(stderr, "FAIL %s: no thread with a stack of %d bytes\n", kernel->name, STACK_SIZE);
    else if (this.status != SATTN_OK)
        fprintf(stderr, "FAIL %s: %s: %s\n", kernel->name, sattn_status_string(this.status),
                this.error);
    else if (!is_right(&this))
        fprintf(stderr, "FAIL %s, %lld rows of a head: wrong result\n", kernel->name,
                (long long)n_q);
    else
        return true;
    return false;
}

int main(void)
{
    static const int64_t rows_of_phase[] = {1, 4, MOST_ROWS}; /* decode, few-query, prefill */
    size_t count, most = 0;
    int n_failures = 0, n_run = 0, n_skipped = 0;
    const sattn_kernel *const rows = sattn_registry(&count);
    for (int64_t at = 0; at < KEYS * D; ++at) {
        k[at] = (float)(at % 31) / 16.0f;
        v[at] = 1.0f;
    }
    for (int64_t at = 0; at < HEADS * MOST_ROWS * D; ++at)
        q[at] = (float)(at % 7) / 8.0f;
    memset(allow, 1, sizeof allow);
    allow[3] = 0;
    for (size_t i = 0; i < count; ++i) {
        if (rows[i].needs & ~sattn_cpu_this()->usable) {
            ++n_skipped;
            continue;
        }
        size_t used = 0;
        for (int phase = 0; phase < 3; ++phase)
            for (int hides = 0; hides < 2; ++hides)
                n_failures += !check(&rows[i], rows_of_phase[phase], hides, &used);
        printf("%-34s %6zu bytes of stack\n", rows[i].name, used);
        most = used > most ? used : most;
        ++n_run;
    }
#if defined(__OPTIMIZE__) && !SATTN_TEST_INSTRUMENTED
    if (most > MOST_USED) {
        fprintf(stderr, "FAIL: %zu bytes of stack used, more than %d\n", most, MOST_USED);
        ++n_failures;
    }
#endif
    printf("%d kernels run, %d not usable here, %d failures, %zu bytes at most\n", n_run, n_skipped,
           n_failures, most);
    return n_run == 0 || n_failures != 0;
}
