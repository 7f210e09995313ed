/* SPDX-License-Identifier: MIT
 *
 * one_kernel.c: names of kernels for a test's options. */
#include "tests/support/one_kernel.h"

#include <stdio.h>
#include <string.h>

bool one_kernel_is_chain(const test_run *run)
{
    return run->kernel->op != SATTN_OP_fused;
}

static const char *first_of(sattn_op op, sattn_features needs)
{
    size_t count;
    const sattn_kernel *const rows = sattn_registry(&count);
    for (size_t i = 0; i < count; ++i)
        if (rows[i].op == op && rows[i].needs == needs)
            return rows[i].name;
    return "";
}

sattn_options one_kernel_options(const test_run *run)
{
    static char names[512];
    snprintf(names, sizeof names, "%s", run->kernel->name);
    for (sattn_op op = SATTN_OP_qk; one_kernel_is_chain(run) && op <= SATTN_OP_av; ++op)
        if (op != run->kernel->op) {
            const size_t length = strlen(names);
            snprintf(names + length, sizeof names - length, ",%s",
                     first_of(op, run->kernel->needs));
        }
    return (sattn_options){.kernels = names,
                           .isa = sattn_isa_name(run->kernel->needs),
                           .plan = one_kernel_is_chain(run) ? "chain" : "fused"};
}
