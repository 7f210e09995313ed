/* SPDX-License-Identifier: MIT
 *
 * candidates.h: all recipes for a call that this build has, each with what stands against it: what
 * `simdattn tune` measures and sattn_explain tells of. */
#ifndef SATTN_DISPATCH_CANDIDATES_H
#define SATTN_DISPATCH_CANDIDATES_H

#include "dispatch/override.h"
#include "dispatch/recipe.h"

typedef enum sattn_recipe_verdict {
    SATTN_RECIPE_ELIGIBLE,     /* a profile may choose it */
    SATTN_RECIPE_MISSING,      /* needs features that the CPU or its system lacks */
    SATTN_RECIPE_CAPPED,       /* needs features beyond the cap of SATTN_ISA or options.isa */
    SATTN_RECIPE_NOT_NAMED,    /* other kernels are asked for by name */
    SATTN_RECIPE_OTHER_PLAN,   /* options ask for the other plan */
    SATTN_RECIPE_NO_SCORES,    /* only a chain returns scores */
    SATTN_RECIPE_CANNOT_SPLIT, /* options ask for key ranges, which a chain has not */
    SATTN_RECIPE_NOT_PACKED,   /* the weights are packed for another kernel */
} sattn_recipe_verdict;

typedef struct sattn_judged_recipe {
    sattn_recipe recipe;
    sattn_recipe_verdict verdict;
    const sattn_kernel *kernel; /* the one that the verdict is about, or NULL */
} sattn_judged_recipe;

/* Each kernel of an op or one chain of each, key ranges by powers of two, and what a profile has.
 */
enum { SATTN_RECIPES_MAX = SATTN_KERNEL_COUNT + 32 + SATTN_TRIED_MAX };

typedef struct sattn_recipe_list {
    sattn_shape_class shape_class;
    sattn_phase phase; /* of the default */
    bool is_several;   /* what sattn_are_several says of the call */
    sattn_overrides overrides;
    size_t n;
    sattn_judged_recipe items[SATTN_RECIPES_MAX]; /* the default first; no two equal */
    int asked_splits; /* key ranges of a fused recipe that options ask for and get; 0: none are */
    size_t taken;     /* which of them the call runs */
    sattn_decision decision; /* by what */
} sattn_recipe_list;

/* Of sattn_attention, as SATTN_CALL_ATTENTION, or of one of its steps; what the profile has tried
 * for such calls is among them. The default is what the call would run without a profile. An error
 * is one of the call. */
sattn_status sattn_list_recipes(sattn_recipe_list *list, sattn_call call,
                                const sattn_attention_args *args, const sattn_options *options);

/* The same of a call of a class that is no attention and no step of one. `packed_for`: the kernel
 * that its weights are packed for, which may run here; NULL: they are in place, or there are none.
 */
sattn_status sattn_list_apart_recipes(sattn_recipe_list *list, const sattn_shape_class *shape_class,
                                      const sattn_kernel *packed_for, const sattn_options *options);

/* Why a recipe cannot be taken, by the names of features and kernels; or, where it can, whether the
 * registry's order has it for such calls. "" : nothing stands against it. */
enum { SATTN_REASON_TEXT = 256 };
void sattn_recipe_reason(const sattn_recipe_list *list, size_t index, char text[SATTN_REASON_TEXT]);

#endif
