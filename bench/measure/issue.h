/* SPDX-License-Identifier: MIT
 *
 * issue.h: how many instructions per cycle the core takes in just now.
 *
 * Where a core has several hardware threads another may be at work on it: one of another process
 * or, behind the walls of a virtual machine, one that no counter of this system shows. It takes
 * half of what the front of the core delivers and a part of its caches. A loop of multiply-adds
 * hardly runs slower beside it, a kernel by a third. Instructions that do nothing show it: all that
 * keeps them is the width of the core, of which half is left.
 *
 * A width is known by comparison with the widest that were seen before, so a run begins by looking
 * at the core, and what is judged late is judged better. For one thread at a time. */
#ifndef SATTN_BENCH_MEASURE_ISSUE_H
#define SATTN_BENCH_MEASURE_ISSUE_H

#include <stdbool.h>
#include <stdint.h>

/* Below this share of the free core's width the core is shared. Beside another thread it is mostly
 * between a half and two thirds; of a free core it varies by some percent. */
#define SATTN_ISSUE_SHARED 0.8

enum {
    SATTN_ISSUE_WIDEST = 8,       /* widths that must reach what counts as the free core's */
    SATTN_ISSUE_FRESH_NS = 100000 /* for so long one stands for those after it */
};

/* Instructions per cycle; 0: not known. It takes some microseconds of each SATTN_ISSUE_FRESH_NS. */
double sattn_issue_width(void);
/* Of two widths the lesser that is known. */
double sattn_issue_lesser(double a, double b);
/* Whether another hardware thread was at work on the core, by all widths until now. */
bool sattn_issue_is_shared(double width);

/* Looks at the core for so long, to have seen it free before something is measured. */
void sattn_issue_learn(int64_t ns);

/* Looks at the core until it is free, most_ns have gone by, or is_stopped, where not NULL, says so.
 * Returns how long that took, 0 where the core was free at once. */
int64_t sattn_issue_await(int64_t most_ns, bool (*is_stopped)(void));

/* Where widths come from, and the time; tests have their own. */
typedef struct sattn_issue_source {
    double (*width)(void);
    int64_t (*now_ns)(void);
} sattn_issue_source;

/* Begins anew with this source; NULL is this core. */
void sattn_issue_begin(const sattn_issue_source *source);

#endif
