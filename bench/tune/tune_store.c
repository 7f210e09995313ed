/* SPDX-License-Identifier: MIT
 *
 * tune_store.c: entries of this run stand in for those of the same class in the file, unless these
 * are complete and they are not. */
#define _POSIX_C_SOURCE 200809L /* fcntl, fstat, open, stat */

#include "bench/tune/tune_store.h"

#include "bench/measure/clock.h"
#include "bench/result.h"
#include "dispatch/profile_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool find_path(sattn_tune_store *store, const sattn_tune_options *options, char *error,
                      size_t error_size)
{
    const char *const out = options->out ? options->out : *options->own ? options->own : NULL;
    if (!out)
        return sattn_profile_home(store->path, error, error_size);
    if (strlen(out) >= sizeof store->path) {
        snprintf(error, error_size, "the path of the profile is too long");
        return false;
    }
    snprintf(store->path, sizeof store->path, "%s", out);
    return true;
}

/* Whether what cannot be used is a profile all the same: of another machine, build or schema. */
static bool is_profile(const char *path)
{
    json_t *const document = json_load_file(path, 0, NULL);
    const json_t *const identity = json_object_get(document, "identity");
    const bool has_schema = json_is_integer(json_object_get(identity, "schema"));
    json_decref(document);
    return has_schema;
}

/* Brings `kept` and `note` up to what is in the file. False: it is none of a tuner's, so that it
 * must not be replaced. Pipes and devices have nothing to keep. */
