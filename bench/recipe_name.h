/* SPDX-License-Identifier: MIT
 *
 * recipe_name.h: a recipe in few words, for tables. */
#ifndef SATTN_BENCH_RECIPE_NAME_H
#define SATTN_BENCH_RECIPE_NAME_H

#include "dispatch/recipe.h"

/* "fused_avx512 + avx512_decode", "chain_avx512", "fused_avx2_decode in 4 key ranges". */
enum { SATTN_RECIPE_NAME = 96 };
void sattn_recipe_name(const sattn_recipe *recipe, char name[SATTN_RECIPE_NAME]);

#endif
