/* SPDX-License-Identifier: MIT
 *
 * tune_store.h: the profile in the making: what the file had, and what this run has found. */
#ifndef SATTN_BENCH_TUNE_TUNE_STORE_H
#define SATTN_BENCH_TUNE_TUNE_STORE_H

#include "bench/tune/profile_write.h"
#include "bench/tune/tune_class.h"

typedef struct sattn_tune_store {
    char path[SATTN_PROFILE_PATH];
    char note[512];      /* why what was in the file is not used, or "" */
    bool is_stale;       /* that is still there */
    sattn_profile *kept; /* NULL: nothing */
    sattn_identity identity;
    const sattn_tune_outcome *outcomes; /* [n_outcomes], of this run; those not run are empty */
    size_t n_outcomes;
    const sattn_tune_jobs *jobs; /* what this run is about, NULL: nothing */
    double max_error;            /* of this run */
    int64_t written_ns;          /* when it was last written */
    bool is_written;             /* with something of this run */
} sattn_tune_store;

/* Reads the file of the options, if there is one; to be called before threads are bound to CPUs.
 * False: there is no place for a profile, or something else is in it; `error` says so. */
bool sattn_tune_store_open(sattn_tune_store *store, const sattn_tune_options *options, char *error,
                           size_t error_size);
void sattn_tune_store_close(sattn_tune_store *store);

/* What the file has for a job, from a run with this max_error or a smaller one; or NULL. */
const sattn_profile_entry *sattn_tune_store_find(const sattn_tune_store *store,
                                                 const sattn_tune_job *job, double max_error);

/* How many classes that this run is not about keep what a run with a larger max_error has chosen.
 */
size_t sattn_tune_store_less_exact(const sattn_tune_store *store);

/* Writes all of it, if this run has measured anything, beside what the file has by now: others may
 * tune other classes at the same time. What was chosen for its own classes under a larger max_error
 * goes. A profile of another machine or build is put
 * aside, which stderr is told. False: `error` says why not. */
bool sattn_tune_store_write(sattn_tune_store *store, char *error, size_t error_size);

#endif
