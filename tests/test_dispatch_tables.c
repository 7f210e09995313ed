/* SPDX-License-Identifier: MIT
 *
 * test_dispatch_tables.c: machines that others met, as probe records: virtual machines and
 * translators that advertise part of a level, Arm systems that tell less or more than there is.
 * What is asked is the kernel that each gets in the end, for every op and phase. */
#include "dispatch/cpu.h"
#include "dispatch/override.h"
#include "dispatch/registry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum {
    SSE_42 = 1u << 20,
    FMA = 1u << 12,
    XSAVE = 1u << 26,
    OSXSAVE = 1u << 27,
    AVX = 1u << 28,
    F16C = 1u << 29,
    AVX2 = 1u << 5,
    AVX512F = 1u << 16,
    AVX512DQ = 1u << 17,
    AVX512_IFMA = 1u << 21,
    AVX512PF = 1u << 26,
    AVX512ER = 1u << 27,
    AVX512CD = 1u << 28,
    AVX512BW = 1u << 30,
};
#define HYPERVISOR (1u << 31) /* leaf 1 ecx */
#define AVX512VL   (1u << 31) /* leaf 7 ebx */
#define AVX512_SKX (AVX512F | AVX512DQ | AVX512CD | AVX512BW | AVX512VL)
#define LEAF1_V3   (SSE_42 | FMA | XSAVE | OSXSAVE | AVX | F16C)

typedef struct x86_machine {
    const char *what;
    uint32_t max_leaf, leaf1_ecx, leaf7_ebx;
    uint64_t xcr0;
    sattn_features level;
} x86_machine;

/* D01 to D04, D07. Believed are the advertised bits, and of these what the system saves. */
static const x86_machine x86_machines[] = {
    {"a Nehalem", 11, SSE_42, 0, 0, SATTN_ISA_SCALAR},
    {"a SandyBridge", 13, SSE_42 | XSAVE | OSXSAVE | AVX, 0, 0x7, SATTN_ISA_SCALAR},
    {"FMA without AVX2 (Piledriver)", 13, LEAF1_V3, 0, 0x7, SATTN_ISA_SCALAR},
    {"a Haswell", 13, LEAF1_V3, AVX2, 0x7, SATTN_ISA_AVX2},
    {"a Zen 3, with PKRU", 16, LEAF1_V3, AVX2, 0x207, SATTN_ISA_AVX2},
    {"a Knights Landing", 13, LEAF1_V3, AVX2 | AVX512F | AVX512CD | AVX512PF | AVX512ER, 0xe7,
     SATTN_ISA_AVX2},
    {"a Skylake-X: no VBMI", 22, LEAF1_V3, AVX2 | AVX512_SKX, 0x2e7, SATTN_ISA_AVX512},
    {"a Cannon Lake", 22, LEAF1_V3, AVX2 | AVX512_SKX | AVX512_IFMA, 0x2e7, SATTN_ISA_AVX512},
    {"a VM without AVX on an AVX-512 host", 22, SSE_42 | HYPERVISOR, 0, 0, SATTN_ISA_SCALAR},
    {"a VM: leaf 7 passed through, AVX hidden", 22, (LEAF1_V3 & ~AVX) | HYPERVISOR,
     AVX2 | AVX512_SKX, 0xe7, SATTN_ISA_SCALAR},
    {"a VM: AVX-512 bits, XCR0 of an AVX guest", 22, LEAF1_V3 | HYPERVISOR, AVX2 | AVX512_SKX, 0x7,
     SATTN_ISA_AVX2},
    {"a VM: AVX-512 bits, XCR0 of an SSE guest", 22, LEAF1_V3 | HYPERVISOR, AVX2 | AVX512_SKX, 0x3,
     SATTN_ISA_SCALAR},
    {"a VM without FMA", 22, (LEAF1_V3 & ~FMA) | HYPERVISOR, AVX2 | AVX512_SKX, 0xe7,
     SATTN_ISA_SCALAR},
    {"a VM without XSAVE", 22, (LEAF1_V3 & ~(XSAVE | OSXSAVE)) | HYPERVISOR, AVX2, 0,
     SATTN_ISA_SCALAR},
    {"a VM of leaf 4 at most", 4, LEAF1_V3 | HYPERVISOR, AVX2 | AVX512_SKX, 0xe7, SATTN_ISA_SCALAR},
    {"a system started without XSAVE", 22, LEAF1_V3 & ~OSXSAVE, AVX2 | AVX512_SKX, 0xe7,
     SATTN_ISA_SCALAR},
    {"a translator without AVX", 22, SSE_42, 0, 0, SATTN_ISA_SCALAR},
    {"a translator with FMA alone", 22, SSE_42 | FMA | XSAVE | OSXSAVE, 0, 0x3, SATTN_ISA_SCALAR},
    {"a translator with AVX2", 22, LEAF1_V3, AVX2, 0x7, SATTN_ISA_AVX2},
    {"a translator with AVX2, without F16C", 22, LEAF1_V3 & ~F16C, AVX2, 0x7, SATTN_ISA_SCALAR},
};

