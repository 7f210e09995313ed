/* SPDX-License-Identifier: MIT
 *
 * bench_goals_end.c: what stands below the table of goals. */
#include "bench/bench/bench_goals_report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_usable(int isa)
{
    const sattn_isa *const level = sattn_isa_by_name(sattn_goal_isa(isa));
    return level && !(level->needs & ~sattn_cpu_this()->usable);
}

static void print_legend(void)
{
    fputs("\n"
          "goal    to reach / stretch, and beside it the median of the rounds with half of the\n"
          "        spread (10th to 90th percentile; ~ too few rounds were free of preemption,\n"
          "        throttling, steal and another hardware thread on the core)\n"
          "% fma   percent of a loop of multiply-adds on registers, at the kernel's ISA\n"
          "% read  percent of a loop that reads the same K and V; at avx2 of the tighter bound,\n"
          "        marked f where that is the loop of multiply-adds\n"
          "points  above (below: negative) the easy neighbour, both in percent of that loop\n"
          "el/cyc  elements per cycle of the core's clock;  ps/el  picoseconds per element\n"
          "x t1    speed-up over one thread\n"
          "mark    what was reached: stretch, goal, or neither (below); absent: not measurable "
          "here;\n"
          "        ?: noise reaches over the goal; w: the spread is too wide for the mark to mean\n"
          "        much\n",
          stdout);
}

/* ---- sums */

typedef struct counts {
    int of[SATTN_MARKS], open;
    int peers, peers_reached, ahead; /* goals beside a peer, with its figure reached, ahead of it */
} counts;

static void count(counts *sum, const sattn_goal_result *result)
{
    ++sum->of[result->mark];
    sum->open += result->is_open;
    if (!result->row || !result->row->peer)
        return;
    const double over = result->row->over_peer.median;
    ++sum->peers;
    sum->ahead += over >= 1;
    sum->peers_reached += over >= result->goal->figures[result->isa].peer;
}

static void print_counts(const sattn_bench_jobs *list, const sattn_caches *caches)
{
    size_t n_goals;
    const sattn_goal *const goals = sattn_goals(&n_goals);
    for (int i = 0; i < SATTN_GOAL_ISAS; ++i) {
        const char *const isa = sattn_goal_isa(i);
        counts sum = {{0}, 0, 0, 0, 0};
        if (!is_usable(i)) {
            printf("%s: cannot be used here\n", isa);
            continue;
        }
        for (size_t g = 0; g < n_goals; ++g) {
            const sattn_goal_result result = sattn_goal_judge(&goals[g], i, list, caches);
            count(&sum, &result);
        }
        const int reached = sum.of[SATTN_MARK_REACHED] + sum.of[SATTN_MARK_STRETCH];
        const int absent = sum.of[SATTN_MARK_NOT_HERE];
        if (reached + sum.of[SATTN_MARK_BELOW] + absent == 0) {
            printf("%s: no goal was measured\n", isa);
            continue;
        }
        printf("%s: %d of %d goals reached, %d of them the stretch too; %d open (?)", isa, reached,
               reached + sum.of[SATTN_MARK_BELOW], sum.of[SATTN_MARK_STRETCH], sum.open);
        if (absent > 0)
            printf("; %d not measurable here", absent);
        if (sum.peers > 0)
            printf("; ahead of every peer on %d of %d, with the speed-up to reach on %d", sum.ahead,
                   sum.peers, sum.peers_reached);
        fputc('\n', stdout);
    }
}

static void print_reasons(const sattn_bench_jobs *list, const sattn_caches *caches)
{
    size_t n_goals;
    const sattn_goal *const goals = sattn_goals(&n_goals);
    for (size_t g = 0; g < n_goals; ++g)
        for (int i = 0; i < SATTN_GOAL_ISAS; ++i) {
            const sattn_goal_result result = sattn_goal_judge(&goals[g], i, list, caches);
            if (*result.why && is_usable(i))
                printf("  %s, %s: %s\n", goals[g].workload, sattn_goal_isa(i), result.why);
        }
}

/* ---- what ran */

static size_t count_rows(const sattn_bench_jobs *list)
{
    size_t n = 0;
    for (size_t j = 0; j < list->count; ++j)
        n += list->jobs[j].n_rows;
    return n;
}

/* What the loop of multiply-adds reached beside the rows of a level on one thread: median over the
 * rows; NaN where it ran beside none. */
