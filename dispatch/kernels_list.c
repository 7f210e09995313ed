/* SPDX-License-Identifier: MIT
 *
 * kernels_list.c: the registry as users see it. */
#include "dispatch/registry.h"
#include "dispatch/simdattn.h"

#include <pthread.h>

enum { TEXT_SIZE = 160 };

static pthread_once_t list_once = PTHREAD_ONCE_INIT;
static sattn_kernel_info list[SATTN_KERNEL_COUNT];
static char phases[SATTN_KERNEL_COUNT][TEXT_SIZE], missing[SATTN_KERNEL_COUNT][TEXT_SIZE];
static size_t list_count;

static void make_list(void)
{
    const sattn_kernel *const rows = sattn_registry(&list_count);
    const sattn_features usable = sattn_cpu_this()->usable;
    for (size_t i = 0; i < list_count; ++i) {
        sattn_phases_print(rows[i].phases, phases[i], TEXT_SIZE);
        sattn_features_print(rows[i].needs & ~usable, missing[i], TEXT_SIZE);
        list[i] = (sattn_kernel_info){.name = rows[i].name,
                                      .op = sattn_op_name(rows[i].op),
                                      .isa = sattn_isa_name(rows[i].needs),
                                      .phases = phases[i],
                                      .note = rows[i].note,
                                      .usable = (rows[i].needs & ~usable) == 0,
                                      .missing = missing[i]};
    }
}

const sattn_kernel_info *sattn_kernels(size_t *count)
{
    pthread_once(&list_once, make_list);
    *count = list_count;
    return list;
}
