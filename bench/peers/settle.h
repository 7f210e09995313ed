/* SPDX-License-Identifier: MIT
 *
 * settle.h: threads that go on spinning for a while after their work would disturb a peer that is
 * measured next on the same CPUs. */
#ifndef SATTN_BENCH_PEERS_SETTLE_H
#define SATTN_BENCH_PEERS_SETTLE_H

#include <stdbool.h>

/* Returns once the process takes no processor time any more but for the calling thread's, or after
 * 100 ms: false then. */
bool sattn_settle(void);

#endif
