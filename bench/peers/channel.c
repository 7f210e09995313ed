/* SPDX-License-Identifier: MIT
 *
 * channel.c: reads up to the end of a line. Requests and answers take turns, so there is never more
 * than one line to be read. */
#define _GNU_SOURCE /* CMSG_SPACE, MSG_NOSIGNAL */

#include "bench/peers/channel.h"

#include "bench/measure/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FILES_SIZE = CMSG_SPACE(SATTN_CHANNEL_FILES * sizeof(int)), LONGEST_LINE = 1 << 20 };

/* Aligned as the macros over it want it. */
typedef union files_buffer {
    struct cmsghdr header;
    char bytes[FILES_SIZE];
} files_buffer;

#if defined(MSG_NOSIGNAL)
enum { NO_SIGNAL = MSG_NOSIGNAL };
#else
enum { NO_SIGNAL = 0 };
#endif

static bool send_all(int socket, const char *text, size_t size, const int *files, int n_files)
{
    files_buffer buffer = {.bytes = {0}};
    struct iovec part = {.iov_base = (void *)(uintptr_t)text, .iov_len = size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (n_files > 0) {
        message.msg_control = buffer.bytes;
        message.msg_controllen = CMSG_SPACE((size_t)n_files * sizeof(int));
        struct cmsghdr *const header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN((size_t)n_files * sizeof(int));
        memcpy(CMSG_DATA(header), files, (size_t)n_files * sizeof(int));
    }
    while (part.iov_len > 0) {
        const ssize_t sent = sendmsg(socket, &message, NO_SIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        part.iov_base = (char *)part.iov_base + sent;
        part.iov_len -= (size_t)sent;
        message.msg_control = NULL; /* went with the first byte */
        message.msg_controllen = 0;
    }
    return true;
}

bool sattn_channel_send(int socket, json_t *message, const int *files, int n_files)
{
    char *const text = message ? json_dumps(message, JSON_COMPACT) : NULL;
    json_decref(message);
    if (!text)
        return false;
    const size_t size = strlen(text);
    text[size] = '\n'; /* in place of the end of the string */
    const bool sent = send_all(socket, text, size + 1, files, n_files);
    free(text);
    return sent;
}

static void take_files(struct msghdr *message, int files[SATTN_CHANNEL_FILES])
{
    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header;
         header = CMSG_NXTHDR(message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
            continue;
        const size_t n = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < n && i < SATTN_CHANNEL_FILES; ++i)
            memcpy(&files[i], CMSG_DATA(header) + i * sizeof(int), sizeof(int));
    }
}

/* Whether something can be read before the clock shows `until` (-1: whenever). */
static bool is_readable(int socket, int64_t until)
{
    for (;;) {
        const int64_t left = until < 0 ? -1 : until - sattn_now_ns();
        if (until >= 0 && left <= 0)
            return false;
        struct pollfd wanted = {.fd = socket, .events = POLLIN};
        const int n = poll(&wanted, 1, left < 0 ? -1 : (int)(left / 1000000 + 1));
        if (n > 0)
            return true;
        if (n < 0 && errno != EINTR)
            return false;
    }
}

sattn_heard sattn_channel_receive(int socket, int64_t ns, json_t **message,
                                  int files[SATTN_CHANNEL_FILES])
{
    const int64_t until = ns < 0 ? -1 : sattn_now_ns() + ns;
    sattn_heard heard = SATTN_HEARD_MESSAGE;
    size_t size = 0;
    char *const line = malloc(LONGEST_LINE);
    *message = NULL;
    for (int i = 0; i < SATTN_CHANNEL_FILES; ++i)
        files[i] = -1;
    while (line && heard == SATTN_HEARD_MESSAGE && (size == 0 || line[size - 1] != '\n')) {
        files_buffer buffer;
        struct iovec part = {.iov_base = line + size, .iov_len = LONGEST_LINE - size};
        struct msghdr header = {.msg_iov = &part,
                                .msg_iovlen = 1,
                                .msg_control = buffer.bytes,
                                .msg_controllen = sizeof buffer.bytes};
        if (!is_readable(socket, until)) {
            heard = SATTN_HEARD_NOTHING;
            break;
        }
        const ssize_t got = recvmsg(socket, &header, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got > 0)
            take_files(&header, files);
        else
            heard = part.iov_len == 0 ? SATTN_HEARD_NONSENSE : SATTN_HEARD_END;
        size += got > 0 ? (size_t)got : 0;
    }
    if (heard == SATTN_HEARD_MESSAGE)
        *message = line ? json_loadb(line, size, 0, NULL) : NULL;
    if (heard == SATTN_HEARD_MESSAGE && !*message)
        heard = SATTN_HEARD_NONSENSE;
    free(line);
    return heard;
}
