/* SPDX-License-Identifier: MIT
 *
 * info_text.c: `simdattn info` for people. */
#include "bench/info/info.h"

#include "bench/table.h"

#include <math.h>
#include <stdlib.h>

static void print_size(FILE *file, const char *name, int64_t bytes)
{
    if (bytes <= 0)
        fprintf(file, "%s unknown", name);
    else if (bytes >= 1 << 20 && bytes % (1 << 20) == 0)
        fprintf(file, "%s %lld MiB", name, (long long)(bytes >> 20));
    else
        fprintf(file, "%s %lld KiB", name, (long long)(bytes >> 10));
}

static const char *on_off(sattn_known known)
{
    return known == SATTN_UNKNOWN ? "unknown" : known == SATTN_YES ? "on" : "off";
}

static const char *text_or(const char *text, const char *other)
{
    return text && *text ? text : other;
}

static void print_machine(const sattn_info *info, FILE *file)
{
    const sattn_environment *const e = &info->environment;
    char usable[256], blocked[256];
    sattn_features_print(info->cpu->usable, usable, sizeof usable);
    sattn_features_print(info->cpu->hardware & ~info->cpu->usable, blocked, sizeof blocked);
    fprintf(file, "CPU        %s, %s\n", e->cpu_model, e->build.arch);
    fprintf(file, "Features   %s\n", text_or(usable, "none that a kernel needs"));
    if (*blocked)
        fprintf(file, "           %s: in the CPU, but not enabled by the system\n", blocked);
    if (info->cpu->shuffles_take_fma_port)
        fputs("           512-bit shuffles take a port from multiply-adds\n", file);
    if (info->cpu->follows_rows)
        fputs("           prefetchers follow rows of memory\n", file);
    fputs("Caches     ", file);
    print_size(file, "L1d", e->caches.l1d_bytes);
    print_size(file, ", L2", e->caches.l2_bytes);
    print_size(file, ", L3", e->caches.l3_bytes);
    if (e->caches.line_bytes > 0)
        fprintf(file, ", lines of %lld bytes", (long long)e->caches.line_bytes);
    fprintf(file, "\nCPUs       %d online, %d allowed, ", e->cpus.online, e->cpus.affinity);
    if (isfinite(e->cpus.quota))
        fprintf(file, "quota of %.2f (cgroup version %d)", e->cpus.quota, e->cpus.cgroup_version);
    else
        fputs("no quota", file);
    fprintf(file, ": %d thread%s\n", e->cpus.threads, e->cpus.threads == 1 ? "" : "s");
}

static void print_system(const sattn_info *info, FILE *file)
{
    const sattn_environment *const e = &info->environment;
    fprintf(file, "System     %s, huge pages: %s\n", e->system, e->huge_pages);
    if (info->record->arch == SATTN_ARCH_X86_64) {
        char parts[256];
        sattn_info_xcr0(info->record->xcr0, parts, sizeof parts);
        fprintf(file, "OS state   XCR0 = 0x%llx saves %s\n", (unsigned long long)info->record->xcr0,
                text_or(parts, "nothing (OSXSAVE is off)"));
    } else if (info->record->arch == SATTN_ARCH_AARCH64) {
        if (info->record->hwcap_known)
            fprintf(file, "OS state   HWCAP = 0x%llx\n", (unsigned long long)info->record->hwcap);
        else
            fputs("OS state   HWCAP is not known: only what every AArch64 CPU has is used\n", file);
    }
    fprintf(file, "Floats     flush to zero: %s, denormals are zero: %s\n",
            on_off(e->flush_to_zero), on_off(e->denormals_are_zero));
    fprintf(file, "Build      simdattn %s, commit %.12s%s, %s, %s%s\n", e->build.library_version,
            e->build.commit, e->build.commit_dirty == SATTN_YES ? " with changes" : "",
            e->build.compiler, e->build.build_type, e->build.assertions ? " with assertions" : "");
    fprintf(file, "           kernels %s, SLEEF %s, OpenMP %s\n", e->build.kernel_hash,
            e->build.sleef_version, e->build.openmp);
}

