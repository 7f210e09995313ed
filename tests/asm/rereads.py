# SPDX-License-Identifier: MIT
"""rereads.py: FMAs that read a vector from memory which the same step of a loop reads once more.

Compilers make them of the uses of one loaded vector: with R rows and C vectors a step then loads up
to R C times instead of R + C, and is bound by its loads, not by its FMAs. In a tile of one row or
one vector each operand in memory is used once, and is as good as a load.
"""

from __future__ import annotations

from collections import defaultdict

from flow import Graph
from operation import Memory, Operation


class Step:
    """The vectors that a straight piece of a loop has read so far, by the value of their address.

    The value of a register is a constant added to what set it, an instruction or, where the piece
    begins, all that was before; so 64(%rax) before `add $64,%rax` is (%rax) behind it, and an
    unrolled step is no reread. Writing to an address makes what is read from it a new vector.
    """

    def __init__(self, block: int, parent: Step | None = None):
        self.block = block
        self.values = dict(parent.values) if parent else {}
        self.writes = dict(parent.writes) if parent else {}
        self.vectors = dict(parent.vectors) if parent else {}
        self.readers = defaultdict(tuple, parent.readers if parent else {})

    def value(self, register: str) -> tuple[tuple[str, int], int]:
        return self.values.get(register, ((register, self.block), 0))

    def place(self, operation: Operation, relocation: str) -> tuple:
        memory = operation.memory
        base, offset = self.value(memory.base)
        index = self.value(memory.index) if memory.index else None
        return base, index, memory.scale, offset + memory.displacement, relocation

    def read(self, operation: Operation, relocation: str, i: int) -> set[int]:
        """Notes that instruction i reads a vector, and returns all that have read the same, unless
        they do the same with it: then the source repeats a row, as where few are left."""
        place = self.place(operation, relocation)
        width = "element" if operation.is_broadcast else operation.memory.width
        key = (place, width, self.writes.get(place, 0))
        use = tuple(self.vectors.get(factor, factor) for factor in operation.factors)
        self.readers[key] += ((i, use),)
        if len({each for _, each in self.readers[key]}) == 1:
            return set()
        return {reader for reader, _ in self.readers[key]}

    def follow(self, operation: Operation, relocation: str, i: int) -> None:
        if operation.is_store and operation.memory:
            place = self.place(operation, relocation)
            self.writes[place] = self.writes.get(place, 0) + 1
        for register in operation.vectors_written:
            copied = operation.copied
            self.vectors[register] = self.vectors.get(copied, copied) if copied else i
        if operation.shifted:
            source, amount = operation.shifted
            base, offset = self.value(source)
            self.values[operation.written[0]] = base, offset + amount
        else:
            for register in operation.written:
                self.values[register] = ("", i), 0

    def is_moving(self, memory: Memory, changed: set[str]) -> bool:
        """Whether an address differs from step to step, `changed` being what the loop changes."""
        origins = [self.value(register)[0][0] for register in memory.registers]
        return any(not origin or origin in changed for origin in origins)


def rereads(graph: Graph, blocks: list[int], on_sums: set[int]) -> set[int]:
    """Rereads among the FMAs on sums, and among all that read another vector in each step. What is
    left are constants of polynomials, which stay in memory where registers are few."""
    operations = graph.operations
    members = [i for block in blocks for i in graph.blocks[block]]
    changed = {register for i in members for register in operations[i].written}
    steps: dict[int, Step] = {}
    candidates: set[int] = set()
    found: set[int] = set()
    for block in blocks:
        sources = [source for source in graph.predecessors[block] if source in blocks]
        # Where ways meet, and at the start of the loop, nothing is known.
        parent = steps.get(sources[0]) if len(sources) == 1 and sources[0] < block else None
        step = steps[block] = Step(block, parent)
        for i in graph.blocks[block]:
            operation = operations[i]
            relocation = graph.function.instructions[i].relocation
            if operation.is_vector and operation.memory and not operation.is_store:
                found |= step.read(operation, relocation, i)
                if operation.lanes and (i in on_sums or step.is_moving(operation.memory, changed)):
                    candidates.add(i)
            step.follow(operation, relocation, i)
    return found & candidates
