/* SPDX-License-Identifier: MIT
 *
 * sysfile.h: the small text files of /proc and /sys. `root` is put in front of every path, so that
 * a test can show a machine made of files; NULL is "". A file that is missing or has another form
 * is "not known", never an error. */
#ifndef SATTN_BENCH_ENVIRONMENT_SYSFILE_H
#define SATTN_BENCH_ENVIRONMENT_SYSFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { SATTN_SYSFILE_PATH_SIZE = 1024 };

/* Opened for reading; NULL if it cannot be, or if the path is longer than all that are read here.
 */
FILE *sattn_sysfile_open(const char *root, const char *path);
/* Its first line without the end of the line. */
bool sattn_sysfile_line(const char *root, const char *path, char *line, size_t size);
/* The number that it begins with. */
bool sattn_sysfile_number(const char *root, const char *path, int64_t *number);
/* The value behind `key` in a file of "key value" lines; -1 if it is not there. */
int64_t sattn_sysfile_keyed(const char *root, const char *path, const char *key);

#endif
