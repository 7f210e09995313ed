# SPDX-License-Identifier: MIT
"""test_hot_loop.py: counts, the stack, rereads and sums."""

import unittest

import listing

# One tile of two rows by two vectors, unrolled once: every vector of b is read from memory twice.
FOLDED = """
vbroadcastss (%r8,%rdx,4),%ymm0
vfmadd231ps (%rcx),%ymm0,%ymm4
sub $0xffffffffffffff80,%rcx
vfmadd231ps -0x60(%rcx),%ymm0,%ymm3
vbroadcastss (%rdi,%rdx,4),%ymm0
vfmadd231ps -0x80(%rcx),%ymm0,%ymm2
vfmadd231ps -0x60(%rcx),%ymm0,%ymm1
vbroadcastss 0x4(%r8,%rdx,4),%ymm0
vfmadd231ps -0x40(%rcx),%ymm0,%ymm4
vfmadd231ps -0x20(%rcx),%ymm0,%ymm3
vbroadcastss 0x4(%rdi,%rdx,4),%ymm0
add $0x2,%rdx
vfmadd231ps -0x40(%rcx),%ymm0,%ymm2
vfmadd231ps -0x20(%rcx),%ymm0,%ymm1
cmp %r9,%rdx
jne 0 <f>
ret
"""


def counts(loop):
    return (
        loop.instructions,
        loop.fmas,
        loop.sums,
        loop.loads,
        loop.broadcasts,
        loop.stores,
        loop.prefetches,
        loop.memory_fmas,
        loop.rereads,
        loop.stack,
        loop.calls,
        loop.jumps,
    )


def one_loop(code: str, arch=listing.x86):
    loops = listing.loops(arch(code))
    assert len(loops) == 1, loops
    return loops[0]


class Snippets(unittest.TestCase):
    """Counted by hand, in what objdump prints of two compilers for two architectures."""

    def test_product(self):
        expected = {
            "x86_gcc": (18, 8, 8, 2, 4, 0, 0, 0, 0, 0, 0, 1),
            "x86_clang": (18, 8, 8, 2, 4, 0, 0, 0, 0, 0, 0, 1),
            "aarch64_gcc": (17, 8, 8, 4, 1, 0, 0, 0, 0, 0, 0, 1),
            "aarch64_clang": (18, 8, 8, 5, 0, 0, 0, 0, 0, 0, 0, 1),
        }
        for name in listing.SNIPPETS:
            loops = listing.loops(listing.snippet(name), "product")
            self.assertEqual([counts(loop) for loop in loops], [expected[name]], name)
            self.assertTrue(loops[0].is_product)

    def test_lanes(self):
        for name, lanes in zip(listing.SNIPPETS, (128, 64, 32, 32)):
            self.assertEqual(listing.loops(listing.snippet(name), "product")[0].lanes, lanes)

    def test_polynomial_has_no_sums(self):
        for name in listing.SNIPPETS:
            (loop,) = listing.loops(listing.snippet(name), "polynomial")
            self.assertEqual((loop.fmas, loop.sums, loop.stores), (8, 0, 1), name)
            self.assertFalse(loop.is_product)

    def test_sums_in_memory_are_on_the_stack(self):
        # gcc takes the address of the array from memset, clang from the frame.
        for name in listing.SNIPPETS:
            for loop in listing.loops(listing.snippet(name), "product_in_memory"):
                self.assertGreaterEqual(loop.stack, 2, name)

    def test_call_in_a_cold_block(self):
        for name in listing.SNIPPETS:
            (loop,) = listing.loops(listing.snippet(name), "product_with_call")
            self.assertEqual(loop.calls, 1, name)


