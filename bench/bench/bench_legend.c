/* SPDX-License-Identifier: MIT
 *
 * bench_legend.c: explains the columns and bounds that were printed, and no others. */
#include "bench/bench/bench_legend.h"

#include <stdio.h>
#include <string.h>

/* What of the tables needs an explanation. */
typedef struct table_facts {
    bool any, part, data, kernels, calls, chain, fused, one_thread, peer, step,
        limits[SATTN_LIMIT_COPY + 1];
} table_facts;

static void note_row(table_facts *facts, const sattn_bench_job *job, const sattn_bench_row *row)
{
    facts->any = facts->any || row->state == SATTN_ROW_MEASURED;
    facts->part = facts->part || *row->part;
    facts->data = facts->data || job->n_data > 1;
    facts->one_thread = facts->one_thread || row->over_one_thread.n > 0;
    facts->peer = facts->peer || row->peer;
    facts->fused = facts->fused || row->over_fused.n > 0;
    facts->kernels = facts->kernels ||
                     (row->variant->way == SATTN_WAY_NONE && !row->variant->op->task->is_layer);
    facts->step = facts->step || row->variant->part;
    facts->calls = facts->calls || row->variant->way != SATTN_WAY_NONE;
    facts->chain = facts->chain || strcmp(row->variant->op->name, "chain") == 0;
    if (row->bounded)
        facts->limits[row->bound] = true;
}

static void print_bounds(const table_facts *facts)
{
    static const char *const loops[] = {
        [SATTN_LIMIT_FMA] = "fma: multiplies and adds on registers, at the kernel's ISA",
        [SATTN_LIMIT_READ] = "read: reads the same K, V or weights",
        [SATTN_LIMIT_EXP] = "exp: exponentials in the first cache, at the kernel's ISA",
        [SATTN_LIMIT_COPY] = "copy: copies the input over the output",
    };
    fputs("of bound    share of what a loop reaches that is run in turn with the kernel and does\n"
          "            only the part of its work that takes longest:\n",
          stdout);
    for (int kind = 0; kind <= SATTN_LIMIT_COPY; ++kind)
        if (facts->limits[kind])
            printf("              %s\n", loops[kind]);
}

static bool has_op(const sattn_bench_jobs *list, const sattn_bench_op *op)
{
    for (size_t j = 0; j < list->count; ++j)
        for (size_t r = 0; r < list->jobs[j].n_rows; ++r)
            if (list->jobs[j].rows[r].variant->op == op)
                return true;
    return false;
}

static void print_error_units(const sattn_bench_jobs *list)
{
    size_t n_ops;
    const sattn_bench_op *const ops = sattn_bench_ops(&n_ops);
    fputs(
        "error       the worst / the largest that the bound allows anywhere, every element being\n"
        "            held to its own; with u = 2^-24 the unit is\n",
        stdout);
    for (size_t o = 0; o < n_ops; ++o)
        if (has_op(list, &ops[o]))
            printf("              %-8s %s\n", ops[o].name, ops[o].task->error_unit);
}

void sattn_bench_print_legend(const sattn_bench_jobs *list)
{
    table_facts facts = {0};
    for (size_t j = 0; j < list->count; ++j)
        for (size_t r = 0; r < list->jobs[j].n_rows; ++r)
            note_row(&facts, &list->jobs[j], &list->jobs[j].rows[r]);
    if (!facts.any)
        return;
    fputs("\n"
          "*           what the dispatcher takes for this shape, by a call that names no kernel\n"
          "time        of the whole shape, median of the rounds\n"
          "spread      10th to 90th percentile; ~ where too few rounds were free of preemption,\n"
          "            throttling, steal and another hardware thread on the core\n",
          stdout);
    print_bounds(&facts);
    if (facts.one_thread)
        fputs("vs t1       speed-up over the same on one thread; the loops that bound rows on\n"
              "            several threads run on as many\n",
              stdout);
    if (facts.data)
        fputs("slowdown    time over that of the same kernel on normal data, in the same rounds\n",
              stdout);
    if (facts.calls)
        fputs(
            "over kernel time beyond that of the kernels alone at the same ISA, by differences in\n"
            "            the same rounds: median, ± half of 10th to 90th percentile\n",
            stdout);
    if (facts.fused)
        fputs("vs fused    speed-up of a chain over the fused kernel of the same ISA\n", stdout);
    if (facts.peer)
        fputs("vs best peer\n"
              "            speed-up over the fastest of the other libraries that were verified\n",
              stdout);
    if (facts.kernels)
        fputs("vs scalar   speed-up over strict scalar code\n"
              "vs autovec  speed-up over the same plain C, vectorized by the compiler for the same "
              "ISA\n",
              stdout);
    if (facts.step)
        fputs("step        a decoder's step, then its parts, which run one after the other with a "
              "clock\n"
              "            between them, in the same rounds; percent of the step, by ratios within "
              "rounds.\n"
              "            rest: what they leave, the checks of the call\n",
              stdout);
    print_error_units(list);
    if (facts.chain)
        fputs("chain_ISA   qk, softmax and av of that level, one block of query rows at a time\n",
              stdout);
    if (facts.calls)
        fputs("kernel_ISA  what a call runs at that level, with the same arguments and nothing "
              "around\n"
              "            it; plan_run_ISA: sattn_plan_run; attention_ISA: sattn_attention, with "
              "all\n"
              "            checks and the choice of kernels; profiled_ISA: the same with a profile "
              "in "
              "use;\n"
              "            one thread, with a workspace\n",
              stdout);
    if (facts.part)
        fputs("n of m      what scalar and autovec rows ran of the shape; their time is scaled up "
              "by the work\n",
              stdout);
}