static bool read_kept(sattn_tune_store *store, char *error, size_t error_size)
{
    struct stat facts;
    char remark[SATTN_PROFILE_REMARK];
    sattn_profile_destroy(store->kept);
    store->kept = NULL;
    store->is_stale = false;
    if (stat(store->path, &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_size == 0)
        return true;
    if (sattn_profile_read_file(&store->kept, store->path, &store->identity, remark) == SATTN_OK)
        return true;
    if (!is_profile(store->path)) {
        snprintf(error, error_size, "%.300s is no profile, so it stays as it is: %.160s",
                 store->path, remark);
        return false;
    }
    store->is_stale = true;
    snprintf(store->note, sizeof store->note, "%.300s is not used: %.180s", store->path, remark);
    return true;
}

bool sattn_tune_store_open(sattn_tune_store *store, const sattn_tune_options *options, char *error,
                           size_t error_size)
{
    *store = (sattn_tune_store){0};
    if (!find_path(store, options, error, error_size))
        return false;
    if (!sattn_result_resolve(store->path, sizeof store->path)) { /* one lock for all its names */
        snprintf(error, error_size, "the path of the profile is too long");
        return false;
    }
    sattn_identity_read(&store->identity);
    return read_kept(store, error, error_size);
}

void sattn_tune_store_close(sattn_tune_store *store)
{
    sattn_profile_destroy(store->kept);
    *store = (sattn_tune_store){0};
}

static bool is_of(const sattn_profile_entry *entry, const sattn_shape_class *shape_class,
                  sattn_features usable)
{
    return entry->usable == usable &&
           sattn_class_key(&entry->shape_class) == sattn_class_key(shape_class);
}

/* 0 is the largest of all. */
static bool is_as_exact(const sattn_profile_entry *entry, double max_error)
{
    return !(max_error > 0) || (entry->max_error > 0 && entry->max_error <= max_error);
}

const sattn_profile_entry *sattn_tune_store_find(const sattn_tune_store *store,
                                                 const sattn_tune_job *job, double max_error)
{
    size_t count = 0;
    const sattn_profile_entry *const entries =
        store->kept ? sattn_profile_entries(store->kept, &count) : NULL;
    for (size_t e = 0; e < count; ++e)
        if (is_of(&entries[e], &job->shape_class, job->usable))
            return is_as_exact(&entries[e], max_error) ? &entries[e] : NULL;
    return NULL;
}

/* ---- another --max-error */

static bool is_about(const sattn_tune_store *store, const sattn_profile_entry *entry)
{
    for (size_t j = 0; store->jobs && j < store->jobs->count; ++j)
        if (is_of(entry, &store->jobs->jobs[j].shape_class, store->jobs->jobs[j].usable))
            return true;
    return false;
}

/* Whether what was chosen must not stay in force. */
static bool is_dropped(const sattn_tune_store *store, const sattn_profile_entry *kept)
{
    return !is_as_exact(kept, store->max_error) && is_about(store, kept);
}

static size_t count_less_exact(const sattn_tune_store *store, bool is_of_run)
{
    size_t n_kept = 0, n = 0;
    const sattn_profile_entry *const kept =
        store->kept ? sattn_profile_entries(store->kept, &n_kept) : NULL;
    for (size_t k = 0; k < n_kept; ++k)
        n += !is_as_exact(&kept[k], store->max_error) && is_about(store, &kept[k]) == is_of_run;
    return n;
}

size_t sattn_tune_store_less_exact(const sattn_tune_store *store)
{
    return count_less_exact(store, false);
}

/* ---- writing */

static bool has_entry(const sattn_tune_outcome *outcome)
{
    return outcome->entry.n_tried > 0 && !*outcome->error;
}

/* What stands in the place of an entry of the file: that of this run, if it is as good. */
static const sattn_profile_entry *replacement_of(const sattn_tune_store *store,
                                                 const sattn_profile_entry *kept)
{
    for (size_t o = 0; o < store->n_outcomes; ++o) {
        const sattn_tune_outcome *const outcome = &store->outcomes[o];
        const sattn_profile_entry *const entry = &outcome->entry;
        if (has_entry(outcome) && is_of(kept, &entry->shape_class, entry->usable))
            return entry->is_complete || (!kept->is_complete && outcome->rounds > 0) ||
                           is_dropped(store, kept)
                       ? entry
                       : kept;
    }
    return kept;
}

static bool is_kept(const sattn_profile_entry *kept, size_t n_kept,
                    const sattn_profile_entry *entry)
{
    for (size_t k = 0; k < n_kept; ++k)
        if (is_of(&kept[k], &entry->shape_class, entry->usable))
            return true;
    return false;
}

/* What was only begun, without a round, is no reason to put a profile aside. */
static bool has_anything(const sattn_tune_store *store)
{
    for (size_t o = 0; o < store->n_outcomes; ++o)
        if (has_entry(&store->outcomes[o]) && (store->outcomes[o].rounds > 0 || !store->is_stale))
            return true;
    return false;
}

/* What was measured elsewhere, or by another build, may be wanted there again. */
static bool put_aside(const sattn_tune_store *store, char *error, size_t error_size)
{
    char old[SATTN_PROFILE_PATH + 8];
    snprintf(old, sizeof old, "%s.old", store->path);
    if (rename(store->path, old) != 0) {
        snprintf(error, error_size, "cannot rename %.300s: %s", store->path, strerror(errno));
        return false;
    }
    fprintf(stderr, "simdattn tune: the profile that was there is %s now\n", old);
    return true;
}

static bool write_entries(sattn_tune_store *store, char *error, size_t error_size)
{
    size_t n_kept = 0, n = 0;
    const sattn_profile_entry *const kept =
        store->kept ? sattn_profile_entries(store->kept, &n_kept) : NULL;
    sattn_profile_entry *const entries = calloc(n_kept + store->n_outcomes + 1, sizeof *entries);
    if (!entries) {
        snprintf(error, error_size, "out of memory for the profile");
        return false;
    }
    for (size_t k = 0; k < n_kept; ++k) {
        const sattn_profile_entry *const entry = replacement_of(store, &kept[k]);
        if (entry != &kept[k] || !is_dropped(store, entry))
            entries[n++] = *entry;
    }
    for (size_t o = 0; o < store->n_outcomes; ++o)
        if (has_entry(&store->outcomes[o]) && !is_kept(kept, n_kept, &store->outcomes[o].entry))
            entries[n++] = store->outcomes[o].entry;
    const bool good =
        sattn_profile_write(&store->identity, entries, n, store->path, error, error_size);
    free(entries);
    return good;
}

/* ---- one at a time */

static void lock_path(const sattn_tune_store *store, char path[SATTN_PROFILE_PATH + 8])
{
    snprintf(path, SATTN_PROFILE_PATH + 8, "%s.lock", store->path);
}

static bool is_open_there(int file, const char *path)
{
    struct stat opened, there;
    return fstat(file, &opened) == 0 && stat(path, &there) == 0 && opened.st_ino == there.st_ino &&
           opened.st_dev == there.st_dev;
}

/* Waits for other tuners of the same file. Whoever had the lock has removed its file: then that
 * says nothing any more, and another is to be made. Returns a descriptor, or -1. */
static int lock(const sattn_tune_store *store, char *error, size_t error_size)
{
    char path[SATTN_PROFILE_PATH + 8];
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    lock_path(store, path);
    for (;;) {
        const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        int got = -1;
        while (file >= 0 && (got = fcntl(file, F_SETLKW, &whole)) != 0 && errno == EINTR)
            ;
        if (got == 0 && is_open_there(file, path))
            return file;
        if (got != 0)
            snprintf(error, error_size, "cannot lock %.300s: %s", path, strerror(errno));
        if (file >= 0)
            close(file);
        if (got != 0)
            return -1;
    }
}

static void unlock(const sattn_tune_store *store, int file)
{
    char path[SATTN_PROFILE_PATH + 8];
    lock_path(store, path);
    remove(path);
    close(file);
}

/* What is in the file may have changed since it was read. */
static bool replace(sattn_tune_store *store, char *error, size_t error_size)
{
    if (!read_kept(store, error, error_size) ||
        (store->is_stale && !put_aside(store, error, error_size)))
        return false;
    store->is_stale = false;
    return write_entries(store, error, error_size);
}

bool sattn_tune_store_write(sattn_tune_store *store, char *error, size_t error_size)
{
    if (!has_anything(store) && count_less_exact(store, true) == 0)
        return true;
    if (!sattn_result_is_replaced(store->path)) { /* a pipe or device */
        store->is_written = write_entries(store, error, error_size);
    } else {
        const int file = lock(store, error, error_size);
        store->is_written = file >= 0 && replace(store, error, error_size);
        if (file >= 0)
            unlock(store, file);
    }
    store->written_ns = sattn_now_ns();
    return store->is_written;
}
