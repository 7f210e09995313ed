/* SPDX-License-Identifier: MIT
 *
 * tile_edges.h: the extents around a kernel's tile, and small things that go with lists of them. */
#ifndef SATTN_TESTS_SUPPORT_TILE_EDGES_H
#define SATTN_TESTS_SUPPORT_TILE_EDGES_H

#include "tests/support/buffers.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { N_EDGES = 4 };

/* Sizes around a tile; at least 1. */
static inline void tile_edges(int tile, int64_t sizes[N_EDGES])
{
    sizes[0] = tile > 1 ? tile - 1 : 1;
    sizes[1] = tile > 0 ? tile : 1;
    sizes[2] = tile + 1;
    sizes[3] = 2 * tile + 1;
}

/* The one flush side and the other, in turn. */
static inline test_placement side_of(int64_t number)
{
    return number % 2 ? TEST_START_FLUSH : TEST_END_FLUSH;
}

#endif
