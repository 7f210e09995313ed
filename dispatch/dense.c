/* SPDX-License-Identifier: MIT
 *
 * dense.c: see dense.h. Who may use a copy is kept under a lock, which is held for a few
 * instructions; its rows are copied outside of it. */
#include "dispatch/dense.h"

#include "dispatch/checked.h"
#include "dispatch/plan.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

enum {
    LINE = 64,
    WAITS_MAX = 1000,    /* for the chunks of others, each about the time of a system call */
    KEYS_PER_ROW = 64,   /* most keys that are copied for each row: memory may be new */
    PADDED_FLOATS = 512, /* rows of a multiple of so many are a line further apart */
};

struct sattn_dense_copy {
    int64_t unit;               /* -1: none */
    int64_t users;              /* workers on a block of it */
    _Atomic int64_t next, done; /* chunks that were taken, and that were copied */
};

_Static_assert(sizeof(sattn_dense_copy) <= LINE, "what is kept about a copy takes one line");

/* On a Zen 5 core (48 KiB, 1 MiB; gcc 12, d of 64 and 128) a copy costs as much as 4 to 10 query
 * rows. In place, rows take 10 to 60 % longer at multiples of 4 KiB, from 32 keys on; 2 to 16 % at
 * those of 2 KiB and 1 to 12 % at those of 1 KiB, from 512 keys on. */
bool sattn_dense_pays(int64_t stride, int64_t n_rows, int64_t n_keys)
{
    static const struct {
        int64_t multiple_of; /* elements */
        int64_t rows, keys;  /* from which on it pays */
    } traps[] = {{1024, 64, 32}, {512, 512, 512}, {256, 1024, 512}};
    if (stride == 0 || n_keys / KEYS_PER_ROW > n_rows)
        return false;
    for (size_t t = 0; t < sizeof traps / sizeof traps[0]; ++t)
        if (stride % traps[t].multiple_of == 0)
            return n_rows >= traps[t].rows && n_keys >= traps[t].keys;
    return false;
}

int64_t sattn_dense_stride(int64_t columns)
{
    return columns % PADDED_FLOATS == 0 ? columns + LINE / (int64_t)sizeof(float) : columns;
}

/* Bytes that n_keys rows take, in whole lines. */
static sattn_checked bytes_of(int64_t n_keys, int64_t columns)
{
    const sattn_checked floats =
        sattn_checked_mul(sattn_checked_of(n_keys), sattn_checked_of(sattn_dense_stride(columns)));
    sattn_checked bytes = sattn_checked_mul(floats, sattn_checked_of(sizeof(float)));
    bytes = sattn_checked_add(bytes, sattn_checked_of(LINE - 1));
    bytes.value -= bytes.value % LINE;
    return bytes;
}

/* Extents that the plan was made for: of a ragged batch the most of any sequence. */
static int64_t rows_of(const sattn_plan *plan)
{
    const sattn_checked rows =
        sattn_checked_mul(sattn_checked_of(plan->n_group), sattn_checked_of(plan->args.n_q));
    return rows.overflow ? INT64_MAX : rows.value;
}

/* Kernels of qk arrange K for many query rows anyway. */
static bool copies_keys(const sattn_plan *plan)
{
    return plan->computation == SATTN_COMPUTE_FUSED;
}

static sattn_checked copy_bytes(const sattn_plan *plan)
{
    const sattn_attention_args *const a = &plan->args;
    const int64_t n_rows = rows_of(plan);
    sattn_checked bytes = sattn_checked_of(0);
    if (copies_keys(plan) && sattn_dense_pays(a->k.stride_t, n_rows, a->n_k))
        bytes = sattn_checked_add(bytes, bytes_of(a->n_k, a->d));
    if (sattn_dense_pays(a->v.stride_t, n_rows, a->n_k))
        bytes = sattn_checked_add(bytes, bytes_of(a->n_k, a->d_v));
    return bytes;
}

