/* SPDX-License-Identifier: MIT
 *
 * test_dispatch.c: the probe's decisions and the choice of a kernel, on records made by hand; the
 * overlap of strided tensors against a count of bytes. */
#include "dispatch/cpu.h"
#include "dispatch/error.h"
#include "dispatch/override.h"
#include "dispatch/region.h"
#include "dispatch/registry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const uint32_t FMA = 1u << 12, OSXSAVE = 1u << 27, AVX = 1u << 28, F16C = 1u << 29;
static const uint32_t LEAF1_ALL = 1u << 12 | 1u << 27 | 1u << 28 | 1u << 29;
static const uint32_t AVX2 = 1u << 5, AVX512F = 1u << 16, AVX512DQ = 1u << 17;
static const uint32_t AVX512CD = 1u << 28, AVX512BW = 1u << 30, AVX512VL = 1u << 31;

typedef struct fake_cpu {
    uint32_t max_leaf, leaf1_ecx, leaf7_ebx;
    uint64_t xcr0;
} fake_cpu;

static const fake_cpu *fake;

static void fake_cpuid(uint32_t leaf, uint32_t subleaf, uint32_t r[4])
{
    memset(r, 0, 4 * sizeof r[0]);
    assert_int_equal(subleaf, 0);
    if (leaf == 0)
        r[0] = fake->max_leaf;
    else if (leaf == 1)
        r[2] = fake->leaf1_ecx;
    else if (leaf == 7)
        r[1] = fake->leaf7_ebx;
    else if (leaf < 0x80000000u)
        fail_msg("cpuid leaf %u read, beyond the reported maximum", leaf);
}

static uint64_t fake_xgetbv(void)
{
    /* Without OSXSAVE the instruction does not exist (D02). */
    assert_true(fake->leaf1_ecx & OSXSAVE);
    return fake->xcr0;
}

static bool no_hwcap(uint64_t *bits)
{
    *bits = 0;
    return false;
}

static sattn_cpu decode_x86(const fake_cpu *cpu)
{
    const sattn_cpu_reader reader = {fake_cpuid, fake_xgetbv, no_hwcap};
    sattn_cpu_record record;
    fake = cpu;
    sattn_cpu_read(SATTN_ARCH_X86_64, &reader, &record);
    return sattn_cpu_decode(&record);
}

/* D01 to D04 and D07: which level each machine gets. */
static void test_x86_levels(void **state)
{
    (void)state;
    const uint32_t avx512 = AVX2 | AVX512F | AVX512DQ | AVX512BW | AVX512VL;
    const struct {
        const char *what;
        fake_cpu cpu;
        sattn_features level;
    } cases[] = {
        {"AVX-512, all saved", {7, LEAF1_ALL, avx512, 0xe7}, SATTN_ISA_AVX512},
        {"AVX-512, the system saves ymm only", {7, LEAF1_ALL, avx512, 0x7}, SATTN_ISA_AVX2},
        {"AVX-512, the system saves xmm only", {7, LEAF1_ALL, avx512, 0x3}, SATTN_ISA_SCALAR},
        {"opmask not saved", {7, LEAF1_ALL, avx512, 0xc7}, SATTN_ISA_AVX2},
        {"upper zmm not saved", {7, LEAF1_ALL, avx512, 0x67}, SATTN_ISA_AVX2},
        {"no OSXSAVE", {7, FMA | AVX | F16C, avx512, 0xe7}, SATTN_ISA_SCALAR},
        {"F and CD only", {7, LEAF1_ALL, AVX2 | AVX512F | AVX512CD, 0xe7}, SATTN_ISA_AVX2},
        {"AVX-512 without VL", {7, LEAF1_ALL, avx512 & ~AVX512VL, 0xe7}, SATTN_ISA_AVX2},
        {"AVX-512 without BW", {7, LEAF1_ALL, avx512 & ~AVX512BW, 0xe7}, SATTN_ISA_AVX2},
        {"AVX-512 without DQ", {7, LEAF1_ALL, avx512 & ~AVX512DQ, 0xe7}, SATTN_ISA_AVX2},
        {"AVX-512 without AVX2", {7, LEAF1_ALL, avx512 & ~AVX2, 0xe7}, SATTN_ISA_SCALAR},
        {"AVX2 without FMA", {7, LEAF1_ALL & ~FMA, AVX2, 0x7}, SATTN_ISA_SCALAR},
        {"FMA without AVX2", {7, LEAF1_ALL, 0, 0x7}, SATTN_ISA_SCALAR},
        {"AVX2 without F16C", {7, LEAF1_ALL & ~F16C, AVX2, 0x7}, SATTN_ISA_SCALAR},
        {"no leaf 7", {6, LEAF1_ALL, avx512, 0xe7}, SATTN_ISA_SCALAR},
        {"no leaf 1", {0, LEAF1_ALL, avx512, 0xe7}, SATTN_ISA_SCALAR},
    };
    const sattn_features levels[] = {SATTN_ISA_AVX2, SATTN_ISA_AVX512};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        const sattn_cpu cpu = decode_x86(&cases[i].cpu);
        for (size_t l = 0; l < 2; ++l) {
            const bool expected = (levels[l] & ~cases[i].level) == 0;
            if (((levels[l] & ~cpu.usable) == 0) != expected)
                fail_msg("%s: level %zu is %s", cases[i].what, l, expected ? "refused" : "granted");
        }
        assert_int_equal(cpu.usable & ~cpu.hardware, 0);
    }
}

