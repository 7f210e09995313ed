/* SPDX-License-Identifier: MIT
 *
 * limit_team.c: one loop per thread (limit_team.h). */
#include "bench/limits/limit_team.h"

#include "bench/measure/clock.h"
#include "bench/measure/statistics.h"
#include "dispatch/team.h"

#include <stdlib.h>

/* ---- running */

/* A thread keeps to its own part, whichever task it got: so the part stays in its caches. */
static void run_task(void *context, int64_t index, int worker)
{
    sattn_limit_team *const team = context;
    team->done[index] = sattn_limit_run(&team->limits[worker], team->each);
}

int64_t sattn_limit_team_run(void *context, int64_t work)
{
    sattn_limit_team *const team = context;
    int64_t done = 0;
    team->each = (work - 1) / team->n_threads + 1;
    sattn_team_run(team->n_threads, team->n_threads, run_task, team);
    for (int t = 0; t < team->n_threads; ++t)
        done += team->done[t];
    return done;
}

/* ---- memory */

static bool init_limit(sattn_limit *limit, const sattn_limit_request *request,
                       const sattn_limit_buffer *buffers)
{
    switch (request->kind) {
    case SATTN_LIMIT_FMA:
        return sattn_limit_init_fma(limit, request->isa);
    case SATTN_LIMIT_EXP:
        return sattn_limit_init_exp(limit, request->isa);
    case SATTN_LIMIT_READ:
        return sattn_limit_init_read(limit, request->isa, buffers, request->n_buffers);
    case SATTN_LIMIT_COPY:
        return sattn_limit_init_copy(limit, request->isa, buffers, request->n_buffers);
    case SATTN_LIMIT_CYCLE:
        break;
    }
    sattn_limit_init_cycle(limit);
    return true;
}

/* Thread t's part of a buffer, in whole lines but for the last. */
static sattn_limit_buffer part_of(const sattn_limit_buffer *all, int t, int n)
{
    const size_t lines = all->bytes / SATTN_READ_LINE, n_parts = (size_t)n;
    const size_t begin = lines * (size_t)t / n_parts * SATTN_READ_LINE;
    const size_t end =
        t + 1 == n ? all->bytes : lines * ((size_t)t + 1) / n_parts * SATTN_READ_LINE;
    return (sattn_limit_buffer){.data = (const char *)all->data + begin,
                                .bytes = end - begin,
                                .to = all->to ? (char *)all->to + begin : NULL};
}

static void fill_parts(sattn_limit_team *team, const sattn_limit_request *request)
{
    for (int t = 0; t < team->n_threads; ++t)
        for (size_t b = 0; b < request->n_buffers; ++b)
            team->parts[(size_t)t * request->n_buffers + b] =
                part_of(&request->buffers[b], t, team->n_threads);
}

bool sattn_limit_team_open(sattn_limit_team *team, const sattn_limit_request *request)
{
    const size_t n = (size_t)request->n_threads;
    *team = (sattn_limit_team){.n_threads = request->n_threads};
    team->limits = aligned_alloc(_Alignof(sattn_limit), n * sizeof *team->limits);
    team->done = calloc(n, sizeof *team->done);
    team->parts = calloc(n * request->n_buffers + 1, sizeof *team->parts);
    bool good = team->limits && team->done && team->parts;
    if (good)
        fill_parts(team, request);
    for (size_t t = 0; good && t < n; ++t)
        good = init_limit(&team->limits[t], request, team->parts + t * request->n_buffers);
    if (!good)
        sattn_limit_team_close(team);
    return good;
}

void sattn_limit_team_close(sattn_limit_team *team)
{
    free(team->limits);
    free(team->done);
    free(team->parts);
    *team = (sattn_limit_team){0};
}

/* ---- the fastest way over the buffers */

/* Ways to read that were each the fastest somewhere: one stream from the caches, several from
 * memory; prefetch distances in each stream of one page and below. */
static const struct {
    int streams, prefetch;
} read_ways[] = {{1, 0}, {2, 0}, {4, 0}, {8, 0}, {1, 4096}, {2, 1024}, {4, 1024}, {8, 1024}};

enum {
    READ_WAYS = sizeof read_ways / sizeof read_ways[0],
    COPY_WAYS = 2,
    CHOOSE_MAX_ROUNDS = 25,
};

static void set_way(sattn_limit_team *team, int way)
{
    for (int t = 0; t < team->n_threads; ++t) {
        sattn_limit *const limit = &team->limits[t];
        if (limit->kind == SATTN_LIMIT_COPY) {
            limit->bypass = way > 0;
        } else {
            limit->streams = read_ways[way].streams;
            limit->prefetch = read_ways[way].prefetch;
        }
    }
}

static double seconds_per_byte(sattn_limit_team *team, int64_t work)
{
    const int64_t start = sattn_now_ns();
    const int64_t done = sattn_limit_team_run(team, work);
    return (double)(sattn_now_ns() - start) * 1e-9 / (double)done;
}

/* Bytes of one pass over all buffers. */
static int64_t bytes_of_pass(const sattn_limit_team *team)
{
    int64_t bytes = 0;
    for (int t = 0; t < team->n_threads; ++t)
        for (size_t b = 0; b < team->limits[t].n_buffers; ++b)
            bytes += (int64_t)team->limits[t].buffers[b].bytes;
    return bytes * (team->limits[0].kind == SATTN_LIMIT_COPY ? 2 : 1);
}

void sattn_limit_team_choose(sattn_limit_team *team, double budget_s)
{
    if (team->limits[0].kind != SATTN_LIMIT_READ && team->limits[0].kind != SATTN_LIMIT_COPY)
        return;
    const int n_ways = team->limits[0].kind == SATTN_LIMIT_READ ? READ_WAYS : COPY_WAYS;
    const int64_t pass = bytes_of_pass(team);
    set_way(team, 0);
    /* A window is one pass, or as many as take 0.2 ms: much less would measure the clock. */
    const double pass_s = seconds_per_byte(team, pass) * (double)pass;
    const double window_s = pass_s > 2e-4 ? pass_s : 2e-4;
    const int64_t work = (int64_t)((double)pass * (window_s / pass_s));
    const double affordable = budget_s / (window_s * (double)n_ways);
    const int rounds = affordable < 2                           ? 2
                       : affordable > (double)CHOOSE_MAX_ROUNDS ? CHOOSE_MAX_ROUNDS
                                                                : (int)affordable;
    double samples[READ_WAYS][CHOOSE_MAX_ROUNDS];
    for (int round = 0; round < rounds; ++round)
        for (int way = 0; way < n_ways; ++way) {
            set_way(team, way);
            samples[way][round] = seconds_per_byte(team, work);
        }
    int best = 0;
    double best_time = 0;
    for (int way = 0; way < n_ways; ++way) {
        const double time = sattn_stat_of(samples[way], rounds).median;
        if (way == 0 || time < best_time) {
            best_time = time;
            best = way;
        }
    }
    set_way(team, best);
}
