# SPDX-License-Identifier: MIT
"""test_scans.py: each rule on objects passes what keeps it and finds what breaks it."""

import unittest

import disassembly
import listing
import scans

PLAIN = "mov (%rdi),%eax\nmulss %xmm0,%xmm1\nadd $0x1,%rax\nret"


def findings(rule: str, *objects) -> list[str]:
    return scans.scan(rule, list(objects))[1]


class Refused(unittest.TestCase):
    def refuse(self, rule: str, kernel: str, keeps: list[str], breaks: list[str], arch=listing.x86):
        for line in keeps:
            self.assertEqual(findings(rule, arch(f"{line}\nret", kernel)), [], line)
        for line in breaks:
            self.assertEqual(len(findings(rule, arch(f"nop\n{line}\nret", kernel))), 1, line)

    def test_baseline(self):
        self.refuse(
            "baseline",
            "plan",
            [PLAIN, "andnps %xmm0,%xmm1", "tzcnt %eax,%ecx", "movaps %xmm0,%xmm15", "verr %ax"][:4],
            [
                "vaddss %xmm0,%xmm1,%xmm2",
                "vmovups (%rdi),%ymm0",
                "vmovups (%rdi),%zmm0",
                "kmovw %eax,%k1",
                "shlx %eax,%ecx,%edx",
                "shlxl %eax, %ecx, %edx",
                "andn %eax,%ecx,%edx",
                "rorxq $2, %rax, %rcx",
                "popcnt %eax,%eax",
                "vzeroupper",
            ],
        )

    def test_avx2(self):
        self.refuse(
            "avx2",
            "fused_f32_avx2",
            [
                "vfmadd231ps (%rdi),%ymm0,%ymm15",
                "vmovdqu (%rdi),%ymm1",
                "vbroadcastf128 (%rdi),%ymm1",
                "vpermps %ymm0,%ymm1,%ymm2",
                "vroundps $0x8,%ymm0,%ymm0",
                "vperm2f128 $1,%ymm0,%ymm0,%ymm1",
                "vpermilps $1,%ymm0,%ymm1",
                "vpmaxsd %ymm0,%ymm1,%ymm2",
                "vblendvps %ymm0,%ymm1,%ymm2,%ymm3",
            ],
            [
                "vmovups (%rdi),%zmm0",
                "vmovups (%rdi),%ymm16",
                "vaddps %xmm31,%xmm0,%xmm0",
                "vmovups (%rdi),%ymm0{%k1}{z}",
                "vaddps (%rdi){1to8},%ymm0,%ymm1",
                "vpternlogd $0xff,%ymm0,%ymm0,%ymm0",
                "vmovdqu32 (%rdi),%ymm1",
                "vrndscaleps $8,%ymm0,%ymm0",
                "vextractf32x4 $1,%ymm0,%xmm1",
                "vpermt2ps %ymm0,%ymm1,%ymm2",
                "vpminsq %ymm0,%ymm1,%ymm2",
            ],
        )

    def test_unfused(self):
        self.refuse(
            "unfused",
            "ref_f64",
            [PLAIN, "mulsd %xmm0,%xmm1"],
            ["vfmadd231sd %xmm0,%xmm1,%xmm2", "vfnmsub132ps %ymm0,%ymm1,%ymm2"],
        )
        self.refuse(
            "unfused",
            "ref_f64",
            ["fmul d0, d1, d2", "fadd v0.2d, v1.2d, v2.2d"],
            ["fmadd d0, d1, d2, d3", "fnmsub s0, s1, s2, s3", "fmla v0.4s, v1.4s, v2.4s"],
            listing.aarch64,
        )

    def test_scalar(self):
        self.refuse(
            "scalar",
            "qk_f32_scalar",
            [PLAIN, "xorps %xmm0,%xmm0", "addss %xmm0,%xmm1"],
            [
                "addps %xmm0,%xmm1",
                "vmulpd %ymm0,%ymm1,%ymm2",
                "vfmadd231ps %ymm0,%ymm1,%ymm2",
                "divps %xmm0,%xmm1",
            ],
        )
        self.refuse(
            "scalar",
            "qk_f32_scalar",
            ["fmadd s0, s1, s2, s3", "fadd s0, s1, s2", "movi v0.4s, #0x0"],
            ["fadd v0.4s, v1.4s, v2.4s", "fmla v0.2d, v1.2d, v2.2d"],
            listing.aarch64,
        )

    def test_scalar_is_about_scalar_kernels_alone(self):
        self.assertEqual(
            scans.scan("scalar", [listing.x86("addps %xmm0,%xmm1", "qk_f32_avx2")]), (0, [])
        )


