/* SPDX-License-Identifier: MIT
 *
 * bench_goals_json.c: the facts of the table of goals as JSON. */
#include "bench/bench/bench_goals_report.h"
#include "bench/result.h"

#include <math.h>
#include <string.h>

static void add_figure(json_t *object, const char *key, double figure)
{
    const bool is_there = figure < 0 || figure > 0;
    sattn_result_number(object, key, is_there ? figure : (double)NAN, "no such figure");
}

static json_t *object_of(const sattn_goal_result *result)
{
    json_t *const object = json_object();
    const sattn_goal *const goal = result->goal;
    const sattn_stat *const value = &result->value;
    const struct {
        const char *key;
        double number;
    } numbers[] = {{"value", value->median},
                   {"value_p10", value->p10},
                   {"value_p90", value->p90},
                   {"value_low", value->low},
                   {"value_high", value->high}};
    const bool is_share = goal->measure == SATTN_GOAL_FMA || goal->measure == SATTN_GOAL_READ;
    sattn_result_text(object, "workload", goal->workload);
    sattn_result_text(object, "isa", sattn_goal_isa(result->isa));
    sattn_result_text(object, "unit", sattn_goal_unit(goal->measure));
    add_figure(object, "goal", goal->figures[result->isa].goal);
    add_figure(object, "peer_goal", goal->figures[result->isa].peer);
    const sattn_bench_row *const peer = result->row ? result->row->peer : NULL;
    sattn_result_text(object, "best_peer", peer ? peer->name : NULL);
    sattn_result_text(object, "best_peer_version", peer ? peer->version : NULL);
    sattn_result_text(object, "best_peer_picked", peer ? peer->kernels : NULL);
    sattn_result_number(object, "over_peer", peer ? result->row->over_peer.median : (double)NAN,
                        "no peer beside it");
    add_figure(object, "stretch", goal->figures[result->isa].stretch);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i)
        sattn_result_number(object, numbers[i].key, numbers[i].number,
                            *result->why ? result->why : "not measured");
    sattn_result_number(object, "clock_ghz", result->clock_ghz, "not measured");
    json_object_set_new(object, "value_n", json_integer(value->n));
    sattn_result_text(object, "bound",
                      is_share && value->n > 0 ? sattn_limit_name(result->bound) : NULL);
    sattn_result_text(object, "mark", sattn_mark_name(result->mark));
    json_object_set_new(object, "undecided", json_boolean(result->is_open));
    json_object_set_new(object, "wide", json_boolean(result->is_wide));
    sattn_result_text(object, "why", *result->why ? result->why : NULL);
    sattn_result_text(object, "row", result->row ? result->row->name : NULL);
    sattn_result_text(object, "kernels",
                      result->row && *result->row->kernels ? result->row->kernels : NULL);
    const bool is_compared = strcmp(sattn_goal_unit(goal->measure), "points") == 0;
    sattn_result_text(object, "beside", is_compared && result->other ? result->other->name : NULL);
    return object;
}

json_t *sattn_bench_goals_array(const sattn_bench_jobs *list, const sattn_caches *caches)
{
    json_t *const array = json_array();
    size_t n_goals;
    const sattn_goal *const goals = sattn_goals(&n_goals);
    for (size_t g = 0; g < n_goals; ++g)
        for (int i = 0; i < SATTN_GOAL_ISAS; ++i) {
            const sattn_goal_result result = sattn_goal_judge(&goals[g], i, list, caches);
            if (result.mark != SATTN_MARK_NOT_ASKED)
                json_array_append_new(array, object_of(&result));
        }
    return array;
}
