/* SPDX-License-Identifier: MIT
 *
 * recipe.h: one way to run a call, and its names. */
#ifndef SATTN_DISPATCH_RECIPE_H
#define SATTN_DISPATCH_RECIPE_H

#include "dispatch/registry.h"
#include "dispatch/shape_class.h"

/* One way to run a call. */
typedef struct sattn_recipe {
    sattn_computation computation;
    const sattn_kernel *kernels[SATTN_OP_COUNT]; /* NULL where it does without the op */
    const sattn_kernel *rest_kernel;             /* of a fused prefill's last rows, or NULL */
    int key_splits; /* where blocks are fewer than threads; 0: as many as without a profile */
} sattn_recipe;

/* By names, as in a profile and in sattn_options. */
const char *sattn_recipe_plan(const sattn_recipe *recipe); /* "fused", "chain"; "" of a single op */
/* A comma list, the rest kernel of a fused plan behind its first. */
enum { SATTN_RECIPE_TEXT = 384 };
void sattn_recipe_print(const sattn_recipe *recipe, char kernels[SATTN_RECIPE_TEXT]);
/* False where a kernel is not in this build, or they do not make a recipe for such a call. */
bool sattn_recipe_parse(sattn_call call, const char *plan, const char *kernels, int key_splits,
                        sattn_recipe *recipe);

/* Features that all of its kernels need. */
sattn_features sattn_recipe_needs(const sattn_recipe *recipe);

bool sattn_recipes_equal(const sattn_recipe *a, const sattn_recipe *b);

#endif
