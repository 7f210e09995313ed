/* SPDX-License-Identifier: MIT
 *
 * profile.h: what `simdattn tune` measured on a machine, as the library uses it: for each class of
 * calls the plans that were tried, and the one to take.
 *
 * A profile is read once (profile_read.c) and never changed, so that threads share it without locks;
 * looking a class up touches no file and takes no memory. */
#ifndef SATTN_DISPATCH_PROFILE_H
#define SATTN_DISPATCH_PROFILE_H

#include "dispatch/registry.h"
#include "dispatch/shape_class.h"

/* One way to run a call. */
typedef struct sattn_recipe {
    sattn_computation computation;
    const sattn_kernel *kernels[SATTN_OP_COUNT]; /* NULL where it does without the op */
    const sattn_kernel *rest_kernel;             /* of a fused prefill's last rows, or NULL */
    int key_splits;                              /* as in sattn_options; 0: as without a profile */
} sattn_recipe;

/* A recipe by names, as in a profile and in sattn_options: plan "fused", "chain", or "" for a call
 * that is a single op; kernels a comma list, the rest kernel of a fused plan behind its first. */
enum { SATTN_RECIPE_TEXT = 384 };
void sattn_recipe_print(const sattn_recipe *recipe, char kernels[SATTN_RECIPE_TEXT]);
/* False where a kernel is not in this build, or they do not make a recipe for such a call. */
bool sattn_recipe_parse(sattn_call call, const char *plan, const char *kernels, int key_splits,
                        sattn_recipe *recipe);

/* Features that all of its kernels need. */
sattn_features sattn_recipe_needs(const sattn_recipe *recipe);

/* A recipe that was tried. Times are nanoseconds of a whole call, errors in the unit of the op
 * (docs/numerics.md); NaN: not measured. */
typedef struct sattn_tried {
    sattn_recipe recipe;
    double time_ns, time_p10_ns, time_p90_ns;
    int samples;
    double error, error_bound; /* the worst, and the most that rounding explains there */
    bool is_admitted;          /* within its bound and the error budget of the run */
} sattn_tried;

typedef struct sattn_profile_entry {
    sattn_shape_class shape_class;
    sattn_features usable; /* what recipes were chosen from: this CPU's features, or those of a cap */
    const char *shape;     /* that was measured */
    bool is_complete;      /* false: the time ended before the race did; the next run redoes it */
    bool is_tie;           /* no recipe was faster than the default by more than the spread */
    bool is_tainted;       /* measured beside other work */
    double margin, spread; /* of the winner over the next, and of their ratio; relative */
    double max_error;      /* that the run admitted, in the unit of the op; 0: any within bounds */
    size_t n_tried;
    const sattn_tried *tried;
    size_t taken; /* which of them; in a tie, the default */
} sattn_profile_entry;

typedef struct sattn_profile sattn_profile;

/* NULL: the profile has none for this class and this set of usable features. An entry for more
 * features does where its choice needs none that are missing. */
const sattn_profile_entry *sattn_profile_find(const sattn_profile *profile,
                                              const sattn_shape_class *shape_class,
                                              sattn_features usable);

/* A profile of these entries, no two of the same class and features; it keeps copies. NULL: out of
 * memory. */
sattn_profile *sattn_profile_make(const sattn_profile_entry *entries, size_t n_entries);
const sattn_profile_entry *sattn_profile_entries(const sattn_profile *profile, size_t *n_entries);

#endif
