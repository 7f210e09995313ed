/* SPDX-License-Identifier: MIT
 *
 * test_layer_profile.c: layers with a profile. What it measured with several threads is not for
 * them: their kernels are those of one thread, and so are their bits, whatever `threads` is. */
#include "dispatch/choose.h"
#include "dispatch/profile_read.h"
#include "tests/support/profile_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 600, N_Q = 64, D = 64, MAPS = 4, MOST_THREADS = 3 };

typedef struct layer_memory {
    float x[N * D], w[MAPS][D * D], v[D];
} layer_memory;

static layer_memory memory;

static sattn_linear_weights weights_of(int map)
{
    return (sattn_linear_weights){
        .n_in = D, .n_out = D, .w = {.data = memory.w[map], .stride_t = D}};
}

static sattn_status self(float *y, const sattn_options *options)
{
    const sattn_self_attention_args args = {.batch = 1,
                                            .n_k = N,
                                            .n_heads = 4,
                                            .x = {.data = memory.x, .stride_t = D},
                                            .y = {.data = y, .stride_t = D},
                                            .w_q = weights_of(0),
                                            .w_k = weights_of(1),
                                            .w_v = weights_of(2),
                                            .w_o = weights_of(3)};
    return sattn_self_attention(&args, options);
}

static sattn_status additive(float *y, const sattn_options *options)
{
    const sattn_general_attention_args args = {.batch = 1,
                                               .n_q = N_Q,
                                               .n_k = N,
                                               .d_q = D,
                                               .d_x = D,
                                               .q = {.data = memory.x, .stride_t = D},
                                               .x = {.data = memory.x, .stride_t = D},
                                               .y = {.data = y, .stride_t = D},
                                               .align = SATTN_ALIGN_ADDITIVE,
                                               .w_q = weights_of(0),
                                               .w_x = weights_of(1),
                                               .v = memory.v};
    return sattn_general_attention(&args, options);
}

static sattn_shape_class linear_class(int threads)
{
    return sattn_class_of_linear(N, D, D, false, threads);
}

static sattn_shape_class additive_class(int threads)
{
    return sattn_class_of_additive(N_Q, N, D, false, threads);
}

/* A layer and one of its parts. */
typedef struct profiled_part {
    sattn_status (*run)(float *y, const sattn_options *options);
    sattn_shape_class (*class_of)(int threads);
    const char *kernel; /* that every build has, and chooses where it has no other */
} profiled_part;

static const profiled_part parts[] = {{self, linear_class, "sattn_linear_f32_scalar"},
                                      {additive, additive_class, "sattn_additive_f32_scalar"}};

/* What runs without a profile, which one has to have measured too. */
static const sattn_kernel *chosen(const profiled_part *part)
{
    const sattn_options without = {.profile = sattn_profile_none()};
    const sattn_shape_class shape_class = part->class_of(1);
    const sattn_kernel *kernel;
    sattn_overrides overrides;
    sattn_decision decision;
    assert_int_equal(sattn_overrides_get(&without, &overrides), SATTN_OK);
    assert_int_equal(sattn_choose_apart(&shape_class, &overrides, &kernel, &decision), SATTN_OK);
    return kernel;
}

/* Where an emulated CPU does not say what it is, and so could be any, it is one of its own. */
static sattn_identity identity_here(void)
{
    sattn_identity here;
    sattn_identity_read(&here);
    for (int field = 0; field < SATTN_IDENTITY_COUNT; ++field)
        if (strcmp(here.text[field], "unknown") == 0)
            snprintf(here.text[field], SATTN_IDENTITY_TEXT, "emulated");
    return here;
}

/* A profile that takes the part's kernel for so many threads. */
static sattn_profile *profile_of(const profiled_part *part, int threads)
{
    char text[SATTN_CLASS_TEXT], remark[SATTN_PROFILE_REMARK];
    const sattn_identity here = identity_here();
    sattn_profile *profile;
    const sattn_shape_class shape_class = part->class_of(threads);
    sattn_class_print(&shape_class, text);
    json_t *const document = profile_json(&here);
    profile_set(document, "entries/0/class", json_string(text));
    profile_set(document, "entries/0/candidates/0/plan", json_string(""));
    profile_set(document, "entries/0/candidates/0/kernels", json_string(chosen(part)->name));
    profile_set(document, "entries/0/candidates/1/plan", json_string(""));
    profile_set(document, "entries/0/candidates/1/kernels", json_string(part->kernel));
    char *const json = json_dumps(document, 0);
    if (sattn_profile_read(&profile, json, strlen(json), "a.json", &here, remark) != SATTN_OK)
        fail_msg("%s", remark);
    free(json);
    json_decref(document);
    return profile;
}

static void run(const profiled_part *part, const sattn_options *options, float *y)
{
    memset(y, 0, sizeof(float) * N * D);
    if (part->run(y, options) != SATTN_OK)
        fail_msg("%s", sattn_last_error());
}

static void check(const profiled_part *part, const sattn_options *alike, int threads_of_profile)
{
    static float expected[N * D], y[N * D];
    sattn_profile *const profile = profile_of(part, threads_of_profile);
    run(part, alike, expected);
    for (int threads = 1; threads <= MOST_THREADS; ++threads)
        for (int key_splits = 0; key_splits <= 1; ++key_splits) {
            const sattn_options options = {
                .threads = threads, .profile = profile, .key_splits = key_splits};
            run(part, &options, y);
            if (memcmp(expected, y, sizeof y) != 0)
                fail_msg("%s of a profile for %d threads: other bits with %d", part->kernel,
                         threads_of_profile, threads);
        }
    sattn_profile_destroy(profile);
}

static void test_layers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; ++i) {
        if (strcmp(chosen(&parts[i])->name, parts[i].kernel) == 0)
            skip(); /* there is no other to choose */
        const sattn_options named = {.profile = sattn_profile_none(), .kernels = parts[i].kernel};
        const sattn_options without = {.profile = sattn_profile_none()};
        check(&parts[i], &named, 1);
        for (int threads = 2; threads <= MOST_THREADS; ++threads)
            check(&parts[i], &without, threads);
    }
}

static void fill(float *to, size_t count, float scale, uint32_t *bits)
{
    for (size_t i = 0; i < count; ++i) {
        *bits = *bits * 1664525u + 1013904223u;
        to[i] = scale * ((float)(*bits >> 8) / 8388608.0f - 1.0f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_layers)};
    uint32_t bits = 1;
    fill(memory.x, N * D, 1.0f, &bits);
    for (int map = 0; map < MAPS; ++map)
        fill(memory.w[map], D * D, 0.25f, &bits);
    fill(memory.v, D, 1.0f, &bits);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
