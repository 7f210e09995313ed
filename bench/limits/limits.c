/* SPDX-License-Identifier: MIT
 *
 * limits.c: the table of reference loops, and how they are run. */
#include "bench/limits/limits.h"

#include "bench/limits/limits_loops.h"
#include "bench/measure/clock.h"
#include "bench/measure/statistics.h"

#include <string.h>

static const sattn_limit_isa isas[] = {
    {"scalar", SATTN_ISA_SCALAR, sattn_peak_f32_scalar, sattn_read_f32_scalar,
     sattn_exp_loop_f32_scalar, sattn_copy_f32_scalar},
#if SATTN_BUILD_AVX2
    {"avx2", SATTN_ISA_AVX2, sattn_peak_f32_avx2, sattn_read_f32_avx2, sattn_exp_loop_f32_avx2,
     sattn_copy_f32_avx2},
#endif
#if SATTN_BUILD_AVX512
    {"avx512", SATTN_ISA_AVX512, sattn_peak_f32_avx512, sattn_read_f32_avx512,
     sattn_exp_loop_f32_avx512, sattn_copy_f32_avx512},
#endif
#if SATTN_BUILD_NEON
    {"neon", SATTN_ISA_NEON, sattn_peak_f32_neon, sattn_read_f32_neon, sattn_exp_loop_f32_neon,
     sattn_copy_f32_neon},
#endif
};

const sattn_limit_isa *sattn_limit_isas(size_t *count)
{
    *count = sizeof isas / sizeof isas[0];
    return isas;
}

static const sattn_limit_isa *isa_by_name(const char *name)
{
    for (size_t i = 0; i < sizeof isas / sizeof isas[0]; ++i)
        if (strcmp(isas[i].name, name) == 0)
            return &isas[i];
    return NULL;
}

const char *sattn_limit_name(sattn_limit_kind kind)
{
    switch (kind) {
    case SATTN_LIMIT_FMA:
        return "fma";
    case SATTN_LIMIT_READ:
        return "read";
    case SATTN_LIMIT_EXP:
        return "exp";
    case SATTN_LIMIT_COPY:
        return "copy";
    }
    return "unknown";
}

const char *sattn_limit_unit(sattn_limit_kind kind)
{
    if (kind == SATTN_LIMIT_FMA)
        return "GFLOP/s";
    return kind == SATTN_LIMIT_EXP ? "Gelem/s" : "GB/s";
}

static bool usable(const sattn_limit_isa *isa)
{
    return isa != NULL && (isa->needs & ~sattn_cpu_this()->usable) == 0;
}

bool sattn_limit_init_fma(sattn_limit *limit, const char *isa)
{
    *limit = (sattn_limit){.kind = SATTN_LIMIT_FMA, .isa = isa_by_name(isa)};
    return usable(limit->isa);
}

bool sattn_limit_init_exp(sattn_limit *limit, const char *isa)
{
    *limit = (sattn_limit){.kind = SATTN_LIMIT_EXP, .isa = isa_by_name(isa)};
    for (int i = 0; i < SATTN_EXP_LOOP_FLOATS; ++i)
        limit->numbers[0][i] = -20.0f * (float)i / (float)SATTN_EXP_LOOP_FLOATS;
    return usable(limit->isa);
}

static bool init_over_buffers(sattn_limit *limit, sattn_limit_kind kind, const char *isa,
                              const sattn_limit_buffer *buffers, size_t count)
{
    *limit = (sattn_limit){
        .kind = kind,
        .isa = isa_by_name(isa),
        .buffers = buffers,
        .n_buffers = count,
        .streams = 1,
    };
    size_t bytes = 0;
    for (size_t i = 0; i < count; ++i)
        bytes += buffers[i].bytes;
    return usable(limit->isa) && bytes > 0;
}

bool sattn_limit_init_read(sattn_limit *limit, const char *isa, const sattn_limit_buffer *buffers,
                           size_t count)
{
    return init_over_buffers(limit, SATTN_LIMIT_READ, isa, buffers, count);
}

