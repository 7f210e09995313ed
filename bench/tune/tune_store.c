/* SPDX-License-Identifier: MIT
 *
 * tune_store.c: entries of this run stand in for those of the same class in the file, unless these
 * are complete and they are not. */
#define _POSIX_C_SOURCE 200809L /* access */

#include "bench/tune/tune_store.h"

#include "bench/measure/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

bool sattn_tune_store_open(sattn_tune_store *store, const sattn_tune_options *options, char *error,
                           size_t error_size)
{
    *store = (sattn_tune_store){0};
    if (!find_path(store, options, error, error_size))
        return false;
    sattn_identity_read(&store->identity);
    if (access(store->path, F_OK) == 0 && sattn_profile_load(&store->kept, store->path) != SATTN_OK)
        snprintf(store->note, sizeof store->note, "%s", sattn_last_error());
    return true;
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

const sattn_profile_entry *sattn_tune_store_find(const sattn_tune_store *store,
                                                 const sattn_tune_job *job, double max_error)
{
    size_t count = 0;
    const sattn_profile_entry *const entries =
        store->kept ? sattn_profile_entries(store->kept, &count) : NULL;
    for (size_t e = 0; e < count; ++e)
        if (is_of(&entries[e], &job->shape_class, job->usable))
            return entries[e].max_error <= max_error && entries[e].max_error >= max_error
                       ? &entries[e]
                       : NULL;
    return NULL;
}

/* ---- writing */

static bool has_entry(const sattn_tune_outcome *outcome)
{
    return outcome->entry.n_tried > 0 && !*outcome->error && outcome->rounds > 0;
}

/* What stands in the place of an entry of the file: that of this run, if it is as good. */
static const sattn_profile_entry *replacement_of(const sattn_tune_store *store,
                                                 const sattn_profile_entry *kept)
{
    for (size_t o = 0; o < store->n_outcomes; ++o) {
        const sattn_profile_entry *const entry = &store->outcomes[o].entry;
        if (has_entry(&store->outcomes[o]) && is_of(kept, &entry->shape_class, entry->usable))
            return entry->is_complete || !kept->is_complete ? entry : kept;
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

bool sattn_tune_store_write(sattn_tune_store *store, char *error, size_t error_size)
{
    size_t n_kept = 0, n = 0;
    const sattn_profile_entry *const kept =
        store->kept ? sattn_profile_entries(store->kept, &n_kept) : NULL;
    sattn_profile_entry *const entries = calloc(n_kept + store->n_outcomes + 1, sizeof *entries);
    if (!entries) {
        snprintf(error, error_size, "out of memory for the profile");
        return false;
    }
    for (size_t k = 0; k < n_kept; ++k)
        entries[n++] = *replacement_of(store, &kept[k]);
    for (size_t o = 0; o < store->n_outcomes; ++o)
        if (has_entry(&store->outcomes[o]) && !is_kept(kept, n_kept, &store->outcomes[o].entry))
            entries[n++] = store->outcomes[o].entry;
    const bool good =
        sattn_profile_write(&store->identity, entries, n, store->path, error, error_size);
    free(entries);
    store->written_ns = sattn_now_ns();
    return good;
}
