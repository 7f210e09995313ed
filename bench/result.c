/* SPDX-License-Identifier: MIT
 *
 * result.c: builds and writes result documents. jansson refuses what JSON has no word for; a value
 * that it refuses becomes null here. */
#if defined(__unix__) || defined(__APPLE__)
#define _XOPEN_SOURCE 700 /* getpid, lstat, realpath, stat */
#include <sys/stat.h>
#include <unistd.h>
#endif

#include "bench/result.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_SIZE = 4096 };

void sattn_result_number(json_t *object, const char *key, double value, const char *reason)
{
    if (isfinite(value)) {
        json_object_set_new(object, key, json_real(value));
        return;
    }
    char reason_key[96];
    snprintf(reason_key, sizeof reason_key, "%s_reason", key);
    json_object_set_new(object, key, json_null());
    json_object_set_new(object, reason_key, json_string(reason));
}

void sattn_result_text(json_t *object, const char *key, const char *text)
{
    json_t *value = text ? json_string(text) : NULL;
    json_object_set_new(object, key, value ? value : json_null());
}

static const char unknown[] = "this system does not say";

static void add_size(json_t *object, const char *key, int64_t size)
{
    if (size > 0)
        json_object_set_new(object, key, json_integer(size));
    else
        sattn_result_number(object, key, (double)NAN, unknown);
}

static void add_known(json_t *object, const char *key, sattn_known known)
{
    if (known == SATTN_UNKNOWN)
        sattn_result_number(object, key, (double)NAN, unknown);
    else
        json_object_set_new(object, key, json_boolean(known == SATTN_YES));
}

static void add_cache(json_t *caches, const char *type, int level, int64_t size)
{
    if (size <= 0)
        return;
    json_t *const cache = json_object();
    json_object_set_new(cache, "type", json_string(type));
    json_object_set_new(cache, "level", json_integer(level));
    json_object_set_new(cache, "size", json_integer(size));
    json_object_set_new(cache, "num_sharing", json_integer(0));
    json_array_append_new(caches, cache);
}

/* The keys that Google Benchmark writes too. The host's name is left out. */
static void add_schema(json_t *context, const sattn_environment *e)
{
    json_t *const caches = json_array(), *const load = json_array();
    sattn_result_text(context, "date", e->date);
    json_object_set_new(context, "executable", json_string("simdattn"));
    json_object_set_new(context, "num_cpus", json_integer(e->cpus.online));
    add_cache(caches, "Data", 1, e->caches.l1d_bytes);
    add_cache(caches, "Unified", 2, e->caches.l2_bytes);
    add_cache(caches, "Unified", 3, e->caches.l3_bytes);
    json_object_set_new(context, "caches", caches);
    for (int i = 0; i < 3 && e->load[i] >= 0; ++i)
        json_array_append_new(load, json_real(e->load[i]));
    json_object_set_new(context, "load_avg", load);
    json_object_set_new(context, "library_build_type",
                        json_string(e->build.assertions ? "debug" : "release"));
}

static void add_machine(json_t *context, const sattn_environment *e)
{
    sattn_result_text(context, "simdattn_cpu_model", e->cpu_model);
    sattn_result_text(context, "simdattn_arch", e->build.arch);
    sattn_result_text(context, "simdattn_isa", e->isa);
    sattn_result_text(context, "simdattn_features", e->features);
    add_size(context, "simdattn_l1d_bytes", e->caches.l1d_bytes);
    add_size(context, "simdattn_l2_bytes", e->caches.l2_bytes);
    add_size(context, "simdattn_l3_bytes", e->caches.l3_bytes);
    add_size(context, "simdattn_line_bytes", e->caches.line_bytes);
    json_object_set_new(context, "simdattn_cpus_online", json_integer(e->cpus.online));
    json_object_set_new(context, "simdattn_cpus_affinity", json_integer(e->cpus.affinity));
    sattn_result_number(context, "simdattn_cpu_quota", e->cpus.quota, "no limit");
    json_object_set_new(context, "simdattn_cgroup_version", json_integer(e->cpus.cgroup_version));
    json_object_set_new(context, "simdattn_threads_usable", json_integer(e->cpus.threads));
    add_known(context, "simdattn_flush_to_zero", e->flush_to_zero);
    add_known(context, "simdattn_denormals_are_zero", e->denormals_are_zero);
    sattn_result_text(context, "simdattn_huge_pages", e->huge_pages);
    sattn_result_text(context, "simdattn_system", e->system);
}