class Demanded(unittest.TestCase):
    def test_autovec(self):
        kernel = "av_f32_avx2_autovec"
        packed = {"add": "vaddps %ymm0,%ymm1,%ymm2", "mul": "vmulps %ymm0,%ymm1,%ymm2"}
        self.assertEqual(findings("autovec", listing.x86("\n".join(packed.values()), kernel)), [])
        self.assertEqual(
            findings("autovec", listing.x86("vfmadd231ps %ymm0,%ymm1,%ymm2", kernel)), []
        )
        for kind in packed:
            rest = "\n".join(text for name, text in packed.items() if name != kind)
            found = findings("autovec", listing.x86(f"{rest}\nvmulss %xmm0,%xmm1,%xmm2", kernel))
            self.assertEqual(len(found), 1)
            self.assertIn(f"no packed {kind}", found[0])
        neon = listing.aarch64("fadd v0.4s, v1.4s, v2.4s\nfmul s0, s1, s2", "av_f32_neon_autovec")
        self.assertEqual(len(findings("autovec", neon)), 1)

    def test_an_object_without_code_is_not_counted(self):
        for rule in scans.RULES:
            kernel = {"scalar": "qk_f32_scalar", "autovec": "qk_f32_avx2_autovec"}.get(rule, "plan")
            empty = listing.x86("", kernel)
            self.assertEqual(scans.scan(rule, [empty])[0], 0, rule)
            self.assertEqual(scans.scan(rule, [empty, listing.x86("nop", kernel)])[0], 1, rule)


class Symbols(unittest.TestCase):
    TABLE = (
        "{0}.c.o:     file format elf64-x86-64\n\nSYMBOL TABLE:\n"
        "0000000000000000 l    df *ABS*\t0000000000000000 {0}.c\n"
        "0000000000000000 l     F .text\t0000000000000010 local\n"
        "0000000000000000         *UND*\t0000000000000000 memset\n"
    )

    def scan(self, rule, *lines, file="qk_f32_avx2"):
        symbols = disassembly.parse_symbols("\n".join([self.TABLE.format(file), *lines]))
        return scans.scan_symbols(rule, symbols)

    def symbol(self, name, flags="g     F", visibility=".hidden "):
        return f"0000000000000010 {flags} .text\t0000000000000f4e {visibility}{name}"

    def test_one_function_named_like_its_file(self):
        for visibility in ("", ".hidden "):
            self.assertEqual(
                self.scan("symbols", self.symbol("sattn_qk_f32_avx2", visibility=visibility)),
                (1, []),
            )

    def test_what_breaks_it(self):
        own = self.symbol("sattn_qk_f32_avx2")
        for lines in (
            [],
            [self.symbol("sattn_qk_f32_avx512")],
            [own, self.symbol("sattn_helper")],
            [own, self.symbol("vec_exp", flags=" w    F")],
            [self.symbol("sattn_qk_f32_avx2", flags=" w    F")],
            [own, self.symbol("table", flags="g     O")],
            [self.symbol("sattn_qk_f32_avx2", flags="g     O")],
        ):
            self.assertEqual(len(self.scan("symbols", *lines)[1]), 1, lines)

    def test_exports(self):
        self.assertEqual(
            self.scan("exports", self.symbol("sattn_limit_fma"), file="fma_f32_avx2"), (1, [])
        )
        for lines in ([self.symbol("fma")], [self.symbol("sattn_a"), self.symbol("sattn_b")]):
            self.assertEqual(len(self.scan("exports", *lines)[1]), 1, lines)


if __name__ == "__main__":
    unittest.main()
