# SPDX-License-Identifier: MIT
"""build.py: what a build directory of CMake says about its kernels: objects, compiler, objdump."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from disassembly import kernel_of

COMPILERS = {"GNU": "gcc", "Clang": "clang", "AppleClang": "clang"}


class UnusableBuild(Exception):
    pass


@dataclass(frozen=True)
class Build:
    directory: Path
    compiler: str  # with its version
    build_type: str
    objdump: str
    objects: dict[str, str]  # path, by kernel


def read(directory: Path) -> Build:
    try:
        cache = (directory / "CMakeCache.txt").read_text()
        commands = json.loads((directory / "compile_commands.json").read_text())
    except OSError as error:
        raise UnusableBuild(f"{directory} is no build directory: {error.strerror}") from error
    objects = {}
    for entry in commands:
        output = re.search(r" -o (\S*sattn_kernels_\w+\.dir\S*) ", entry["command"])
        if output:
            objects[kernel_of(entry["file"])] = str(Path(entry["directory"]) / output[1])
    missing = [kernel for kernel, path in objects.items() if not Path(path).exists()]
    if missing or not objects:
        raise UnusableBuild(f"{directory} has no object of {missing[0] if missing else 'a kernel'}")
    return Build(
        directory,
        _compiler(directory),
        _cached(cache, "CMAKE_BUILD_TYPE"),
        _cached(cache, "CMAKE_OBJDUMP"),
        objects,
    )


def _cached(cache: str, name: str) -> str:
    found = re.search(rf"^{name}:\w+=(.*)$", cache, re.MULTILINE)
    return found[1] if found else ""


def _compiler(directory: Path) -> str:
    for file in directory.glob("CMakeFiles/*/CMakeCCompiler.cmake"):
        text = file.read_text()
        name = re.search(r'set\(CMAKE_C_COMPILER_ID "(.*)"\)', text)
        version = re.search(r'set\(CMAKE_C_COMPILER_VERSION "(.*)"\)', text)
        if name and version:
            return f"{COMPILERS.get(name[1], name[1])} {version[1]}"
    return "unknown compiler"
