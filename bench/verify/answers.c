/* SPDX-License-Identifier: MIT
 *
 * answers.c: see answers.h. The rows of a sample are few, so they are looked for one by one. */
#include "bench/verify/answers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool same_bounds(const sattn_bound_params *a, const sattn_bound_params *b)
{
    return a->lambda == b->lambda && a->key_block == b->key_block && a->n_splits == b->n_splits &&
           a->lazy_threshold == b->lazy_threshold && a->exp_error == b->exp_error &&
           a->underflow == b->underflow && a->weight_roundings == b->weight_roundings &&
           a->scale_roundings == b->scale_roundings;
}

const sattn_kept_answer *sattn_answers_find(const sattn_verify_answers *answers,
                                            const sattn_bound_params *params, sattn_verify_place at)
{
    for (size_t i = 0; i < answers->count; ++i) {
        const sattn_kept_answer *const is = &answers->list[i];
        if (is->at.row == at.row && is->at.head == at.head && is->at.batch == at.batch &&
            same_bounds(&is->params, params))
            return is;
    }
    return NULL;
}

static bool is_finite(const double *values, int64_t n)
{
    for (int64_t y = 0; y < n; ++y)
        if (!isfinite(values[y]))
            return false;
    return true;
}

static bool has_room(sattn_verify_answers *answers)
{
    if (answers->count < answers->room)
        return true;
    const size_t room = answers->room ? 2 * answers->room : 64;
    void *const list = realloc(answers->list, room * sizeof *answers->list);
    if (!list)
        return false;
    answers->list = list;
    answers->room = room;
    return true;
}

void sattn_answers_keep(sattn_verify_answers *answers, const sattn_bound_params *params,
                        sattn_verify_place at, const sattn_verify_answer *answer, int64_t d_v)
{
    const size_t n = (size_t)d_v;
    if (n == 0)
        return;
    if (!is_finite(answer->row->o, d_v) || n > SIZE_MAX / sizeof(double) / 4 || !has_room(answers))
        return;
    double *const memory = malloc(3 * n * sizeof(double));
    if (!memory)
        return;
    sattn_kept_answer *const kept = &answers->list[answers->count++];
    *kept = (sattn_kept_answer){.at = at,
                                .params = *params,
                                .row = *answer->row,
                                .lse_bound = answer->lse_bound,
                                .overflows = answer->overflows};
    kept->row.o = memcpy(memory, answer->row->o, n * sizeof(double));
    kept->row.magnitude = memcpy(memory + n, answer->row->magnitude, n * sizeof(double));
    kept->row.weights = kept->row.logits = kept->row.dot_sizes = NULL;
    kept->bound = memcpy(memory + 2 * n, answer->bound, n * sizeof(double));
}

void sattn_answers_free(sattn_verify_answers *answers)
{
    for (size_t i = 0; i < answers->count; ++i)
        free(answers->list[i].row.o);
    free(answers->list);
    *answers = (sattn_verify_answers){0};
}
