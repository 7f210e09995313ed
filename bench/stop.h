/* SPDX-License-Identifier: MIT
 *
 * stop.h: long work that is interrupted keeps what it has finished. The first SIGINT, SIGTERM or
 * SIGHUP is noted, and whoever works asks for it now and then; one that comes half a second later,
 * or more, ends the program. What comes in between is the first one again: `timeout` sends it to
 * the program and to its group, of which that is a part. */
#ifndef SATTN_BENCH_STOP_H
#define SATTN_BENCH_STOP_H

#include <stdbool.h>

void sattn_stop_begin(void);
void sattn_stop_end(void); /* signals do again what they did before */

bool sattn_stop_asked(void);
int sattn_stop_signal(void); /* which one it was, or 0 */

#endif
