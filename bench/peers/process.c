/* SPDX-License-Identifier: MIT
 *
 * process.c: processes of hosts. What a host prints goes into a file without a name, of which the
 * last line is shown when something goes wrong. */
#define _GNU_SOURCE /* environ, F_DUPFD_CLOEXEC, usleep */

#include "bench/peers/process.h"

#include "bench/environment/pin.h"
#include "bench/peers/channel.h"
#include "bench/peers/host.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* ---- environment */

/* Variables that steer a library: what the user set for other purposes is not what is compared. */
static const char *const steering[] = {
    "OPENBLAS_CORETYPE=",  "OPENBLAS_L2_SIZE=", "OPENBLAS_NUM_THREADS=", "GOTO_NUM_THREADS=",
    "ONEDNN_MAX_CPU_ISA=", "DNNL_MAX_CPU_ISA=", "ATEN_CPU_CAPABILITY=",  "MKL_ENABLE_INSTRUCTIONS=",
    "MKL_NUM_THREADS=",    "OMP_NUM_THREADS=",  "OMP_WAIT_POLICY=",      "OMP_PROC_BIND=",
    "OMP_PLACES=",         "GOMP_SPINCOUNT=",   "GOMP_CPU_AFFINITY=",    "KMP_BLOCKTIME=",
    "KMP_AFFINITY=",       "SATTN_PEER_CAP=",
};

static const char *const switches_avx2[] = {
    "OPENBLAS_CORETYPE=Haswell", "ONEDNN_MAX_CPU_ISA=AVX2",      "DNNL_MAX_CPU_ISA=AVX2",
    "ATEN_CPU_CAPABILITY=avx2",  "MKL_ENABLE_INSTRUCTIONS=AVX2", "SATTN_PEER_CAP=avx2",
};

enum {
    STEERING = sizeof steering / sizeof *steering,
    SWITCHES = sizeof switches_avx2 / sizeof *switches_avx2,
};

static bool is_steering(const char *variable)
{
    for (size_t s = 0; s < STEERING; ++s)
        if (strncmp(variable, steering[s], strlen(steering[s])) == 0)
            return true;
    return false;
}

/* NULL: no memory. Only the array is new, not the strings. */
static char **host_environment(const char *cap)
{
    size_t n = 0, used = 0;
    while (environ[n])
        ++n;
    char **const variables = calloc(n + SWITCHES + 1, sizeof *variables);
    if (!variables)
        return NULL;
    for (size_t i = 0; i < n; ++i)
        if (!is_steering(environ[i]))
            variables[used++] = environ[i];
    for (size_t s = 0; cap && s < SWITCHES; ++s)
        variables[used++] = (char *)(uintptr_t)switches_avx2[s];
    return variables;
}

/* ---- output */

/* The end of the last line that the host has printed, "" if none. */
static void last_line(const sattn_peer *peer, char *line, size_t size)
{
    const off_t end = lseek(peer->output, 0, SEEK_END), most = (off_t)size - 1;
    const off_t begin = end > most ? end - most : 0;
    const ssize_t got = end > 0 ? pread(peer->output, line, size - 1, begin) : 0;
    size_t used = got > 0 ? (size_t)got : 0;
    while (used > 0 && (line[used - 1] == '\n' || line[used - 1] == ' '))
        --used;
    line[used] = '\0';
    const char *const newline = strrchr(line, '\n');
    if (newline)
        memmove(line, newline + 1, strlen(newline));
}

/* ---- end */

static void close_files(sattn_peer *peer)
{
    if (peer->socket >= 0)
        close(peer->socket);
    if (peer->output >= 0)
        close(peer->output);
    peer->socket = peer->output = -1;
}

/* How it ended, in words; it is ended if it is still there. */
static void reap(sattn_peer *peer, const char *what, char *text, size_t size)
{
    int status = 0;
    pid_t gone = waitpid(peer->pid, &status, WNOHANG);
    const bool was_running = gone == 0;
    if (was_running) {
        kill(peer->pid, SIGKILL);
        while ((gone = waitpid(peer->pid, &status, 0)) < 0 && errno == EINTR)
            ;
    }
    peer->pid = 0;
    if (was_running || gone < 0)
        snprintf(text, size, "%s", what);
    else if (WIFSIGNALED(status))
        snprintf(text, size, "its process was ended by signal %d", WTERMSIG(status));
    else
        snprintf(text, size, "its process ended with code %d", WEXITSTATUS(status));
}

