/* SPDX-License-Identifier: MIT
 *
 * tune_class.h: tunes one class: admits candidates, races them, and says what came of it as an
 * entry of a profile. */
#ifndef SATTN_BENCH_TUNE_TUNE_CLASS_H
#define SATTN_BENCH_TUNE_TUNE_CLASS_H

#include "bench/measure/crew.h"
#include "bench/tune/race.h"
#include "bench/tune/tune_candidates.h"
#include "dispatch/profile.h"

typedef struct sattn_tune_setting {
    double seconds;   /* for a class, a race, or the rest of a class */
    double max_error; /* 0: any within bounds */
    uint64_t seed;
    sattn_crew *crew;
    bool (*is_stopped)(void);
    /* NULL: this machine's clock. Tests have one of their own, which nothing from outside disturbs.
     */
    int64_t (*now_ns)(void);
    sattn_tune_time *time;
} sattn_tune_setting;

/* What a report says of a candidate beside its entry in a profile. */
typedef struct sattn_tune_note {
    sattn_tune_verdict verdict;
    char why[SATTN_TUNE_WHY]; /* "" where it was admitted */
} sattn_tune_note;

typedef struct sattn_tune_outcome {
    sattn_profile_entry entry; /* n_tried is 0 where nothing could be tried: see `error` */
    sattn_tune_note *notes;    /* [n_tried] */
    sattn_stat gain;           /* time of the default over that of what was taken; n 0: not known */
    char shape[96];            /* that was measured: entry.shape */
    int rounds;
    char kept[256];        /* why the default was kept although another was faster, or "" */
    bool failed;           /* the default is wrong or refused: a broken build */
    bool is_none_admitted; /* the reason for `error` */
    char error[256];       /* why there is no entry, or "" */
} sattn_tune_outcome;

/* `recipes`: the default first. Where the time ends before all of them are judged and raced, the
 * entry is not complete. To be freed in any case. */
void sattn_tune_run(const sattn_tune_job *job, const sattn_recipe *recipes, size_t count,
                    const sattn_tune_setting *setting, sattn_tune_outcome *outcome);
void sattn_tune_outcome_free(sattn_tune_outcome *outcome);

/* What won on the shape of the job is not taken for all of its class if it is slower than the
 * default on another: then the default is. Where that cannot be told, the outcome is not complete.
 */
void sattn_tune_confirm(const sattn_tune_job *job, const sattn_tune_setting *setting,
                        sattn_tune_outcome *outcome);

/* Races the admitted ones among the candidates, on their open calls. `incumbent`, which is
 * admitted, keeps its place in a tie. lane_of[c] is the lane of candidate c in the result, or
 * -1. False: no memory. */
bool sattn_tune_race(sattn_tune_field *field, size_t incumbent, const sattn_tune_setting *setting,
                     int *lane_of, sattn_race_result *result);

#endif
