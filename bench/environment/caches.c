/* SPDX-License-Identifier: MIT
 *
 * caches.c: sysfs first. It describes what this CPU shares with its neighbours, where sysconf may
 * report the sum over the package. */
#define _GNU_SOURCE /* sysconf names of cache sizes */

#include "bench/environment/caches.h"

#include "bench/environment/sysfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_CACHES = 16, FILE_SIZE = 128 };

static const char *cache_file(int index, const char *name, char path[FILE_SIZE])
{
    snprintf(path, FILE_SIZE, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, name);
    return path;
}

static int64_t *size_of_level(sattn_caches *caches, int64_t level)
{
    switch (level) {
    case 1:
        return &caches->l1d_bytes;
    case 2:
        return &caches->l2_bytes;
    case 3:
        return &caches->l3_bytes;
    default:
        return NULL;
    }
}

static void read_sysfs(const char *root, sattn_caches *caches)
{
    for (int index = 0; index < MOST_CACHES; ++index) {
        char path[FILE_SIZE], type[32], size[32];
        int64_t level, line_bytes;
        if (!sattn_sysfile_line(root, cache_file(index, "type", path), type, sizeof type))
            return;
        if (strcmp(type, "Instruction") == 0 ||
            !sattn_sysfile_line(root, cache_file(index, "size", path), size, sizeof size) ||
            !sattn_sysfile_number(root, cache_file(index, "level", path), &level))
            continue;
        char *unit;
        int64_t bytes = strtoll(size, &unit, 10);
        bytes *= *unit == 'K' ? 1024 : *unit == 'M' ? 1024 * 1024 : 1;
        int64_t *const to = size_of_level(caches, level);
        if (to != NULL && bytes > 0)
            *to = bytes;
        cache_file(index, "coherency_line_size", path);
        if (sattn_sysfile_number(root, path, &line_bytes) && line_bytes > 0)
            caches->line_bytes = line_bytes;
    }
}

static void read_sysconf(sattn_caches *caches)
{
#if defined(_SC_LEVEL1_DCACHE_SIZE)
    const struct {
        int name;
        int64_t *to;
    } sizes[] = {
        {_SC_LEVEL1_DCACHE_SIZE, &caches->l1d_bytes},
        {_SC_LEVEL2_CACHE_SIZE, &caches->l2_bytes},
        {_SC_LEVEL3_CACHE_SIZE, &caches->l3_bytes},
        {_SC_LEVEL1_DCACHE_LINESIZE, &caches->line_bytes},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
        const long bytes = sysconf(sizes[i].name);
        if (*sizes[i].to == 0 && bytes > 0)
            *sizes[i].to = bytes;
    }
#else
    (void)caches;
#endif
}

void sattn_caches_read(const char *root, sattn_caches *caches)
{
    *caches = (sattn_caches){0};
    read_sysfs(root, caches);
    if (root == NULL || root[0] == '\0')
        read_sysconf(caches);
}

int64_t sattn_caches_last_level(const sattn_caches *caches)
{
    return caches->l3_bytes > 0 ? caches->l3_bytes : caches->l2_bytes;
}
