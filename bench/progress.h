/* SPDX-License-Identifier: MIT
 *
 * progress.h: one line on stderr that says what is being done and how long it will take. It is
 * drawn only where stderr is a terminal, and only once the work has lasted for two seconds. */
#ifndef SATTN_BENCH_PROGRESS_H
#define SATTN_BENCH_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct sattn_progress {
    bool enabled, drawn;
    int64_t begin_ns, last_ns;
} sattn_progress;

void sattn_progress_begin(sattn_progress *progress);
/* `done` in [0, 1] is the share of the whole work that is behind. */
void sattn_progress_update(sattn_progress *progress, double done, const char *what);
/* Takes the line away; call it before other output, and at the end. */
void sattn_progress_clear(sattn_progress *progress);

#endif
