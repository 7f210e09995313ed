/* SPDX-License-Identifier: MIT
 *
 * piece_run.c: runs the kernel of a piece_problem, and looks at what it wrote. */
#include "tests/support/piece_problem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void piece_problem_fail(const piece_problem *problem, test_run *run, const char *what)
{
    char shape[640];
    piece_shape_print(&problem->shape, shape, sizeof shape);
    test_fail(run, "%s [%s]", what, shape);
}

static test_operand *output_of(piece_problem *p)
{
    return &p->operand[p->shape.in_place ? PIECE_IN : PIECE_OUT];
}

float *piece_out_row(const piece_problem *problem, int64_t g, int64_t i)
{
    return test_operand_f32(&problem->operand[problem->shape.in_place ? PIECE_IN : PIECE_OUT], g,
                            i);
}

/* Takes what the call wrote, if it did, into the image of what ought to be there afterwards. */
static void accept(piece_problem *p, test_run *run, const test_operand *t, unsigned char *image,
                   const float *from, int64_t n)
{
    for (int64_t x = 0; x < n; ++x)
        if (test_is_canary(from[x])) {
            piece_problem_fail(p, run,
                               "an element of the output or the statistics was not written");
            break;
        }
    if (n > 0)
        memcpy(image + ((const unsigned char *)from - t->pages), from, (size_t)n * sizeof *from);
}

static void accept_written(piece_problem *p, test_run *run, unsigned char *out_image,
                           unsigned char *stats_image)
{
    const piece_shape *const s = &p->shape;
    const test_operand *const stats = &p->operand[PIECE_STATS];
    const bool is_qk = s->op == SATTN_OP_qk;
    const int64_t begin = is_qk ? s->j0 : 0;
    const int64_t end = is_qk ? s->j1 : piece_out_width(s);
    for (int64_t g = 0; g < s->n_group; ++g)
        for (int64_t i = s->i0; i < s->i1; ++i) {
            accept(p, run, output_of(p), out_image, piece_out_row(p, g, i) + begin, end - begin);
            if (s->op == SATTN_OP_softmax && !s->without_statistics)
                for (int64_t statistic = 0; statistic < 2; ++statistic)
                    accept(p, run, stats, stats_image, test_operand_f32(stats, statistic, g) + i,
                           1);
        }
}

static void check_surroundings(piece_problem *p, test_run *run)
{
    static const char *const names[] = {"the input", "k or v",         "the output",
                                        "the mask",  "the statistics", "the slopes"};
    const int out = p->shape.in_place ? PIECE_IN : PIECE_OUT;
    test_operand after[PIECE_OPERANDS];
    for (int operand = 0; operand < PIECE_OPERANDS; ++operand) {
        after[operand] = p->operand[operand];
        if (operand == out ||
            operand == PIECE_STATS) { /* what was there stays known to the oracle */
            after[operand].before = test_allocate(after[operand].n_bytes);
            memcpy(after[operand].before, p->operand[operand].before, after[operand].n_bytes);
        }
    }
    accept_written(p, run, after[out].before, after[PIECE_STATS].before);
    for (int operand = 0; operand < PIECE_OPERANDS; ++operand) {
        int64_t at;
        if (!test_operand_is_unchanged(&after[operand], &at)) {
            char what[128];
            snprintf(what, sizeof what, "%s was written where it must not be, at byte %lld",
                     names[operand], (long long)at);
            piece_problem_fail(p, run, what);
        }
    }
    free(after[out].before);
    free(after[PIECE_STATS].before);
}

static void call(const piece_problem *p, const test_run *run)
{
    if (p->shape.op == SATTN_OP_qk)
        run->kernel->fn.qk(&p->args.qk);
    else if (p->shape.op == SATTN_OP_softmax)
        run->kernel->fn.softmax(&p->args.softmax);
    else
        run->kernel->fn.av(&p->args.av);
}

void piece_problem_run(piece_problem *problem, test_run *run)
{
    const uint64_t control = test_fp_control();
    test_operand_spoil(&problem->scratch, 0, 1);
    test_operand_spoil(&problem->operand[PIECE_OUT], 0, problem->shape.n_rows);
    test_operand_spoil(&problem->operand[PIECE_STATS], 0, problem->shape.n_group);
    for (int operand = 0; operand < PIECE_OPERANDS; ++operand)
        test_operand_seal(&problem->operand[operand]);
    call(problem, run);
    if (test_fp_control() != control) {
        piece_problem_fail(problem, run, "the floating-point control state was changed");
        test_fp_control_set(control);
    }
    check_surroundings(problem, run);
}
