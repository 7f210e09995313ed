# SPDX-License-Identifier: MIT
"""test_x86.py: each kind of instruction as both objdumps print it."""

import unittest

from operation import Flow, Memory
from x86 import decode


class Vectors(unittest.TestCase):
    def test_fma_by_order_of_operands(self):
        for order, addend, factors in (
            ("231", "3", ("1", "2")),
            ("132", "2", ("1", "3")),
            ("213", "1", ("2", "3")),
        ):
            fma = decode(f"vfmadd{order}ps %zmm1,%zmm2,%zmm3")
            self.assertEqual((fma.lanes, fma.addend, fma.factors), (16, addend, factors))
            self.assertEqual(fma.vectors_written, ("3",))

    def test_lanes(self):
        for text, lanes in (
            ("vfnmadd231ps %ymm1,%ymm2,%ymm3", 8),
            ("vfmsub132pd %zmm1,%zmm2,%zmm3", 8),
            ("vfmadd231ps %xmm1,%xmm2,%xmm3", 4),
            ("vfmadd231ss %xmm1,%xmm2,%xmm3", 0),
            ("vmulps %ymm1,%ymm2,%ymm3", 0),
        ):
            self.assertEqual(decode(text).lanes, lanes, text)

    def test_operand_in_memory(self):
        fma = decode("vfmadd231ps -0x40(%rsi,%rdx,4),%zmm0,%zmm3")
        self.assertEqual(fma.memory, Memory("rsi", "rdx", "4", -64, "z"))
        self.assertEqual((fma.is_store, fma.is_broadcast), (False, False))
        self.assertEqual(decode("vfmadd231ps -64(%rsi,%rdx,4), %zmm0, %zmm3").memory, fma.memory)

    def test_addend_in_memory(self):
        fma = decode("vfmadd213ps (%rax),%zmm3,%zmm0")
        self.assertEqual((fma.lanes, fma.addend, fma.factors), (16, "", ("3", "0")))

    def test_embedded_broadcast(self):
        fma = decode("vfmadd231ps 0x4(%rcx){1to16},%zmm2,%zmm0")
        self.assertEqual(fma.memory, Memory("rcx", displacement=4, width="element"))
        self.assertTrue(fma.is_broadcast)

    def test_masks(self):
        for text in ("vmovups (%rdi),%zmm0{%k1}{z}", "vmovups (%rdi), %zmm0 {%k1} {z}"):
            load = decode(text)
            self.assertEqual((load.vectors_written, load.is_store), (("0",), False))
        for text in ("vmovups %zmm0,(%rdi){%k1}", "vmovups %zmm0, (%rdi) {%k1}"):
            store = decode(text)
            self.assertEqual((store.vectors_written, store.is_store), ((), True))

    def test_broadcasts_and_copies(self):
        self.assertTrue(decode("vbroadcastss %xmm0,%zmm0").is_broadcast)
        self.assertTrue(decode("vpbroadcastd (%rdi),%ymm0").is_broadcast)
        self.assertEqual(decode("vmovaps %zmm14,%zmm13").copied, "14")
        self.assertEqual(decode("vmovaps 0x40(%rsp),%zmm1").copied, "")

    def test_comparison_writes_no_vector(self):
        self.assertEqual(decode("vucomiss %xmm0,%xmm1").vectors_written, ())


class Control(unittest.TestCase):
    def test_kinds(self):
        for text, flow, target in (
            ("jne 68 <product+0x68>", Flow.BRANCH, 0x68),
            ("jle 0xef <product+0xef>", Flow.BRANCH, 0xEF),
            ("jmp 3b5 <f+0x55>", Flow.JUMP, 0x3B5),
            ("notrack jmp *%rax", Flow.UNKNOWN, None),
            ("jmp *0x0(,%rax,8)", Flow.UNKNOWN, None),
            ("call *%r8", Flow.CALL, None),
            ("callq 0x130 <f>", Flow.CALL, None),
            ("ret", Flow.END, None),
            ("bnd ret", Flow.END, None),
            ("data16 cs nopw 0x0(%rax,%rax,1)", Flow.NEXT, None),
            ("js 10 <f>", Flow.BRANCH, 0x10),
        ):
            operation = decode(text)
            self.assertEqual((operation.flow, operation.target), (flow, target), text)

    def test_prefetch(self):
        prefetch = decode("prefetcht0 0x400(%rdi,%rax,4)")
        self.assertTrue(prefetch.is_prefetch)
        self.assertFalse(prefetch.is_vector)

    def test_prefix_is_not_taken_from_a_name(self):
        self.assertTrue(decode("vbroadcastss -0x4(%r12),%zmm3").is_broadcast)


class GeneralRegisters(unittest.TestCase):
    def test_written_under_full_names(self):
        for text, written in (
            ("mov %edi,%ecx", ("rcx",)),
            ("movzbl (%rdi),%r8d", ("r8",)),
            ("cmp %rax,%rdx", ()),
            ("mov %rax,(%rdi)", ()),
            ("mulq %rcx", ("rax", "rdx")),
            ("push %rbp", ()),
            ("vmovss %xmm0,(%rdi)", ()),
            ("vmovd %xmm0,%eax", ("rax",)),
        ):
            self.assertEqual(decode(text).written, written, text)

    def test_where_addresses_come_from(self):
        for text, pointers in (
            ("lea 0x40(%rsp,%rcx,1),%rdi", ("rsp", "rcx")),
            ("leaq 64(%rsp,%rcx), %rdi", ("rsp", "rcx")),
            ("lea 0x40(%rsp,%rcx,4),%rdi", ("rsp",)),
            ("mov %rsp,%rbp", ("rsp",)),
            ("cmovl %rsi,%rdi", ("rsi", "rdi")),
            ("add %rsi,%rdi", ("rsi", "rdi")),
            ("sub %rsi,%rdi", ("rdi",)),
            ("and $0xffffffffffffffc0,%rsp", ("rsp",)),
            ("mov %esi,%edi", ()),
            ("movslq %esi,%rdi", ()),
            ("mov 0x38(%rsp),%rdi", ()),
            ("imul %rsp,%rdi", ()),
        ):
            self.assertEqual(decode(text).pointers, pointers, text)

    def test_constants_that_are_added(self):
        for text, shifted in (
            ("sub $0xffffffffffffff80,%rsi", ("rsi", 128)),
            ("addq $-64, %rsi", ("rsi", -64)),
            ("mov %rax,%rcx", ("rax", 0)),
            ("lea 0x10(%rax),%rcx", ("rax", 16)),
            ("lea 0x10(%rax,%rdx,1),%rcx", None),
            ("add %rax,%rcx", None),
            ("add $0x8,%ecx", None),
            ("mov (%rax),%rcx", None),
            ("inc %rax", ("rax", 1)),
        ):
            self.assertEqual(decode(text).shifted, shifted, text)


if __name__ == "__main__":
    unittest.main()
