/* SPDX-License-Identifier: MIT
 *
 * channel.h: messages between two processes over a pair of connected sockets: a JSON object on a
 * line of its own, with file descriptors if need be. */
#ifndef SATTN_BENCH_PEERS_CHANNEL_H
#define SATTN_BENCH_PEERS_CHANNEL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum { SATTN_CHANNEL_FILES = 2 };

typedef enum sattn_heard {
    SATTN_HEARD_MESSAGE,
    SATTN_HEARD_NOTHING, /* in the time that was given */
    SATTN_HEARD_END,     /* the other side is gone */
    SATTN_HEARD_NONSENSE,
} sattn_heard;

/* Sends and drops `message`; NULL is out of memory, and false. */
bool sattn_channel_send(int socket, json_t *message, const int *files, int n_files);

/* The next message, if it comes within `ns` nanoseconds (-1: however long it takes). It belongs to
 * the caller, and so do the descriptors; those that did not come are -1. */
sattn_heard sattn_channel_receive(int socket, int64_t ns, json_t **message,
                                  int files[SATTN_CHANNEL_FILES]);

#endif