/* Which CPUs lose a port for multiply-adds to shuffles, and which follow rows of memory, is told by
 * their vendor. */
static void test_facts_of_vendors(void **state)
{
    (void)state;
    const struct {
        sattn_arch arch;
        const char *vendor;
        bool has_avx512, is_so;
    } cpus[] = {{SATTN_ARCH_X86_64, "GenuineIntel", true, true},
                {SATTN_ARCH_X86_64, "GenuineIntel", false, false},
                {SATTN_ARCH_X86_64, "AuthenticAMD", true, false},
                {SATTN_ARCH_X86_64, "", true, false},
                {SATTN_ARCH_AARCH64, "GenuineIntel", true, false}};
    for (size_t i = 0; i < sizeof cpus / sizeof cpus[0]; ++i) {
        sattn_cpu_record record = {.arch = cpus[i].arch,
                                   .leaf7_ebx = cpus[i].has_avx512 ? AVX512F : 0};
        snprintf(record.vendor, sizeof record.vendor, "%s", cpus[i].vendor);
        const sattn_cpu cpu = sattn_cpu_decode(&record);
        assert_int_equal(cpu.shuffles_take_fma_port, cpus[i].is_so);
        assert_int_equal(cpu.follows_rows, cpus[i].is_so);
    }
}

/* D12: NEON only from bits that the system reports. */
static void test_arm_levels(void **state)
{
    (void)state;
    sattn_cpu_record record = {.arch = SATTN_ARCH_AARCH64, .hwcap_known = true, .hwcap = 0x3};
    assert_true(sattn_cpu_decode(&record).usable == SATTN_FEATURE_NEON);
    record.hwcap = ~(uint64_t)0x2; /* every bit but ASIMD */
    assert_true(sattn_cpu_decode(&record).usable == 0);
    record = (sattn_cpu_record){.arch = SATTN_ARCH_AARCH64, .hwcap_known = false, .hwcap = ~0ull};
    assert_true(sattn_cpu_decode(&record).usable == 0);
    record.arch = SATTN_ARCH_OTHER;
    assert_true(sattn_cpu_decode(&record).usable == 0);
}

/* Table of every subset of the features that any row asks for. */
static sattn_features all_needs(void)
{
    size_t count;
    const sattn_kernel *const rows = sattn_registry(&count);
    sattn_features all = 0;
    for (size_t i = 0; i < count; ++i)
        all |= rows[i].needs;
    return all;
}

static bool is_ranked(const sattn_kernel *row, const sattn_selection *selection)
{
    return (row->phases & selection->phase) &&
           (selection->is_several || !(row->phases & SATTN_FOR_SEVERAL_ROWS));
}

static void check_choice(const sattn_kernel *rows, size_t count, const sattn_selection *selection)
{
    const sattn_kernel *const chosen = sattn_select(rows, count, selection);
    assert_non_null(chosen);
    assert_true(chosen->op == selection->op);
    assert_true((chosen->needs & ~selection->usable) == 0);
    assert_true(is_ranked(chosen, selection));
    for (const sattn_kernel *row = rows; row < chosen; ++row)
        assert_true(row->op != selection->op || (row->needs & ~selection->usable) != 0 ||
                    !is_ranked(row, selection));
}

