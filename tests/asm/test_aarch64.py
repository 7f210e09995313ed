# SPDX-License-Identifier: MIT
"""test_aarch64.py: each kind of instruction as both objdumps print it."""

import unittest

from aarch64 import decode
from operation import Flow, Memory


class Vectors(unittest.TestCase):
    def test_fma(self):
        for text, lanes in (
            ("fmla v17.4s, v1.4s, v6.s[0]", 4),
            ("fmls v0.2d, v1.2d, v2.2d", 2),
            ("fmla.4s v0, v1, v2[1]", 4),
            ("fmla s0, s1, v2.s[1]", 0),
            ("fmadd s0, s1, s2, s3", 0),
            ("fmul v0.4s, v1.4s, v2.4s", 0),
        ):
            self.assertEqual(decode(text).lanes, lanes, text)
        self.assertEqual(decode("fmla v17.4s, v1.4s, v6.s[0]").addend, "17")

    def test_loads(self):
        pair = decode("ldp q1, q0, [x1]")
        self.assertEqual((pair.vectors_written, pair.memory), (("1", "0"), Memory("x1")))
        self.assertEqual(decode("ld1 {v4.4s, v5.4s}, [x0], #32").vectors_written, ("4", "5"))
        self.assertEqual(decode("ldr q0, [sp, #64]").memory, Memory("sp", displacement=64))
        self.assertEqual(decode("ldr s6, [x0, w3, sxtw #2]").memory.registers, ("x0", "x3"))

    def test_stores_write_no_register(self):
        store = decode("stp q7, q16, [x2, #32]")
        self.assertEqual((store.is_store, store.vectors_written), (True, ()))

    def test_broadcasts_and_copies(self):
        self.assertTrue(decode("ld1r {v5.4s}, [x0]").is_broadcast)
        self.assertTrue(decode("dup v0.4s, w1").is_broadcast)
        self.assertEqual(decode("mov v21.16b, v2.16b").copied, "2")
        self.assertEqual(decode("mov v0.s[1], v2.s[0]").copied, "")

    def test_labels_are_no_vectors(self):
        self.assertFalse(decode("adrp x8, 0 <d8+0x10>").is_vector)
        self.assertFalse(decode("mov x0, #0x0").is_vector)


class Control(unittest.TestCase):
    def test_kinds(self):
        for text, flow, target in (
            ("b.ne 48 <product+0x48>", Flow.BRANCH, 0x48),
            ("cbz x0, 0xac <f+0xac>", Flow.BRANCH, 0xAC),
            ("tbnz w3, #3, 1a0 <f>", Flow.BRANCH, 0x1A0),
            ("b 20 <f>", Flow.JUMP, 0x20),
            ("bl 0 <memset>", Flow.CALL, None),
            ("blr x4", Flow.CALL, None),
            ("br x3", Flow.UNKNOWN, None),
            ("ret", Flow.END, None),
            ("bic x0, x1, x2", Flow.NEXT, None),
        ):
            operation = decode(text)
            self.assertEqual((operation.flow, operation.target), (flow, target), text)

    def test_prefetch(self):
        self.assertTrue(decode("prfm pldl1keep, [x0, #256]").is_prefetch)


class GeneralRegisters(unittest.TestCase):
    def test_written_under_full_names(self):
        for text, written in (
            ("mov w3, w4", ("x3",)),
            ("ldp x0, x1, [sp]", ("x0", "x1")),
            ("cmp x0, x1", ()),
            ("str x0, [sp]", ()),
            ("fmov w0, s1", ("x0",)),
        ):
            self.assertEqual(decode(text).written, written, text)

    def test_where_addresses_come_from(self):
        for text, pointers in (
            ("add x3, sp, #0x40", ("sp",)),
            ("add x3, x4, x5", ("x4", "x5")),
            ("add x3, x4, x5, lsl #2", ("x4",)),
            ("add x3, x4, w5, sxtw #2", ("x4",)),
            ("sub x3, x4, x5", ("x4",)),
            ("and x9, x8, #0xffffffffffffffc0", ("x8",)),
            ("csel x0, x1, x2, lt", ("x1", "x2")),
            ("mov w0, w1", ()),
            ("ldr x0, [sp]", ()),
        ):
            self.assertEqual(decode(text).pointers, pointers, text)

    def test_memory(self):
        self.assertEqual(decode("ldr q0, [x0, x1]").memory.pointers, ("x0", "x1"))
        self.assertEqual(decode("ldr q0, [x0, x1, lsl #4]").memory.pointers, ("x0",))


if __name__ == "__main__":
    unittest.main()
