/* SPDX-License-Identifier: MIT
 *
 * warning.c: see warning.h. */
#include "dispatch/warning.h"

#include "dispatch/error.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

static void print_warning(void *context, const char *message)
{
    (void)context;
    fprintf(stderr, "simdattn: warning: %s\n", message);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of these two */
static sattn_warning_handler *current_handler = print_warning;
static void *current_context;

void sattn_set_warning_handler(sattn_warning_handler *handler, void *context)
{
    pthread_mutex_lock(&lock);
    current_handler = handler ? handler : print_warning;
    current_context = context;
    pthread_mutex_unlock(&lock);
}

/* The handler is called without the lock, so that it may set another. */
void sattn_warn(const char *format, ...)
{
    char message[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    sattn_make_printable(message);
    pthread_mutex_lock(&lock);
    sattn_warning_handler *const handler = current_handler;
    void *const context = current_context;
    pthread_mutex_unlock(&lock);
    handler(context, message);
}
