# SPDX-License-Identifier: MIT
"""stack.py: which registers may hold an address on the stack: data flow from the stack pointer.

So a frame pointer counts only where it is one, and arrays that other registers address count too.
An address that was itself kept in memory is not followed.
"""

from __future__ import annotations

from types import ModuleType

from flow import Graph
from operation import Flow, Operation

Registers = frozenset  # names of general registers


def after(registers: Registers, operation: Operation, arch: ModuleType) -> Registers:
    """The registers with such an address after an operation, from those before it."""
    if operation.flow is Flow.CALL:  # memset and memcpy return their first argument
        result = {arch.RESULT} if arch.FIRST_ARGUMENT in registers else set()
        return registers - arch.VOLATILE | result
    if not operation.written:
        return registers
    if any(register in registers for register in operation.pointers):
        return registers.union(operation.written)
    return registers.difference(operation.written) | {arch.STACK_POINTER}


def at_block_starts(graph: Graph, arch: ModuleType) -> list[Registers]:
    operations = graph.operations
    start = frozenset({arch.STACK_POINTER})
    before = [start] * len(graph.blocks)
    # What an indirect jump leads to is not known, so all blocks that nothing else leads to take
    # over from all of them.
    from_unknown = start
    orphans = _orphans(graph)
    waiting = set(range(len(graph.blocks)))
    while waiting:
        number = waiting.pop()
        registers = before[number]
        for i in graph.blocks[number]:
            registers = after(registers, operations[i], arch)
        followers = graph.successors[number]
        if operations[graph.blocks[number][-1]].flow is Flow.UNKNOWN:
            from_unknown |= registers
            followers, registers = orphans, from_unknown
        for follower in followers:
            if not registers <= before[follower]:
                before[follower] |= registers
                waiting.add(follower)
    return before


def _orphans(graph: Graph) -> list[int]:
    """Blocks from which all those are reached that the function's first one does not lead to."""
    reached: set[int] = set()

    def reach(waiting: list[int]) -> None:
        while waiting:
            block = waiting.pop()
            if block not in reached:
                reached.add(block)
                waiting += graph.successors[block]

    reach([0])
    blocks = range(len(graph.blocks))
    orphans = []
    for number in sorted(blocks, key=lambda block: (bool(graph.predecessors[block]), block)):
        if number not in reached:
            orphans.append(number)
            reach([number])
    return orphans


def accesses(
    graph: Graph, blocks: list[int], before: list[Registers], arch: ModuleType
) -> list[int]:
    """The vector instructions of some blocks that have an operand on the stack."""
    found = []
    for block in blocks:
        registers = before[block]
        for i in graph.blocks[block]:
            operation = graph.operations[i]
            if operation.is_vector and operation.memory:
                if not registers.isdisjoint(operation.memory.pointers):
                    found.append(i)
            registers = after(registers, operation, arch)
    return found
