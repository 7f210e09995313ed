/* SPDX-License-Identifier: MIT
 *
 * profile.c: see profile.h. Entries are kept sorted by class; a table of twice their number or
 * more, indexed by a hash of the class, says where those of a class begin. */
#include "dispatch/profile.h"

#include <stdlib.h>
#include <string.h>

struct sattn_profile {
    sattn_profile_entry *entries;
    size_t n_entries;
    uint64_t *keys;     /* of the entries' classes */
    uint32_t *slots;    /* [n_slots] 1 + the index of the first entry of a class; 0: empty */
    size_t n_slots;     /* a power of two */
    unsigned slot_bits; /* its logarithm */
    const char *path;
};

const sattn_profile *sattn_profile_none(void)
{
    static uint32_t no_slots[2];
    static const sattn_profile none = {.slots = no_slots, .n_slots = 2, .slot_bits = 1, .path = ""};
    return &none;
}

const char *sattn_kept_name(sattn_kept kept)
{
    static const char *const kept_names[SATTN_KEPT_COUNT] = {
        [SATTN_KEPT_FOR_NOTHING] = "",
        [SATTN_KEPT_IN_A_TIE] = "tie",
        [SATTN_KEPT_SLOWER_ELSEWHERE] = "slower elsewhere",
        [SATTN_KEPT_UNCONFIRMED] = "not confirmed elsewhere"};
    return kept_names[kept];
}

const char *sattn_decision_text(sattn_decision decision)
{
    switch (decision) {
    case SATTN_DECIDED_BY_NAME:
        return "a kernel is asked for by name";
    case SATTN_DECIDED_BY_PROFILE:
        return "the profile's choice";
    case SATTN_DECIDED_WITHOUT_PROFILE:
        return "the registry's order, since no profile is in use";
    case SATTN_DECIDED_WITHOUT_ENTRY:
        return "the registry's order, since the profile has nothing for such calls";
    case SATTN_DECIDED_UNFINISHED:
        return "the registry's order, since the profile's entry for such calls was not finished";
    case SATTN_DECIDED_DEFAULT:
        return "the registry's order, than which the profile has nothing faster for the class";
    case SATTN_DECIDED_MISSING:
        return "the registry's order, since the profile's choice needs features that are not "
               "usable";
    case SATTN_DECIDED_UNFIT:
        return "the registry's order, since the profile's choice is not what options ask for";
    case SATTN_DECIDED_BY_WEIGHTS:
        return "the weights are packed for it";
    }
    return "unknown";
}

/* Fibonacci hashing: the upper bits of a product with 2^64 / golden ratio. */
static size_t slot_of(uint64_t key, unsigned slot_bits)
{
    return (size_t)((key * 0x9e3779b97f4a7c15u) >> (64 - slot_bits));
}

/* The first entry of the class, or n_entries. */
static size_t first_of_class(const sattn_profile *profile, uint64_t key)
{
    for (size_t slot = slot_of(key, profile->slot_bits);;
         slot = (slot + 1) & (profile->n_slots - 1)) {
        const uint32_t at = profile->slots[slot];
        if (at == 0)
            return profile->n_entries;
        if (profile->keys[at - 1] == key)
            return at - 1;
    }
}

const sattn_profile_entry *sattn_profile_find(const sattn_profile *profile,
                                              const sattn_shape_class *shape_class,
                                              sattn_features usable)
{
    const uint64_t key = sattn_class_key(shape_class);
    const sattn_profile_entry *of_more = NULL;
    for (size_t i = first_of_class(profile, key); i < profile->n_entries && profile->keys[i] == key;
         ++i) {
        const sattn_profile_entry *const entry = &profile->entries[i];
        if (entry->usable == usable)
            return entry;
        const bool has_all = (usable & ~entry->usable) == 0;
        if (has_all && entry->taken < entry->n_tried &&
            (sattn_recipe_needs(&entry->tried[entry->taken].recipe) & ~usable) == 0)
            of_more = entry; /* the last, and so that of the fewest features */
    }
    return of_more;
}

