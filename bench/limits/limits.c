/* SPDX-License-Identifier: MIT
 *
 * limits.c: the table of reference loops, and how they are run. */
#include "bench/limits/limits.h"

#include "bench/limits/limits_loops.h"

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
    case SATTN_LIMIT_CYCLE:
        return "cycle";
    }
    return "unknown";
}

const char *sattn_limit_unit(sattn_limit_kind kind)
{
    switch (kind) {
    case SATTN_LIMIT_FMA:
        return "GFLOP/s";
    case SATTN_LIMIT_EXP:
        return "Gelem/s";
    case SATTN_LIMIT_CYCLE:
        return "Gcycle/s";
    case SATTN_LIMIT_READ:
    case SATTN_LIMIT_COPY:
        break;
    }
    return "GB/s";
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

void sattn_limit_init_cycle(sattn_limit *limit)
{
    *limit = (sattn_limit){.kind = SATTN_LIMIT_CYCLE};
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

static int64_t run_cycle(sattn_limit *limit, int64_t work)
{
    uint32_t sum;
    const int64_t done = sattn_cycles_loop(work, &sum);
    limit->sink = sum;
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
    case SATTN_LIMIT_CYCLE:
        return run_cycle(self, work);
    case SATTN_LIMIT_READ:
    case SATTN_LIMIT_COPY:
        break;
    }
    return run_over_buffers(self, work);
}
