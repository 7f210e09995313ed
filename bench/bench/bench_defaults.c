/* SPDX-License-Identifier: MIT
 *
 * bench_defaults.c: options that do not go together, and what is taken for those not given. */
#include "bench/bench/bench_options.h"
#include "bench/shapes.h"

#include <stdio.h>

static bool complain(const char *why, const char *option, const char *rest)
{
    fprintf(stderr, "simdattn bench: %s: '%s' does not go with it%s\n", why, option, rest);
    return false;
}

/* The preset of goals runs what these are about and nothing else. */
static bool check_limits(const sattn_bench_options *options)
{
    const struct {
        const char *name;
        bool is_given;
    } others[] = {{"--op", options->ops.count > 0},
                  {"--kernel", options->kernels.count > 0},
                  {"--shape", options->shapes.count > 0},
                  {"--cache", options->cache != 0},
                  {"--threads", options->threads.n > 0}};
    for (size_t o = 0; o < sizeof others / sizeof others[0]; ++o)
        if (options->preset == SATTN_PRESET_LIMITS && others[o].is_given)
            return complain("--preset limits says itself what it runs", others[o].name,
                            " (--isa and --benchmark_filter do)");
    return true;
}

/* Without a preset each op has shapes of its own, which for fused are those of preset quick. */
static void apply_defaults(sattn_bench_options *options)
{
    const unsigned unhurried = SATTN_PRESET_QUICK | SATTN_PRESET_REAL;
    if (options->shapes.count > 0) {
        options->preset = 0;
        options->preset_name = "shapes";
    } else if (!options->preset_name) {
        options->preset_name = options->ops.count || options->kernels.count ? "ops" : "quick";
        options->preset = options->ops.count || options->kernels.count ? 0 : SATTN_PRESET_QUICK;
    }
    if (options->cache == 0)
        options->cache =
            options->preset == SATTN_PRESET_DECODE ? SATTN_WARM | SATTN_COLD : SATTN_WARM;
    char why[96];
    if (options->threads.n == 0)
        sattn_thread_counts_add(&options->threads, 1);
    if (options->preset == SATTN_PRESET_LIMITS && sattn_threads_usable(2, why, sizeof why))
        sattn_thread_counts_add(&options->threads, 2);
    if (options->seconds == 0 && options->preset != SATTN_PRESET_LIMITS)
        options->seconds =
            options->shapes.count || (options->preset && !(options->preset & ~unhurried)) ? 0.8
                                                                                          : 0.4;
}

bool sattn_bench_options_complete(sattn_bench_options *options)
{
    if (options->json && options->google_display)
        return complain("--benchmark_format has standard output", "--json", "");
    if (options->json && (options->list || options->list_tests))
        return complain("a list is text, not JSON", "--json", "");
    if (!check_limits(options))
        return false;
    apply_defaults(options);
    return true;
}