int64_t sattn_dense_bytes(const sattn_plan *plan)
{
    return LINE + copy_bytes(plan).value;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t sattn_dense_count(const sattn_plan *plan, int64_t n_units, int64_t n_blocks)
{
    const sattn_checked bytes = copy_bytes(plan);
    if (bytes.overflow || bytes.value == 0 || bytes.value > SATTN_DENSE_BYTES_MAX)
        return 0;
    /* Tasks begin unit by unit: with the last blocks of one begin the first of the next. */
    const int64_t at_once = plan->workers / n_blocks + 2;
    return least(least(at_once, SATTN_DENSE_BYTES_MAX / bytes.value),
                 least(plan->workers, n_units));
}

static sattn_dense_copy *copy_at(const sattn_dense *dense, int64_t index)
{
    return (sattn_dense_copy *)(void *)(dense->memory + (size_t)index * dense->copy_size);
}

void sattn_dense_begin(sattn_dense *dense, const sattn_plan *plan, unsigned char *workspace)
{
    const sattn_workspace_layout *const layout = &plan->layout;
    dense->memory = workspace + layout->dense;
    dense->copy_size = layout->dense_size;
    dense->n_copies = layout->n_dense;
    dense->copies_keys = copies_keys(plan);
    if (dense->n_copies > 0)
        pthread_mutex_init(&dense->lock, NULL);
    for (int64_t index = 0; index < dense->n_copies; ++index) {
        copy_at(dense, index)->unit = -1;
        copy_at(dense, index)->users = 0;
    }
}

void sattn_dense_end(sattn_dense *dense)
{
    if (dense->n_copies > 0)
        pthread_mutex_destroy(&dense->lock);
}

/* The copy of the unit, or one that nobody uses; NULL: there is neither. */
static sattn_dense_copy *claim(sattn_dense *dense, int64_t unit)
{
    sattn_dense_copy *own = NULL, *unused = NULL;
    pthread_mutex_lock(&dense->lock);
    for (int64_t index = 0; index < dense->n_copies && !own; ++index) {
        sattn_dense_copy *const copy = copy_at(dense, index);
        own = copy->unit == unit ? copy : NULL;
        unused = copy->users == 0 ? copy : unused;
    }
    if (!own && unused) {
        own = unused;
        own->unit = unit;
        atomic_store_explicit(&own->next, 0, memory_order_relaxed);
        atomic_store_explicit(&own->done, 0, memory_order_relaxed);
    }
    if (own)
        ++own->users;
    pthread_mutex_unlock(&dense->lock);
    return own;
}

void sattn_dense_leave(sattn_dense *dense, sattn_dense_copy *copy)
{
    if (!copy)
        return;
    pthread_mutex_lock(&dense->lock);
    --copy->users;
    pthread_mutex_unlock(&dense->lock);
}

/* Rows [keys.begin, keys.end) of K or V, and where they are copied to: key 0 of both. */
typedef struct copied {
    float *to;
    const float *from;
    int64_t to_stride, from_stride, columns;
} copied;

static void copy_rows(const copied *c, sattn_key_range keys)
{
    for (int64_t j = keys.begin; j < keys.end; ++j)
        memcpy(c->to + j * c->to_stride, c->from + j * c->from_stride,
               (size_t)c->columns * sizeof(float));
}

/* Copies what no other worker has begun with. */
static void copy_chunks(sattn_dense_copy *copy, const copied tensors[2], sattn_key_range keys,
                        int64_t n_chunks)
{
    for (;;) {
        const int64_t chunk = atomic_fetch_add_explicit(&copy->next, 1, memory_order_relaxed);
        if (chunk >= n_chunks)
            return;
        const int64_t begin = keys.begin + chunk * SATTN_KEY_BLOCK;
        const sattn_key_range part = {begin, least(begin + SATTN_KEY_BLOCK, keys.end)};
        for (int t = 0; t < 2; ++t)
            if (tensors[t].to)
                copy_rows(&tensors[t], part);
        atomic_fetch_add_explicit(&copy->done, 1, memory_order_release);
    }
}

static bool wait_for(sattn_dense_copy *copy, int64_t n_chunks)
{
    for (int wait = 0; wait < WAITS_MAX; ++wait) {
        if (atomic_load_explicit(&copy->done, memory_order_acquire) == n_chunks)
            return true;
        sched_yield();
    }
    return false;
}

sattn_dense_copy *sattn_dense_enter(sattn_dense *dense, int64_t index, sattn_unit *unit)
{
    if (dense->n_copies == 0)
        return NULL;
    const sattn_key_range keys = unit->keys;
    const int64_t n_rows = unit->n_group * unit->n_q, n_keys = keys.end - keys.begin;
    const bool k = dense->copies_keys && sattn_dense_pays(unit->k_stride, n_rows, n_keys);
    const bool v = sattn_dense_pays(unit->v_stride, n_rows, n_keys);
    sattn_dense_copy *const copy = k || v ? claim(dense, index) : NULL;
    if (!copy)
        return NULL;
    float *const to = (float *)(void *)((unsigned char *)copy + LINE);
    const int64_t k_floats = k ? bytes_of(keys.end, unit->d).value / (int64_t)sizeof(float) : 0;
    const copied tensors[2] = {{.to = k ? to : NULL,
                                .from = unit->k,
                                .to_stride = sattn_dense_stride(unit->d),
                                .from_stride = unit->k_stride,
                                .columns = unit->d},
                               {.to = v ? to + k_floats : NULL,
                                .from = unit->v,
                                .to_stride = sattn_dense_stride(unit->d_v),
                                .from_stride = unit->v_stride,
                                .columns = unit->d_v}};
    const int64_t n_chunks = (n_keys - 1) / SATTN_KEY_BLOCK + 1;
    copy_chunks(copy, tensors, keys, n_chunks);
    if (!wait_for(copy, n_chunks)) {
        sattn_dense_leave(dense, copy);
        return NULL;
    }
    unit->k_dense = (sattn_key_rows){tensors[0].to, tensors[0].to_stride};
    unit->v_dense = (sattn_key_rows){tensors[1].to, tensors[1].to_stride};
    return copy;
}