static void add_build(json_t *context, const sattn_environment *e)
{
    sattn_result_text(context, "simdattn_version", e->build.library_version);
    sattn_result_text(context, "simdattn_compiler", e->build.compiler);
    sattn_result_text(context, "simdattn_build_type", e->build.build_type);
    sattn_result_text(context, "simdattn_c_flags", e->build.c_flags);
    sattn_result_text(context, "simdattn_kernel_flags", e->build.kernel_flags);
    sattn_result_text(context, "simdattn_commit", e->build.commit);
    add_known(context, "simdattn_commit_dirty", e->build.commit_dirty);
    sattn_result_text(context, "simdattn_kernel_hash", e->build.kernel_hash);
    sattn_result_text(context, "simdattn_sleef_version", e->build.sleef_version);
    sattn_result_text(context, "simdattn_openmp", e->build.openmp);
    sattn_result_text(context, "simdattn_benchmark_version", e->build.benchmark_version);
    sattn_result_text(context, "simdattn_jansson_version", e->build.jansson_version);
}

json_t *sattn_result_new(const sattn_environment *environment)
{
    json_t *const document = json_object(), *const context = json_object();
    add_schema(context, environment);
    add_machine(context, environment);
    add_build(context, environment);
    json_object_set_new(document, "context", context);
    json_object_set_new(document, "benchmarks", json_array());
    if (json_object_size(document) == 2)
        return document;
    json_decref(document);
    return NULL;
}

json_t *sattn_result_context(json_t *document)
{
    return json_object_get(document, "context");
}

json_t *sattn_result_benchmarks(json_t *document)
{
    return json_object_get(document, "benchmarks");
}

static bool written_in_place(const char *path)
{
#if defined(__unix__) || defined(__APPLE__)
    struct stat status;
    return stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
#else
    (void)path;
    return false;
#endif
}

bool sattn_result_is_replaced(const char *path)
{
    return !written_in_place(path);
}

bool sattn_result_resolve(char *path, size_t size)
{
#if defined(__unix__) || defined(__APPLE__)
    struct stat status;
    if (lstat(path, &status) != 0 || !S_ISLNK(status.st_mode))
        return true;
    char *const target = realpath(path, NULL);
    if (!target) /* it leads nowhere: what is written takes the place of the link */
        return true;
    const bool fits = strlen(target) < size;
    if (fits)
        memcpy(path, target, strlen(target) + 1);
    free(target);
    return fits;
#else
    (void)path;
    (void)size;
    return true;
#endif
}

static void partial_path(const char *path, char partial[PATH_SIZE])
{
#if defined(__unix__) || defined(__APPLE__)
    snprintf(partial, PATH_SIZE, "%s.partial-%ld", path, (long)getpid());
#else
    snprintf(partial, PATH_SIZE, "%s.partial", path);
#endif
}

static bool fail(const char *path, char *error, size_t error_size)
{
    snprintf(error, error_size, "cannot write %s: %s", path, strerror(errno));
    return false;
}

bool sattn_result_check_path(const char *path, char *error, size_t error_size)
{
    if (written_in_place(path))
        return true;
    if (path[0] == '\0' || strlen(path) + 32 > PATH_SIZE) {
        errno = path[0] == '\0' ? ENOENT : ENAMETOOLONG;
        return fail(path, error, error_size);
    }
#if defined(__unix__) || defined(__APPLE__)
    struct stat status;
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
        errno = EISDIR;
        return fail(path, error, error_size);
    }
#endif
    char partial[PATH_SIZE];
    partial_path(path, partial);
    FILE *const file = fopen(partial, "w");
    if (!file)
        return fail(path, error, error_size);
    fclose(file);
    remove(partial);
    return true;
}

bool sattn_result_print(const json_t *document, FILE *file)
{
    return json_dumpf(document, file, JSON_INDENT(2) | JSON_REAL_PRECISION(10)) == 0 &&
           fputc('\n', file) != EOF && fflush(file) == 0;
}

bool sattn_result_write_as(const json_t *document, sattn_result_printer *print, const char *name,
                           char *error, size_t error_size)
{
    char path[PATH_SIZE], partial[PATH_SIZE];
    if ((size_t)snprintf(path, sizeof path, "%s", name) >= sizeof path ||
        !sattn_result_resolve(path, sizeof path)) {
        errno = ENAMETOOLONG;
        return fail(name, error, error_size);
    }
    const bool in_place = written_in_place(path);
    partial_path(path, partial);
    FILE *const file = fopen(in_place ? path : partial, "w");
    if (!file)
        return fail(path, error, error_size);
    bool good = print(document, file);
    good = fclose(file) == 0 && good;
    if (good && !in_place)
        good = rename(partial, path) == 0;
    if (good)
        return true;
    fail(path, error, error_size);
    if (!in_place)
        remove(partial);
    return false;
}

bool sattn_result_write(const json_t *document, const char *path, char *error, size_t error_size)
{
    return sattn_result_write_as(document, sattn_result_print, path, error, error_size);
}