static void test_choice_over_all_feature_sets(void **state)
{
    (void)state;
    size_t count;
    const sattn_kernel *const rows = sattn_registry(&count);
    const sattn_features all = all_needs();
    sattn_features usable = 0;
    do { /* every subset of `all`, in the order of a masked counter */
        for (int op = 0; op < SATTN_OP_COUNT; ++op)
            for (unsigned phase = 1; phase < SATTN_PHASE_ALL; phase <<= 1) {
                sattn_selection selection = {
                    .op = (sattn_op)op, .phase = (sattn_phase)phase, .usable = usable};
                check_choice(rows, count, &selection);
                selection.is_several = true;
                check_choice(rows, count, &selection);
            }
        usable = (usable - all) & all;
    } while (usable != 0);
}

static void test_each_missing_bit_rejects(void **state)
{
    (void)state;
    size_t count;
    const sattn_kernel *const rows = sattn_registry(&count);
    for (size_t i = 0; i < count; ++i)
        for (int bit = 0; bit < 64; ++bit) {
            const sattn_features one = (sattn_features)1 << bit;
            const sattn_selection selection = {.op = rows[i].op,
                                               .phase = SATTN_PHASE_PREFILL,
                                               .usable = ~one,
                                               .forced = rows[i].name};
            const sattn_verdict verdict = sattn_judge(&rows[i], &selection);
            assert_int_equal(verdict,
                             rows[i].needs & one ? SATTN_VERDICT_MISSING : SATTN_VERDICT_CHOSEN);
        }
}

static void test_rows_are_sound(void **state)
{
    (void)state;
    size_t count;
    const sattn_kernel *const rows = sattn_registry(&count);
    for (int op = 0; op < SATTN_OP_COUNT; ++op) {
        bool has_scalar = false;
        for (size_t i = 0; i < count; ++i)
            has_scalar |= rows[i].op == (sattn_op)op && rows[i].needs == SATTN_ISA_SCALAR &&
                          rows[i].phases == SATTN_PHASE_ALL;
        assert_true(has_scalar);
    }
    for (size_t i = 0; i < count; ++i) {
        assert_ptr_equal(sattn_kernel_by_name(rows[i].name), &rows[i]); /* names are unique */
        assert_true(rows[i].tile_rows >= 1 && rows[i].tile_rows <= SATTN_TILE_QUERIES_MAX);
        assert_true(rows[i].tile_keys >= 1 && rows[i].tile_keys <= SATTN_TILE_KEYS_MAX);
        assert_true(rows[i].tile_d >= 1);
        for (int bit = 0; bit < 64; ++bit)
            if (rows[i].needs >> bit & 1)
                assert_non_null(sattn_feature_name((sattn_features)1 << bit));
    }
}

static void test_phase_of(void **state)
{
    (void)state;
    assert_int_equal(sattn_phase_of(1, 1), SATTN_PHASE_DECODE);
    assert_int_equal(sattn_phase_of(SATTN_FEW_ROWS, 1), SATTN_PHASE_DECODE);
    assert_int_equal(sattn_phase_of(SATTN_FEW_ROWS + 1, 1), SATTN_PHASE_PREFILL);
    assert_int_equal(sattn_phase_of(1, 2), SATTN_PHASE_FEW_QUERY);
    assert_int_equal(sattn_phase_of(4, SATTN_FEW_ROWS / 4), SATTN_PHASE_FEW_QUERY);
    assert_int_equal(sattn_phase_of(4, SATTN_FEW_ROWS / 4 + 1), SATTN_PHASE_PREFILL);
    assert_int_equal(sattn_phase_of(INT64_MAX, INT64_MAX), SATTN_PHASE_PREFILL);
}

/* Of several rows are calls of few rows, from five on, on CPUs that tell them apart. */
static void test_several_rows(void **state)
{
    (void)state;
    const sattn_cpu intel = {.shuffles_take_fma_port = true}, other = {0};
    for (int64_t n_group = 1; n_group <= SATTN_FEW_ROWS; ++n_group)
        for (int64_t n_q = 1; n_group * n_q <= SATTN_FEW_ROWS; ++n_q) {
            const sattn_phase phase = sattn_phase_of(n_group, n_q);
            assert_int_equal(sattn_are_several(&intel, phase, n_group, n_q), n_group * n_q > 4);
            assert_false(sattn_are_several(&other, phase, n_group, n_q));
            assert_false(sattn_are_several(&intel, SATTN_PHASE_PREFILL, n_group, n_q));
        }
    assert_false(sattn_are_several(&intel, SATTN_PHASE_PREFILL, INT64_MAX, INT64_MAX));
}