static double rate_of(const sattn_bench_jobs *list, int isa)
{
    double *const rates =
        malloc((count_rows(list) * SATTN_MEASURE_MAX_REFERENCES + 1) * sizeof *rates);
    int n = 0;
    for (size_t j = 0; j < list->count; ++j)
        for (size_t r = 0; rates && r < list->jobs[j].n_rows; ++r) {
            const sattn_bench_row *const row = &list->jobs[j].rows[r];
            if (row->state != SATTN_ROW_MEASURED || row->variant->peer || row->threads > 1 ||
                strcmp(sattn_variant_isa(row->variant), sattn_goal_isa(isa)) != 0)
                continue;
            for (int i = 0; i < SATTN_MEASURE_MAX_REFERENCES; ++i)
                if (row->kinds[i] == SATTN_LIMIT_FMA && row->measured.share[i].n > 0)
                    rates[n++] = row->measured.reference_rate[i].median;
        }
    const double median = sattn_stat_of(rates, n).median;
    free(rates);
    return median;
}

static void print_loops(const sattn_bench_jobs *list)
{
    for (int i = 0; i < SATTN_GOAL_ISAS; ++i) {
        const double fma = rate_of(list, i);
        if (isfinite(fma))
            printf("%s: the loop of multiply-adds reached %.4g GFLOP/s\n", sattn_goal_isa(i),
                   fma * 1e-9);
    }
}

/* How many rows of the level ran the same kernels, and whether this is the first of them. */
static size_t rows_with(const sattn_bench_jobs *list, const sattn_bench_row *like, bool *is_first)
{
    size_t n = 0;
    bool is_seen = false;
    *is_first = true;
    for (size_t j = 0; j < list->count; ++j)
        for (size_t r = 0; r < list->jobs[j].n_rows; ++r) {
            const sattn_bench_row *const row = &list->jobs[j].rows[r];
            is_seen = is_seen || row == like;
            if (row->variant->needs != like->variant->needs || row->variant->peer ||
                row->state != SATTN_ROW_MEASURED || strcmp(row->kernels, like->kernels) != 0)
                continue;
            *is_first = *is_first && is_seen;
            ++n;
        }
    return n;
}

/* Times that were measured at another clock than their figures. */
static void print_clocks(const sattn_bench_jobs *list, const sattn_caches *caches)
{
    size_t n_goals;
    const sattn_goal *const goals = sattn_goals(&n_goals);
    for (size_t g = 0; g < n_goals; ++g)
        for (int i = 0; goals[g].measure == SATTN_GOAL_TIME && i < SATTN_GOAL_ISAS; ++i) {
            const sattn_goal_result result = sattn_goal_judge(&goals[g], i, list, caches);
            const double value = result.value.median;
            if (result.value.n > 0 && isfinite(result.clock_ghz))
                printf("%s, %s: %.0f ps at %.2f GHz; by cycles %.0f at the figure's %.1f GHz\n",
                       goals[g].workload, sattn_goal_isa(i), value, result.clock_ghz,
                       value * result.clock_ghz / SATTN_GOAL_CLOCK, SATTN_GOAL_CLOCK);
        }
}

static void print_kernels(const sattn_bench_jobs *list)
{
    fputs("kernels that the dispatcher took, and in how many rows:\n", stdout);
    for (int i = 0; i < SATTN_GOAL_ISAS; ++i)
        for (size_t j = 0; j < list->count; ++j)
            for (size_t r = 0; r < list->jobs[j].n_rows; ++r) {
                const sattn_bench_row *const row = &list->jobs[j].rows[r];
                bool is_first;
                if (row->variant->peer || row->state != SATTN_ROW_MEASURED ||
                    strcmp(sattn_variant_isa(row->variant), sattn_goal_isa(i)) != 0)
                    continue;
                const size_t n = rows_with(list, row, &is_first);
                if (is_first)
                    printf("  %-6s  %3zu  %s\n", sattn_goal_isa(i), n, row->kernels);
            }
}

void sattn_bench_print_goals_end(const sattn_bench_jobs *list, const sattn_caches *caches)
{
    print_legend();
    sattn_bench_print_goals_peers(list, caches);
    fputc('\n', stdout);
    print_counts(list, caches);
    print_reasons(list, caches);
    fputc('\n', stdout);
    print_loops(list);
    print_clocks(list, caches);
    print_kernels(list);
}
