/* SPDX-License-Identifier: MIT
 *
 * explain_rows.c: see explain_rows.h. */
#include "bench/explain/explain_rows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void name_row(sattn_call call, sattn_explain_row *row)
{
    const sattn_candidate *const c = row->candidate;
    sattn_recipe recipe;
    if (sattn_recipe_parse(call, c->plan, c->kernels, c->key_splits, &recipe))
        sattn_recipe_name(&recipe, row->name);
    else
        snprintf(row->name, sizeof row->name, "%s", c->kernels);
}

void sattn_explain_rows_begin(sattn_call call, const sattn_explanation *explanation,
                              sattn_explain_row *rows)
{
    static const sattn_explain_figures none = {.time_ns = (double)NAN,
                                               .time_p10_ns = (double)NAN,
                                               .time_p90_ns = (double)NAN,
                                               .error = (double)NAN,
                                               .error_bound = (double)NAN};
    for (size_t r = 0; r < explanation->n_candidates; ++r) {
        const sattn_candidate *const c = &explanation->candidates[r];
        rows[r] = (sattn_explain_row){.candidate = c};
        rows[r].figures[SATTN_EXPLAIN_PROFILE] = (sattn_explain_figures){
            c->time_ns, c->time_p10_ns, c->time_p90_ns, c->samples,
            c->error,   c->error_bound, c->is_on_front, explanation->is_tainted};
        rows[r].figures[SATTN_EXPLAIN_RESULTS] = none;
        name_row(call, &rows[r]);
    }
}

bool sattn_explain_is_measured(const sattn_explain_row *row, sattn_explain_source source)
{
    const sattn_explain_figures *const figures = &row->figures[source];
    return isfinite(figures->time_ns) || isfinite(figures->error);
}

bool sattn_explain_any_measured(const sattn_explain_row *rows, size_t n,
                                sattn_explain_source source)
{
    for (size_t r = 0; r < n; ++r)
        if (sattn_explain_is_measured(&rows[r], source))
            return true;
    return false;
}

void sattn_explain_find_front(sattn_explain_row *rows, size_t n, sattn_explain_source source)
{
    for (size_t r = 0; r < n; ++r) {
        sattn_explain_figures *const own = &rows[r].figures[source];
        own->is_on_front =
            rows[r].candidate->is_eligible && isfinite(own->time_ns) && isfinite(own->error);
        for (size_t k = 0; own->is_on_front && k < n; ++k) {
            const sattn_explain_figures *const other = &rows[k].figures[source];
            const bool is_as_good = rows[k].candidate->is_eligible &&
                                    other->time_ns <= own->time_ns && other->error <= own->error;
            if (is_as_good && (other->time_ns < own->time_ns || other->error < own->error))
                own->is_on_front = false;
        }
    }
}

/* Whether `a` comes before `b`. */
static bool is_before(const sattn_explain_row *a, const sattn_explain_row *b,
                      sattn_explain_source source)
{
    const double time_a = a->figures[source].time_ns, time_b = b->figures[source].time_ns;
    if (a->candidate->is_taken != b->candidate->is_taken)
        return a->candidate->is_taken;
    if (a->candidate->is_eligible != b->candidate->is_eligible)
        return a->candidate->is_eligible;
    return isfinite(time_a) && !(time_b <= time_a);
}

/* By insertion, which keeps the order of equals; there are few rows. */
void sattn_explain_sort(sattn_explain_row *rows, size_t n, sattn_explain_source source)
{
    for (size_t r = 1; r < n; ++r) {
        const sattn_explain_row row = rows[r];
        size_t at = r;
        for (; at > 0 && is_before(&row, &rows[at - 1], source); --at)
            rows[at] = rows[at - 1];
        rows[at] = row;
    }
}

sattn_explain_section sattn_explain_section_of(const sattn_explain_row *row)
{
    if (row->candidate->is_taken)
        return SATTN_EXPLAIN_SHOWN;
    if (!row->candidate->is_eligible)
        return SATTN_EXPLAIN_NOT_ELIGIBLE;
    for (int source = 0; source < SATTN_EXPLAIN_SOURCES; ++source)
        if (sattn_explain_is_measured(row, (sattn_explain_source)source))
            return SATTN_EXPLAIN_SHOWN;
    return SATTN_EXPLAIN_NOT_MEASURED;
}

size_t sattn_explain_group_of(const sattn_explain_row *rows, size_t at)
{
    const sattn_explain_section section = sattn_explain_section_of(&rows[at]);
    size_t first = 0;
    while (first < at && (sattn_explain_section_of(&rows[first]) != section ||
                          strcmp(rows[first].candidate->reason, rows[at].candidate->reason) != 0))
        ++first;
    return first;
}