/* A row for several rows is the first for them, and no other call's unless it is asked for. */
static void test_choice_for_several_rows(void **state)
{
    (void)state;
    const unsigned few = SATTN_PHASE_FEW_QUERY | SATTN_PHASE_DECODE;
    const sattn_kernel rows[] = {{.name = "several", .phases = few | SATTN_FOR_SEVERAL_ROWS},
                                 {.name = "any", .phases = few}};
    for (unsigned phase = SATTN_PHASE_FEW_QUERY; phase < SATTN_PHASE_ALL; phase <<= 1) {
        sattn_selection selection = {.phase = (sattn_phase)phase, .is_several = true};
        assert_ptr_equal(sattn_select(rows, 2, &selection), &rows[0]);
        selection.is_several = false;
        assert_ptr_equal(sattn_select(rows, 2, &selection), &rows[1]);
        selection.forced = rows[0].name;
        assert_ptr_equal(sattn_select(rows, 2, &selection), &rows[0]);
    }
    char phases[64];
    sattn_phases_print(rows[0].phases, phases, sizeof phases);
    assert_string_equal(phases, "few-query decode of 5+ rows");
    sattn_phases_print(rows[1].phases, phases, sizeof phases);
    assert_string_equal(phases, "few-query decode");
}

/* D05, D06: a cap or name that is not legal is an error that lists what is. */
static void test_isa_names(void **state)
{
    (void)state;
    const char *const wrong[] = {"AVX512", "avx-512", "avx51", "auto", "auto ", " scalar", "avx2 "};
    sattn_overrides overrides = {0};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i) {
        assert_int_equal(sattn_override_isa(&overrides, "SATTN_ISA", wrong[i], 0),
                         SATTN_ERR_KERNEL);
        assert_non_null(strstr(sattn_last_error(), "SATTN_ISA"));
        assert_non_null(strstr(sattn_last_error(), wrong[i]));
        assert_non_null(strstr(sattn_last_error(), "usable here: scalar"));
    }
    assert_int_equal(sattn_override_isa(&overrides, "SATTN_ISA", "", ~0ull), SATTN_OK);
    assert_null(overrides.isa);
    assert_int_equal(sattn_override_isa(&overrides, "SATTN_ISA", "scalar", ~0ull), SATTN_OK);
    assert_true(overrides.usable == SATTN_ISA_SCALAR);
}

static void test_isa_beyond_the_cpu(void **state)
{
    (void)state;
    size_t count;
    const sattn_isa *const isas = sattn_isas(&count);
    sattn_overrides overrides = {0};
    for (size_t i = 0; i < count; ++i) {
        assert_int_equal(sattn_override_isa(&overrides, "SATTN_ISA", isas[i].name, isas[i].needs),
                         SATTN_OK);
        assert_true(overrides.usable == isas[i].needs);
        for (int bit = 0; bit < 64; ++bit) {
            const sattn_features one = (sattn_features)1 << bit;
            if (!(isas[i].needs & one))
                continue;
            assert_int_equal(
                sattn_override_isa(&overrides, "SATTN_ISA", isas[i].name, isas[i].needs & ~one),
                SATTN_ERR_KERNEL);
            assert_non_null(strstr(sattn_last_error(), sattn_feature_name(one)));
        }
    }
}

static void test_kernel_names(void **state)
{
    (void)state;
    size_t count;
    const sattn_kernel *const rows = sattn_registry(&count);
    sattn_overrides overrides = {.usable = ~0ull};
    char two[256];
    for (size_t i = 0; i < count; ++i) {
        assert_int_equal(sattn_override_kernels(&overrides, "SATTN_KERNEL", rows[i].name),
                         SATTN_OK);
        assert_ptr_equal(overrides.forced[rows[i].op], &rows[i]);
        overrides.usable = 0;
        const sattn_status status =
            sattn_override_kernels(&overrides, "SATTN_KERNEL", rows[i].name);
        assert_int_equal(status, rows[i].needs ? SATTN_ERR_KERNEL : SATTN_OK);
        overrides.usable = ~0ull;
    }
    const char *const wrong[] = {"sattn_fused",
                                 "fused",
                                 " ",
                                 ",",
                                 "sattn_fused_f32_scalar,",
                                 "sattn_fused_f32_scalar, sattn_fused_f32_scalar"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i)
        assert_int_equal(sattn_override_kernels(&overrides, "SATTN_KERNEL", wrong[i]),
                         SATTN_ERR_KERNEL);
    snprintf(two, sizeof two, "%s,%s", rows[0].name, rows[0].name);
    assert_int_equal(sattn_override_kernels(&overrides, "SATTN_KERNEL", two), SATTN_ERR_KERNEL);
    assert_int_equal(sattn_override_kernels(&overrides, "SATTN_KERNEL", ""), SATTN_OK);
    assert_null(overrides.forced[rows[0].op]);
}

