/* SPDX-License-Identifier: MIT
 *
 * visit.c: see visit.h. What a kernel leaves out or mixes up of a tile shows in its first or last
 * row, or else in the same rows of any tile: so edges of some tiles are looked at, and, where that
 * is asked for, whole tiles. A tile holds rows of all heads of a group in turn: row i of head g is
 * number i * n_group + g. */
#include "bench/verify/visit.h"

#include "bench/verify/inputs.h"

#include <stdlib.h>

enum {
    EDGES_MAX = 8, /* tile edges that a sample looks at, three rows each */
    LAST_TILES = 2 /* the last of which may be empty but for a row */
};

typedef struct walk {
    const sattn_attention_args *args;
    const sattn_verify_selection *selection;
    sattn_verify_visitor *visit;
    void *context;
    int64_t n_group, n_random;
    int64_t *rows; /* of one head, ascending */
    int64_t n_rows;
} walk;

static int compare_rows(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a;
    const int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t random_below(int64_t n, uint64_t seed, uint64_t stream, int64_t counter)
{
    return (int64_t)(sattn_random_bits(seed, stream, (uint64_t)counter) % (uint64_t)n);
}

static void add_row(walk *w, int64_t row)
{
    if (row >= 0 && row < w->args->n_q)
        w->rows[w->n_rows++] = row;
}

/* Rows of head g of n_group around the edges of tiles. */
static void add_edges(walk *w, int64_t n_group, int64_t g, uint64_t stream)
{
    const sattn_verify_selection *const s = w->selection;
    const int64_t tile = s->tile_queries;
    const int64_t last_edge = tile > 0 ? (w->args->n_q * n_group - 1) / tile : 0;
    for (int64_t e = 0; e < EDGES_MAX && e < last_edge; ++e) {
        int64_t edge = e + 1;
        if (last_edge > EDGES_MAX && e >= EDGES_MAX / 4)
            edge = e == EDGES_MAX - 1
                       ? last_edge
                       : 1 + random_below(last_edge, s->seed, stream, w->n_random + e);
        for (int64_t row = edge * tile - 1; row <= edge * tile + 1; ++row)
            if (row % n_group == g)
                add_row(w, row / n_group);
    }
}

/* What of a unit is compared whole. */
typedef enum tiles { NO_TILES = 0, FIRST_TILE = 1, LAST_ONES = 2 } tiles;

/* Rows of head g of a group that are in these tiles of its unit. */
static void add_tiles(walk *w, int64_t g, unsigned which)
{
    const int64_t tile = w->selection->tile_queries, all = w->args->n_q * w->n_group;
    const int64_t from = ((all - 1) / tile - (LAST_TILES - 1)) * tile;
    for (int64_t i = 0; which & FIRST_TILE && i * w->n_group + g < tile; ++i)
        add_row(w, i);
    for (int64_t i = from > 0 ? from / w->n_group : 0; which & LAST_ONES && i < w->args->n_q; ++i)
        if (i * w->n_group + g >= from)
            add_row(w, i);
}

/* The rows of a head: the first, the last, around edges of tiles, and random ones; each once. Where
 * tiles are compared whole, their edges and random rows are those of the unit. */
static void visit_head(walk *w, int64_t batch, int64_t head, unsigned whole, uint64_t stream)
{
    const int64_t n_group = whole ? w->n_group : 1, g = head % n_group;
    const int64_t n_random = (w->n_random - 1) / n_group + 1;
    w->n_rows = 0;
    add_row(w, 0);
    add_row(w, w->args->n_q - 1);
    add_edges(w, n_group, g, stream);
    if (whole)
        add_tiles(w, g, whole);
    for (int64_t r = 0; r < n_random; ++r)
        add_row(w, random_below(w->args->n_q, w->selection->seed, stream, r));
    qsort(w->rows, (size_t)w->n_rows, sizeof *w->rows, compare_rows);
    for (int64_t r = 0; r < w->n_rows; ++r)
        if (r == 0 || w->rows[r] != w->rows[r - 1])
            w->visit(w->context,
                     (sattn_verify_place){.batch = batch, .head = head, .row = w->rows[r]});
}

/* A few heads of all batch entries. */
static void visit_some(walk *w)
{
    const sattn_verify_selection *const s = w->selection;
    const int64_t n_heads = w->args->n_q_heads, n_pairs = w->args->batch * n_heads;
    const int64_t wanted = s->n_heads > 0 ? s->n_heads : 4;
    for (int64_t p = 0; p < wanted && p < n_pairs; ++p) {
        int64_t pair = p;
        if (p == wanted - 1)
            pair = n_pairs - 1;
        else if (p > 0 && wanted < n_pairs) /* one of each equal share, so none comes twice */
            pair = n_pairs * p / wanted +
                   random_below(n_pairs * (p + 1) / wanted - n_pairs * p / wanted, s->seed, 0, p);
        visit_head(w, pair / n_heads, pair % n_heads, NO_TILES, (uint64_t)p + 1);
    }
}

/* All heads of the first unit and of the last. What a kernel does to a unit does not depend on
 * which it is. */
static void visit_units(walk *w)
{
    const int64_t n_heads = w->args->n_q_heads, n_group = w->n_group;
    const bool is_one = w->args->batch == 1 && n_heads == n_group;
    for (int64_t g = 0; g < n_group; ++g)
        visit_head(w, 0, g, is_one ? FIRST_TILE | LAST_ONES : FIRST_TILE, 1);
    for (int64_t g = 0; g < n_group && !is_one; ++g)
        visit_head(w, w->args->batch - 1, n_heads - n_group + g, LAST_ONES, 2);
}

bool sattn_verify_visit(const sattn_attention_args *args, const sattn_verify_selection *selection,
                        sattn_verify_visitor *visit, void *context)
{
    const bool whole_tiles = selection->whole_tiles && selection->tile_queries > 0;
    const int64_t n_tiles = whole_tiles ? 1 + LAST_TILES : 0;
    walk w = {.args = args,
              .selection = selection,
              .visit = visit,
              .context = context,
              .n_group = args->n_q_heads / args->n_kv_heads,
              .n_random = selection->n_random > 0 ? selection->n_random : 32};
    const size_t most =
        (size_t)(w.n_random + 2 + 3 * EDGES_MAX + n_tiles * (selection->tile_queries + 1));
    w.rows = malloc(most * sizeof *w.rows);
    if (!w.rows)
        return false;
    if (whole_tiles)
        visit_units(&w);
    else
        visit_some(&w);
    free(w.rows);
    return true;
}
