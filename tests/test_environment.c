/* SPDX-License-Identifier: MIT
 *
 * test_environment.c: one call under the SATTN_* variables that CTest sets.
 *
 *   test_environment ok KERNEL        the call succeeds; with KERNEL not "any", that kernel ran
 *   test_environment chain KERNEL...  a chain succeeds, and these kernels are in it
 *   test_environment error TEXT...    it fails, and the message holds every TEXT */
#include "dispatch/simdattn.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    const sattn_attention_args shape = {.batch = 1,
                                        .n_q_heads = 1,
                                        .n_kv_heads = 1,
                                        .n_q = 40,
                                        .n_k = 40,
                                        .d = 8,
                                        .d_v = 8,
                                        .q = {.stride_t = 8},
                                        .k = {.stride_t = 8},
                                        .v = {.stride_t = 8},
                                        .o = {.stride_t = 8}};
    sattn_plan *plan;
    if (argc < 3) {
        fprintf(stderr, "usage: test_environment ok KERNEL | chain KERNEL... | error TEXT...\n");
        return 2;
    }
    const bool chain = strcmp(argv[1], "chain") == 0;
    const sattn_options options = {.plan = chain ? "chain" : NULL};
    const sattn_status status = sattn_plan_create(&plan, &shape, &options);
    const char *const kernel = status == SATTN_OK ? sattn_plan_kernel(plan) : "none";
    int failures = 0;
    printf("%s, kernel %s, \"%s\"\n", sattn_status_string(status), kernel, sattn_last_error());
    if (strcmp(argv[1], "ok") == 0) {
        failures += status != SATTN_OK;
        failures += strcmp(argv[2], "any") != 0 && strcmp(argv[2], kernel) != 0;
    } else if (chain) {
        failures += status != SATTN_OK;
        for (int i = 2; i < argc; ++i)
            failures += strstr(kernel, argv[i]) == NULL;
    } else {
        failures += status != SATTN_ERR_ENVIRONMENT;
        for (int i = 2; i < argc; ++i)
            failures += strstr(sattn_last_error(), argv[i]) == NULL;
    }
    sattn_plan_destroy(plan);
    return failures != 0;
}