enum { MEMORY = 512 };

/* Marks the region's bytes; true if one is marked twice. */
static bool mark_bytes(const sattn_region *r, unsigned char marks[MEMORY])
{
    bool twice = false;
    memset(marks, 0, MEMORY);
    for (int64_t at = 0; at < r->extent[0] * r->extent[1] * r->extent[2]; ++at) {
        const int64_t index[] = {at / (r->extent[1] * r->extent[2]),
                                 at / r->extent[2] % r->extent[1], at % r->extent[2]};
        int64_t first = (int64_t)r->base;
        for (int axis = 0; axis < SATTN_REGION_AXES; ++axis)
            first += r->extent[axis] > 1 ? index[axis] * r->step[axis] : 0;
        for (int64_t byte = first; byte < first + r->run; ++byte)
            twice |= ++marks[byte] > 1;
    }
    return twice;
}

static sattn_region random_region(uint32_t *state)
{
    const uint32_t limits[] = {5, 5, 5, 25, 25, 25, 9, 60}; /* extents, steps, run, base */
    int64_t values[8];
    for (int i = 0; i < 8; ++i) {
        *state = *state * 1664525u + 1013904223u;
        values[i] = (*state >> 8) % limits[i];
    }
    sattn_region r = {.base = (uintptr_t)values[7], .run = values[6]};
    for (int axis = 0; axis < SATTN_REGION_AXES; ++axis) {
        r.extent[axis] = values[axis];
        r.step[axis] = values[axis] == 1 ? INT64_MAX : values[3 + axis]; /* ignored */
    }
    return r;
}

static void test_regions(void **state)
{
    (void)state;
    unsigned char a_marks[MEMORY], b_marks[MEMORY];
    uint32_t random = 1;
    int meetings[2] = {0}, overlaps[2] = {0};
    for (int trial = 0; trial < 20000; ++trial) {
        const sattn_region a = random_region(&random), b = random_region(&random);
        const bool a_twice = mark_bytes(&a, a_marks);
        bool meet = false;
        mark_bytes(&b, b_marks);
        for (int byte = 0; byte < MEMORY; ++byte)
            meet |= a_marks[byte] && b_marks[byte];
        assert_int_equal(sattn_regions_meet(&a, &b), meet ? SATTN_MEET : SATTN_APART);
        assert_int_equal(sattn_region_meets_itself(&a), a_twice ? SATTN_MEET : SATTN_APART);
        ++meetings[meet];
        ++overlaps[a_twice];
    }
    assert_true(meetings[0] > 1000 && meetings[1] > 1000 && overlaps[0] > 1000 &&
                overlaps[1] > 1000);
}

/* This machine's own answer hangs together, whatever it is (run under emulated CPUs as well). */
static void test_this_machine(void **state)
{
    (void)state;
    const sattn_cpu *const cpu = sattn_cpu_this();
    const sattn_cpu again = sattn_cpu_decode(sattn_cpu_this_record());
    assert_true(cpu->usable == again.usable && cpu->hardware == again.hardware);
    assert_true((cpu->usable & ~cpu->hardware) == 0);
    float q[3] = {1, 2, 3}, k[3] = {0}, v[3] = {4, 5, 6}, o[3];
    const sattn_attention_args args = {.batch = 1,
                                       .n_q_heads = 1,
                                       .n_kv_heads = 1,
                                       .n_q = 1,
                                       .n_k = 1,
                                       .d = 3,
                                       .d_v = 3,
                                       .q = {.data = q},
                                       .k = {.data = k},
                                       .v = {.data = v},
                                       .o = {.data = o}};
    assert_int_equal(sattn_attention(&args, NULL), SATTN_OK);
    assert_memory_equal(o, v, sizeof v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_x86_levels),
        cmocka_unit_test(test_facts_of_vendors),
        cmocka_unit_test(test_arm_levels),
        cmocka_unit_test(test_choice_over_all_feature_sets),
        cmocka_unit_test(test_each_missing_bit_rejects),
        cmocka_unit_test(test_rows_are_sound),
        cmocka_unit_test(test_phase_of),
        cmocka_unit_test(test_several_rows),
        cmocka_unit_test(test_choice_for_several_rows),
        cmocka_unit_test(test_isa_names),
        cmocka_unit_test(test_isa_beyond_the_cpu),
        cmocka_unit_test(test_kernel_names),
        cmocka_unit_test(test_regions),
        cmocka_unit_test(test_this_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
