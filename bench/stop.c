/* SPDX-License-Identifier: MIT
 *
 * stop.c: a handler that counts for one signal only. System calls go on: nothing waits for long. */
#if defined(__unix__) || defined(__APPLE__)
#define _POSIX_C_SOURCE 200809L /* sigaction */
#endif

#include "bench/stop.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t signal_seen;

#if defined(__unix__) || defined(__APPLE__)

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

enum { N_SIGNALS = sizeof signals / sizeof signals[0] };

static struct sigaction previous[N_SIGNALS];

static void note(int number)
{
    signal_seen = number;
    for (int s = 0; s < N_SIGNALS; ++s)
        (void)sigaction(signals[s], &previous[s], NULL);
}

/* What the program was told to ignore, as under nohup, stays ignored. */
void sattn_stop_begin(void)
{
    struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESTART};
    (void)sigemptyset(&action.sa_mask);
    signal_seen = 0;
    for (int s = 0; s < N_SIGNALS; ++s)
        (void)sigaction(signals[s], NULL, &previous[s]);
    for (int s = 0; s < N_SIGNALS; ++s)
        if (previous[s].sa_handler != SIG_IGN)
            (void)sigaction(signals[s], &action, NULL);
}

void sattn_stop_end(void)
{
    for (int s = 0; s < N_SIGNALS; ++s)
        (void)sigaction(signals[s], &previous[s], NULL);
}

#else

void sattn_stop_begin(void)
{
    signal_seen = 0;
}

void sattn_stop_end(void)
{
}

#endif

bool sattn_stop_asked(void)
{
    return signal_seen != 0;
}

int sattn_stop_signal(void)
{
    return signal_seen;
}
