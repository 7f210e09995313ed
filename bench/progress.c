/* SPDX-License-Identifier: MIT
 *
 * progress.c: the time left is the time taken so far, in proportion to the work. */
#if defined(__unix__) || defined(__APPLE__)
#define _POSIX_C_SOURCE 200809L /* fileno, isatty */
#include <unistd.h>
#endif

#include "bench/progress.h"

#include "bench/measure/clock.h"

#include <stdio.h>

#define QUIET_NS  INT64_C(2000000000) /* shorter work shows nothing */
#define REDRAW_NS INT64_C(200000000)

void sattn_progress_begin(sattn_progress *progress)
{
    *progress = (sattn_progress){.begin_ns = sattn_now_ns()};
#if defined(__unix__) || defined(__APPLE__)
    progress->enabled = isatty(fileno(stderr)) != 0;
#endif
}

void sattn_progress_update(sattn_progress *progress, double done, const char *what)
{
    if (!progress->enabled)
        return;
    const int64_t now = sattn_now_ns();
    if (now - progress->begin_ns < QUIET_NS || now - progress->last_ns < REDRAW_NS)
        return;
    progress->last_ns = now;
    progress->drawn = true;
    const double passed = (double)(now - progress->begin_ns) * 1e-9;
    if (done < 0.01) {
        fprintf(stderr, "\r\033[K  %3.0f %%  %.60s", 100 * done, what);
    } else {
        const int left = (int)(passed * (1 - done) / done + 0.5);
        fprintf(stderr, "\r\033[K  %3.0f %%  %d:%02d left  %.60s", 100 * done, left / 60, left % 60,
                what);
    }
    fflush(stderr);
}

void sattn_progress_clear(sattn_progress *progress)
{
    if (!progress->drawn)
        return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    progress->drawn = false;
}
