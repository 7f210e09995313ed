# SPDX-License-Identifier: MIT
"""listing.py: disassembly for the unit tests: the committed snippets, and written-out code."""

from __future__ import annotations

from pathlib import Path

import disassembly
from disassembly import Function, Object
from flow import Graph
from hot_loop import Loop, hot_loops

SNIPPETS = ("x86_gcc", "x86_clang", "aarch64_gcc", "aarch64_clang")


def snippet(name: str, *changes: tuple[str, str], kernel: str = "loops") -> Object:
    """What objdump printed of snippets/loops.c, after changes of text that occurs once, under the
    name of a kernel."""
    text = (Path(__file__).parent / "snippets" / f"{name}.txt").read_text()
    for before, after in [*changes, ("loops.c.o", f"{kernel}.c.o")]:
        if text.count(before) != 1:
            raise ValueError(f"{name} has {before!r} {text.count(before)} times")
        text = text.replace(before, after)
    return disassembly.parse(text)[0]


def loops(scanned: Object, function: str = "") -> list[Loop]:
    return [
        loop
        for each in scanned.functions
        if function in (each.name, "")
        for loop in hot_loops(scanned.name, each, scanned.arch)
    ]


def x86(code: str, kernel: str = "loops") -> Object:
    """An object with one function: an instruction per line, each of one byte from address 0 on; a
    relocation stands in a line of its own, behind its instruction."""
    return _written_out("elf64-x86-64", code, 1, kernel)


def aarch64(code: str, kernel: str = "loops") -> Object:
    return _written_out("elf64-littleaarch64", code, 4, kernel)


def _written_out(file_format: str, code: str, size: int, kernel: str) -> Object:
    lines = [f"{kernel}.c.o:     file format {file_format}", "0000000000000000 <f>:"]
    address = 0
    for line in code.strip().splitlines():
        text = line.strip()
        lines.append(
            f"\t\t\t{address:x}: {text}" if text.startswith("R_") else f"  {address:x}:\t{text}"
        )
        address += 0 if text.startswith("R_") else size
    return disassembly.parse("\n".join(lines))[0]


def graph(scanned: Object) -> Graph:
    function: Function = scanned.functions[0]
    return Graph(function, function.operations(scanned.arch))
