/* SPDX-License-Identifier: MIT
 *
 * measure.c: rounds of paired windows, their taint, and order statistics over rounds. */
#define _GNU_SOURCE /* sched_setaffinity, RUSAGE_THREAD */

#include "bench/measure.h"

#include "bench/environment.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#if defined(__linux__)
#include <sched.h>
#endif

enum {
    DEFAULT_MIN_ROUNDS = 5,
    DEFAULT_MAX_ROUNDS = 300,
    MOST_CPUS = 8192,
};

static const int64_t MOST_CALLS = (int64_t)1 << 40;
static const int64_t MOST_WORK = (int64_t)1 << 60;

/* ---- clocks */

static int64_t read_clock_ns(clockid_t clock)
{
    struct timespec now;
    if (clock_gettime(clock, &now) != 0)
        return 0;
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t sattn_now_ns(void)
{
    return read_clock_ns(CLOCK_MONOTONIC);
}

#if defined(RUSAGE_THREAD)
static const bool counts_switches = true;

static int64_t involuntary_switches(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
}
#else
static const bool counts_switches = false;

static int64_t involuntary_switches(void)
{
    return 0;
}
#endif

/* ---- order statistics */

/* A NaN comes behind all numbers. */
static int compare_doubles(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;
    if (isnan(a) || isnan(b))
        return (isnan(a) != 0) - (isnan(b) != 0);
    return (a > b) - (a < b);
}

/* Linear interpolation between the order statistics around (n - 1) * q. Where they are equal, or it
 * falls on one of them, the other is not touched: it may be infinite or NaN. */
static double quantile(const double *sorted, int n, double q)
{
    const double at = q * (n - 1);
    const int below = (int)at;
    const int above = below + 1 < n ? below + 1 : below;
    if (at <= below || sorted[above] <= sorted[below])
        return sorted[below];
    return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}

sattn_stat sattn_stat_of(double *samples, int n)
{
    const double none = (double)NAN;
    if (n <= 0)
        return (sattn_stat){none, none, none, none, none, 0};
    qsort(samples, (size_t)n, sizeof *samples, compare_doubles);
    /* The median lies between the order statistics of rank l and n + 1 - l with the probability
     * that at least l and at most n - l of n fair coins show heads; normal approximation for 95 %.
     */
    const int rank = (int)floor((n - 1.96 * sqrt(n)) / 2);
    const int low = rank < 1 ? 0 : rank - 1;
    return (sattn_stat){
        .median = quantile(samples, n, 0.5),
        .p10 = quantile(samples, n, 0.1),
        .p90 = quantile(samples, n, 0.9),
        .low = samples[low],
        .high = samples[n - 1 - low],
        .n = n,
    };
}

/* ---- windows */

/* Readings of all clocks and counters, or differences of two of them. */
typedef struct window {
    int64_t ns;        /* wall */
    int64_t cpu_ns;    /* processor time of all threads of the process */
    int64_t thread_ns; /* processor time of this thread */
    int64_t switches;
} window;

/* The wall clock is read last at the beginning and first at the end. */
static window window_begin(void)
{
    window start;
    start.switches = involuntary_switches();
    start.cpu_ns = read_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    start.thread_ns = read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    start.ns = sattn_now_ns();
    return start;
}

static window window_end(window start)
{
    window end;
    end.ns = sattn_now_ns() - start.ns;
    end.thread_ns = read_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start.thread_ns;
    end.cpu_ns = read_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start.cpu_ns;
    end.switches = involuntary_switches() - start.switches;
    return end;
}

/* A preemption that took no noticeable part of a long window does no harm; without counters, time
 * off the CPU alone says it. */
static bool preempted(const window *done)
{
    const double away = (double)(done->ns - done->thread_ns);
    return (done->switches > 0 || !counts_switches) && away > SATTN_MEASURE_AWAY * (double)done->ns;
}

/* The time that a window counts for: wall time. Of a preempted one the best that can be said is how
 * long it was on the CPU, if this is the only thread that works; it stays tainted. */
static int64_t charged_ns(const window *done)
{
    const bool alone = (double)done->cpu_ns <= 1.02 * (double)done->thread_ns;
    return preempted(done) && alone && done->thread_ns > 0 ? done->thread_ns : done->ns;
}

static void prepare(const sattn_measure_candidate *candidate)
{
    if (candidate->prepare != NULL)
        candidate->prepare(candidate->context);
}

static window run_calls(const sattn_measure_candidate *candidate, int64_t calls)
{
    void (*const call)(void *) = candidate->call;
    void *const context = candidate->context;
    const window start = window_begin();
    for (int64_t i = 0; i < calls; ++i) {
        call(context);
        sattn_keep(context);
    }
    return window_end(start);
}

static window run_reference(const sattn_measure_reference *reference, int64_t work, int64_t *done)
{
    const window start = window_begin();
    *done = reference->run(reference->context, work);
    return window_end(start);
}

/* ---- calibration: how much fills a window */

static int64_t at_least_one(double count, int64_t most)
{
    return !(count > 1) ? 1 : count > (double)most ? most : (int64_t)count;
}

/* Time of one call from the fastest of three windows of `calls`: preemption only ever adds. */
static double call_ns(const sattn_measure_candidate *candidate, int64_t calls)
{
    double best = 0;
    for (int i = 0; i < 3; ++i) {
        prepare(candidate);
        const double ns = fmax((double)run_calls(candidate, calls).ns, 1);
        best = i == 0 || ns < best ? ns : best;
    }
    return best / (double)calls;
}

static int64_t calibrate_calls(const sattn_measure_candidate *candidate, double window_ns)
{
    /* The first call pays for page faults and cold caches: only if it is very long does it count.
     */
    prepare(candidate);
    if ((double)run_calls(candidate, 1).ns >= 20 * window_ns)
        return 1;
    int64_t calls = 1;
    for (;;) {
        const double fill = window_ns / (call_ns(candidate, calls) * (double)calls);
        if (fill <= 4 || calls >= MOST_CALLS)
            return at_least_one(ceil((double)calls * fill), MOST_CALLS);
        calls = at_least_one((double)calls * fmin(fill, 16), MOST_CALLS);
    }
}

/* Units per nanosecond. */
static double calibrate_rate(const sattn_measure_reference *reference, double window_ns)
{
    int64_t work = 1;
    for (;;) {
        int64_t done;
        const double ns = fmax((double)run_reference(reference, work, &done).ns, 1);
        if (ns >= window_ns / 4 || done >= MOST_WORK / 16)
            return (double)done / ns;
        work = at_least_one((double)done * fmin(window_ns / ns, 16), MOST_WORK);
    }
}

static void empty_call(void *context)
{
    (void)context;
}

static double empty_call_ns(double window_ns)
{
    /* volatile: the compiler must not see which function it is */
    void (*volatile hidden)(void *) = empty_call;
    const sattn_measure_candidate candidate = {.name = "empty", .call = hidden};
    const int64_t calls = calibrate_calls(&candidate, window_ns);
    double samples[5];
    for (int i = 0; i < 5; ++i)
        samples[i] = (double)run_calls(&candidate, calls).ns / (double)calls;
    return sattn_stat_of(samples, 5).median;
}

/* ---- rounds */

/* What one candidate and its references did in every round. */
typedef struct track {
    int64_t calls;
    bool warm_first;                           /* one call outside the time before every window */
    int64_t last_ns;                           /* length of its latest window */
    double rate[SATTN_MEASURE_MAX_REFERENCES]; /* latest, units per nanosecond */
    double *times, *cpu_times;                 /* per call */
    double *shares[SATTN_MEASURE_MAX_REFERENCES];
    double *rates[SATTN_MEASURE_MAX_REFERENCES];
    bool *tainted; /* by round */
    sattn_taint taint;
    bool bad_clock;
} track;

typedef struct disturbance {
    sattn_cgroup cgroup;
    int cpu; /* the only one this thread may run on, or -1 */
    int64_t throttled, steal;
} disturbance;

static int bound_cpu(void)
{
#if defined(__linux__)
    cpu_set_t *const set = CPU_ALLOC(MOST_CPUS);
    const size_t size = CPU_ALLOC_SIZE(MOST_CPUS);
    int found = -1;
    if (set != NULL && sched_getaffinity(0, size, set) == 0 && CPU_COUNT_S(size, set) == 1)
        for (int cpu = 0; cpu < MOST_CPUS && found < 0; ++cpu)
            if (CPU_ISSET_S((size_t)cpu, size, set))
                found = cpu;
    CPU_FREE(set);
    return found;
#else
    return -1;
#endif
}

/* Brings the counters up to date and returns whether one has moved since the last time. */
static bool disturbed(disturbance *state, int64_t *throttled, int64_t *steal)
{
    const int64_t throttled_now = sattn_cgroup_throttled(&state->cgroup);
    const int64_t steal_now = sattn_steal_ticks(NULL, state->cpu);
    *throttled = throttled_now < 0 ? -1 : throttled_now - state->throttled;
    *steal = steal_now < 0 ? -1 : steal_now - state->steal;
    state->throttled = throttled_now;
    state->steal = steal_now;
    return *throttled > 0 || *steal > 0;
}

static void add_known(int64_t *total, int64_t more)
{
    *total = more < 0 ? -1 : (*total < 0 ? 0 : *total) + more;
}

/* Everything a round needs. */
typedef struct run {
    const sattn_measure_plan *plan;
    track *tracks;
    bool *switched; /* by candidate: a window of this round was preempted */
    disturbance state;
    int made; /* rounds finished */
} run;

static void count_window(track *own, const window *done, bool *switched)
{
    ++own->taint.windows;
    if (preempted(done)) {
        ++own->taint.tainted;
        *switched = true;
    }
    add_known(&own->taint.switches, counts_switches ? done->switches : -1);
    own->bad_clock = own->bad_clock || done->ns <= 0;
}

static void measure_candidate(run *self, size_t c, bool keep)
{
    track *const own = &self->tracks[c];
    const sattn_measure_candidate *const candidate = &self->plan->candidates[c];
    prepare(candidate);
    /* A few short calls would show what the other candidates left in the caches. */
    if (own->warm_first)
        run_calls(candidate, 1);
    const window done = run_calls(candidate, own->calls);
    own->last_ns = charged_ns(&done);
    if (!keep)
        return;
    own->times[self->made] = (double)own->last_ns / (double)own->calls;
    own->cpu_times[self->made] = (double)done.cpu_ns / (double)own->calls;
    count_window(own, &done, &self->switched[c]);
}

static void measure_references(run *self, size_t c, bool keep)
{
    track *const own = &self->tracks[c];
    for (size_t r = 0; r < self->plan->n_references; ++r) {
        if (!(self->plan->candidates[c].work[r] > 0))
            continue;
        int64_t worked;
        const int64_t work = at_least_one(own->rate[r] * (double)own->last_ns, MOST_WORK);
        const window done = run_reference(&self->plan->references[r], work, &worked);
        if (done.ns > 0 && worked > 0)
            own->rate[r] = (double)worked / (double)charged_ns(&done);
        if (!keep)
            continue;
        own->rates[r][self->made] = own->rate[r];
        count_window(own, &done, &self->switched[c]);
    }
}

/* Forwards: each candidate, then its references. Backwards the mirror image of that, so that over
 * two rounds a steady drift cancels from every ratio. */
static void measure_round(run *self, bool backwards, bool keep)
{
    const size_t n = self->plan->n_candidates;
    for (size_t i = 0; i < n; ++i) {
        const size_t c = backwards ? n - 1 - i : i;
        self->switched[c] = false;
        if (backwards)
            measure_references(self, c, keep);
        measure_candidate(self, c, keep);
        if (!backwards)
            measure_references(self, c, keep);
    }
    int64_t throttled, steal;
    const bool all_tainted = disturbed(&self->state, &throttled, &steal);
    if (!keep)
        return;
    for (size_t c = 0; c < n; ++c) {
        track *const own = &self->tracks[c];
        own->tainted[self->made] = all_tainted || self->switched[c];
        add_known(&own->taint.throttled, throttled);
        add_known(&own->taint.steal_ticks, steal);
        if (all_tainted && !self->switched[c])
            ++own->taint.tainted;
        for (size_t r = 0; r < self->plan->n_references; ++r)
            if (self->plan->candidates[c].work[r] > 0)
                own->shares[r][self->made] = self->plan->candidates[c].work[r] /
                                             own->times[self->made] / own->rates[r][self->made];
    }
    ++self->made;
}

static int clean_rounds(const run *self)
{
    int fewest = self->made;
    for (size_t c = 0; c < self->plan->n_candidates; ++c) {
        int clean = 0;
        for (int i = 0; i < self->made; ++i)
            clean += !self->tracks[c].tainted[i];
        fewest = clean < fewest ? clean : fewest;
    }
    return fewest;
}

/* With the budget spent: too few rounds are clean, but a fair part of them, so that up to twice the
 * time may do. A machine that is never quiet gets an answer too, marked as tainted. */
static bool worth_going_on(const run *self, int min_rounds, double spent)
{
    const int clean = clean_rounds(self);
    return clean < min_rounds && clean >= self->made / 4 && spent <= 2;
}

static void measure_rounds(run *self, const sattn_measure_options *options)
{
    const int64_t begin = sattn_now_ns();
    const double budget_ns = options->budget_s * 1e9;
    while (self->made < options->max_rounds) {
        const double elapsed = (double)(sattn_now_ns() - begin);
        const double after_next = elapsed + elapsed / (self->made > 0 ? self->made : 1);
        const bool enough = self->made >= options->min_rounds && after_next > budget_ns;
        if (enough && !worth_going_on(self, options->min_rounds, after_next / budget_ns))
            break;
        if (options->progress != NULL) {
            const double by_time = elapsed / budget_ns;
            const double by_rounds = (double)self->made / options->min_rounds;
            options->progress(options->progress_context, fmin(fmin(by_time, by_rounds), 1));
        }
        measure_round(self, self->made % 2 != 0, true);
    }
    if (options->progress != NULL)
        options->progress(options->progress_context, 1);
}

/* ---- results */

/* Samples of the rounds to use, in order. */
static int gather(const double *samples, const bool *skip, int n, double *out)
{
    int kept = 0;
    for (int i = 0; i < n; ++i)
        if (skip == NULL || !skip[i])
            out[kept++] = samples[i];
    return kept;
}

static void summarise(const run *self, size_t c, int min_rounds, double empty_ns, double *room,
                      sattn_measure_result *result)
{
    track *const own = &self->tracks[c];
    int n = gather(own->times, own->tainted, self->made, room);
    own->taint.kept = n < min_rounds;
    const bool *const skip = own->taint.kept ? NULL : own->tainted;

    result->calls_per_window = own->calls;
    result->empty_call_ns = empty_ns;
    result->rounds = self->made;
    result->taint = own->taint;
    result->bound = -1;
    n = gather(own->times, skip, self->made, room);
    memcpy(result->times, room, (size_t)n * sizeof *room);
    result->time_ns = sattn_stat_of(room, n);
    n = gather(own->cpu_times, skip, self->made, room);
    result->cpu_ns = sattn_stat_of(room, n);
    for (size_t r = 0; r < SATTN_MEASURE_MAX_REFERENCES; ++r) {
        result->share[r] = result->reference_rate[r] = sattn_stat_of(NULL, 0);
        if (r >= self->plan->n_references || !(self->plan->candidates[c].work[r] > 0))
            continue;
        n = gather(own->shares[r], skip, self->made, room);
        memcpy(result->shares[r], room, (size_t)n * sizeof *room);
        result->share[r] = sattn_stat_of(room, n);
        n = gather(own->rates[r], skip, self->made, room);
        for (int i = 0; i < n; ++i)
            room[i] *= 1e9;
        result->reference_rate[r] = sattn_stat_of(room, n);
        if (result->bound < 0 || result->share[r].median > result->share[result->bound].median)
            result->bound = (int)r;
    }
}

/* Over rounds that are clean on both sides, or over all if these are too few. */
static sattn_stat speedup_over(const run *self, size_t base, size_t c, int min_rounds, double *room)
{
    const track *const from = &self->tracks[base];
    const track *const to = &self->tracks[c];
    for (int clean_only = 1; clean_only >= 0; --clean_only) {
        int n = 0;
        for (int i = 0; i < self->made; ++i)
            if (!clean_only || (!from->tainted[i] && !to->tainted[i]))
                room[n++] = from->times[i] / to->times[i];
        if (n >= min_rounds || !clean_only)
            return sattn_stat_of(room, n);
    }
    return sattn_stat_of(NULL, 0);
}

static sattn_measure_status judge(const track *own, const sattn_measure_result *result)
{
    if (own->bad_clock || !(result->time_ns.median > 0))
        return SATTN_MEASURE_BAD_CLOCK;
    if (result->time_ns.median - result->empty_call_ns < 1)
        return SATTN_MEASURE_TOO_FAST;
    if (result->bound >= 0 && result->share[result->bound].median > SATTN_MEASURE_SANE_SHARE)
        return SATTN_MEASURE_ABOVE_PEAK;
    return result->taint.kept ? SATTN_MEASURE_TAINTED : SATTN_MEASURE_OK;
}

const char *sattn_measure_status_string(sattn_measure_status status)
{
    switch (status) {
    case SATTN_MEASURE_OK:
        return "ok";
    case SATTN_MEASURE_TAINTED:
        return "tainted: too few windows without preemption, throttling or steal";
    case SATTN_MEASURE_TOO_FAST:
        return "invalid: hardly longer than an empty call";
    case SATTN_MEASURE_ABOVE_PEAK:
        return "invalid: faster than its limit allows";
    case SATTN_MEASURE_BAD_CLOCK:
        return "invalid: the clock did not advance";
    }
    return "invalid: unknown status";
}

bool sattn_measure_valid(sattn_measure_status status)
{
    return status == SATTN_MEASURE_OK || status == SATTN_MEASURE_TAINTED;
}

/* ---- memory */

static void free_tracks(track *tracks, size_t n)
{
    for (size_t c = 0; tracks != NULL && c < n; ++c) {
        free(tracks[c].times);
        free(tracks[c].cpu_times);
        free(tracks[c].tainted);
        for (size_t r = 0; r < SATTN_MEASURE_MAX_REFERENCES; ++r) {
            free(tracks[c].shares[r]);
            free(tracks[c].rates[r]);
        }
    }
    free(tracks);
}

void sattn_measure_free(sattn_measure_result *results, size_t n_candidates)
{
    for (size_t c = 0; c < n_candidates; ++c) {
        free(results[c].times);
        results[c].times = NULL;
        for (size_t r = 0; r < SATTN_MEASURE_MAX_REFERENCES; ++r) {
            free(results[c].shares[r]);
            results[c].shares[r] = NULL;
        }
    }
}

static double *new_samples(int rounds)
{
    return calloc((size_t)rounds, sizeof(double));
}

static bool allocate(const sattn_measure_plan *plan, int rounds, run *self,
                     sattn_measure_result *results)
{
    const size_t n = plan->n_candidates;
    bool good = true;
    self->tracks = calloc(n ? n : 1, sizeof *self->tracks);
    self->switched = calloc(n ? n : 1, sizeof *self->switched);
    if (self->tracks == NULL || self->switched == NULL)
        return false;
    for (size_t c = 0; c < n; ++c) {
        track *const own = &self->tracks[c];
        own->times = new_samples(rounds);
        own->cpu_times = new_samples(rounds);
        own->tainted = calloc((size_t)rounds, sizeof *own->tainted);
        results[c].times = new_samples(rounds);
        good = good && own->times && own->cpu_times && own->tainted && results[c].times;
        own->taint = (sattn_taint){.switches = -1, .throttled = -1, .steal_ticks = -1};
        for (size_t r = 0; r < plan->n_references; ++r)
            if (plan->candidates[c].work[r] > 0) {
                own->shares[r] = new_samples(rounds);
                own->rates[r] = new_samples(rounds);
                results[c].shares[r] = new_samples(rounds);
                good = good && own->shares[r] && own->rates[r] && results[c].shares[r];
            }
    }
    return good;
}

/* ---- the whole */

static sattn_measure_options with_defaults(const sattn_measure_options *options)
{
    sattn_measure_options all = options ? *options : (sattn_measure_options){0};
    if (!(all.budget_s > 0))
        all.budget_s = 1;
    if (!(all.window_s > 0))
        all.window_s = 1e-3;
    if (all.min_rounds <= 0)
        all.min_rounds = DEFAULT_MIN_ROUNDS;
    if (all.max_rounds <= 0)
        all.max_rounds = DEFAULT_MAX_ROUNDS;
    if (all.max_rounds < all.min_rounds)
        all.max_rounds = all.min_rounds;
    return all;
}

static void calibrate(run *self, double window_ns)
{
    const sattn_measure_plan *const plan = self->plan;
    for (size_t c = 0; c < plan->n_candidates; ++c) {
        track *const own = &self->tracks[c];
        own->calls = calibrate_calls(&plan->candidates[c], window_ns);
        own->warm_first = own->calls > 1;
        for (size_t r = 0; r < plan->n_references; ++r)
            if (plan->candidates[c].work[r] > 0)
                own->rate[r] = calibrate_rate(&plan->references[r], window_ns);
    }
}

int sattn_measure(const sattn_measure_plan *plan, const sattn_measure_options *options,
                  sattn_measure_result *results)
{
    const sattn_measure_options all = with_defaults(options);
    run self = {.plan = plan};
    for (size_t c = 0; c < plan->n_candidates; ++c)
        results[c] = (sattn_measure_result){.bound = -1};
    double *const room = new_samples(all.max_rounds);
    const bool good = allocate(plan, all.max_rounds, &self, results) && room != NULL;
    if (good) {
        const double window_ns = all.window_s * 1e9;
        const double empty_ns = empty_call_ns(window_ns / 4);
        calibrate(&self, window_ns);
        sattn_cgroup_read(NULL, &self.state.cgroup);
        self.state.cpu = bound_cpu();
        int64_t throttled, steal;
        disturbed(&self.state, &throttled, &steal);
        measure_round(&self, false, false); /* warm-up: everything has run, clocks are up */
        measure_rounds(&self, &all);
        for (size_t c = 0; c < plan->n_candidates; ++c) {
            summarise(&self, c, all.min_rounds, empty_ns, room, &results[c]);
            results[c].speedup = plan->baseline < plan->n_candidates
                                     ? speedup_over(&self, plan->baseline, c, all.min_rounds, room)
                                     : sattn_stat_of(NULL, 0);
            results[c].status = judge(&self.tracks[c], &results[c]);
        }
    } else {
        sattn_measure_free(results, plan->n_candidates);
    }
    free(room);
    free(self.switched);
    free_tracks(self.tracks, plan->n_candidates);
    return good ? 0 : -1;
}

/* ---- pinning */

#if defined(__linux__)

static double read_value(const char *path)
{
    FILE *const file = fopen(path, "r");
    double value = 0;
    if (file != NULL) {
        if (fscanf(file, "%lf", &value) != 1)
            value = 0;
        fclose(file);
    }
    return value;
}

/* Greater is faster, comparable within one machine only; 0 where the system does not say. */
static double cpu_rank(const char *root, int cpu)
{
    char path[512];
    snprintf(path, sizeof path, "%.400s/sys/devices/system/cpu/cpu%d/cpu_capacity", root, cpu);
    const double capacity = read_value(path);
    snprintf(path, sizeof path, "%.400s/sys/devices/system/cpu/cpu%d/cpufreq/cpuinfo_max_freq",
             root, cpu);
    return capacity > 0 ? capacity : read_value(path);
}

bool sattn_pin_begin(sattn_pin *pin, int cpu, const char *root)
{
    *pin = (sattn_pin){.cpu = -1};
    const size_t size = CPU_ALLOC_SIZE(MOST_CPUS);
    cpu_set_t *const allowed = CPU_ALLOC(MOST_CPUS);
    cpu_set_t *const wanted = CPU_ALLOC(MOST_CPUS);
    int chosen = -1;
    if (allowed == NULL || wanted == NULL || sched_getaffinity(0, size, allowed) != 0) {
        snprintf(pin->why, sizeof pin->why, "the affinity of this thread cannot be read");
    } else if (cpu >= 0 && (cpu >= MOST_CPUS || !CPU_ISSET_S((size_t)cpu, size, allowed))) {
        snprintf(pin->why, sizeof pin->why, "CPU %d is not among those this process may use", cpu);
    } else {
        double best = -1;
        for (int i = 0; i < MOST_CPUS && cpu < 0; ++i)
            if (CPU_ISSET_S((size_t)i, size, allowed)) {
                const double rank = cpu_rank(root ? root : "", i);
                chosen = rank >= best ? i : chosen;
                best = rank >= best ? rank : best;
            }
        chosen = cpu >= 0 ? cpu : chosen;
        CPU_ZERO_S(size, wanted);
        CPU_SET_S((size_t)chosen, size, wanted);
        if (sched_setaffinity(0, size, wanted) == 0)
            pin->cpu = chosen;
        else
            snprintf(pin->why, sizeof pin->why, "the system refuses to bind to CPU %d", chosen);
    }
    CPU_FREE(wanted);
    if (pin->cpu >= 0)
        pin->previous = allowed;
    else
        CPU_FREE(allowed);
    return pin->cpu >= 0;
}

void sattn_pin_end(sattn_pin *pin)
{
    if (pin->previous == NULL)
        return;
    sched_setaffinity(0, CPU_ALLOC_SIZE(MOST_CPUS), pin->previous);
    CPU_FREE(pin->previous);
    *pin = (sattn_pin){.cpu = -1};
}

#else

bool sattn_pin_begin(sattn_pin *pin, int cpu, const char *root)
{
    (void)cpu;
    (void)root;
    *pin = (sattn_pin){.cpu = -1};
    snprintf(pin->why, sizeof pin->why, "binding a thread is not supported on this system");
    return false;
}

void sattn_pin_end(sattn_pin *pin)
{
    (void)pin;
}

#endif
