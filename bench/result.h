/* SPDX-License-Identifier: MIT
 *
 * result.h: result files, in Google Benchmark's JSON schema ("context" and "benchmarks"), so that
 * its own tools read them. Keys that are not Google Benchmark's begin with simdattn_. A number is
 * finite, or null with the reason in the key <name>_reason. */
#ifndef SATTN_BENCH_RESULT_H
#define SATTN_BENCH_RESULT_H

#include "bench/environment/environment.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Sets a number, or null and the reason where `value` is not finite. */
void sattn_result_number(json_t *object, const char *key, double value, const char *reason);
/* Sets a string, or null where `text` is NULL or not UTF-8. */
void sattn_result_text(json_t *object, const char *key, const char *text);

/* A new document with the machine, system and build in its context, and no benchmarks. NULL: out of
 * memory. Both parts are owned by the document. */
json_t *sattn_result_new(const sattn_environment *environment);
json_t *sattn_result_context(json_t *document);
json_t *sattn_result_benchmarks(json_t *document);

/* Whether a file can be made there; called before long work. `error` then says why not. */
bool sattn_result_check_path(const char *path, char *error, size_t error_size);
/* Follows a symbolic link to the file that is to be replaced, so that the link stays. False: the
 * file's path is longer than `size`. */
bool sattn_result_resolve(char *path, size_t size);
/* Writes the document beside `path` and renames it, so that no half file is ever seen there. What
 * exists and is no regular file (a pipe, /dev/stdout) is written in place. */
bool sattn_result_write(const json_t *document, const char *path, char *error, size_t error_size);
/* Whether a second document takes the place of the first one there, as it does in a file. */
bool sattn_result_is_replaced(const char *path);
/* To an open stream; false if that failed. */
bool sattn_result_print(const json_t *document, FILE *file);

/* sattn_result_write with another way of printing. */
typedef bool sattn_result_printer(const json_t *document, FILE *file);
bool sattn_result_write_as(const json_t *document, sattn_result_printer *print, const char *path,
                           char *error, size_t error_size);

#endif
