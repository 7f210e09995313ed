/* SPDX-License-Identifier: MIT
 *
 * buffers.c: operands between guard pages, by mmap and mprotect. The pages of freed operands are
 * kept for later ones of as many: mapping pages and touching them for the first time takes the
 * system, and an emulator still more, longer than most checks take. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "tests/support/buffers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const uint32_t canary_word = 0x7fc5a5a5u; /* a quiet NaN with a payload of its own */
static const unsigned char canary_byte = 0xa5;

static void stop(const char *what)
{
    perror(what);
    exit(2);
}

static int64_t span_of(const test_extents *e)
{
    if (e->n_groups == 0 || e->n_rows == 0 || e->n_columns == 0)
        return 0;
    return (e->n_groups - 1) * e->group_stride + (e->n_rows - 1) * e->row_stride + e->n_columns;
}

static void fill_canary(void *at, size_t n_bytes, size_t element_size)
{
    if (element_size == 1) {
        memset(at, canary_byte, n_bytes);
        return;
    }
    uint32_t *const words = at;
    for (size_t i = 0; i < n_bytes / sizeof(uint32_t); ++i)
        words[i] = canary_word;
}

static size_t whole_pages(size_t n_bytes, size_t page)
{
    return (n_bytes + page - 1) / page * page;
}

/* ---- pages between guards */

enum {
    KEPT_MAPS = 256,
    KEPT_BYTES_MAX = 1 << 26 /* of all of them */
};
static test_operand kept_maps[KEPT_MAPS]; /* without pages: a free place */
static size_t kept_bytes, next_place;

static void give_back(test_operand *operand)
{
    free(operand->before);
    if (operand->map)
        munmap(operand->map, operand->map_size);
    memset(operand, 0, sizeof *operand);
}

static size_t guard_behind(const test_operand *operand)
{
    const unsigned char *const end = (unsigned char *)operand->map + operand->map_size;
    return (size_t)(end - operand->pages) - operand->n_bytes;
}

/* Kept pages, exactly n_bytes between guards of at least these sizes; none: without a map. */
static test_operand take_kept(size_t n_bytes, size_t before, size_t behind)
{
    test_operand taken = {0};
    for (size_t i = 0; i < KEPT_MAPS; ++i) {
        test_operand *const kept = &kept_maps[i];
        if (!kept->map || kept->n_bytes != n_bytes || guard_behind(kept) < behind ||
            (size_t)(kept->pages - (unsigned char *)kept->map) < before)
            continue;
        taken = *kept;
        kept_bytes -= n_bytes;
        memset(kept, 0, sizeof *kept);
        break;
    }
    return taken;
}

/* In the next free place; without one, or with too many bytes kept, others have to leave in turn.
 */
static void keep(test_operand *operand)
{
    for (size_t i = 0; i < KEPT_MAPS && kept_maps[next_place].map; ++i)
        next_place = (next_place + 1) % KEPT_MAPS;
    test_operand *const place = &kept_maps[next_place];
    while (place->map || kept_bytes + operand->n_bytes > KEPT_BYTES_MAX) {
        kept_bytes -= kept_maps[next_place].n_bytes;
        give_back(&kept_maps[next_place]);
        next_place = (next_place + 1) % KEPT_MAPS;
    }
    kept_bytes += operand->n_bytes;
    *place = *operand;
    memset(operand, 0, sizeof *operand);
}

static test_operand map_pages(size_t n_bytes, size_t before, size_t behind)
{
    test_operand operand = {.n_bytes = n_bytes, .map_size = before + n_bytes + behind};
    operand.map =
        mmap(NULL, operand.map_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (operand.map == MAP_FAILED)
        stop("mmap");
    operand.pages = (unsigned char *)operand.map + before;
    if (mprotect(operand.pages, n_bytes, PROT_READ | PROT_WRITE) != 0)
        stop("mprotect");
    return operand;
}

/* ---- operands */

/* `present` are the elements that are there; n_before and n_behind bytes of others, which nobody
 * may touch, would lie around them. */
static test_operand make(const test_extents *extents, const test_extents *present, size_t n_before,
                         size_t n_behind, test_placement placement, size_t distance)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t span = (size_t)span_of(present) * extents->element_size;
    const size_t n_pages = span + distance == 0 ? 1 : (span + distance + page - 1) / page;
    const size_t guard = page + whole_pages(n_before, page);
    const size_t guard_end = page + whole_pages(n_behind, page);
    test_operand operand = take_kept(n_pages * page, guard, guard_end);
    if (!operand.map)
        operand = map_pages(n_pages * page, guard, guard_end);
    if (!operand.before)
        operand.before = malloc(operand.n_bytes);
    if (!operand.before)
        stop("malloc");
    operand.extents = *extents;
    unsigned char *const first = placement == TEST_START_FLUSH
                                     ? operand.pages + distance
                                     : operand.pages + operand.n_bytes - span - distance;
    operand.data = first - n_before;
    fill_canary(operand.pages, operand.n_bytes, extents->element_size);
    return operand;
}

