# SPDX-License-Identifier: MIT
"""disassembly.py: reads what objdump prints: objects, functions, and the text of instructions."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Iterable

import aarch64
import x86
from operation import Operation

FORMAT = re.compile(r"(.*):\s+file format (\S+)$")
FUNCTION = re.compile(r"[0-9a-f]+ <(.*)>:$")
INSTRUCTION = re.compile(r"\s*([0-9a-f]+):\s+([a-z].*)$")
RELOCATION = re.compile(r"\s*[0-9a-f]+:\s+((?:[A-Z0-9]+_RELOC|R_[A-Z0-9]+|IMAGE_REL)_.*)$")
SYMBOL = re.compile(r"[0-9a-f]+ (.)(.).{4}(.) (\S+)\t[0-9a-f]+ +(?:\.\w+ +)?(\S+)$")
BLANKS = re.compile(r"\s+")


class WrongTool(Exception):
    """objdump is missing, or does not know the architecture of the objects."""


@dataclass
class Instruction:
    address: int
    text: str
    relocation: str = ""  # what the linker will write into it


@dataclass
class Function:
    name: str
    instructions: list[Instruction] = field(default_factory=list)

    def operations(self, arch: ModuleType) -> list[Operation]:
        return [arch.decode(instruction.text) for instruction in self.instructions]


@dataclass
class Object:
    path: str
    arch: ModuleType  # x86 or aarch64
    functions: list[Function] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The name of its source file, which is that of a kernel."""
        return kernel_of(self.path)

    def instructions(self) -> Iterable[Instruction]:
        for function in self.functions:
            yield from function.instructions


def kernel_of(path: str) -> str:
    return re.sub(r"\.c(?:pp)?(?:\.o(?:bj)?)?$", "", Path(path).name)


def disassemble(objdump: str, paths: Iterable[str]) -> list[Object]:
    return parse(_run(objdump, ["-d", "-r", "--no-show-raw-insn"], paths))


def exported_symbols(objdump: str, paths: Iterable[str]) -> dict[str, list[str]]:
    """By object, what others can link to; what is weak or no function is marked as such."""
    return parse_symbols(_run(objdump, ["-t"], paths))


def _run(objdump: str, options: list[str], paths: Iterable[str]) -> str:
    try:
        done = subprocess.run(
            [objdump, *options, *paths],
            env={**os.environ, "LC_ALL": "C"},  # "file format" is a translated text
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        raise WrongTool(f"{objdump}: {error.strerror}") from error
    if "architecture UNKNOWN" in done.stderr or "format not recognized" in done.stderr:
        raise WrongTool(f"{objdump} does not know the architecture: {done.stderr.strip()}")
    if done.returncode != 0:
        raise RuntimeError(f"{objdump} failed: {done.stderr.strip()}")
    return done.stdout


def _arch_of(file_format: str) -> ModuleType:
    if "aarch64" in file_format or "arm64" in file_format:
        return aarch64
    if "x86-64" in file_format:
        return x86
    raise WrongTool(f"no parser for the file format {file_format}")


def parse(text: str) -> list[Object]:
    objects: list[Object] = []
    instructions: list[Instruction] = []
    comment = "#"
    for line in text.splitlines():
        if found := INSTRUCTION.match(line):
            code = found[2].partition(comment)[0]
            instructions.append(Instruction(int(found[1], 16), BLANKS.sub(" ", code).strip()))
        elif found := RELOCATION.match(line):
            instructions[-1].relocation = BLANKS.sub(" ", found[1])
        elif found := FUNCTION.match(line):
            objects[-1].functions.append(Function(found[1]))
            instructions = objects[-1].functions[-1].instructions
        elif found := FORMAT.match(line):
            objects.append(Object(found[1], _arch_of(found[2])))
            comment = "//" if objects[-1].arch is aarch64 else "#"
    return objects


def parse_symbols(text: str) -> dict[str, list[str]]:
    symbols: dict[str, list[str]] = {}
    for line in text.splitlines():
        if found := FORMAT.match(line):
            names = symbols.setdefault(found[1], [])
        elif (found := SYMBOL.match(line)) and found[4] != "*UND*":
            if found[2] == "w":
                names.append(f"{found[5]} (weak)")
            elif found[1] in "gu!":
                names.append(found[5] if found[3] == "F" else f"{found[5]} (no function)")
    return symbols