static const x86_machine *machine;
static int n_xgetbv;

static void cpuid_of_machine(uint32_t leaf, uint32_t subleaf, uint32_t r[4])
{
    (void)subleaf;
    memset(r, 0, 4 * sizeof r[0]);
    if (leaf == 0)
        r[0] = machine->max_leaf;
    else if (leaf == 1)
        r[2] = machine->leaf1_ecx;
    else if (leaf == 7)
        r[1] = machine->leaf7_ebx;
}

static uint64_t xgetbv_of_machine(void)
{
    ++n_xgetbv;
    return machine->xcr0;
}

static bool hwcap_never_asked(uint64_t *bits)
{
    (void)bits;
    fail_msg("hwcap is asked for on x86");
    return false;
}

/* The kernel of every op and phase needs no more than `usable`, and is of the highest level of the
 * table that has a row for them. */
static void check_choices(const char *what, sattn_features usable)
{
    size_t count;
    const sattn_kernel *const rows = sattn_registry(&count);
    for (int op = 0; op < SATTN_OP_COUNT; ++op)
        for (unsigned phase = 1; phase < SATTN_PHASE_ALL; phase <<= 1) {
            const sattn_selection selection = {
                .op = (sattn_op)op, .phase = (sattn_phase)phase, .usable = usable};
            const sattn_kernel *const chosen = sattn_select(rows, count, &selection);
            if (!chosen || (chosen->needs & ~usable)) {
                fail_msg("%s: op %s gets %s", what, sattn_op_name((sattn_op)op),
                         chosen ? chosen->name : "no kernel");
                return;
            }
            for (size_t i = 0; i < count; ++i) /* none of a level that includes the chosen one's */
                if (sattn_judge(&rows[i], &selection) == SATTN_VERDICT_CHOSEN &&
                    (chosen->needs & ~rows[i].needs) == 0 && rows[i].needs != chosen->needs)
                    fail_msg("%s: %s is chosen before %s", what, chosen->name, rows[i].name);
        }
}

static void test_x86_machines(void **state)
{
    (void)state;
    const sattn_cpu_reader reader = {cpuid_of_machine, xgetbv_of_machine, hwcap_never_asked};
    const sattn_features levels[] = {SATTN_ISA_SCALAR, SATTN_ISA_AVX2, SATTN_ISA_AVX512};
    for (size_t i = 0; i < sizeof x86_machines / sizeof x86_machines[0]; ++i) {
        machine = &x86_machines[i];
        n_xgetbv = 0;
        sattn_cpu_record record;
        sattn_cpu_read(SATTN_ARCH_X86_64, &reader, &record);
        assert_int_equal(n_xgetbv, machine->leaf1_ecx & OSXSAVE ? 1 : 0);
        const sattn_cpu cpu = sattn_cpu_decode(&record);
        for (size_t l = 0; l < sizeof levels / sizeof levels[0]; ++l)
            if (((levels[l] & ~cpu.usable) == 0) != ((levels[l] & ~machine->level) == 0))
                fail_msg("%s: level %zu is wrong", machine->what, l);
        check_choices(machine->what, cpu.usable);
    }
}

