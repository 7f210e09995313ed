/* SPDX-License-Identifier: MIT
 *
 * explain_legend.c: explains the marks, columns and names that were printed, and no others. */
#include "bench/explain/explain.h"

#include "bench/ops/ops.h"

#include <string.h>

static bool any_name_has(const sattn_explained *explain, const char *word)
{
    for (size_t r = 0; r < explain->n_rows; ++r)
        if (strstr(explain->rows[r].name, word))
            return true;
    return false;
}

static void print_columns(sattn_op op, FILE *file)
{
    fprintf(file,
            "*          what the call runs\n"
            "+          on the front: of those measured and eligible, none is both faster and\n"
            "           more exact\n"
            "default    what runs without a profile\n"
            "time       of a call, median\n"
            "vs taken   how much longer than what the call runs\n"
            "p10-p90    from the 10th to the 90th percentile of the time, relative to the\n"
            "           median; ~ measured beside other work\n"
            "error      the worst / the most that rounding explains, in %s%s\n",
            sattn_bench_op_by_name(sattn_op_name(op))->task->error_unit,
            sattn_op_takes_arrays(op) ? "" : ", u = 2^-24");
}

void sattn_explain_print_legend(const sattn_explained *explain, FILE *file)
{
    const char *const op = sattn_op_name(explain->options->op);
    const sattn_explain_row *const rows = explain->rows;
    fputc('\n', file);
    if (sattn_explain_any_measured(rows, explain->n_rows, SATTN_EXPLAIN_PROFILE) ||
        sattn_explain_any_measured(rows, explain->n_rows, SATTN_EXPLAIN_RESULTS))
        print_columns(explain->options->op, file);
    fputs("class      of calls that share one choice: extents up to these powers of two\n"
          "registry   all kernels in the order in which they are tried: `./run info`\n",
          file);
    fprintf(file, "%s_...%*sthe kernel sattn_%s_f32_..., as SATTN_KERNEL takes it\n", op,
            (int)(7 - strlen(op)), "", op);
    if (any_name_has(explain, "chain_"))
        fputs("chain_...  kernels of that level for qk, softmax and av, one after the other\n",
              file);
    if (any_name_has(explain, " + "))
        fputs("a + b      b does the last rows, too few to fill the lanes of a\n", file);
    if (any_name_has(explain, " key range"))
        fputs("key ranges, into which the keys are cut for several threads\n", file);
}
