/* SPDX-License-Identifier: MIT
 *
 * region.c: do two strided tensors share a byte?
 *
 * They do iff  distance + sum_i c_i z_i  falls into [low, high]  for some integers z_i in
 * [0, n_i - 1], with all c_i > 0: a bounded linear Diophantine problem. It is searched from the
 * largest coefficient down; what the smaller ones can still add bounds each z_i, so for the nested
 * strides of real tensors one or two values per axis are left. */
#include "dispatch/region.h"

#include <stddef.h>

enum { TERMS_MAX = 2 * SATTN_REGION_AXES, STEPS_MAX = 100000 };

__extension__ typedef __int128 wide; /* sums of products of two int64_t */

typedef struct term {
    int64_t coefficient; /* > 0 */
    wide count;          /* z in [0, count - 1] */
} term;

typedef struct problem {
    term terms[TERMS_MAX];
    int n_terms;
    wide distance, low, high;
    int steps_left;
} problem;

/* Equal coefficients act as one axis; terms stay sorted by falling coefficient. */
static void add_term(problem *p, int64_t coefficient, wide count)
{
    int at = 0;
    if (coefficient == 0 || count <= 1)
        return;
    while (at < p->n_terms && p->terms[at].coefficient > coefficient)
        ++at;
    if (at < p->n_terms && p->terms[at].coefficient == coefficient) {
        p->terms[at].count += count - 1;
        return;
    }
    for (int i = p->n_terms++; i > at; --i)
        p->terms[i] = p->terms[i - 1];
    p->terms[at] = (term){coefficient, count};
}

static sattn_meeting search(problem *p, int index, wide sum)
{
    if (p->steps_left-- <= 0)
        return SATTN_UNDECIDED;
    if (index == p->n_terms)
        return sum >= p->low && sum <= p->high ? SATTN_MEET : SATTN_APART;
    wide reach = 0; /* what the terms after this one can add at most */
    for (int i = index + 1; i < p->n_terms; ++i)
        reach += (wide)p->terms[i].coefficient * (p->terms[i].count - 1);
    const wide c = p->terms[index].coefficient;
    const wide need = p->low - reach - sum, room = p->high - sum;
    wide z = need > 0 ? (need + c - 1) / c : 0;
    for (; z < p->terms[index].count && c * z <= room; ++z) {
        const sattn_meeting found = search(p, index + 1, sum + c * z);
        if (found != SATTN_APART)
            return found;
    }
    return SATTN_APART;
}

static bool is_empty(const sattn_region *r)
{
    return r->run == 0 || r->extent[0] == 0 || r->extent[1] == 0 || r->extent[2] == 0;
}

static wide last_run(const sattn_region *r)
{
    wide offset = 0;
    for (int axis = 0; axis < SATTN_REGION_AXES; ++axis)
        if (r->extent[axis] > 1)
            offset += (wide)r->step[axis] * (r->extent[axis] - 1);
    return offset;
}

sattn_meeting sattn_regions_meet(const sattn_region *a, const sattn_region *b)
{
    if (is_empty(a) || is_empty(b))
        return SATTN_APART;
    const wide base_a = a->base, base_b = b->base;
    if (base_a + last_run(a) + a->run <= base_b || base_b + last_run(b) + b->run <= base_a)
        return SATTN_APART;
    /* base_a + x.a + u = base_b + y.b + w with 0 <= u < run_a, 0 <= w < run_b; y is counted from
     * its end so that all coefficients are positive. */
    problem p = {.distance = base_a - base_b - last_run(b),
                 .low = 1 - a->run,
                 .high = b->run - 1,
                 .steps_left = STEPS_MAX};
    for (int axis = 0; axis < SATTN_REGION_AXES; ++axis) {
        add_term(&p, a->step[axis], a->extent[axis]);
        add_term(&p, b->step[axis], b->extent[axis]);
    }
    return search(&p, 0, p.distance);
}

/* Axes as those of most tensors: each steps over all that the ones of smaller steps reach. */
static bool is_nested(const sattn_region *r)
{
    bool is_done[SATTN_REGION_AXES] = {false};
    wide reach = r->run;
    for (;;) {
        int next = -1;
        for (int axis = 0; axis < SATTN_REGION_AXES; ++axis)
            if (!is_done[axis] && r->extent[axis] > 1 &&
                (next < 0 || r->step[axis] < r->step[next]))
                next = axis;
        if (next < 0)
            return true;
        if (r->step[next] < reach)
            return false;
        reach += (wide)r->step[next] * (r->extent[next] - 1);
        is_done[next] = true;
    }
}

sattn_meeting sattn_region_meets_itself(const sattn_region *r)
{
    if (is_empty(r) || is_nested(r))
        return SATTN_APART;
    /* Two different indices first differ at some axis, where one is ahead by 1 or more; on the axes
     * after it they differ by anything. */
    for (int first = 0; first < SATTN_REGION_AXES; ++first) {
        if (r->extent[first] <= 1)
            continue;
        problem p = {.distance = r->step[first],
                     .low = 1 - r->run,
                     .high = r->run - 1,
                     .steps_left = STEPS_MAX};
        add_term(&p, r->step[first], r->extent[first] - 1);
        for (int axis = first + 1; axis < SATTN_REGION_AXES; ++axis)
            if (r->extent[axis] > 1) {
                p.distance -= (wide)r->step[axis] * (r->extent[axis] - 1);
                add_term(&p, r->step[axis], 2 * (wide)r->extent[axis] - 1);
            }
        const sattn_meeting found = search(&p, 0, p.distance);
        if (found != SATTN_APART)
            return found;
    }
    return SATTN_APART;
}