static bool hwcap_tells;
static uint64_t hwcap_bits;

static void cpuid_never_asked(uint32_t leaf, uint32_t subleaf, uint32_t r[4])
{
    (void)subleaf;
    (void)r;
    fail_msg("cpuid leaf %u is asked for on Arm", leaf);
}

static uint64_t xgetbv_never_asked(void)
{
    fail_msg("XCR0 is asked for on Arm");
    return 0;
}

static bool hwcap_of_machine(uint64_t *bits)
{
    *bits = hwcap_bits;
    return hwcap_tells;
}

/* D12: NEON is used where the system reports it; other bits, true or not, change nothing, and
 * neither does anything on an architecture that has no level. */
static void test_arm_machines(void **state)
{
    (void)state;
    const uint64_t fp = 1u << 0, asimd = 1u << 1, aes = 1u << 3, half = 1u << 9 | 1u << 10;
    const uint64_t sve = 1u << 22, crc = 1u << 7;
    const struct {
        const char *what;
        uint64_t hwcap;
        sattn_arch arch;
        bool tells, neon;
    } rows[] = {
        {"a Cortex-A53: no half precision", fp | asimd | aes | crc, SATTN_ARCH_AARCH64, true, true},
        {"a Neoverse N1", fp | asimd | aes | crc | half, SATTN_ARCH_AARCH64, true, true},
        {"SVE reported", fp | asimd | sve, SATTN_ARCH_AARCH64, true, true},
        {"SVE reported, and no NEON", fp | sve, SATTN_ARCH_AARCH64, true, false},
        {"floats without NEON", fp, SATTN_ARCH_AARCH64, true, false},
        {"NEON without floats", asimd, SATTN_ARCH_AARCH64, true, false},
        {"nothing reported", 0, SATTN_ARCH_AARCH64, true, false},
        {"the system does not tell", ~(uint64_t)0, SATTN_ARCH_AARCH64, false, false},
        {"another architecture", ~(uint64_t)0, SATTN_ARCH_OTHER, true, false},
    };
    const sattn_cpu_reader reader = {cpuid_never_asked, xgetbv_never_asked, hwcap_of_machine};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        hwcap_tells = rows[i].tells;
        hwcap_bits = rows[i].hwcap;
        sattn_cpu_record record;
        sattn_cpu_read(rows[i].arch, &reader, &record);
        if (rows[i].arch == SATTN_ARCH_AARCH64)
            assert_int_equal(record.hwcap_known, rows[i].tells);
        const sattn_cpu cpu = sattn_cpu_decode(&record);
        if (cpu.usable != (rows[i].neon ? SATTN_ISA_NEON : SATTN_ISA_SCALAR))
            fail_msg("%s: the level is wrong", rows[i].what);
        check_choices(rows[i].what, cpu.usable);
    }
}

/* D05 on every machine of the table: a level asked for is granted where the machine has all of it,
 * and else refused. */
static void test_requests(void **state)
{
    (void)state;
    size_t count;
    const sattn_isa *const isas = sattn_isas(&count);
    for (size_t m = 0; m < sizeof x86_machines / sizeof x86_machines[0]; ++m)
        for (size_t i = 0; i < count; ++i) {
            sattn_overrides overrides = {0};
            const sattn_status status =
                sattn_override_isa(&overrides, "SATTN_ISA", isas[i].name, x86_machines[m].level);
            const bool has_all = (isas[i].needs & ~x86_machines[m].level) == 0;
            assert_int_equal(status, has_all ? SATTN_OK : SATTN_ERR_KERNEL);
            if (has_all)
                check_choices(x86_machines[m].what, overrides.usable);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_x86_machines),
        cmocka_unit_test(test_arm_machines),
        cmocka_unit_test(test_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
