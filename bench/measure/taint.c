/* SPDX-License-Identifier: MIT
 *
 * taint.c: counts and counters of taint.h. */
#include "bench/measure/taint.h"

#include "bench/environment/pin.h"
#include "bench/environment/sysfile.h"
#include "bench/measure/issue.h"

#include <stdio.h>
#include <string.h>

sattn_taint sattn_taint_none(void)
{
    return (sattn_taint){.switches = -1, .throttled = -1, .steal_ticks = -1, .shared = -1};
}

static void add_known(int64_t *total, int64_t more)
{
    *total = more < 0 ? -1 : (*total < 0 ? 0 : *total) + more;
}

bool sattn_taint_add_window(sattn_taint *taint, const sattn_window *done)
{
    const bool preempted = sattn_window_preempted(done);
    ++taint->windows;
    taint->tainted += preempted;
    add_known(&taint->switches, done->switches);
    return preempted;
}

bool sattn_taint_add_round(sattn_taint *taint, double width, bool is_tainted)
{
    if (!(width > 0))
        return is_tainted;
    const bool is_shared = sattn_issue_is_shared(width);
    add_known(&taint->shared, is_shared);
    taint->tainted += is_shared && !is_tainted;
    return is_tainted || is_shared;
}

void sattn_outside_begin(sattn_outside *outside)
{
    *outside = (sattn_outside){.cpu = sattn_affinity_only_cpu()};
    sattn_cgroup_read(NULL, &outside->cgroup);
    sattn_outside_moved(outside);
}

/* Difference to the last reading, and the reading kept; -1 where either is not known. */
static int64_t moved_by(int64_t *so_far, int64_t now)
{
    const int64_t by = now < 0 || *so_far < 0 ? -1 : now - *so_far;
    *so_far = now;
    return by;
}

bool sattn_outside_moved(sattn_outside *outside)
{
    outside->throttled =
        moved_by(&outside->throttled_so_far, sattn_cgroup_throttled(&outside->cgroup));
    outside->steal = moved_by(&outside->steal_so_far, sattn_steal_ticks(NULL, outside->cpu));
    return outside->throttled > 0 || outside->steal > 0;
}

void sattn_taint_add_outside(sattn_taint *taint, const sattn_outside *outside)
{
    add_known(&taint->throttled, outside->throttled);
    add_known(&taint->steal_ticks, outside->steal);
}

int64_t sattn_steal_ticks(const char *root, int cpu)
{
    char wanted[16] = "cpu";
    if (cpu >= 0)
        snprintf(wanted, sizeof wanted, "cpu%d", cpu);
    FILE *const file = sattn_sysfile_open(root, "/proc/stat");
    if (file == NULL)
        return -1;
    char line[512];
    int64_t found = -1;
    /* The lines of CPUs come first; columns: user nice system idle iowait irq softirq steal. */
    while (found < 0 && fgets(line, sizeof line, file) != NULL && strncmp(line, "cpu", 3) == 0) {
        char name[16];
        long long steal;
        if (sscanf(line, "%15s %*s %*s %*s %*s %*s %*s %*s %lld", name, &steal) == 2 &&
            strcmp(name, wanted) == 0)
            found = steal;
    }
    fclose(file);
    return found;
}
