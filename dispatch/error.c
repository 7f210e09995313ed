/* SPDX-License-Identifier: MIT
 *
 * error.c: status names, the thread's last error, the version. */
#include "dispatch/error.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local char last_error[1024];

const char *sattn_status_string(sattn_status status)
{
    switch (status) {
    case SATTN_OK:
        return "ok";
    case SATTN_ERR_ARGUMENT:
        return "invalid argument";
    case SATTN_ERR_UNSUPPORTED:
        return "not supported";
    case SATTN_ERR_TOO_LARGE:
        return "too large";
    case SATTN_ERR_OVERLAP:
        return "overlapping memory";
    case SATTN_ERR_KERNEL:
        return "no such kernel here";
    case SATTN_ERR_ENVIRONMENT:
        return "invalid environment variable";
    case SATTN_ERR_WORKSPACE:
        return "workspace too small or misaligned";
    case SATTN_ERR_MEMORY:
        return "out of memory";
    case SATTN_ERR_PROFILE:
        return "unusable profile";
    }
    return "unknown status";
}

const char *sattn_last_error(void)
{
    return last_error;
}

sattn_status sattn_size_begin(size_t *size)
{
    if (!size)
        return sattn_fail(SATTN_ERR_ARGUMENT, "size is NULL: expected where to put the size");
    *size = 0;
    return SATTN_OK;
}

void sattn_make_printable(char *text)
{
    for (; *text; ++text)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            *text = '?';
}

sattn_status sattn_fail(sattn_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last_error, sizeof last_error, format, arguments);
    va_end(arguments);
    sattn_make_printable(last_error);
    return status;
}

const char *sattn_version(void)
{
    return SATTN_VERSION;
}