class Stack(unittest.TestCase):
    def test_frame_pointer_counts_only_where_it_is_one(self):
        body = "vmovups -0x40(%rbp),%zmm1\nvfmadd231ps %zmm1,%zmm2,%zmm3\njne 1 <f>\nret"
        self.assertEqual(one_loop(f"mov %rsp,%rbp\n{body}").stack, 1)
        self.assertEqual(one_loop(f"mov %rdi,%rbp\n{body}").stack, 0)

    def test_scalar_access_does_not_count(self):
        self.assertEqual(
            one_loop("mov 0x8(%rsp),%rax\nvfmadd231ps %zmm1,%zmm2,%zmm3\njne 0 <f>").stack, 0
        )

    def test_address_that_takes_a_way_around(self):
        code = (
            "lea 0x40(%rsp),%rax\nadd %rcx,%rax\njmp 4 <f>\nret\n"
            "vfmadd231ps (%rax),%zmm2,%zmm3\njne 4 <f>"
        )
        self.assertEqual(one_loop(code).stack, 1)

    def test_behind_a_jump_table(self):
        loop = "vmovups (%rax),%zmm1\nvfmadd231ps %zmm1,%zmm2,%zmm3\njne 2 <f>\nret"
        self.assertEqual(one_loop(f"lea 0x8(%rsp),%rax\njmp *%rdx\n{loop}").stack, 1)
        self.assertEqual(one_loop(f"lea 0x8(%rsp),%rax\nret\n{loop}").stack, 0)

    def test_padding_behind_a_jump_leads_nowhere(self):
        loop = "vfmadd231ps (%rax),%zmm2,%zmm3\njne 6 <f>\nret"
        for padding, count in (("nopw 0x0(%rax,%rax,1)", 0), ("mov %rdx,%rcx", 1)):
            code = f"lea 0x8(%rsp),%rax\nje 4 <f>\njmp *%rdx\nret\nmov %rdi,%rax\njmp 6 <f>\n{loop}"
            code = code.replace("jmp 6 <f>", f"jmp 7 <f>\n{padding}").replace("jne 6", "jne 7")
            self.assertEqual(one_loop(code).stack, count)

    def test_a_scaled_index_is_no_address(self):
        loop = "vfmadd231ps (%rcx,%rax,{0}),%zmm2,%zmm3\njne 1 <f>\nret"
        for scale, count in ((1, 1), (4, 0)):
            self.assertEqual(one_loop("lea 0x8(%rsp),%rax\n" + loop.format(scale)).stack, count)

    def test_aarch64(self):
        code = "add x3, sp, #0x40\nldr q1, [x3, #16]\nfmla v0.4s, v1.4s, v2.4s\nb.ne 4 <f>\nret"
        self.assertEqual(one_loop(code, listing.aarch64).stack, 1)
        self.assertEqual(one_loop(code.replace("sp", "x1"), listing.aarch64).stack, 0)


