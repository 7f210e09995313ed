/* SPDX-License-Identifier: MIT
 *
 * buffers.h: operands between guard pages.
 *
 * An operand [groups][rows][columns] lies in pages of its own. The page before and the page behind
 * them cannot be accessed, so a read or a write past the flush side stops the program. Everything
 * around the elements (gaps between rows, the rest of the pages) holds a canary: for floats a NaN,
 * which spoils any result it gets into; for mask bytes "attend". A copy of the pages tells
 * afterwards whether anything but the elements was written. */
#ifndef SATTN_TESTS_SUPPORT_BUFFERS_H
#define SATTN_TESTS_SUPPORT_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which guard page the elements touch: the one behind their last, or the one before their first. */
typedef enum test_placement { TEST_END_FLUSH, TEST_START_FLUSH } test_placement;

typedef struct test_extents {
    int64_t n_groups, n_rows, n_columns;
    int64_t group_stride, row_stride; /* elements; 0 = one group or row, repeated */
    size_t element_size;              /* 4 (float) or 1 (uint8_t) */
} test_extents;

/* Dense floats but for `gap` elements behind each row. */
test_extents test_extents_f32(int64_t n_groups, int64_t n_rows, int64_t n_columns, int64_t gap);

typedef struct test_operand {
    test_extents extents;
    void *data; /* element [0][0][0]; at a guard page too if there are no elements */
    unsigned char *pages, *before;
    size_t n_bytes; /* of pages and of before */
    void *map;
    size_t map_size;
} test_operand;

/* Ends the program where memory cannot be had. `distance` moves the elements off the flush side by
 * so many bytes, a multiple of the element size. */
test_operand test_operand_make(const test_extents *extents, test_placement placement,
                               size_t distance);
void test_operand_free(test_operand *operand);

/* An operand of one group of which only rows [begin, end) are there: these lie at the flush side,
 * and the places of the others hold the canary or cannot be accessed. */
test_operand test_operand_make_part(const test_extents *extents, int64_t begin, int64_t end,
                                    test_placement placement, size_t distance);

/* Row i of group g. */
float *test_operand_f32(const test_operand *operand, int64_t g, int64_t i);
uint8_t *test_operand_u8(const test_operand *operand, int64_t g, int64_t i);

/* Remembers what the pages hold now. The same row as it was then: */
void test_operand_seal(test_operand *operand);
const float *test_operand_sealed_f32(const test_operand *operand, int64_t g, int64_t i);
const uint8_t *test_operand_sealed_u8(const test_operand *operand, int64_t g, int64_t i);

/* Takes rows [i0, i1) of every group as they are now into what is remembered. */
void test_operand_accept(test_operand *operand, int64_t i0, int64_t i1);

/* Whether the pages are as remembered; else *at is the place of the first difference, in bytes from
 * `data`. */
bool test_operand_is_unchanged(const test_operand *operand, int64_t *at);

/* Fills the float elements of rows [i0, i1) with the canary; is one of them still the canary? */
void test_operand_spoil(test_operand *operand, int64_t i0, int64_t i1);
bool test_operand_has_canary(const test_operand *operand, int64_t i0, int64_t i1);

bool test_is_canary(float value);

#endif
