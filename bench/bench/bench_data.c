/* SPDX-License-Identifier: MIT
 *
 * bench_data.c: the table of data kinds. */
#include "bench/bench/bench_data.h"

static const sattn_data captured = {.name = "minilm", .note = "captured from all-MiniLM-L6-v2"};

static const sattn_data normal = {
    .name = "normal", .note = "normal deviates", .input = SATTN_INPUT_NORMAL};

static const sattn_input_kind hard_kinds[] = {
    SATTN_INPUT_NORMAL, SATTN_INPUT_ATTENTION, SATTN_INPUT_DENORMAL, SATTN_INPUT_TINY,
    SATTN_INPUT_RISING, SATTN_INPUT_ONE_HOT,   SATTN_INPUT_BIAS1E30, SATTN_INPUT_MASKED90,
};

enum { HARD_KINDS = sizeof hard_kinds / sizeof hard_kinds[0] };

static sattn_data of_kind(sattn_input_kind kind)
{
    return (sattn_data){sattn_input_name(kind), sattn_input_note(kind), kind};
}

const sattn_data *sattn_data_default(const sattn_shape *shape)
{
    static sattn_data attention;
    attention = of_kind(SATTN_INPUT_ATTENTION);
    if (shape->kind != SATTN_SHAPE_ATTENTION)
        return &normal;
    return shape->real_layer >= 0 ? &captured : &attention;
}

const sattn_data *sattn_data_scores(size_t *count)
{
    static const sattn_input_kind kinds[] = {SATTN_INPUT_ATTENTION, SATTN_INPUT_LARGE30,
                                             SATTN_INPUT_RISING};
    static sattn_data scores[sizeof kinds / sizeof kinds[0]];
    *count = sizeof kinds / sizeof kinds[0];
    for (size_t k = 0; k < *count; ++k)
        scores[k] = of_kind(kinds[k]);
    return scores;
}

const sattn_data *sattn_data_hard(size_t *count)
{
    static sattn_data hard[HARD_KINDS];
    for (int k = 0; k < HARD_KINDS; ++k)
        hard[k] = of_kind(hard_kinds[k]);
    *count = HARD_KINDS;
    return hard;
}