bool sattn_limit_init_copy(sattn_limit *limit, const char *isa, const sattn_limit_buffer *buffers,
                           size_t count)
{
    return init_over_buffers(limit, SATTN_LIMIT_COPY, isa, buffers, count);
}

static int64_t run_over_buffers(sattn_limit *limit, int64_t work)
{
    int64_t done = 0;
    uint32_t seen = 0;
    do {
        const sattn_limit_buffer *buffer = &limit->buffers[limit->next];
        if (limit->kind == SATTN_LIMIT_COPY) {
            limit->isa->copy(buffer->to, buffer->data, buffer->bytes, limit->bypass);
            done += 2 * (int64_t)buffer->bytes;
        } else {
            seen ^= limit->isa->read(buffer->data, buffer->bytes, limit->streams, limit->prefetch);
            done += (int64_t)buffer->bytes;
        }
        limit->next = limit->next + 1 < limit->n_buffers ? limit->next + 1 : 0;
    } while (done < work);
    limit->sink = seen;
    return done;
}

static int64_t run_exp(sattn_limit *limit, int64_t work)
{
    const int64_t passes =
        work <= SATTN_EXP_LOOP_FLOATS ? 1 : (work - 1) / SATTN_EXP_LOOP_FLOATS + 1;
    limit->isa->exp(limit->numbers[0], limit->numbers[1], passes);
    limit->sink = limit->numbers[1][0] > 0.0f;
    return passes * SATTN_EXP_LOOP_FLOATS;
}

static int64_t run_fma(sattn_limit *limit, int64_t work)
{
    float sum;
    const int64_t done = limit->isa->peak(work, &sum);
    limit->sink = sum > 0.0f;
    return done;
}

int64_t sattn_limit_run(void *limit, int64_t work)
{
    sattn_limit *const self = limit;
    switch (self->kind) {
    case SATTN_LIMIT_FMA:
        return run_fma(self, work);
    case SATTN_LIMIT_EXP:
        return run_exp(self, work);
    case SATTN_LIMIT_READ:
    case SATTN_LIMIT_COPY:
        break;
    }
    return run_over_buffers(self, work);
}

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

static void set_way(sattn_limit *limit, int way)
{
    if (limit->kind == SATTN_LIMIT_COPY) {
        limit->bypass = way > 0;
    } else {
        limit->streams = read_ways[way].streams;
        limit->prefetch = read_ways[way].prefetch;
    }
}

static double seconds_per_byte(sattn_limit *limit, int64_t work)
{
    const int64_t start = sattn_now_ns();
    const int64_t done = sattn_limit_run(limit, work);
    return (double)(sattn_now_ns() - start) * 1e-9 / (double)done;
}

void sattn_limit_choose(sattn_limit *limit, double budget_s)
{
    if (limit->kind != SATTN_LIMIT_READ && limit->kind != SATTN_LIMIT_COPY)
        return;
    const int n_ways = limit->kind == SATTN_LIMIT_READ ? READ_WAYS : COPY_WAYS;
    int64_t pass = 0;
    for (size_t i = 0; i < limit->n_buffers; ++i)
        pass += (int64_t)limit->buffers[i].bytes * (limit->kind == SATTN_LIMIT_COPY ? 2 : 1);

    /* A window is one pass, or as many as take 0.2 ms: much less would measure the clock. */
    const double pass_s = seconds_per_byte(limit, pass) * (double)pass;
    const double window_s = pass_s > 2e-4 ? pass_s : 2e-4;
    const int64_t work = (int64_t)((double)pass * (window_s / pass_s));
    const double affordable = budget_s / (window_s * (double)n_ways);
    const int rounds = affordable < 2                           ? 2
                       : affordable > (double)CHOOSE_MAX_ROUNDS ? CHOOSE_MAX_ROUNDS
                                                                : (int)affordable;
    double samples[READ_WAYS][CHOOSE_MAX_ROUNDS];
    for (int round = 0; round < rounds; ++round)
        for (int way = 0; way < n_ways; ++way) {
            set_way(limit, way);
            samples[way][round] = seconds_per_byte(limit, work);
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
    set_way(limit, best);
}
