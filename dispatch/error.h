/* SPDX-License-Identifier: MIT
 *
 * error.h: how a refusal reaches the caller. */
#ifndef SATTN_DISPATCH_ERROR_H
#define SATTN_DISPATCH_ERROR_H

#include "dispatch/simdattn.h"

/* Sets this thread's sattn_last_error and returns `status`. */
sattn_status sattn_fail(sattn_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Where a size shall go: refuses NULL, else sets 0, which stays if the call fails. */
sattn_status sattn_size_begin(size_t *size);

/* Newlines, escapes and the like, which a terminal or a log would obey, become question marks:
 * messages quote files and the environment. */
void sattn_make_printable(char *text);

#endif
