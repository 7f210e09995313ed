/* SPDX-License-Identifier: MIT
 *
 * measure.h: paired measurement of kernels against reference loops, and of kernels against each
 * other.
 *
 * The unit is a round. In a round every candidate runs once for a window of time (as many calls as
 * fill it, one call if that is longer), and right after it each of its references runs for an
 * equally long window. Rounds go through the candidates in alternating order, so that drift of the
 * clock frequency, a neighbour on the shared cache and the first place in the order hit both sides
 * of every ratio alike. Ratios are taken within a round and then summarised by their median.
 *
 *   sattn_pin pin;
 *   sattn_pin_begin(&pin, -1, NULL);
 *   if (sattn_measure(&plan, &options, results) != 0)
 *       out of memory
 *   sattn_pin_end(&pin);
 *
 * The time is CLOCK_MONOTONIC around the calls of a window and nothing else; before windows of
 * several calls there is one that is not timed, so that caches are as these calls leave them.
 * Windows in which the thread was preempted, the control group throttled or the virtual CPU stolen
 * are tainted: they are left out while enough clean ones remain, and counted in any case. */
#ifndef SATTN_BENCH_MEASURE_H
#define SATTN_BENCH_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SATTN_MEASURE_MAX_REFERENCES = 4 };

/* Makes the compiler assume that memory reachable through `pointer` is read and written here. It
 * costs no instruction and takes nothing but a pointer. */
static inline void sattn_keep(const void *pointer)
{
    __asm__ volatile("" : : "r"(pointer) : "memory");
}

/* Nanoseconds of CLOCK_MONOTONIC. */
int64_t sattn_now_ns(void);

/* A loop of known work. `run` does at least `work` units and returns how many it did. */
typedef struct sattn_measure_reference {
    const char *name;
    int64_t (*run)(void *context, int64_t work);
    void *context;
} sattn_measure_reference;

/* What is measured. `call` is one call of the kernel, through this pointer. `prepare`, if not NULL,
 * runs before every window outside the time: it restores inputs that calls change. */
typedef struct sattn_measure_candidate {
    const char *name;
    void (*call)(void *context);
    void (*prepare)(void *context);
    void *context;
    /* Work of one call in the unit of each reference; 0: that reference does not apply to it. */
    double work[SATTN_MEASURE_MAX_REFERENCES];
} sattn_measure_candidate;

typedef struct sattn_measure_plan {
    const sattn_measure_candidate *candidates;
    size_t n_candidates;
    const sattn_measure_reference *references;
    size_t n_references; /* <= SATTN_MEASURE_MAX_REFERENCES */
    /* Speed-ups are relative to this candidate; an index beyond the last: no speed-ups. */
    size_t baseline;
} sattn_measure_plan;

/* Zero means the default. */
typedef struct sattn_measure_options {
    double budget_s; /* for all rounds, without calibration; up to twice it under load; 1 */
    double window_s; /* 1e-3 */
    int min_rounds;  /* 5; these are made even if the budget is short */
    int max_rounds;  /* 300 */
    /* If not NULL, called between rounds with the share of the work that is done, in [0, 1]. */
    void (*progress)(void *context, double done);
    void *progress_context;
} sattn_measure_options;

/* A distribution of n samples by order statistics, without an assumption about its form.
 *   p10, p90    10th and 90th percentile: the *spread* is p90 - p10
 *   low, high   95 % confidence interval of the median (the whole range where n < 6), for
 *               independent samples; slow drift makes it too narrow */
typedef struct sattn_stat {
    double median, p10, p90, low, high;
    int n; /* 0: not measured, the numbers are NaN */
} sattn_stat;

/* Sorts `samples`; a NaN counts as greater than all numbers. */
sattn_stat sattn_stat_of(double *samples, int n);

/* What disturbed the windows. -1: this system does not say. */
typedef struct sattn_taint {
    int windows;         /* windows measured, those of references included */
    int tainted;         /* of these, windows with at least one of the following */
    int64_t switches;    /* involuntary context switches of this thread */
    int64_t throttled;   /* periods in which the control group was throttled */
    int64_t steal_ticks; /* of this CPU, 10 ms each on most systems; coarse */
    bool kept;           /* too few clean rounds: the statistics include tainted ones */
} sattn_taint;

typedef enum sattn_measure_status {
    SATTN_MEASURE_OK,
    SATTN_MEASURE_TAINTED,    /* measured, but too few clean rounds: see taint */
    SATTN_MEASURE_TOO_FAST,   /* invalid: less than 1 ns above the cost of an empty call */
    SATTN_MEASURE_ABOVE_PEAK, /* invalid: share of a reference above SATTN_MEASURE_SANE_SHARE */
    SATTN_MEASURE_BAD_CLOCK,  /* invalid: time did not advance, or ran backwards */
} sattn_measure_status;

/* Beyond this share of what the reference reaches, the calls did not do the work they claim. Read
 * loops are beaten by up to a few percent, so the line is well above 1. */
#define SATTN_MEASURE_SANE_SHARE 1.5

/* Share of a window that the thread must have spent off the CPU for a preemption to taint it. */
#define SATTN_MEASURE_AWAY 0.005

const char *sattn_measure_status_string(sattn_measure_status status);
bool sattn_measure_valid(sattn_measure_status status); /* OK or TAINTED */

typedef struct sattn_measure_result {
    sattn_measure_status status;
    /* Wall time of one call. Where tainted windows had to be kept: of these, if the process has one
     * thread at work, the time on the CPU. */
    sattn_stat time_ns;
    sattn_stat cpu_ns; /* processor time of one call, all threads of the process */
    /* By reference: (time of the reference for the same work) / (time of the candidate), and what
     * the reference reached next to this candidate, in units per second. */
    sattn_stat share[SATTN_MEASURE_MAX_REFERENCES];
    sattn_stat reference_rate[SATTN_MEASURE_MAX_REFERENCES];
    int bound; /* reference with the largest median share: what limits it; -1: none */
    /* (time of the baseline) / (time of this candidate) in the same round; no better than the worse
     * of the two statuses. */
    sattn_stat speedup;
    int64_t calls_per_window;
    double empty_call_ns; /* cost of one call of an empty function in the same loop */
    int rounds;           /* rounds made; time_ns.n of them are in the statistics */
    sattn_taint taint;
    /* The rounds behind the statistics, in the order of measurement: times[i] belongs to
     * shares[bound][i]. NULL where there is none. Freed by sattn_measure_free. */
    double *times;
    double *shares[SATTN_MEASURE_MAX_REFERENCES];
} sattn_measure_result;

/* Measures all candidates of the plan, interleaved, and fills results[0 .. n_candidates). Returns
 * 0, or -1 if memory ran out (then nothing needs freeing). `options` may be NULL. */
int sattn_measure(const sattn_measure_plan *plan, const sattn_measure_options *options,
                  sattn_measure_result *results);
void sattn_measure_free(sattn_measure_result *results, size_t n_candidates);

/* The calling thread bound to one CPU. */
typedef struct sattn_pin {
    int cpu; /* -1: not bound, for the reason in `why` */
    char why[96];
    void *previous; /* affinity to restore */
} sattn_pin;

/* Binds the calling thread to `cpu`, or with -1 to the one that is chosen among those it may run
 * on: of the highest maximum frequency (hybrid CPUs), then the highest number (low numbers serve
 * more interrupts). `root` is put in front of /sys; NULL is "". Returns whether it is bound. */
bool sattn_pin_begin(sattn_pin *pin, int cpu, const char *root);
void sattn_pin_end(sattn_pin *pin);

#endif
