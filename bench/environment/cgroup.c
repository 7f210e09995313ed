/* SPDX-License-Identifier: MIT
 *
 * cgroup.c: finds the group's directory in either version and walks up from it. */
#include "bench/environment/cgroup.h"

#include "bench/environment/sysfile.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { CONTROLLERS_SIZE = 256 };

static double quota_v2(const char *root, const char *directory)
{
    char path[SATTN_SYSFILE_PATH_SIZE];
    char line[64];
    long long quota, period;
    snprintf(path, sizeof path, "%s/cpu.max", directory);
    if (!sattn_sysfile_line(root, path, line, sizeof line))
        return -1;
    if (sscanf(line, "%lld %lld", &quota, &period) == 2 && quota > 0 && period > 0)
        return (double)quota / (double)period;
    return strncmp(line, "max", 3) == 0 ? (double)INFINITY : -1;
}

static double quota_v1(const char *root, const char *directory)
{
    char path[SATTN_SYSFILE_PATH_SIZE];
    int64_t quota, period;
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", directory);
    if (!sattn_sysfile_number(root, path, &quota))
        return -1;
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", directory);
    if (quota > 0 && sattn_sysfile_number(root, path, &period) && period > 0)
        return (double)quota / (double)period;
    return (double)INFINITY; /* -1 */
}

/* Goes from `group` below `mount` up to the mount itself: each level may hold a quota. In a
 * container the group's path may be one of the host that is not mounted; then only the top is
 * there. */
static void walk_groups(const char *root, const char *mount, const char *group, int version,
                        sattn_cgroup *cgroup)
{
    char directory[512];
    if (snprintf(directory, sizeof directory, "%s%s", mount, group) >= (int)sizeof directory)
        return;
    for (;;) {
        const double quota = version == 2 ? quota_v2(root, directory) : quota_v1(root, directory);
        char path[SATTN_SYSFILE_PATH_SIZE];
        snprintf(path, sizeof path, "%s%s/cpu.stat", root, directory);
        const int64_t throttled = sattn_sysfile_keyed("", path, "nr_throttled");
        if (quota >= 0 && cgroup->version == 0)
            cgroup->version = version;
        const bool tighter = quota >= 0 && quota < cgroup->quota;
        if (tighter) {
            cgroup->version = version;
            cgroup->quota = quota;
        }
        /* Throttling is counted where the quota is. */
        if (throttled >= 0 && strlen(path) < sizeof cgroup->stat_path &&
            (tighter || cgroup->stat_path[0] == '\0')) {
            cgroup->throttled_periods = throttled;
            memcpy(cgroup->stat_path, path, strlen(path) + 1);
        }
        char *const slash = strrchr(directory, '/');
        if (strlen(directory) <= strlen(mount) || slash == NULL)
            return;
        *slash = '\0';
    }
}

static bool has_controller(const char *controllers, const char *wanted)
{
    const size_t n = strlen(wanted);
    for (const char *at = controllers; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, wanted, n) == 0 && (at[n] == ',' || at[n] == '\0'))
            return true;
    }
    return false;
}

/* One line of /proc/self/cgroup, "id:controllers:path". */
static void read_group_line(const char *root, char *line, sattn_cgroup *cgroup)
{
    char *const first = strchr(line, ':');
    char *const second = first ? strchr(first + 1, ':') : NULL;
    if (second == NULL)
        return;
    *second = '\0';
    const char *const controllers = first + 1;
    const char *const group = strcmp(second + 1, "/") == 0 ? "" : second + 1;
    if (controllers[0] == '\0') {
        walk_groups(root, "/sys/fs/cgroup", group, 2, cgroup);
        walk_groups(root, "/sys/fs/cgroup/unified", group, 2, cgroup);
    } else if (has_controller(controllers, "cpu") && strlen(controllers) < CONTROLLERS_SIZE) {
        char mount[CONTROLLERS_SIZE + 32];
        snprintf(mount, sizeof mount, "/sys/fs/cgroup/%s", controllers);
        walk_groups(root, mount, group, 1, cgroup);
        if (strcmp(controllers, "cpu") != 0)
            walk_groups(root, "/sys/fs/cgroup/cpu", group, 1, cgroup);
    }
}

void sattn_cgroup_read(const char *root, sattn_cgroup *cgroup)
{
    *cgroup = (sattn_cgroup){.quota = (double)INFINITY, .throttled_periods = -1};
    root = root ? root : "";
    FILE *const file = sattn_sysfile_open(root, "/proc/self/cgroup");
    if (file == NULL)
        return;
    char line[SATTN_SYSFILE_PATH_SIZE];
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\r\n")] = '\0';
        read_group_line(root, line, cgroup);
    }
    fclose(file);
}

int64_t sattn_cgroup_throttled(const sattn_cgroup *cgroup)
{
    return cgroup->stat_path[0] ? sattn_sysfile_keyed("", cgroup->stat_path, "nr_throttled") : -1;
}
