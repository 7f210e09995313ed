/* SPDX-License-Identifier: MIT
 *
 * sysfile.c: readers of sysfile.h. */
#include "bench/environment/sysfile.h"

#include <stdlib.h>
#include <string.h>

FILE *sattn_sysfile_open(const char *root, const char *path)
{
    char name[SATTN_SYSFILE_PATH_SIZE];
    if (snprintf(name, sizeof name, "%s%s", root ? root : "", path) >= (int)sizeof name)
        return NULL;
    return fopen(name, "r");
}

bool sattn_sysfile_line(const char *root, const char *path, char *line, size_t size)
{
    FILE *const file = sattn_sysfile_open(root, path);
    if (!file)
        return false;
    const bool got = fgets(line, (int)size, file) != NULL;
    fclose(file);
    if (got)
        line[strcspn(line, "\r\n")] = '\0';
    return got;
}

bool sattn_sysfile_number(const char *root, const char *path, int64_t *number)
{
    char line[64];
    char *end;
    if (!sattn_sysfile_line(root, path, line, sizeof line))
        return false;
    *number = strtoll(line, &end, 10);
    return end != line;
}

int64_t sattn_sysfile_keyed(const char *root, const char *path, const char *key)
{
    FILE *const file = sattn_sysfile_open(root, path);
    if (!file)
        return -1;
    char name[64];
    long long value;
    int64_t found = -1;
    while (found < 0 && fscanf(file, "%63s %lld", name, &value) == 2)
        if (strcmp(name, key) == 0)
            found = value;
    fclose(file);
    return found;
}
