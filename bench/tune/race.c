/* SPDX-License-Identifier: MIT
 *
 * race.c: rounds, and what they show (race.h). */
#include "bench/tune/race.h"

#include "bench/verify/inputs.h"

#include <math.h>
#include <stdlib.h>

/* A candidate that takes so many times as long in each of a few rounds needs no interval. */
static const double hopeless = 1.2;

enum {
    HOPELESS_ROUNDS = 4,
    TAINTED_SHARE = 16, /* one window in so many is a good part */
};

typedef struct race {
    const sattn_race_track *track;
    const sattn_race_options *options;
    size_t n;
    int max_rounds, made;
    double *ns;     /* [n][max_rounds] */
    bool *tainted;  /* as ns */
    int *last;      /* [n] rounds that it was in */
    size_t *order;  /* [n] those in the race */
    size_t n_order; /* of them */
    double *room;   /* [max_rounds] */
    int windows, n_tainted;
} race;

/* ---- memory */

static void close_race(race *r)
{
    free(r->ns);
    free(r->tainted);
    free(r->last);
    free(r->order);
    free(r->room);
}

static bool open_race(race *r, const sattn_race_track *track, const sattn_race_options *options)
{
    const size_t n = options->n_candidates;
    const int rounds = options->max_rounds > 0 ? options->max_rounds : SATTN_RACE_ROUNDS;
    *r = (race){.track = track, .options = options, .n = n, .max_rounds = rounds};
    r->ns = calloc(n * (size_t)rounds, sizeof *r->ns);
    r->tainted = calloc(n * (size_t)rounds, sizeof *r->tainted);
    r->last = calloc(n, sizeof *r->last);
    r->order = calloc(n, sizeof *r->order);
    r->room = calloc((size_t)rounds, sizeof *r->room);
    for (size_t c = 0; r->order && c < n; ++c)
        r->order[r->n_order++] = c;
    return r->ns && r->tainted && r->last && r->order && r->room;
}

/* ---- one round */

/* Fisher and Yates; the order of a round is a function of the seed and its number. */
static void shuffle(race *r, uint64_t round)
{
    for (size_t left = r->n_order; left > 1; --left) {
        const double place = sattn_random_uniform(r->options->seed, round, left);
        const size_t other = (size_t)(place * (double)left);
        const size_t moved = r->order[left - 1];
        r->order[left - 1] = r->order[other];
        r->order[other] = moved;
    }
}

static void make_round(race *r, bool keep)
{
    const sattn_race_track *const track = r->track;
    shuffle(r, keep ? (uint64_t)r->made + 1 : 0);
    for (size_t i = 0; i < r->n_order; ++i) {
        const size_t c = r->order[i];
        if (keep && track->await)
            track->await(track->context, c);
        const sattn_race_window window = track->time(track->context, c);
        const size_t at = c * (size_t)r->max_rounds + (size_t)r->made;
        r->ns[at] = window.ns;
        r->tainted[at] = window.is_tainted;
    }
    const bool disturbed = track->was_disturbed && track->was_disturbed(track->context);
    if (!keep)
        return;
    ++r->made;
    for (size_t i = 0; i < r->n_order; ++i) {
        const size_t c = r->order[i];
        const size_t at = c * (size_t)r->max_rounds + (size_t)r->made - 1;
        r->tainted[at] = r->tainted[at] || disturbed;
        r->n_tainted += r->tainted[at];
        ++r->windows;
        r->last[c] = r->made;
    }
}

/* ---- what the rounds show */

static int gather(const race *r, size_t c, size_t base, bool clean_only)
{
    const size_t rounds = (size_t)r->max_rounds;
    const int n = r->last[c] < r->last[base] ? r->last[c] : r->last[base];
    int kept = 0;
    for (int i = 0; i < n; ++i) {
        const size_t at = c * rounds + (size_t)i, other = base * rounds + (size_t)i;
        if (!clean_only || (!r->tainted[at] && !r->tainted[other]))
            r->room[kept++] = c == base ? r->ns[at] : r->ns[at] / r->ns[other];
    }
    return kept;
}

/* Time of `c` over that of `base` in the same rounds; of itself, its time. Clean rounds alone. */
static sattn_stat compare(const race *r, size_t c, size_t base)
{
    const int n = gather(r, c, base, true);
    return sattn_stat_of(r->room, n);
}

/* The same to be shown: of tainted rounds too, where too few are clean. */
static sattn_stat summarise(const race *r, size_t c, size_t base)
{
    int n = gather(r, c, base, true);
    if (n < SATTN_STAT_LEAST)
        n = gather(r, c, base, false);
    return sattn_stat_of(r->room, n);
}

double sattn_race_spread(const sattn_stat *ratio)
{
    return (ratio->p90 - ratio->p10) / 2;
}

static size_t leader_of(const race *r)
{
    const size_t incumbent = r->options->incumbent;
    size_t leader = incumbent;
    double best = 1;
    for (size_t i = 0; i < r->n_order; ++i) {
        const size_t c = r->order[i];
        const double ratio = c == incumbent ? 1 : compare(r, c, incumbent).median;
        if (ratio < best) {
            best = ratio;
            leader = c;
        }
    }
    return leader;
}

bool sattn_race_is_clear(const sattn_stat *ratio)
{
    return sattn_stat_side(ratio, 1 + SATTN_RACE_EQUAL) == SATTN_SIDE_ABOVE &&
           ratio->median - 1 > sattn_race_spread(ratio);
}

