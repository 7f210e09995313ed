/* SPDX-License-Identifier: MIT
 *
 * issue.c: the probe, and the widest that it has seen (issue.h).
 *
 * An interrupt in the chain that counts the cycles would make a width too great. So a probe whose
 * two fastest chains differ is no good, and the free core's width is one that several have reached.
 */
#include "bench/measure/issue.h"

#include "bench/limits/limits_loops.h"
#include "bench/measure/clock.h"

#include <stddef.h>

/* ---- the probe */

enum {
    SLICES = 3, /* of each loop; an interrupt is in one of them */
    SLICE_CYCLES = 1920,
    NOPS = 60,   /* in a turn, with two instructions of the loop */
    TURNS = 180, /* of a slice, about as long as the cycles where six go through in one */
};

/* Two chains as long as each other take times of so much as this ratio where nothing interrupts. */
static const double most_apart = 1.1;

/* Both have an instruction of this name that does nothing. Returns whether there was one. */
static bool run_nops(void)
{
#if defined(__x86_64__) || defined(__aarch64__)
    for (int turn = 0; turn < TURNS; ++turn)
        __asm__ volatile(".rept %c0\n\tnop\n\t.endr" : : "i"(NOPS));
    return true;
#else
    return false;
#endif
}

/* The two least of what was seen. */
typedef struct least_two {
    int64_t least, next;
} least_two;

static void see(least_two *seen, int64_t ns)
{
    if (ns < seen->least)
        *seen = (least_two){.least = ns, .next = seen->least};
    else if (ns < seen->next)
        seen->next = ns;
}

/* Both loops in turn, so that they meet the same clock, and the fastest slice of each. */
static double width_of_core(void)
{
    least_two cycles_ns = {INT64_MAX, INT64_MAX};
    int64_t nops_ns = INT64_MAX, cycles = 0;
    uint32_t sink;
    for (int slice = 0; slice < SLICES; ++slice) {
        const int64_t begin = sattn_now_ns();
        if (!run_nops())
            return 0;
        const int64_t middle = sattn_now_ns();
        cycles = sattn_cycles_loop(SLICE_CYCLES, &sink);
        const int64_t end = sattn_now_ns();
        nops_ns = middle - begin < nops_ns ? middle - begin : nops_ns;
        see(&cycles_ns, end - middle);
    }
    const bool agree = (double)cycles_ns.next <= most_apart * (double)cycles_ns.least;
    if (cycles_ns.least <= 0 || nops_ns <= 0 || !agree)
        return 0;
    const double instructions = (double)TURNS * (NOPS + 2);
    return instructions / (double)nops_ns * (double)cycles_ns.least / (double)cycles;
}

/* ---- what it has seen */

static const sattn_issue_source this_core = {.width = width_of_core, .now_ns = sattn_now_ns};

static struct {
    const sattn_issue_source *source;  /* NULL: this core */
    double widest[SATTN_ISSUE_WIDEST]; /* descending */
    double latest;
    int64_t latest_ns;
} seen;

static const sattn_issue_source *source_of_widths(void)
{
    return seen.source ? seen.source : &this_core;
}

static void note(double width)
{
    for (int i = 0; i < SATTN_ISSUE_WIDEST; ++i)
        if (width > seen.widest[i]) {
            const double moved = seen.widest[i];
            seen.widest[i] = width;
            width = moved;
        }
}

void sattn_issue_begin(const sattn_issue_source *source)
{
    seen.source = source;
    seen.latest = 0;
    for (int i = 0; i < SATTN_ISSUE_WIDEST; ++i)
        seen.widest[i] = 0;
}

double sattn_issue_width(void)
{
    const sattn_issue_source *const source = source_of_widths();
    if (seen.latest > 0 && source->now_ns() - seen.latest_ns < SATTN_ISSUE_FRESH_NS)
        return seen.latest;
    seen.latest = source->width();
    seen.latest_ns = source->now_ns();
    note(seen.latest);
    return seen.latest;
}

double sattn_issue_lesser(double a, double b)
{
    return a > 0 && (a < b || !(b > 0)) ? a : b;
}

bool sattn_issue_is_shared(double width)
{
    return width > 0 && width < SATTN_ISSUE_SHARED * seen.widest[SATTN_ISSUE_WIDEST - 1];
}

void sattn_issue_learn(int64_t ns)
{
    const sattn_issue_source *const source = source_of_widths();
    const int64_t begin = source->now_ns();
    while (source->now_ns() - begin < ns)
        sattn_issue_width();
}

int64_t sattn_issue_await(int64_t most_ns, bool (*is_stopped)(void))
{
    const sattn_issue_source *const source = source_of_widths();
    const int64_t begin = source->now_ns();
    int64_t waited = 0;
    while (waited < most_ns && sattn_issue_is_shared(sattn_issue_width()) &&
           !(is_stopped && is_stopped()))
        waited = source->now_ns() - begin;
    return waited;
}
