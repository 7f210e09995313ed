/* SPDX-License-Identifier: MIT
 *
 * process.h: the process of a host: start, one question and its answer, end. */
#ifndef SATTN_BENCH_PEERS_PROCESS_H
#define SATTN_BENCH_PEERS_PROCESS_H

#include "bench/peers/peers.h"

#include <jansson.h>

/* Starts the program, with our end of the channel in peer->socket. Its environment is this one,
 * without what would steer libraries and with the switches for the peer's cap. False: peer->why. */
bool sattn_peer_start(sattn_peer *peer, const char *const *command);

/* Waits for the introduction. */
void sattn_peer_meet(sattn_peer *peer);

/* Sends `question` and returns the answer; NULL after a failure, which ends the host: it is not
 * ready any more and peer->why says why. */
json_t *sattn_peer_ask(sattn_peer *peer, json_t *question, const int *files, int n_files);

/* Ends the host, gently where it still answers. */
void sattn_peer_stop(sattn_peer *peer);

#endif
