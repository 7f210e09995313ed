/* SPDX-License-Identifier: MIT
 *
 * watch.c: see watch.h. */
#include "tests/support/watch.h"

#include <stdio.h>
#include <string.h>

/* Takes what was written, where it was to be, into what ought to be there afterwards. */
static void accept_output(const test_watch *watch, test_run *run)
{
    test_operand *const output = &watch->operand[watch->output];
    const size_t n = (size_t)(watch->end - watch->begin);
    for (int64_t i = watch->i0; i < watch->i1 && n > 0; ++i) {
        const float *const row = test_operand_f32(output, 0, i) + watch->begin;
        for (size_t c = 0; c < n; ++c)
            if (test_is_canary(row[c])) {
                watch->fail(watch->problem, run, "an element was not written");
                break;
            }
        memcpy(output->before + ((const unsigned char *)row - output->pages), row, n * sizeof *row);
    }
}

void test_watch_call(const test_watch *watch, test_run *run)
{
    const uint64_t control = test_fp_control();
    for (int operand = 0; operand < watch->n_operands; ++operand)
        test_operand_seal(&watch->operand[operand]);
    watch->call(watch->problem, run);
    if (test_fp_control() != control) {
        watch->fail(watch->problem, run, "the floating-point control state was changed");
        test_fp_control_set(control);
    }
    accept_output(watch, run);
    for (int operand = 0; operand < watch->n_operands; ++operand) {
        int64_t at;
        if (!test_operand_is_unchanged(&watch->operand[operand], &at)) {
            char what[128];
            snprintf(what, sizeof what, "%s: written where nothing must be, at byte %lld",
                     watch->names[operand], (long long)at);
            watch->fail(watch->problem, run, what);
        }
    }
}
