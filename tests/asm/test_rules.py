# SPDX-License-Identifier: MIT
"""test_rules.py: each rule on hot loops passes what keeps it and finds what breaks it."""

import unittest

import listing
import rules
from hot_loop import Loop
from listing import snippet
from test_hot_loop import FOLDED


def broken(*objects) -> list[str]:
    return [
        finding.rule
        for finding in rules.judge({each.name: listing.loops(each) for each in objects})
    ]


def only(scanned, *functions):
    scanned.functions = [each for each in scanned.functions if each.name in functions]
    return scanned


def good(name: str, *changes, kernel: str):
    return only(snippet(name, *changes, kernel=kernel), "product", "polynomial")


def neon(fmas: int, rest: int, sums: int = 16, name: str = "fused_f32_neon", **more) -> Loop:
    return Loop(
        name,
        "score",
        0,
        instructions=fmas + rest,
        fmas=fmas,
        lanes=4 * fmas,
        sums=sums,
        fmas_on_sums=fmas,
        jumps=1,
        **more,
    )


class OnLoops(unittest.TestCase):
    def test_good_kernels(self):
        for name in listing.SNIPPETS[:2]:
            self.assertEqual(broken(good(name, kernel="fused_f32_avx2")), [], name)

    def test_stack(self):
        changes = {
            "x86_gcc": ("vmovups 0x40(%rsi),%zmm0", "vmovups 0x40(%rsp),%zmm0"),
            "x86_clang": ("vmovups\t(%r11), %ymm9", "vmovups\t(%rsp), %ymm9"),
            "aarch64_gcc": ("ldr\ts6, [x0, x3, lsl #2]", "ldr\tq6, [sp, #16]"),
        }
        for name, change in changes.items():
            self.assertEqual(broken(good(name, change, kernel="softmax_f32_any")), ["stack"], name)

    def test_stack_in_what_the_compiler_did_with_an_array(self):
        for name in listing.SNIPPETS:
            scanned = only(snippet(name, kernel="exp_f32_any"), "product_in_memory")
            self.assertLessEqual({"stack"}, set(broken(scanned)), name)

    def test_calls(self):
        for name in listing.SNIPPETS:
            scanned = only(snippet(name, kernel="exp_f32_any"), "product_with_call")
            self.assertIn("calls", broken(scanned), name)

    def test_rereads(self):
        self.assertEqual(broken(listing.x86(FOLDED, kernel="qk_f32_avx2")), ["rereads"])

    def test_rereads_in_a_smaller_loop(self):
        smaller = FOLDED.replace("vfmadd231ps -0x20(%rcx),%ymm0,%ymm1", "nop")
        scanned = listing.x86(smaller, kernel="exp_f32_avx2")
        self.assertEqual(listing.loops(scanned)[0].rereads, 6)
        self.assertEqual(broken(scanned), [])

    def test_kernels_by_sleef_call_it(self):
        scanned = only(
            snippet("x86_gcc", kernel="additive_f32_avx512_sleef"), "product_with_call"
        )
        self.assertEqual(broken(scanned), [])

    def test_autovec_kernels_may_do_as_they_like(self):
        scanned = snippet("x86_gcc", kernel="fused_f32_avx512_autovec")
        self.assertEqual(broken(scanned), [])


class OnKernels(unittest.TestCase):
    def test_no_product(self):
        for op in ("fused", "qk", "av", "linear"):
            scanned = only(snippet("x86_gcc", kernel=f"{op}_f32_avx512"), "polynomial")
            self.assertEqual(broken(scanned), ["product"])
        scanned = only(snippet("x86_gcc", kernel="softmax_f32_avx512"), "polynomial")
        self.assertEqual(broken(scanned), [])

    def test_a_product_with_seven_fmas_is_none(self):
        change = "vfmadd231ps %zmm0,%zmm2,%zmm10", "vmulps %zmm0,%zmm2,%zmm10"
        self.assertEqual(broken(good("x86_gcc", change, kernel="fused_f32_avx512")), ["product"])

    def test_share_of_fmas_for_neon(self):
        autovec = {"fused_f32_neon_autovec": [neon(4, 9, name="fused_f32_neon_autovec")]}
        for rest, expected in ((21, []), (22, ["share"])):
            kernels = {"fused_f32_neon": [neon(64, rest), neon(32, 4)], **autovec}
            self.assertEqual([each.rule for each in rules.judge(kernels)], expected)
        decode = {"fused_f32_neon_decode": [neon(64, 22, name="fused_f32_neon_decode")], **autovec}
        self.assertEqual(rules.judge(decode), [])

    def test_share_of_the_disassembly(self):
        autovec = snippet("aarch64_gcc", kernel="fused_f32_neon_autovec")
        self.assertIn("share", broken(good("aarch64_gcc", kernel="fused_f32_neon"), autovec))

    def test_cheaper_than_autovec_for_neon(self):
        # Per lane: 13 / 16 and 22 / 16 in the autovec kernels.
        autovec = {
            "av_f32_neon_autovec": [
                neon(4, 9, name="av_f32_neon_autovec"),
                neon(4, 18, name="av_f32_neon_autovec"),
                neon(4, 0, name="av_f32_neon_autovec", others=1),
            ]
        }
        for fmas, rest, sums, expected in (
            (16, 35, 16, []),
            (16, 36, 16, ["autovec"]),
            (16, 71, 4, []),
            (16, 72, 4, ["autovec"]),
        ):
            kernels = {"av_f32_neon": [neon(fmas, rest, sums, name="av_f32_neon")], **autovec}
            self.assertEqual([each.rule for each in rules.judge(kernels)], expected, (rest, sums))

    def test_nothing_to_compare_with(self):
        self.assertEqual(
            [each.rule for each in rules.judge({"av_f32_neon": [neon(16, 1, name="av_f32_neon")]})],
            ["autovec"],
        )


if __name__ == "__main__":
    unittest.main()
