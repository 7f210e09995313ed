# SPDX-License-Identifier: MIT
"""flow.py: basic blocks of a function, and its innermost loops.

The graph of blocks is cut into strongly connected components; without the block where one is
entered it is cut again, until none is left (the loop nesting of Havlak 1997, "Nesting of Reducible
and Irreducible Loops"). So neither the order of blocks nor padding between them matters, and a cold
block far behind belongs to the loop that it returns to. Where a jump table leads is not known: a
loop around one may be missed, loops behind one are not.
"""

from __future__ import annotations

from typing import Iterable, Iterator

from disassembly import Function
from operation import Flow, Operation

Blocks = frozenset  # of numbers of blocks
STRAIGHT = (Flow.NEXT, Flow.CALL)
CONTINUES = (*STRAIGHT, Flow.BRANCH)


class Graph:
    """The blocks of a function, each a range of its instructions, with the edges between them."""

    def __init__(self, function: Function, operations: list[Operation]):
        self.function = function
        self.operations = operations
        index_at = {each.address: i for i, each in enumerate(function.instructions)}
        targets: dict[int, int] = {}  # by the instruction that leads there
        starts = {0}
        for i, operation in enumerate(operations):
            if operation.flow in STRAIGHT:
                continue
            starts.add(i + 1)
            # What has a relocation leaves the function.
            if operation.target in index_at and not function.instructions[i].relocation:
                targets[i] = index_at[operation.target]
                starts.add(targets[i])
        bounds = sorted(start for start in starts if start < len(operations))
        self.blocks = [range(a, b) for a, b in zip(bounds, [*bounds[1:], len(operations)])]
        block_at = {block.start: number for number, block in enumerate(self.blocks)}

        self.successors: list[list[int]] = []
        self.predecessors: list[list[int]] = [[] for _ in self.blocks]
        led_to = {0, *(block_at[target] for target in targets.values())}
        for number, block in enumerate(self.blocks):
            last = block[-1]
            following = []
            # Padding that nothing leads to leads nowhere.
            is_code = number in led_to or not all(operations[i].is_padding for i in block)
            if is_code and operations[last].flow in CONTINUES and number + 1 < len(self.blocks):
                following.append(number + 1)
                led_to.add(number + 1)
            if last in targets:
                following.append(block_at[targets[last]])
            self.successors.append(following)
            for successor in following:
                self.predecessors[successor].append(number)


def innermost_loops(graph: Graph) -> list[list[int]]:
    """The blocks of each innermost loop, in the order of their addresses."""
    found = _innermost(graph, frozenset(range(len(graph.blocks))))
    return sorted(sorted(loop) for loop in found)


def _innermost(graph: Graph, blocks: Blocks) -> Iterator[Blocks]:
    for loop in _components(graph, blocks):
        header = _header(graph, loop)
        inner = list(_innermost(graph, loop - {header}))
        inner += _loops_with_header(graph, loop, header, inner)
        yield from inner or [loop]


def _components(graph: Graph, blocks: Blocks) -> list[Blocks]:
    """Strongly connected components that can be left and entered again: Tarjan's algorithm, without
    recursion, since functions may have thousands of blocks."""
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    stacked: list[int] = []
    on_stack: set[int] = set()
    components = []

    def visit(block: int) -> tuple[int, Iterator[int]]:
        order[block] = low[block] = len(order)
        stacked.append(block)
        on_stack.add(block)
        return block, iter(graph.successors[block])

    for start in sorted(blocks):
        path = [visit(start)] if start not in order else []
        while path:
            block, following = path[-1]
            successor = next(following, None)
            if successor is None:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[block])
                if low[block] == order[block]:
                    cut = stacked.index(block)
                    component = frozenset(stacked[cut:])
                    del stacked[cut:]
                    on_stack -= component
                    if len(component) > 1 or block in graph.successors[block]:
                        components.append(component)
            elif successor in blocks and successor not in order:
                path.append(visit(successor))
            elif successor in on_stack:
                low[block] = min(low[block], order[successor])
    return components


def _header(graph: Graph, loop: Blocks) -> int:
    """The block where a loop is entered, preferably one that the loop jumps back to. Blocks behind
    a jump table have nothing that leads to them."""

    def rank(block: int) -> tuple[bool, bool, int]:
        sources = graph.predecessors[block]
        is_entry = block == 0 or not sources or any(source not in loop for source in sources)
        is_target = any(source in loop and source >= block for source in sources)
        return is_entry, is_target, -block

    return max(loop, key=rank)


def _loops_with_header(
    graph: Graph, loop: Blocks, header: int, inner: Iterable[Blocks]
) -> list[Blocks]:
    """Nested loops that share their header look like one. Where what one jump back closes is part
    of what another does, the smaller is the loop inside, unless there are loops inside that."""
    bodies = {
        _natural_loop(graph, loop, header, latch)
        for latch in graph.predecessors[header]
        if latch in loop
    }
    return [
        body
        for body in bodies
        if any(body < other for other in bodies)
        and not any(other < body for other in bodies)
        and not any(loop_inside <= body for loop_inside in inner)
    ]


def _natural_loop(graph: Graph, loop: Blocks, header: int, latch: int) -> Blocks:
    """The header, and the blocks of a loop from which the latch is reached without passing it."""
    body = {header}
    waiting = [latch]
    while waiting:
        block = waiting.pop()
        if block not in body:
            body.add(block)
            waiting += [source for source in graph.predecessors[block] if source in loop]
    return frozenset(body)
