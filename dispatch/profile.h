/* SPDX-License-Identifier: MIT
 *
 * profile.h: what `simdattn tune` measured on a machine, as the library uses it: for each class of
 * calls the plans that were tried, and the one to take.
 *
 * A profile is read once (profile_read.c) and never changed, so that threads share it without
 * locks; looking a class up touches no file and takes no memory. */
#ifndef SATTN_DISPATCH_PROFILE_H
#define SATTN_DISPATCH_PROFILE_H

#include "dispatch/recipe.h"

/* A recipe that was tried. Times are nanoseconds of a whole call, errors in the unit of the op
 * (docs/numerics.md); NaN: not measured. */
typedef struct sattn_tried {
    sattn_recipe recipe;
    double time_ns, time_p10_ns, time_p90_ns;
    double error, error_bound; /* the worst, and the most that rounding explains there */
    int samples;               /* of the times */
    bool is_admitted;          /* within its bound and the error budget of the run */
} sattn_tried;

enum { SATTN_TRIED_MAX = 64 }; /* in an entry of a file */

/* Why an entry keeps the default although it is not clearly the fastest. */
typedef enum sattn_kept {
    SATTN_KEPT_FOR_NOTHING,      /* it is, or it is not kept */
    SATTN_KEPT_IN_A_TIE,         /* no recipe was faster by more than the spread */
    SATTN_KEPT_SLOWER_ELSEWHERE, /* the fastest was slower on another shape of the class */
    SATTN_KEPT_UNCONFIRMED,      /* the fastest could not be run on another shape of the class */
    SATTN_KEPT_COUNT
} sattn_kept;

/* "", "tie", "slower elsewhere", "not confirmed elsewhere": in a profile and in reports. */
const char *sattn_kept_name(sattn_kept kept);

typedef struct sattn_profile_entry {
    sattn_shape_class shape_class;
    sattn_features usable; /* what recipes were chosen from: of this CPU, or under a cap */
    const char *shape;     /* that was measured */
    sattn_kept kept;       /* the default, and why */
    bool is_complete;      /* false: the time ended before the race did; the next run redoes it */
    bool is_tainted;       /* measured beside other work */
    double margin, spread; /* of the fastest over the next, and of their ratio; relative */
    double max_error;      /* that the run admitted, in the unit of the op; 0: any within bounds */
    size_t n_tried;
    const sattn_tried *tried; /* the default, the registry's choice for that shape, first */
    /* Which of them. 0, the default, also where it is kept: the registry's choice for each shape,
     * which may differ within a class. */
    size_t taken;
} sattn_profile_entry;

/* What decided which kernels a call runs. But for the first two it was the registry's order. */
typedef enum sattn_decision {
    SATTN_DECIDED_BY_NAME, /* a kernel of the call is asked for by name */
    SATTN_DECIDED_BY_PROFILE,
    SATTN_DECIDED_WITHOUT_PROFILE,
    SATTN_DECIDED_WITHOUT_ENTRY, /* it has none for such a call */
    SATTN_DECIDED_UNFINISHED,    /* its entry is not complete */
    SATTN_DECIDED_DEFAULT,       /* its choice is that order, for want of anything faster */
    SATTN_DECIDED_MISSING,       /* its choice needs features that are not usable */
    SATTN_DECIDED_UNFIT,         /* its choice is not of the plan, names or key ranges asked for */
    SATTN_DECIDED_BY_WEIGHTS,    /* not that order: packed weights have their kernel */
} sattn_decision;

/* As a sentence. */
const char *sattn_decision_text(sattn_decision decision);

/* NULL: the profile has none for this class and this set of usable features. An entry for more
 * features does where its choice needs none that are missing. */
const sattn_profile_entry *sattn_profile_find(const sattn_profile *profile,
                                              const sattn_shape_class *shape_class,
                                              sattn_features usable);

/* A profile of these entries, no two of the same class and features, read from `path` ("": from no
 * file); it keeps copies. NULL: out of memory. For sattn_profile_destroy. */
sattn_profile *sattn_profile_make(const sattn_profile_entry *entries, size_t n_entries,
                                  const char *path);

/* In the order of their classes, those of more features first. */
const sattn_profile_entry *sattn_profile_entries(const sattn_profile *profile, size_t *n_entries);
const char *sattn_profile_path(const sattn_profile *profile);

#endif