class Rereads(unittest.TestCase):
    def test_folded_tile(self):
        loop = one_loop(FOLDED)
        self.assertEqual((loop.fmas, loop.sums, loop.memory_fmas, loop.rereads), (8, 4, 8, 8))

    def test_one_vector_that_is_loaded_and_read_again(self):
        change = "vfmadd231ps %zmm0,%zmm2,%zmm4", "vfmadd231ps -0x40(%rsi),%zmm2,%zmm4"
        (loop,) = listing.loops(listing.snippet("x86_gcc", change), "product")
        self.assertEqual((loop.memory_fmas, loop.rereads), (1, 1))
        change = "vfmadd231ps\t%ymm8, %ymm10, %ymm7", "vfmadd231ps\t-32(%r11), %ymm10, %ymm7"
        (loop,) = listing.loops(listing.snippet("x86_clang", change), "product")
        self.assertEqual((loop.memory_fmas, loop.rereads), (1, 1))

    def test_other_vectors_are_none(self):
        # In a tile of one vector, and in unrolled steps, each operand in memory is another.
        tile = "\n".join(f"vfmadd231ps {4 * i}(%rax){{1to16}},%zmm0,%zmm{i + 1}" for i in range(8))
        loop = one_loop(f"vmovups (%rcx),%zmm0\n{tile}\nadd $0x20,%rax\n{tile}\njne 0 <f>")
        self.assertEqual((loop.fmas, loop.memory_fmas, loop.rereads), (16, 16, 0))

    def test_unknown_change_of_the_address(self):
        code = FOLDED.replace("sub $0xffffffffffffff80,%rcx", "add %r10,%rcx").replace(
            "-0x80(%rcx)", "0x100(%rcx)"
        )
        self.assertEqual(
            one_loop(code).rereads, 6
        )  # all but the first, and what read the same as it

    def test_element_and_vector_at_one_address(self):
        loop = one_loop(
            "vbroadcastss (%rax),%ymm0\nvfmadd231ps (%rax),%ymm0,%ymm1\nadd $0x20,%rax\njne 0 <f>"
        )
        self.assertEqual(loop.rereads, 0)

    def test_constants_of_polynomials(self):
        polynomial = "vfmadd213ps 0x40(%rdi),%ymm0,%ymm1\nvfmadd213ps 0x40(%rdi),%ymm2,%ymm3\n"
        renew = "vmovups (%rsi),%ymm1\nvmovups 0x20(%rsi),%ymm3\n"
        self.assertEqual(one_loop(f"{renew}{polynomial}jne 0 <f>").rereads, 0)
        moving = f"{renew}{polynomial}add $0x40,%rdi\njne 0 <f>"  # then they are no constants
        self.assertEqual(one_loop(moving).rereads, 2)

    def test_constants_by_relocation(self):
        code = (
            "vfmadd231ps 0x0(%rip),%ymm0,%ymm1\nR_X86_64_PC32 {0}\n"
            "vfmadd231ps 0x0(%rip),%ymm2,%ymm3\nR_X86_64_PC32 {1}\njne 0 <f>"
        )
        self.assertEqual(one_loop(code.format(".LC0-0x4", ".LC1-0x4")).rereads, 0)
        self.assertEqual(one_loop(code.format(".LC0-0x4", ".LC0-0x4")).rereads, 2)

    def test_a_row_that_the_source_repeats(self):
        code = (
            "vmovaps %ymm0,%ymm5\nvfmadd231ps (%rcx),%ymm0,%ymm1\nvfmadd231ps (%rcx),%ymm5,%ymm2\n"
            "add $0x20,%rcx\njne 0 <f>"
        )
        self.assertEqual(one_loop(code).rereads, 0)
        self.assertEqual(one_loop(code.replace("%ymm5,%ymm2", "%ymm6,%ymm2")).rereads, 2)

    def test_written_in_between(self):
        code = (
            "vfmadd231ps (%rcx),%ymm0,%ymm1\nvmovups %ymm1,(%rcx)\nvfmadd231ps (%rcx),%ymm3,%ymm2\n"
            "add $0x20,%rcx\njne 0 <f>"
        )
        self.assertEqual(one_loop(code).rereads, 0)

    def test_either_way_of_a_branch(self):
        code = (
            "je 3 <f>\nvfmadd231ps (%rcx),%ymm0,%ymm1\njmp 4 <f>\nvfmadd231ps (%rcx),%ymm3,%ymm2\n"
            "add $0x20,%rcx\njne 0 <f>"
        )
        self.assertEqual(one_loop(code).rereads, 0)


class Sums(unittest.TestCase):
    def test_a_sum_may_change_its_register(self):
        code = (
            "vfmadd231ps %ymm0,%ymm1,%ymm2\nvmovaps %ymm2,%ymm3\nvfmadd231ps %ymm0,%ymm1,%ymm3\n"
            "vmovaps %ymm3,%ymm2\njne 0 <f>"
        )
        loop = one_loop(code)
        self.assertEqual((loop.sums, loop.fmas_on_sums), (1, 2))

    def test_a_constant_is_none(self):
        loop = one_loop("vmovaps %ymm5,%ymm2\nvfmadd231ps %ymm0,%ymm1,%ymm2\njne 0 <f>")
        self.assertEqual((loop.sums, loop.fmas_on_sums), (0, 0))


if __name__ == "__main__":
    unittest.main()
