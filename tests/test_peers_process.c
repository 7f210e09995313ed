/* SPDX-License-Identifier: MIT
 *
 * test_peers_process.c: hosts that do not start, die, hang or talk nonsense end in an error with
 * what they printed last, never in a wait without end. The hosts are this program once more, as
 * `test_peers_process --fake=MANNER`. */
#define _POSIX_C_SOURCE 200809L /* setenv */

#include "bench/peers/channel.h"
#include "bench/peers/host.h"
#include "bench/peers/peers.h"
#include "bench/peers/process.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- the other side */

static void hang(void)
{
    for (;;)
        pause();
}

static void introduce(const char *manner)
{
    char version[256];
    const char *const core = getenv("OPENBLAS_CORETYPE"), *const l2 = getenv("OPENBLAS_L2_SIZE");
    const char *const isa = getenv("ATEN_CPU_CAPABILITY"), *const kept = getenv("SATTN_TEST_KEPT");
    if (strcmp(manner, "is-silent") == 0)
        hang();
    if (strcmp(manner, "ends") == 0) {
        fputs("some line\nno such library\n", stderr);
        exit(3);
    }
    if (strcmp(manner, "talks-nonsense") == 0) {
        if (write(SATTN_HOST_CHANNEL, "hello\n", 6) != 6)
            exit(1);
        hang();
    }
    if (strcmp(manner, "is-absent") == 0) {
        sattn_channel_send(SATTN_HOST_CHANNEL, json_pack("{s:s}", "absent", "not here"), NULL, 0);
        exit(0);
    }
    snprintf(version, sizeof version, "%s %s %s %s", core ? core : "-", l2 ? l2 : "-",
             isa ? isa : "-", kept ? kept : "-");
    sattn_channel_send(SATTN_HOST_CHANNEL, json_pack("{s:s}", "version", version), NULL, 0);
}

/* Answers as a host does, until it is asked to run. */
static int fake(const char *manner)
{
    introduce(manner);
    for (;;) {
        int files[SATTN_CHANNEL_FILES];
        json_t *message;
        if (sattn_channel_receive(SATTN_HOST_CHANNEL, -1, &message, files) != SATTN_HEARD_MESSAGE)
            return 0;
        for (int i = 0; i < SATTN_CHANNEL_FILES; ++i)
            if (files[i] >= 0)
                close(files[i]);
        const char *const what = json_string_value(json_object_get(message, "do"));
        json_t *answer = json_object();
        if (strcmp(what, "open") == 0) { /* before a patience that is short begins */
            printf("about to fail: %s\n\n", manner);
            fflush(stdout);
            json_object_set_new(answer, "picked", json_string("a fake"));
        }
        if (strcmp(what, "run") == 0) {
            if (strcmp(manner, "hangs") == 0)
                hang();
            if (strcmp(manner, "crashes") == 0)
                abort();
            if (strcmp(manner, "fails") == 0)
                json_object_set_new(answer, "error", json_string("out of ideas"));
            else
                json_object_set_new(answer, "ns", json_integer(1));
        }
        json_decref(message);
        sattn_channel_send(SATTN_HOST_CHANNEL, answer, NULL, 0);
    }
}

/* ---- this side */

static const char *program;
/* Of a host that is to be given up, and of one that is not, however busy the machine. */
static const double short_patience_s = 0.5, patience_s = 600;

static void start(sattn_peer *peer, const char *manner, const char *cap)
{
    char argument[64];
    snprintf(argument, sizeof argument, "--fake=%s", manner);
    const char *const command[] = {program, argument, NULL};
    *peer = (sattn_peer){.name = manner,
                         .cap = cap,
                         .socket = -1,
                         .output = -1,
                         .patience_s =
                             strcmp(manner, "is-silent") == 0 ? short_patience_s : patience_s};
    assert_true(sattn_peer_start(peer, command));
    sattn_peer_meet(peer);
}

static void expect_text(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("no \"%s\" in \"%s\"", part, text);
}

