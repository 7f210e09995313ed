/* SPDX-License-Identifier: MIT
 *
 * test_real.c: a padded batch of real activations (tests/data/minilm), layer by layer, through the
 * public API: against the oracle, within its bound, and against what the model itself computed. */
#include "bench/verify/compare.h"
#include "bench/verify/real.h"
#include "dispatch/simdattn.h"
#include "tests/support/harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const int layers[] = {1, 3, 5};

/* The model's output is float32 arithmetic of its own: within 1.6e-6 of attention in float64. */
static const double model_tolerance = 1e-5;

static sattn_attention_args args_of(const sattn_real_layer *layer, float *o, float *lse)
{
    const int64_t head = layer->n_tokens * layer->d, entry = layer->n_heads * head;
    return (sattn_attention_args){
        .batch = layer->batch,
        .n_q_heads = layer->n_heads,
        .n_kv_heads = layer->n_heads,
        .n_q = layer->n_tokens,
        .n_k = layer->n_tokens,
        .d = layer->d,
        .d_v = layer->d,
        .q = {.data = layer->q, .stride_b = entry, .stride_h = head, .stride_t = layer->d},
        .k = {.data = layer->k, .stride_b = entry, .stride_h = head, .stride_t = layer->d},
        .v = {.data = layer->v, .stride_b = entry, .stride_h = head, .stride_t = layer->d},
        .o = {.data = o, .stride_b = entry, .stride_h = head, .stride_t = layer->d},
        .n_k_valid = layer->lengths,
        .lse = lse,
        .lse_stride_b = layer->n_heads * layer->n_tokens,
        .lse_stride_h = layer->n_tokens,
    };
}

static void check_oracle(test_run *run, const sattn_attention_args *args)
{
    const sattn_verify_selection selection = {.all_rows = run->divisor == 1,
                                              .tile_queries = run->kernel->tile_rows,
                                              .n_random = 4,
                                              .seed = run->seed};
    sattn_verify_result result;
    const char *why = "";
    char text[256];
    sattn_verify_result_init(&result);
    if (sattn_verify_attention(args, &selection, NULL, &result, &why) != SATTN_OK) {
        test_fail(run, "nothing was verified: %s", why);
        return;
    }
    sattn_verify_describe(&result, text, sizeof text);
    if (!sattn_verify_passed(&result))
        test_fail(run, "against the oracle: %s", text);
    else
        printf("  %s\n", text);
}

static void check_model(test_run *run, const sattn_real_layer *layer, const float *o)
{
    const int64_t count = layer->batch * layer->n_heads * layer->n_tokens * layer->d;
    double worst = 0.0;
    for (int64_t i = 0; i < count; ++i) {
        const double difference = fabs((double)o[i] - (double)layer->o[i]);
        if (!(difference <= worst)) /* a NaN is taken as well */
            worst = difference;
    }
    printf("  largest difference from the model's own output %.2e\n", worst);
    if (!(worst <= model_tolerance))
        test_fail(run, "the model's own output differs by %g, more than %g", worst,
                  model_tolerance);
}

static void check_layer(test_run *run, int number)
{
    sattn_real_layer layer;
    char error[512];
    if (!sattn_real_load(sattn_real_default_directory(), number, &layer, error, sizeof error)) {
        test_fail(run, "%s", error);
        return;
    }
    const size_t rows = (size_t)(layer.batch * layer.n_heads * layer.n_tokens);
    float *const o = malloc(rows * (size_t)layer.d * sizeof(float));
    float *const lse = malloc(rows * sizeof(float));
    const sattn_options options = {.kernels = run->kernel->name};
    const sattn_attention_args args = args_of(&layer, o, lse);
    if (!o || !lse) {
        test_fail(run, "out of memory");
    } else if (sattn_attention(&args, &options) != SATTN_OK) {
        test_fail(run, "refused: %s", sattn_last_error());
    } else {
        printf("layer %d:\n", number);
        check_oracle(run, &args);
        check_model(run, &layer, o);
    }
    free(o);
    free(lse);
    sattn_real_free(&layer);
}

static void test_layers(test_run *run)
{
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; ++i)
        if (test_step(run, TEST_ALWAYS))
            check_layer(run, layers[i]);
}

int main(int argc, char **argv)
{
    const test_group groups[] = {{"layers", test_layers}};
    return test_main(argc, argv, groups, sizeof groups / sizeof groups[0]);
}