/* A process whose end of the channel is closed may need a moment to be gone. */
static void let_it_end(const sattn_peer *peer)
{
    for (int i = 0; i < 100; ++i) {
        siginfo_t info = {.si_pid = 0};
        if (waitid(P_PID, (id_t)peer->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
            info.si_pid != 0)
            return;
        usleep(10000);
    }
}

static void give_up(sattn_peer *peer, const char *what)
{
    char end[96], line[SATTN_PEER_TEXT_SIZE - 128];
    reap(peer, what, end, sizeof end);
    last_line(peer, line, sizeof line);
    snprintf(peer->why, sizeof peer->why, "%s%s%s", end, *line ? ": " : "", line);
    peer->is_ready = false;
    close_files(peer);
}

/* Between questions a host is stopped: threads of its library may go on spinning for long. Returns
 * when all of them have stopped, or the process has ended. */
static void put_to_sleep(const sattn_peer *peer)
{
    siginfo_t info;
    kill(peer->pid, SIGSTOP);
    while (waitid(P_PID, (id_t)peer->pid, &info, WSTOPPED | WEXITED | WNOWAIT) != 0 &&
           errno == EINTR)
        ;
}

static void wake(const sattn_peer *peer)
{
    kill(peer->pid, SIGCONT);
}

void sattn_peer_stop(sattn_peer *peer)
{
    char ignored[96];
    if (peer->pid == 0)
        return;
    wake(peer);
    close(peer->socket); /* the end of its input */
    peer->socket = -1;
    let_it_end(peer);
    reap(peer, "", ignored, sizeof ignored);
    close_files(peer);
    peer->is_ready = false;
}

/* ---- start */

static bool make_channel(int ends[2])
{
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return false;
    for (int i = 0; i < 2; ++i)
        (void)fcntl(ends[i], F_SETFD, FD_CLOEXEC);
#if defined(SO_NOSIGPIPE) /* where it is no flag of each message */
    const int on = 1;
    (void)setsockopt(ends[0], SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
    return true;
}

/* A file that is gone with its last descriptor. */
static int make_output(void)
{
    FILE *const file = tmpfile();
    const int copy = file ? fcntl(fileno(file), F_DUPFD_CLOEXEC, 0) : -1;
    if (file)
        fclose(file);
    return copy;
}

/* In a process group of its own, or Ctrl-C would end the host in the middle of a job that is to be
 * finished. */
static int spawn(sattn_peer *peer, const char *const *command,
                 const posix_spawn_file_actions_t *actions, char **variables)
{
    posix_spawnattr_t attributes;
    int code = posix_spawnattr_init(&attributes);
    if (code != 0)
        return code;
    code = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    if (code == 0)
        code = posix_spawnattr_setpgroup(&attributes, 0);
    if (code == 0)
        code = posix_spawn(&peer->pid, command[0], actions, &attributes,
                           (char **)(uintptr_t)command, variables);
    posix_spawnattr_destroy(&attributes);
    return code;
}

bool sattn_peer_start(sattn_peer *peer, const char *const *command)
{
    int ends[2] = {-1, -1};
    posix_spawn_file_actions_t actions;
    char **const variables = host_environment(peer->cap);
    peer->output = make_output();
    if (!variables || peer->output < 0 || !make_channel(ends) ||
        posix_spawn_file_actions_init(&actions) != 0) {
        snprintf(peer->why, sizeof peer->why, "no process can be made: %s", strerror(errno));
        free(variables);
        return false;
    }
    peer->socket = ends[0];
    /* The channel comes last: any of the others may have its number here. */
    int code = posix_spawn_file_actions_adddup2(&actions, peer->output, STDOUT_FILENO);
    if (code == 0)
        code = posix_spawn_file_actions_adddup2(&actions, peer->output, STDERR_FILENO);
    if (code == 0)
        code = posix_spawn_file_actions_adddup2(&actions, ends[1], SATTN_HOST_CHANNEL);
    if (code == 0)
        code = spawn(peer, command, &actions, variables);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    free(variables);
    if (code == 0)
        return true;
    peer->pid = 0;
    close_files(peer);
    snprintf(peer->why, sizeof peer->why, "%s cannot be started: %s", command[0], strerror(code));
    return false;
}

/* ---- questions */

static json_t *hear(sattn_peer *peer)
{
    int files[SATTN_CHANNEL_FILES];
    json_t *message;
    char late[96];
    switch (
        sattn_channel_receive(peer->socket, (int64_t)(peer->patience_s * 1e9), &message, files)) {
    case SATTN_HEARD_MESSAGE:
        put_to_sleep(peer);
        return message;
    case SATTN_HEARD_NOTHING:
        snprintf(late, sizeof late, "it did not answer within %g s", peer->patience_s);
        give_up(peer, late);
        break;
    case SATTN_HEARD_END:
        let_it_end(peer);
        give_up(peer, "it closed its channel");
        break;
    case SATTN_HEARD_NONSENSE:
        give_up(peer, "its answer cannot be read");
        break;
    }
    return NULL;
}

void sattn_peer_meet(sattn_peer *peer)
{
    json_t *const message = peer->pid ? hear(peer) : NULL;
    const char *const version = json_string_value(json_object_get(message, "version"));
    const char *const absent = json_string_value(json_object_get(message, "absent"));
    peer->is_ready = version != NULL;
    if (version)
        snprintf(peer->version, sizeof peer->version, "%s", version);
    else if (message) {
        snprintf(peer->why, sizeof peer->why, "%s", absent ? absent : "it did not say who it is");
        sattn_peer_stop(peer);
    }
    json_decref(message);
}

json_t *sattn_peer_ask(sattn_peer *peer, json_t *question, const int *files, int n_files)
{
    if (!peer->is_ready) {
        json_decref(question);
        return NULL;
    }
    (void)sattn_affinity_copy(peer->pid); /* its main thread works where this one does */
    wake(peer);
    if (!sattn_channel_send(peer->socket, question, files, n_files)) {
        let_it_end(peer);
        give_up(peer, "it takes no questions");
        return NULL;
    }
    return hear(peer);
}
