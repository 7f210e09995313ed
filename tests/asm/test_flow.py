# SPDX-License-Identifier: MIT
"""test_flow.py: loops of all shapes."""

import unittest

import listing
from flow import innermost_loops


def loop_starts(code: str) -> list[list[int]]:
    """The addresses where the blocks of each innermost loop begin."""
    graph = listing.graph(listing.x86(code))
    return [[graph.blocks[block].start for block in loop] for loop in innermost_loops(graph)]


class Loops(unittest.TestCase):
    def test_none(self):
        self.assertEqual(loop_starts("nop\nje 3 <f>\nnop\nret"), [])

    def test_one_block(self):
        self.assertEqual(loop_starts("nop\nnop\njne 1 <f>\nret"), [[1]])

    def test_the_inner_of_two(self):
        self.assertEqual(loop_starts("nop\nnop\njne 1 <f>\nnop\njne 0 <f>\nret"), [[1]])

    def test_two_side_by_side_in_one(self):
        self.assertEqual(
            loop_starts("nop\nnop\njne 1 <f>\nnop\njne 3 <f>\njne 0 <f>\nret"), [[1], [3]]
        )

    def test_test_at_the_top(self):
        self.assertEqual(loop_starts("cmp %rax,%rdx\nje 4 <f>\nnop\njmp 0 <f>\nret"), [[0, 2]])

    def test_cold_block_behind_the_function(self):
        self.assertEqual(
            loop_starts("nop\nnop\njp 5 <f>\njne 1 <f>\nret\nnop\njmp 3 <f>"), [[1, 3, 5]]
        )

    def test_loops_that_share_their_header(self):
        # Both jumps lead to 0; what the first closes is inside what the second does.
        self.assertEqual(loop_starts("nop\njne 0 <f>\nnop\njne 0 <f>\nret"), [[0]])

    def test_loop_with_two_entries(self):
        self.assertEqual(loop_starts("je 3 <f>\nnop\nnop\nnop\njne 1 <f>\nret"), [[1, 3]])

    def test_behind_a_jump_table(self):
        self.assertEqual(loop_starts("jmp *%rax\nnop\nnop\njne 2 <f>\nret"), [[2]])

    def test_relocated_jumps_leave_the_function(self):
        self.assertEqual(loop_starts("nop\njmp 0 <g>\nR_X86_64_PLT32 g-0x4\nret"), [])


if __name__ == "__main__":
    unittest.main()
