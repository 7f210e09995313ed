/* SPDX-License-Identifier: MIT
 *
 * answers.h: what the oracle said of the sampled rows of a call, kept while one kernel after the
 * other is compared with it: asking takes far longer than comparing. */
#ifndef SATTN_BENCH_VERIFY_ANSWERS_H
#define SATTN_BENCH_VERIFY_ANSWERS_H

#include "bench/verify/compare.h"

typedef struct sattn_kept_answer {
    sattn_verify_place at;
    sattn_bound_params params; /* of its bounds: those of a fused kernel are not those of a chain */
    sattn_ref_row_result row;  /* without weights, logits and sizes */
    double *bound;
    double lse_bound;
    bool overflows;
} sattn_kept_answer;

/* {0} before its first use. */
typedef struct sattn_verify_answers {
    sattn_kept_answer *list;
    size_t count, room;
} sattn_verify_answers;

/* What is known of a row, with these bounds. NULL: nothing. */
const sattn_kept_answer *sattn_answers_find(const sattn_verify_answers *answers,
                                            const sattn_bound_params *params,
                                            sattn_verify_place at);

/* Keeps an answer about a row of so many columns. What is not finite is not kept, nor what there is
 * no memory for. */
void sattn_answers_keep(sattn_verify_answers *answers, const sattn_bound_params *params,
                        sattn_verify_place at, const sattn_verify_answer *answer, int64_t d_v);

void sattn_answers_free(sattn_verify_answers *answers);

#endif
