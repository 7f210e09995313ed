/* SPDX-License-Identifier: MIT
 *
 * explain.h: what `simdattn explain` shows, apart from how it is shown. */
#ifndef SATTN_BENCH_EXPLAIN_EXPLAIN_H
#define SATTN_BENCH_EXPLAIN_EXPLAIN_H

#include "bench/environment/environment.h"
#include "bench/explain/explain_options.h"
#include "bench/explain/explain_profile.h"
#include "bench/explain/explain_results.h"

#include <stdio.h>

typedef struct sattn_explained {
    const sattn_explain_options *options;
    sattn_environment environment;
    sattn_explanation *explanation; /* what rows point into */
    sattn_explain_profile profile;
    sattn_explain_results results;
    sattn_explain_row *rows;
    size_t n_rows; /* at least 1 */
} sattn_explained;

/* "sattn_attention": the function that is called. */
const char *sattn_explain_function(sattn_op op);
/* The call as words: "llama3-8b-decode-2049: B=1 Hq=32 ..., 1 thread". */
enum { SATTN_EXPLAIN_CALL_TEXT = 512 };
void sattn_explain_call_text(const sattn_explain_options *options,
                             char text[SATTN_EXPLAIN_CALL_TEXT]);
/* The library's explanation of the call. */
sattn_status sattn_explain_call(const sattn_explain_options *options, sattn_explanation **made);

/* The command that measures the class of the call, of named shapes; false: none does. */
enum { SATTN_EXPLAIN_HINT = SATTN_PROFILE_PATH + 256 };
bool sattn_explain_hint(const sattn_explained *explain, char text[SATTN_EXPLAIN_HINT]);

/* Both leave the rows in another order. */
void sattn_explain_print_text(sattn_explained *explain, FILE *file);
/* One JSON document; false if it could not be made or written. */
bool sattn_explain_print_json(sattn_explained *explain, FILE *file);

void sattn_explain_print_legend(const sattn_explained *explain, FILE *file);

#endif