static void test_start(void **state)
{
    static const struct {
        const char *manner, *why;
    } cases[] = {{"is-silent", "did not answer within"},
                 {"ends", "code 3: no such library"},
                 {"talks-nonsense", "cannot be read"},
                 {"is-absent", "not here"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        sattn_peer peer;
        start(&peer, cases[i].manner, NULL); /* that it comes back at all, ctest sees */
        assert_false(peer.is_ready);
        assert_int_equal(peer.pid, 0);
        expect_text(peer.why, cases[i].why);
        sattn_peer_stop(&peer);
    }
}

static void test_no_program(void **state)
{
    (void)state;
    const char *const command[] = {"/no/such/program", NULL};
    sattn_peer peer = {.name = "none", .socket = -1, .output = -1, .patience_s = patience_s};
    if (sattn_peer_start(&peer, command)) /* some systems notice in the new process */
        sattn_peer_meet(&peer);
    assert_false(peer.is_ready);
    assert_true(*peer.why != '\0');
    sattn_peer_stop(&peer);
}

/* Peers that cannot be had are listed, each with its reason. */
static void test_absent(void **state)
{
    static const char *const names[SATTN_PEERS] = {"openblas", "onednn", "onednn-graph", "pytorch",
                                                   "onnxruntime"};
    (void)state;
    for (int only = 3; only < SATTN_PEERS; ++only) {
        sattn_peers peers;
        sattn_peers_open(&peers, &(sattn_peers_setting){.only = names[only],
                                                        .cap = "avx2",
                                                        .python = "/no/such/python",
                                                        .patience_s = patience_s});
        for (int p = 0; p < SATTN_PEERS; ++p) {
            assert_string_equal(peers.list[p].name, names[p]);
            assert_false(peers.list[p].is_ready);
            assert_true(*peers.list[p].why != '\0' && *peers.list[p].version == '\0');
        }
        expect_text(peers.list[only].why, only == 3 ? "no Python with it" : "no switch");
        expect_text(peers.list[0].why, "not asked for");
        sattn_peers_close(&peers);
    }
}

/* What steers libraries is not handed on, a cap is, and the rest of the environment too. */
static void test_environment(void **state)
{
    sattn_peer peer;
    (void)state;
    setenv("OPENBLAS_CORETYPE", "Prescott", 1);
    setenv("OPENBLAS_L2_SIZE", "512", 1);
    setenv("SATTN_TEST_KEPT", "kept", 1);
    start(&peer, "answers", NULL);
    assert_true(peer.is_ready);
    assert_string_equal(peer.version, "- - - kept");
    sattn_peer_stop(&peer);
    start(&peer, "answers", "avx2");
    assert_true(peer.is_ready);
    assert_string_equal(peer.version, "Haswell - avx2 kept");
    sattn_peer_stop(&peer);
}

static void test_run(void **state)
{
    static const struct {
        const char *manner, *why;
        bool stays;
    } cases[] = {{"hangs", "did not answer within 0.5 s: about to fail: hangs", false},
                 {"crashes", "ended by signal 6: about to fail: crashes", false},
                 {"fails", "out of ideas", true},
                 {"forgets", "cannot be read", true}};
    (void)state;
    sattn_shared memory;
    assert_true(sattn_shared_open(&memory, 4096));
    const sattn_attention_args args = {.batch = 1,
                                       .n_q_heads = 1,
                                       .n_kv_heads = 1,
                                       .n_q = 1,
                                       .n_k = 1,
                                       .d = 1,
                                       .d_v = 1,
                                       .q.data = memory.base,
                                       .k.data = memory.base,
                                       .v.data = memory.base,
                                       .o.data = memory.base};
    const sattn_peer_request request = {.task = SATTN_PEER_ATTENTION,
                                        .args = &args,
                                        .memory = &memory,
                                        .n_sets = 1,
                                        .set_bytes = 4096,
                                        .threads = 1};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        sattn_peer peer;
        sattn_peer_call call, other;
        start(&peer, cases[i].manner, NULL);
        assert_true(sattn_peer_call_open(&call, &peer, &request));
        assert_string_equal(call.picked, "a fake");
        if (strcmp(cases[i].manner, "hangs") == 0)
            peer.patience_s = short_patience_s;
        assert_true(sattn_peer_run(&call, 0, 1).ns == 0);
        assert_true(call.failed);
        expect_text(call.why, cases[i].why);
        assert_true(sattn_peer_run(&call, 0, 1).ns == 0);
        assert_true(peer.is_ready == cases[i].stays);
        assert_true(sattn_peer_call_open(&other, &peer, &request) == cases[i].stays);
        assert_true(cases[i].stays || (other.failed && *other.why));
        sattn_peer_call_close(&other);
        sattn_peer_call_close(&call);
        sattn_peer_stop(&peer);
        assert_int_equal(peer.pid, 0);
    }
    sattn_shared_close(&memory);
}

static int open_descriptors(void)
{
    int n = 0;
    for (int file = 0; file < 256; ++file)
        n += fcntl(file, F_GETFD) != -1;
    return n;
}

static void test_descriptors(void **state)
{
    sattn_peer peer;
    (void)state;
    const int before = open_descriptors();
    start(&peer, "answers", NULL);
    sattn_peer_stop(&peer);
    start(&peer, "ends", NULL);
    sattn_peer_stop(&peer);
    assert_int_equal(open_descriptors(), before);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_start),  cmocka_unit_test(test_no_program),
        cmocka_unit_test(test_absent), cmocka_unit_test(test_environment),
        cmocka_unit_test(test_run),    cmocka_unit_test(test_descriptors),
    };
    program = argv[0];
    if (argc > 1 && strncmp(argv[1], "--fake=", 7) == 0)
        return fake(argv[1] + 7);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
