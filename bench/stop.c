/* SPDX-License-Identifier: MIT
 *
 * stop.c: a handler that tells a second signal from the first one sent twice. System calls go on:
 * nothing waits for long. What a handler shares with other threads must be a lock-free atomic (C11
 * 7.14.1.1). */
#if defined(__unix__) || defined(__APPLE__)
#define _POSIX_C_SOURCE 200809L /* sigaction */
#endif

#include "bench/stop.h"

#include "bench/measure/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

_Static_assert(ATOMIC_INT_LOCK_FREE == 2 && ATOMIC_LLONG_LOCK_FREE == 2, "a handler uses both");

static atomic_int signal_seen;

#if defined(__unix__) || defined(__APPLE__)

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

enum { N_SIGNALS = sizeof signals / sizeof signals[0], HALF_A_SECOND = 500000000 };

static struct sigaction previous[N_SIGNALS];
static atomic_llong second_from; /* when one more signal is a second one; 0: there was no first */

static void restore(void)
{
    for (int s = 0; s < N_SIGNALS; ++s)
        (void)sigaction(signals[s], &previous[s], NULL);
}

/* A second signal does what it would have done without this handler, as soon as that returns. */
static void note(int number)
{
    const int error = errno;
    const long long now = sattn_now_ns();
    long long from = 0;
    if (atomic_compare_exchange_strong(&second_from, &from, now + HALF_A_SECOND)) {
        atomic_store(&signal_seen, number);
    } else if (now >= from) {
        restore();
        (void)raise(number);
    }
    errno = error;
}

/* What the program was told to ignore, as under nohup, stays ignored. */
void sattn_stop_begin(void)
{
    struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESTART};
    (void)sigemptyset(&action.sa_mask);
    atomic_store(&signal_seen, 0);
    atomic_store(&second_from, 0);
    for (int s = 0; s < N_SIGNALS; ++s)
        (void)sigaction(signals[s], NULL, &previous[s]);
    for (int s = 0; s < N_SIGNALS; ++s)
        if (previous[s].sa_handler != SIG_IGN)
            (void)sigaction(signals[s], &action, NULL);
}

void sattn_stop_end(void)
{
    restore();
}

#else

void sattn_stop_begin(void)
{
    atomic_store(&signal_seen, 0);
}

void sattn_stop_end(void)
{
}

#endif

bool sattn_stop_asked(void)
{
    return sattn_stop_signal() != 0;
}

int sattn_stop_signal(void)
{
    return atomic_load(&signal_seen);
}
