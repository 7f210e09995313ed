/* SPDX-License-Identifier: MIT
 *
 * warning.h: what a user should know of but no call fails for. */
#ifndef SATTN_DISPATCH_WARNING_H
#define SATTN_DISPATCH_WARNING_H

#include "dispatch/simdattn.h"

/* Tells the handler that sattn_set_warning_handler set. A message of up to 1023 characters, made
 * printable. */
void sattn_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