static int by_class_and_features(const void *a, const void *b)
{
    const sattn_profile_entry *const x = a, *const y = b;
    const uint64_t key_x = sattn_class_key(&x->shape_class),
                   key_y = sattn_class_key(&y->shape_class);
    if (key_x != key_y)
        return key_x < key_y ? -1 : 1;
    return x->usable > y->usable ? -1 : x->usable < y->usable;
}

/* Where the entries of each class begin. */
static void index_classes(sattn_profile *profile)
{
    for (size_t i = 0; i < profile->n_entries; ++i)
        profile->keys[i] = sattn_class_key(&profile->entries[i].shape_class);
    for (size_t i = 0; i < profile->n_entries; ++i) {
        if (i > 0 && profile->keys[i] == profile->keys[i - 1])
            continue;
        size_t slot = slot_of(profile->keys[i], profile->slot_bits);
        while (profile->slots[slot])
            slot = (slot + 1) & (profile->n_slots - 1);
        profile->slots[slot] = (uint32_t)(i + 1);
    }
}

/* An entry with what it points to, in one allocation that begins with what was tried. */
static bool copy_entry(const sattn_profile_entry *from, sattn_profile_entry *to)
{
    const size_t tried_size = from->n_tried * sizeof from->tried[0];
    const char *const shape = from->shape ? from->shape : "";
    const size_t shape_size = strlen(shape) + 1;
    char *const memory = malloc(tried_size + shape_size);
    if (!memory)
        return false;
    *to = *from;
    if (tried_size > 0)
        memcpy(memory, from->tried, tried_size);
    memcpy(memory + tried_size, shape, shape_size);
    to->tried = (const sattn_tried *)(void *)memory;
    to->shape = memory + tried_size;
    return true;
}

sattn_profile *sattn_profile_make(const sattn_profile_entry *entries, size_t n_entries,
                                  const char *path)
{
    const size_t path_size = strlen(path) + 1;
    sattn_profile *const profile = calloc(1, sizeof *profile + path_size);
    if (!profile)
        return NULL;
    profile->path = memcpy(profile + 1, path, path_size);
    profile->slot_bits = 1;
    while (((size_t)1 << profile->slot_bits) < 2 * n_entries)
        ++profile->slot_bits;
    profile->n_slots = (size_t)1 << profile->slot_bits;
    profile->entries = calloc(n_entries + 1, sizeof profile->entries[0]);
    profile->keys = calloc(n_entries + 1, sizeof profile->keys[0]);
    profile->slots = calloc(profile->n_slots, sizeof profile->slots[0]);
    bool is_made = profile->entries && profile->keys && profile->slots && n_entries < UINT32_MAX;
    for (size_t i = 0; is_made && i < n_entries; ++i) {
        is_made = copy_entry(&entries[i], &profile->entries[i]);
        profile->n_entries += is_made;
    }
    if (!is_made) {
        sattn_profile_destroy(profile);
        return NULL;
    }
    qsort(profile->entries, n_entries, sizeof profile->entries[0], by_class_and_features);
    index_classes(profile);
    return profile;
}

void sattn_profile_destroy(sattn_profile *profile)
{
    if (!profile)
        return;
    sattn_profile_entry *const entries = profile->entries;
    const size_t n_entries = entries ? profile->n_entries : 0;
    for (size_t i = 0; i < n_entries; ++i)
        free((void *)(uintptr_t)entries[i].tried);
    free(entries);
    free(profile->keys);
    free(profile->slots);
    free(profile);
}

const sattn_profile_entry *sattn_profile_entries(const sattn_profile *profile, size_t *n_entries)
{
    *n_entries = profile->n_entries;
    return profile->entries;
}

const char *sattn_profile_path(const sattn_profile *profile)
{
    return profile->path;
}
