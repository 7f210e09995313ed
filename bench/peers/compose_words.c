/* SPDX-License-Identifier: MIT
 *
 * compose_words.c: what a composed call consists of, as results name it. */
#include "bench/peers/compose.h"
#include "dispatch/choose.h"

#include <stdio.h>

static const char *softmax_kernel(const sattn_compose *compose)
{
    const sattn_options options = {.isa = compose->cap};
    sattn_overrides overrides;
    const sattn_kernel *kernel;
    if (sattn_overrides_get(&options, &overrides) != SATTN_OK ||
        sattn_choose_kernel(SATTN_OP_softmax, SATTN_PHASE_PREFILL, &overrides, &kernel) != SATTN_OK)
        return "sattn_softmax";
    return kernel->name;
}

void sattn_compose_describe(const sattn_compose *compose, char *text, size_t size)
{
    char library[160] = "", parts[64];
    for (int w = 0; !*library && w < compose->threads; ++w)
        compose->library->describe(compose->workers[w].library, library, sizeof library);
    if (compose->task == SATTN_COMPOSE_SOFTMAX || compose->library->attention) {
        snprintf(text, size, "%s", library);
        return;
    }
    const char *const what = compose->way.stack_group ? "whole groups" : "whole heads";
    if (compose->way.block > 0)
        snprintf(parts, sizeof parts, "blocks of %lld rows of %s", (long long)compose->way.block,
                 what);
    else
        snprintf(parts, sizeof parts, "%s", what);
    const char *const gap = compose->way.is_padded ? ", rows of scores apart" : "";
    const bool has_softmax = compose->task == SATTN_COMPOSE_ATTENTION;
    const char *const threads = compose->threads == 1 ? ""
                                : compose->way.inside ? ", threads inside"
                                                      : ", threads over heads and blocks";
    snprintf(text, size, "%s, %s%s%s%s%s", library, parts, gap, has_softmax ? ", " : "",
             has_softmax ? softmax_kernel(compose) : "", threads);
}
