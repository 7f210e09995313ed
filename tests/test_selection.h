/* SPDX-License-Identifier: MIT
 *
 * test_selection.h: shapes and made-up profiles for the tests of selection. */
#ifndef SATTN_TESTS_TEST_SELECTION_H
#define SATTN_TESTS_TEST_SELECTION_H

#include "dispatch/cpu.h"
#include "dispatch/profile.h"

#include <math.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const char scalar_fused[] = "sattn_fused_f32_scalar";
static const char scalar_chain[] =
    "sattn_qk_f32_scalar,sattn_softmax_f32_scalar,sattn_av_f32_scalar";

/* Heads one after the other, of 64 features. */
static inline sattn_attention_args shape_of(int64_t n_kv_heads, int64_t n_group, int64_t n_q,
                                            int64_t n_k)
{
    enum { D = 64 };
    return (sattn_attention_args){.batch = 1,
                                  .n_q_heads = n_kv_heads * n_group,
                                  .n_kv_heads = n_kv_heads,
                                  .n_q = n_q,
                                  .n_k = n_k,
                                  .d = D,
                                  .d_v = D,
                                  .q = {.stride_h = n_q * D, .stride_t = D},
                                  .k = {.stride_h = n_k * D, .stride_t = D},
                                  .v = {.stride_h = n_k * D, .stride_t = D},
                                  .o = {.stride_h = n_q * D, .stride_t = D}};
}

/* What a test puts into an entry: a default that takes 2 us, and a choice that takes 1. */
static inline void fill_tried(sattn_tried tried[2], const sattn_recipe *first,
                              const sattn_recipe *choice)
{
    for (int i = 0; i < 2; ++i)
        tried[i] = (sattn_tried){.recipe = i == 0 ? *first : *choice,
                                 .time_ns = i == 0 ? 2000.0 : 1000.0,
                                 .time_p10_ns = 900.0,
                                 .time_p90_ns = 2100.0,
                                 .samples = 9,
                                 .error = 1.0,
                                 .error_bound = 4.0,
                                 .is_admitted = true};
}

/* A profile of one entry, the choice of which is that recipe. */
static inline sattn_profile *profile_of_one(const sattn_shape_class *shape_class,
                                            sattn_features usable, const sattn_recipe *choice)
{
    sattn_tried tried[2];
    const sattn_recipe none = {.computation = choice->computation};
    fill_tried(tried, &none, choice);
    const sattn_profile_entry entry = {.shape_class = *shape_class,
                                       .usable = usable,
                                       .shape = "a test's",
                                       .is_complete = true,
                                       .margin = 0.5,
                                       .spread = 0.02,
                                       .n_tried = 2,
                                       .tried = tried,
                                       .taken = 1};
    return sattn_profile_make(&entry, 1, "of-a-test.json");
}

#endif
