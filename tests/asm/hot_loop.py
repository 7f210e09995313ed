# SPDX-License-Identifier: MIT
"""hot_loop.py: what one innermost loop is made of.

Sums are registers that hold, when a step of the loop begins and when it ends, the same value but
for products added in between. A loop with eight FMAs on sums multiplies matrices; hot loops without
are the polynomials of exp and tanh.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

import stack
from disassembly import Function
from flow import STRAIGHT, Graph, innermost_loops
from operation import Flow, Operation
from rereads import rereads


@dataclass
class Loop:
    kernel: str
    function: str
    address: int
    instructions: int = 0
    fmas: int = 0
    lanes: int = 0  # of all FMAs together
    sums: int = 0
    fmas_on_sums: int = 0
    loads: int = 0  # of vectors, by instructions other than FMAs and broadcasts
    broadcasts: int = 0  # from registers or memory, those in operands of FMAs too
    stores: int = 0
    prefetches: int = 0
    memory_fmas: int = 0
    rereads: int = 0  # FMAs that read what is read once more: rereads.py
    stack: int = 0  # vector instructions with an operand on the stack
    first_on_stack: str = ""
    calls: int = 0
    jumps: int = 0
    others: int = 0  # vector instructions that do anything else

    @property
    def is_product(self) -> bool:
        return self.fmas_on_sums >= 8

    @property
    def share(self) -> float:
        return self.fmas / self.instructions

    @property
    def instructions_per_lane(self) -> float:
        return self.instructions / self.lanes


def hot_loops(kernel: str, function: Function, arch: ModuleType) -> list[Loop]:
    """The innermost loops of a function that have FMAs of vectors."""
    operations = function.operations(arch)
    if not any(operation.lanes for operation in operations):
        return []
    graph = Graph(function, operations)
    stack_before = stack.at_block_starts(graph, arch)
    loops = []
    for blocks in innermost_loops(graph):
        members = [i for block in blocks for i in graph.blocks[block]]
        if not any(operations[i].lanes for i in members):
            continue
        first = function.instructions[members[0]].address
        loop = Loop(kernel, function.name, first, instructions=len(members))
        for i in members:
            _count(loop, operations[i])
        sums = find_sums(operations, members)
        loop.sums = len(set(sums.values()))
        loop.fmas_on_sums = len(sums)
        loop.rereads = len(rereads(graph, blocks, set(sums)))
        on_stack = stack.accesses(graph, blocks, stack_before, arch)
        loop.stack = len(on_stack)
        loop.first_on_stack = operations[on_stack[0]].text if on_stack else ""
        loops.append(loop)
    return loops


def _count(loop: Loop, operation: Operation) -> None:
    loop.calls += operation.flow is Flow.CALL
    loop.jumps += operation.flow not in STRAIGHT
    loop.prefetches += operation.is_prefetch
    if not operation.is_vector:
        return
    loop.lanes += operation.lanes
    loop.broadcasts += operation.is_broadcast
    if operation.lanes:
        loop.fmas += 1
        loop.memory_fmas += operation.memory is not None
    elif operation.is_store:
        loop.stores += 1
    elif operation.is_broadcast:
        pass
    elif operation.memory:
        loop.loads += 1
    elif not operation.copied:
        loop.others += 1


def find_sums(operations: list[Operation], members: list[int]) -> dict[int, str]:
    """The FMAs of a loop that add to a sum, each with the register that holds the sum when a step
    begins."""
    # By register: the one that held, when the step began, what it now holds but for products.
    origins: dict[str, str] = {}
    added_to: dict[int, str] = {}
    for i in members:
        operation = operations[i]
        source = operation.addend or operation.copied
        origin = origins.get(source, source)
        if operation.lanes:
            added_to[i] = origin
        for register in operation.vectors_written:
            origins[register] = origin
    return {i: origin for i, origin in added_to.items() if origin and origins.get(origin) == origin}
