/* SPDX-License-Identifier: MIT
 *
 * explain_legend.c: explains the marks, columns and names that were printed, and no others. */
#include "bench/explain.h"

#include "bench/ops/ops.h"

#include <string.h>

/* A row with the word in its name, or NULL. */
static const sattn_explain_row *row_named(const sattn_explained *explain, const char *word)
{
    for (size_t r = 0; r < explain->n_rows; ++r)
        if (strstr(explain->rows[r].name, word))
            return &explain->rows[r];
    return NULL;
}

static void print_columns(const sattn_explained *explain, FILE *file)
{
    fprintf(file,
            "*          what the call runs\n"
            "+          on the front: of those measured and eligible none is both faster and more\n"
            "           exact\n"
            "default    what runs without a profile and without names\n"
            "time       of a call, median\n"
            "vs taken   its time over that of what the call runs\n"
            "spread     10th to 90th percentile; ~ measured beside other work\n"
            "error      the worst / the most that rounding explains, in %s%s\n",
            sattn_bench_op_by_name(sattn_op_name(explain->options->op))->task->error_unit,
            explain->options->op == SATTN_OP_exp || explain->options->op == SATTN_OP_tanh
                ? ""
                : ", u = 2^-24");
}

static void print_names(const sattn_explained *explain, FILE *file)
{
    const char *const op = sattn_op_name(explain->options->op);
    fprintf(file, "%s_avx2  the kernel sattn_%s_f32_avx2, as SATTN_KERNEL takes it\n", op, op);
    if (row_named(explain, " + "))
        fputs("a + b      kernel b does the last rows, which would leave lanes of a empty\n", file);
    if (row_named(explain, "chain_"))
        fputs("chain_...  qk, softmax and av, one block of query rows at a time\n", file);
    if (row_named(explain, "key range"))
        fputs("key ranges that threads share where there are fewer heads and rows than threads\n",
              file);
}

void sattn_explain_print_legend(const sattn_explained *explain, FILE *file)
{
    fputc('\n', file);
    for (int source = 0; source < SATTN_EXPLAIN_SOURCES; ++source)
        if (sattn_explain_any_measured(explain->rows, explain->n_rows,
                                       (sattn_explain_source)source)) {
            print_columns(explain, file);
            break;
        }
    print_names(explain, file);
}
