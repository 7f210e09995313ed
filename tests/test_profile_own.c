/* SPDX-License-Identifier: MIT
 *
 * test_profile_own.c: one process under SATTN_PROFILE and its like; profile_own.cmake runs it and
 * reads what it says.
 *
 *   test_profile_own make FILE [PATH VALUE]
 *       writes a profile of this machine that takes a chain for the call below; VALUE, in JSON,
 *       stands at PATH
 *   test_profile_own read FILE
 *       reads it as where it was made: "N classes", or what is wrong
 *   test_profile_own name PLACE
 *       name of the identity's field, "" behind the last
 *   test_profile_own call [WORDS]
 *       calls twice: "STATUS: KERNELS: MESSAGE" of the second; fails where WORDS are not in that
 *   test_profile_own handler
 *       the same with a handler of warnings that calls too */
#include "dispatch/profile_read.h"
#include "dispatch/simdattn.h"
#if SATTN_PROFILES
#include "tests/support/profile_text.h"
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int make(int argc, char **argv)
{
#if SATTN_PROFILES
    sattn_identity here;
    sattn_identity_read(&here);
    const sattn_identity_field unknown = sattn_identity_compare(&here, &here);
    if (unknown != SATTN_IDENTITY_COUNT) {
        printf("skipped: this machine does not say its %s\n", sattn_identity_name(unknown));
        return 77;
    }
    json_t *const document = profile_json(&here);
    if (argc == 5)
        profile_set(document, argv[3], json_loads(argv[4], JSON_DECODE_ANY, NULL));
    const int failed = json_dump_file(document, argv[2], JSON_INDENT(2));
    json_decref(document);
    return failed ? 1 : 0;
#else
    (void)argc;
    printf("skipped: no profiles, so %s is not made\n", argv[2]);
    return 77;
#endif
}

/* Elsewhere kernels of it may be missing, and with them all of its classes. */
static int read_as_there(const char *path)
{
#if SATTN_PROFILES
    sattn_identity there, here;
    sattn_profile *profile;
    char remark[SATTN_PROFILE_REMARK];
    size_t n = 0;
    json_t *const document = json_load_file(path, 0, NULL);
    profile_identity(document, &there);
    json_decref(document);
    sattn_identity_read(&here);
    if (sattn_profile_read_file(&profile, path, &there, remark) == SATTN_OK)
        sattn_profile_entries(profile, &n);
    const bool is_good = profile && (n > 0 || strcmp(there.text[SATTN_IDENTITY_ARCH],
                                                     here.text[SATTN_IDENTITY_ARCH]) != 0);
    printf("%s%zu classes%s%s\n", is_good ? "" : "FAIL: ", n, remark[0] ? "; " : "", remark);
    sattn_profile_destroy(profile);
    return !is_good;
#else
    printf("skipped: no profiles, so %s is not read\n", path);
    return 77;
#endif
}

static int call(const char *expected)
{
    char said[2048];
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
    sattn_plan_create(&plan, &shape, NULL);
    sattn_plan_destroy(plan);
    const sattn_status status = sattn_plan_create(&plan, &shape, NULL);
    snprintf(said, sizeof said, "%s: %s: %s", sattn_status_string(status),
             status == SATTN_OK ? sattn_plan_kernel(plan) : "",
             status == SATTN_OK ? "" : sattn_last_error());
    puts(said);
    sattn_plan_destroy(plan);
    if (expected && !strstr(said, expected))
        printf("FAIL: expected \"%s\"\n", expected);
    return expected ? !strstr(said, expected) : status != SATTN_OK;
}

static void handle(void *context, const char *message)
{
    ++*(int *)context;
    printf("handled: %s\n", message);
    call(NULL);
}

int main(int argc, char **argv)
{
    const char *const what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "make") == 0 && argc >= 3)
        return make(argc, argv);
    if (strcmp(what, "read") == 0 && argc == 3)
        return read_as_there(argv[2]);
    if (strcmp(what, "name") == 0 && argc == 3) {
        const int place = atoi(argv[2]);
        puts(place < SATTN_IDENTITY_COUNT ? sattn_identity_name((sattn_identity_field)place) : "");
        return 0;
    }
    if (strcmp(what, "call") == 0)
        return call(argc > 2 ? argv[2] : NULL);
    if (strcmp(what, "handler") == 0) {
        int count = 0;
        sattn_set_warning_handler(handle, &count);
        return call(NULL) + (count != 1);
    }
    fprintf(stderr, "usage: test_profile_own make FILE [PATH VALUE] | read FILE | name PLACE | "
                    "call [WORDS] | handler\n");
    return 2;
}