test_extents test_extents_f32(int64_t n_groups, int64_t n_rows, int64_t n_columns, int64_t gap)
{
    const test_extents extents = {.n_groups = n_groups,
                                  .n_rows = n_rows,
                                  .n_columns = n_columns,
                                  .group_stride = n_rows * (n_columns + gap),
                                  .row_stride = n_columns + gap,
                                  .element_size = sizeof(float)};
    return extents;
}

test_operand test_operand_make(const test_extents *extents, test_placement placement,
                               size_t distance)
{
    return make(extents, extents, 0, 0, placement, distance);
}

test_operand test_operand_make_part(const test_extents *extents, int64_t begin, int64_t end,
                                    test_placement placement, size_t distance)
{
    test_extents present = *extents;
    present.n_rows = end - begin;
    const size_t row = (size_t)extents->row_stride * extents->element_size;
    const size_t n_before = (size_t)begin * row;
    const size_t n_behind = (size_t)(extents->n_rows - end + 1) * row;
    return make(extents, &present, n_before, n_behind, placement, distance);
}

void test_operand_free(test_operand *operand)
{
    if (operand->n_bytes <= KEPT_BYTES_MAX && operand->map)
        keep(operand);
    else
        give_back(operand);
}

static size_t offset_of(const test_operand *operand, int64_t g, int64_t i)
{
    const int64_t at = g * operand->extents.group_stride + i * operand->extents.row_stride;
    return (size_t)at * operand->extents.element_size;
}

static void *row_of(const test_operand *operand, int64_t g, int64_t i)
{
    return (unsigned char *)operand->data + offset_of(operand, g, i);
}

static const void *sealed_row_of(const test_operand *operand, int64_t g, int64_t i)
{
    const ptrdiff_t start = (unsigned char *)operand->data - operand->pages;
    return operand->before + (start + (ptrdiff_t)offset_of(operand, g, i));
}

float *test_operand_f32(const test_operand *operand, int64_t g, int64_t i)
{
    return row_of(operand, g, i);
}

uint8_t *test_operand_u8(const test_operand *operand, int64_t g, int64_t i)
{
    return row_of(operand, g, i);
}

const float *test_operand_sealed_f32(const test_operand *operand, int64_t g, int64_t i)
{
    return sealed_row_of(operand, g, i);
}

const uint8_t *test_operand_sealed_u8(const test_operand *operand, int64_t g, int64_t i)
{
    return sealed_row_of(operand, g, i);
}

void test_operand_seal(test_operand *operand)
{
    memcpy(operand->before, operand->pages, operand->n_bytes);
}

void test_operand_accept(test_operand *operand, int64_t i0, int64_t i1)
{
    const test_extents *const e = &operand->extents;
    const ptrdiff_t start = (unsigned char *)operand->data - operand->pages;
    for (int64_t g = 0; g < e->n_groups; ++g)
        for (int64_t i = i0; i < i1; ++i)
            memcpy(operand->before + (start + (ptrdiff_t)offset_of(operand, g, i)),
                   row_of(operand, g, i), (size_t)e->n_columns * e->element_size);
}

bool test_operand_is_unchanged(const test_operand *operand, int64_t *at)
{
    if (memcmp(operand->pages, operand->before, operand->n_bytes) == 0)
        return true;
    size_t byte = 0;
    while (operand->pages[byte] == operand->before[byte])
        ++byte;
    *at = operand->pages + byte - (unsigned char *)operand->data;
    return false;
}

void test_operand_spoil(test_operand *operand, int64_t i0, int64_t i1)
{
    for (int64_t g = 0; g < operand->extents.n_groups; ++g)
        for (int64_t i = i0; i < i1; ++i)
            fill_canary(row_of(operand, g, i), (size_t)operand->extents.n_columns * sizeof(float),
                        sizeof(float));
}

bool test_operand_has_canary(const test_operand *operand, int64_t i0, int64_t i1)
{
    for (int64_t g = 0; g < operand->extents.n_groups; ++g)
        for (int64_t i = i0; i < i1; ++i) {
            const float *const row = test_operand_f32(operand, g, i);
            for (int64_t x = 0; x < operand->extents.n_columns; ++x)
                if (test_is_canary(row[x]))
                    return true;
        }
    return false;
}

bool test_is_canary(float value)
{
    uint32_t word;
    memcpy(&word, &value, sizeof word);
    return word == canary_word;
}