static void print_overrides(const sattn_info *info, FILE *file)
{
    fputs("Overrides  ", file);
    bool any = false;
    for (int v = 0; v < SATTN_INFO_VARIABLES; ++v) {
        const char *const value = getenv(sattn_info_variables[v]);
        if (value && *value) {
            fprintf(file, "%s%s=%s", any ? ", " : "", sattn_info_variables[v], value);
            any = true;
        }
    }
    if (!any)
        fputs("none (SATTN_ISA, SATTN_KERNEL, SATTN_LOG and SATTN_PROFILE are not set)", file);
    fputc('\n', file);
    if (*info->overrides_error)
        fprintf(file, "           not legal: %s\n", info->overrides_error);
}

static void print_profile(const sattn_info *info, FILE *file)
{
    const sattn_explain_profile *const p = &info->profile;
    char text[SATTN_EXPLAIN_PROFILE_TEXT];
    sattn_explain_profile_tell(p, text);
    fprintf(file, "Profile    %s\n", text);
    for (size_t d = 0; d < p->n_differences; ++d)
        fprintf(file, "           %s: there %s, here %s\n",
                sattn_identity_name(p->differences[d].field), p->differences[d].there,
                p->differences[d].here);
}

static void print_isas(const sattn_info *info, FILE *file)
{
    static const sattn_table_column columns[] = {
        {"ISA level", 9, false}, {"usable", 6, false}, {"why not", 0, false}};
    sattn_table table;
    sattn_table_init(&table, columns, 3);
    size_t count;
    const sattn_isa *const isas = sattn_isas(&count);
    for (size_t i = 0; i < count; ++i) {
        char why[SATTN_TABLE_CELL_MAX];
        sattn_info_why_level(&isas[i], sattn_info_allowed(info), why, sizeof why);
        sattn_table_add_row(&table);
        sattn_table_set(&table, 0, "%s", isas[i].name);
        sattn_table_set(&table, 1, "%s", *why ? "no" : "yes");
        sattn_table_set(&table, 2, "%s", why);
    }
    fputc('\n', file);
    sattn_table_print(&table, file, true, 0);
    sattn_table_free(&table);
}

static void print_kernels(const sattn_info *info, FILE *file, sattn_op op)
{
    static const sattn_table_column columns[] = {{"kernel", 0, false},
                                                 {"ranked for", 0, false},
                                                 {"chosen for", 0, false},
                                                 {"note", 0, false}};
    sattn_table table;
    sattn_table_init(&table, columns, 4);
    size_t count;
    const sattn_kernel *const rows = sattn_registry(&count);
    for (size_t r = 0; r < count; ++r) {
        if (rows[r].op != op)
            continue;
        char ranked[64], chosen[64], why[SATTN_TABLE_CELL_MAX];
        sattn_phases_print(rows[r].phases, ranked, sizeof ranked);
        sattn_phases_print(sattn_info_chosen_for(info, &rows[r]), chosen, sizeof chosen);
        sattn_info_why(rows[r].needs, sattn_info_allowed(info), why, sizeof why);
        sattn_table_add_row(&table);
        sattn_table_set(&table, 0, "%s", rows[r].name);
        const bool always = rows[r].phases == SATTN_PHASE_ALL;
        sattn_table_set(&table, 1, "%s", always ? "all phases" : text_or(ranked, "by name only"));
        const bool everywhere = sattn_info_chosen_for(info, &rows[r]) == SATTN_PHASE_ALL;
        sattn_table_set(&table, 2, "%s", everywhere ? "all phases" : chosen);
        if (*why)
            sattn_table_set(&table, 3, "not usable: %s", why);
        else
            sattn_table_set(&table, 3, "%s", rows[r].note);
    }
    fprintf(file, "\nop %s, in the order in which kernels are tried\n", sattn_op_name(op));
    sattn_table_print(&table, file, true, 0);
    sattn_table_free(&table);
}

void sattn_info_text(const sattn_info *info, FILE *file)
{
    print_machine(info, file);
    print_system(info, file);
    print_overrides(info, file);
    print_profile(info, file);
    print_isas(info, file);
    for (int op = 0; op < SATTN_OP_COUNT; ++op)
        print_kernels(info, file, (sattn_op)op);
}
