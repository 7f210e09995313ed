/* SPDX-License-Identifier: MIT
 *
 * info_json.c: `simdattn info --json`. "context" is that of a result file. */
#include "bench/info/info.h"

#include "bench/result.h"

#include <stdlib.h>

static json_t *feature_list(sattn_features set)
{
    json_t *const list = json_array();
    for (int bit = 0; bit < 64; ++bit) {
        const sattn_features feature = (sattn_features)1 << bit;
        const char *const name = set & feature ? sattn_feature_name(feature) : NULL;
        if (name)
            json_array_append_new(list, json_string(name));
    }
    return list;
}

static json_t *phase_list(unsigned phases)
{
    json_t *const list = json_array();
    for (unsigned phase = 1; phase <= SATTN_PHASE_ALL; phase <<= 1) {
        char name[32];
        sattn_phases_print(phases & phase, name, sizeof name);
        if (*name)
            json_array_append_new(list, json_string(name));
    }
    return list;
}

static json_t *cpu_object(const sattn_info *info)
{
    json_t *const cpu = json_object();
    sattn_result_text(cpu, "model", info->environment.cpu_model);
    sattn_result_text(cpu, "arch", info->environment.build.arch);
    if (info->record->arch == SATTN_ARCH_X86_64)
        sattn_result_text(cpu, "vendor", info->record->vendor);
    json_object_set_new(cpu, "hardware_features", feature_list(info->cpu->hardware));
    json_object_set_new(cpu, "usable_features", feature_list(info->cpu->usable));
    json_object_set_new(cpu, "shuffles_take_fma_port",
                        json_boolean(info->cpu->shuffles_take_fma_port));
    json_object_set_new(cpu, "follows_rows", json_boolean(info->cpu->follows_rows));
    json_object_set_new(cpu, "not_enabled_by_system",
                        feature_list(info->cpu->hardware & ~info->cpu->usable));
    return cpu;
}

static json_t *os_object(const sattn_info *info)
{
    json_t *const os = json_object();
    sattn_result_text(os, "system", info->environment.system);
    if (info->record->arch == SATTN_ARCH_X86_64) {
        char text[256];
        snprintf(text, sizeof text, "0x%llx", (unsigned long long)info->record->xcr0);
        sattn_result_text(os, "xcr0", text);
        sattn_info_xcr0(info->record->xcr0, text, sizeof text);
        sattn_result_text(os, "xcr0_saves", text);
        json_object_set_new(os, "saves_ymm", json_boolean(info->cpu->os_saves_ymm));
        json_object_set_new(os, "saves_zmm", json_boolean(info->cpu->os_saves_zmm));
    } else {
        char text[32];
        snprintf(text, sizeof text, "0x%llx", (unsigned long long)info->record->hwcap);
        sattn_result_text(os, "hwcap", info->record->hwcap_known ? text : NULL);
    }
    return os;
}

static json_t *isa_list(const sattn_info *info)
{
    json_t *const list = json_array();
    size_t count;
    const sattn_isa *const isas = sattn_isas(&count);
    for (size_t i = 0; i < count; ++i) {
        char why[256];
        sattn_info_why_level(&isas[i], sattn_info_allowed(info), why, sizeof why);
        json_t *const isa = json_object();
        sattn_result_text(isa, "name", isas[i].name);
        json_object_set_new(isa, "built", json_boolean(sattn_info_built(&isas[i])));
        json_object_set_new(isa, "usable", json_boolean(!*why));
        json_object_set_new(isa, "missing", feature_list(isas[i].needs & ~info->cpu->usable));
        sattn_result_text(isa, "why_not", *why ? why : NULL);
        json_array_append_new(list, isa);
    }
    return list;
}

static json_t *overrides_object(const sattn_info *info)
{
    json_t *const overrides = json_object();
    for (int v = 0; v < SATTN_INFO_VARIABLES; ++v)
        sattn_result_text(overrides, sattn_info_variables[v], getenv(sattn_info_variables[v]));
    sattn_result_text(overrides, "error", *info->overrides_error ? info->overrides_error : NULL);
    return overrides;
}

static json_t *kernel_list(const sattn_info *info)
{
    json_t *const list = json_array();
    size_t count;
    const sattn_kernel *const rows = sattn_registry(&count);
    for (size_t r = 0; r < count; ++r) {
        json_t *const kernel = json_object();
        sattn_result_text(kernel, "name", rows[r].name);
        sattn_result_text(kernel, "op", sattn_op_name(rows[r].op));
        sattn_result_text(kernel, "isa", sattn_isa_name(rows[r].needs));
        json_object_set_new(kernel, "needs", feature_list(rows[r].needs));
        char why[256];
        sattn_info_why(rows[r].needs, sattn_info_allowed(info), why, sizeof why);
        json_object_set_new(kernel, "usable", json_boolean(!*why));
        json_object_set_new(kernel, "missing", feature_list(rows[r].needs & ~info->cpu->usable));
        sattn_result_text(kernel, "why_not", *why ? why : NULL);
        json_object_set_new(kernel, "phases", phase_list(rows[r].phases));
        json_object_set_new(
            kernel, "rows_min",
            json_integer(rows[r].phases & SATTN_FOR_SEVERAL_ROWS ? SATTN_SEVERAL_ROWS_MIN : 1));
        json_object_set_new(kernel, "chosen_for",
                            phase_list(sattn_info_chosen_for(info, &rows[r])));
        sattn_result_text(kernel, "note", rows[r].note);
        json_array_append_new(list, kernel);
    }
    return list;
}

static json_t *chosen_object(const sattn_info *info)
{
    json_t *const ops = json_object();
    for (int op = 0; op < SATTN_OP_COUNT; ++op) {
        json_t *const phases = json_object();
        for (int p = 0; p < SATTN_INFO_PHASES; ++p) {
            char phase[32];
            sattn_phases_print((unsigned)info->phases[p], phase, sizeof phase);
            const sattn_kernel *const kernel = info->chosen[op][p];
            sattn_result_text(phases, phase, kernel ? kernel->name : NULL);
        }
        json_object_set_new(ops, sattn_op_name((sattn_op)op), phases);
    }
    return ops;
}

bool sattn_info_json(const sattn_info *info, FILE *file)
{
    json_t *const document = sattn_result_new(&info->environment);
    if (!document)
        return false;
    json_object_del(document, "benchmarks");
    json_object_set_new(document, "cpu", cpu_object(info));
    json_object_set_new(document, "os", os_object(info));
    json_object_set_new(document, "isa_levels", isa_list(info));
    json_object_set_new(document, "overrides", overrides_object(info));
    json_object_set_new(document, "profile", sattn_explain_profile_json(&info->profile));
    json_object_set_new(document, "kernels", kernel_list(info));
    json_object_set_new(document, "chosen", chosen_object(info));
    const bool good = sattn_result_print(document, file);
    json_decref(document);
    return good;
}