static bool is_hopeless(const race *r, size_t c, size_t leader)
{
    int n = gather(r, c, leader, true);
    if (c == leader || n < HOPELESS_ROUNDS)
        return false;
    while (n > 0)
        if (!(r->room[--n] > hopeless))
            return false;
    return true;
}

/* Takes out of the race what is clearly behind; returns whether nothing is open any more. */
static bool settle(race *r)
{
    const size_t incumbent = r->options->incumbent, leader = leader_of(r);
    const bool enough = r->made >= SATTN_RACE_LEAST;
    bool is_over = enough;
    size_t kept = 0;
    for (size_t i = 0; i < r->n_order; ++i) {
        const size_t c = r->order[i];
        const sattn_stat ratio = compare(r, c, leader);
        const bool clear = enough && c != leader && sattn_race_is_clear(&ratio);
        const bool equal = sattn_stat_side(&ratio, 1 + SATTN_RACE_EQUAL) == SATTN_SIDE_BELOW;
        const bool stays = c == incumbent || c == leader || !(clear || is_hopeless(r, c, leader));
        if (stays)
            r->order[kept++] = c;
        is_over = is_over && (c == leader || !stays || clear || equal);
    }
    r->n_order = kept;
    return is_over || (kept == 1 && r->made >= SATTN_STAT_LEAST);
}

/* Returns whether the race came to its end. */
static bool run(race *r)
{
    const sattn_race_track *const track = r->track;
    const double begin = track->now_ns(track->context);
    make_round(r, false); /* warm-up: everything has run, caches and clocks are up */
    while (r->made < r->max_rounds) {
        const double spent = track->now_ns(track->context) - begin;
        const double next = spent / (r->made + 1);
        if (spent + next > r->options->budget_ns || (track->is_stopped && track->is_stopped()))
            return false;
        make_round(r, true);
        if (r->made >= HOPELESS_ROUNDS && settle(r))
            return true;
    }
    /* So many rounds tell no more, unless hardly any was clean. */
    return gather(r, r->options->incumbent, r->options->incumbent, true) >= SATTN_RACE_LEAST;
}

/* ---- the result */

static bool in_race(const race *r, size_t candidate)
{
    for (size_t i = 0; i < r->n_order; ++i)
        if (r->order[i] == candidate)
            return true;
    return false;
}

/* The leader, or of those as good as equal to it and clear of the default the one of least rank;
 * the default where the leader is not clear of it. */
static size_t winner_of(const race *r)
{
    const size_t incumbent = r->options->incumbent, leader = leader_of(r);
    const sattn_stat lead = compare(r, incumbent, leader);
    if (leader == incumbent || !sattn_race_is_clear(&lead))
        return incumbent;
    size_t winner = leader;
    for (size_t i = 0; i < r->n_order; ++i) {
        const size_t c = r->order[i];
        if (c == incumbent || c == leader || r->options->ranks[c] >= r->options->ranks[winner])
            continue;
        const sattn_stat behind = compare(r, c, leader), ahead = compare(r, incumbent, c);
        if (behind.median < 1 + SATTN_RACE_EQUAL && sattn_race_is_clear(&ahead))
            winner = c;
    }
    return winner;
}

static void fill_lanes(const race *r, sattn_race_result *result)
{
    const size_t winner = result->winner;
    for (size_t c = 0; c < r->n; ++c) {
        sattn_race_lane *const lane = &result->lanes[c];
        lane->rounds = r->last[c];
        lane->dropped = !in_race(r, c);
        lane->time_ns = summarise(r, c, c);
        lane->behind = summarise(r, c, winner);
        if (c == winner && lane->behind.n > 0)
            lane->behind = (sattn_stat){1, 1, 1, 1, 1, lane->behind.n};
    }
}

/* The next is the nearest of the others. */
static void fill_margin(const race *r, sattn_race_result *result)
{
    const size_t winner = result->winner;
    size_t next = winner;
    for (size_t c = 0; c < r->n; ++c) {
        const sattn_race_lane *const lane = &result->lanes[c];
        if (c == winner || lane->behind.n == 0)
            continue;
        if (next == winner || lane->behind.median < result->lanes[next].behind.median)
            next = c;
        if (winner == r->options->incumbent && !lane->dropped &&
            !sattn_race_is_clear(&lane->behind))
            result->is_tie = true;
    }
    if (next == winner)
        return;
    const sattn_stat ratio =
        result->is_tie ? summarise(r, winner, next) : result->lanes[next].behind;
    result->margin = ratio.median - 1;
    result->spread = sattn_race_spread(&ratio);
}

bool sattn_race_run(const sattn_race_track *track, const sattn_race_options *options,
                    sattn_race_result *result)
{
    race r;
    *result = (sattn_race_result){.margin = (double)NAN,
                                  .spread = (double)NAN,
                                  .lanes = calloc(options->n_candidates, sizeof *result->lanes)};
    const bool good = open_race(&r, track, options) && result->lanes;
    if (good) {
        result->is_complete = run(&r);
        const bool enough = result->is_complete || r.made >= SATTN_RACE_LEAST;
        result->winner = enough ? winner_of(&r) : options->incumbent;
        result->rounds = r.made;
        result->is_tainted = r.n_tainted * TAINTED_SHARE > r.windows;
        fill_lanes(&r, result);
        fill_margin(&r, result);
        if (!enough && r.n > 1)
            result->is_tie = true;
    } else {
        sattn_race_free(result);
    }
    close_race(&r);
    return good;
}

void sattn_race_free(sattn_race_result *result)
{
    free(result->lanes);
    result->lanes = NULL;
}
