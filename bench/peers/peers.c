/* SPDX-License-Identifier: MIT
 *
 * peers.c: which peers there are, and how their hosts are started. */
#include "bench/peers/peers.h"

#include "bench/peers/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if !defined(SATTN_PEERS_HOSTS) || !defined(SATTN_PEERS_SCRIPTS) || !defined(SATTN_PEERS_VENVS)
#error "the build defines where hosts, their scripts and the virtual environment are"
#endif

enum { PATH_SIZE = 4096 };

typedef struct entry {
    const char *name, *program;
    bool is_script;
    const char *missing; /* why there may be no such program */
    const char *no_cap;  /* NULL, or why there is no AVX2 run of it */
} entry;

static const entry entries[SATTN_PEERS] = {
    {"openblas", "simdattn-peer-openblas", false, "not built", NULL},
    {"onednn", "simdattn-peer-onednn", false, "built without oneDNN (Debian: libdnnl-dev)", NULL},
    {"onednn-graph", "simdattn-peer-onednn-graph", false,
     "built without a oneDNN that has the graph interface, which comes with version 3", NULL},
    {"pytorch", "host_pytorch.py", true, "the source tree with its script is gone", NULL},
    {"onnxruntime", "host_onnxruntime.py", true, "the source tree with its script is gone",
     "ONNX Runtime has no switch that keeps it from using AVX-512"},
};

static void write_python(const entry *e, const sattn_peers_setting *setting, char *path,
                         size_t size)
{
    const char *const variable = getenv("SATTN_PEERS_PYTHON");
    if (setting->python || (variable && *variable))
        snprintf(path, size, "%s", setting->python ? setting->python : variable);
    else
        snprintf(path, size, "%s/%s/venv/bin/python", SATTN_PEERS_VENVS, e->name);
}

static void start(sattn_peer *peer, const entry *e, const sattn_peers_setting *setting)
{
    char path[PATH_SIZE], python[PATH_SIZE];
    write_python(e, setting, python, sizeof python);
    snprintf(path, sizeof path, "%s/%s", e->is_script ? SATTN_PEERS_SCRIPTS : SATTN_PEERS_HOSTS,
             e->program);
    const char *const script[] = {python, "-B", path,
                                  NULL}; /* -B: the source tree stays as it is */
    const char *const host[] = {path, NULL};
    if (setting->only && strcmp(setting->only, e->name) != 0)
        snprintf(peer->why, sizeof peer->why, "not asked for");
    else if (peer->cap && e->no_cap)
        snprintf(peer->why, sizeof peer->why, "%s", e->no_cap);
    else if (e->is_script && access(python, X_OK) != 0)
        snprintf(peer->why, sizeof peer->why, "no Python with it (./run bench --peers makes one)");
    else if (access(path, R_OK) != 0)
        snprintf(peer->why, sizeof peer->why, "%s", e->missing);
    else
        sattn_peer_start(peer, e->is_script ? script : host);
}

void sattn_peers_open(sattn_peers *peers, const sattn_peers_setting *setting)
{
    for (int p = 0; p < SATTN_PEERS; ++p) {
        sattn_peer *const peer = &peers->list[p];
        *peer = (sattn_peer){.name = entries[p].name,
                             .cap = setting->cap,
                             .socket = -1,
                             .output = -1,
                             .patience_s = setting->patience_s > 0 ? setting->patience_s : 60};
        start(peer, &entries[p], setting);
    }
    for (int p = 0; p < SATTN_PEERS; ++p)
        sattn_peer_meet(&peers->list[p]);
}

void sattn_peers_close(sattn_peers *peers)
{
    for (int p = 0; p < SATTN_PEERS; ++p)
        sattn_peer_stop(&peers->list[p]);
}
