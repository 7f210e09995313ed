# SPDX-License-Identifier: MIT
"""report.py: loops as a table, and as JSON."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from typing import Iterable

from build import Build
from hot_loop import Loop
from rules import Finding

# Heading, width, and what stands there.
COLUMNS = [
    ("insns", 5, lambda loop: str(loop.instructions)),
    ("FMAs", 5, lambda loop: str(loop.fmas)),
    ("share", 6, lambda loop: f"{loop.share:.1%}"),
    ("sums", 5, lambda loop: str(loop.sums)),
    ("loads", 6, lambda loop: _or_dot(loop.loads)),
    ("bcasts", 7, lambda loop: _or_dot(loop.broadcasts)),
    ("stores", 7, lambda loop: _or_dot(loop.stores)),
    ("prefet", 7, lambda loop: _or_dot(loop.prefetches)),
    ("memFMAs", 8, lambda loop: _or_dot(loop.memory_fmas)),
    ("rereads", 8, lambda loop: _or_dot(loop.rereads)),
    ("stack", 6, lambda loop: _or_dot(loop.stack)),
    ("calls", 6, lambda loop: _or_dot(loop.calls)),
    ("jumps", 6, lambda loop: str(loop.jumps)),
    ("i/lane", 7, lambda loop: f"{loop.instructions_per_lane:.3f}"),
]


def _or_dot(count: int) -> str:
    return str(count) if count else "."


def function_of(loop: Loop) -> str:
    """Its name in the source: compilers append what they made of it."""
    return re.sub(r"\.(?:constprop|isra|part|cold|lto_priv|\d+).*$", "", loop.function)


def widest(loops: Iterable[Loop]) -> list[Loop]:
    """Of each function the loop with the most FMAs; of several the one with the most besides."""
    best: dict[tuple[str, str], Loop] = {}
    for loop in loops:
        key = loop.kernel, function_of(loop)
        best[key] = max(best.get(key, loop), loop, key=lambda each: (each.fmas, each.instructions))
    return list(best.values())


def table(loops: Iterable[Loop], findings: Iterable[Finding]) -> str:
    """The loops of one build, below the name of their kernel. Marked at the end: the rules that a
    loop breaks."""
    broken: dict[int, list[str]] = {}
    for finding in findings:
        if finding.loop:
            broken.setdefault(id(finding.loop), []).append(finding.rule)
    lines = [f"{'':32}{'at':>6} " + "".join(f"{name:>{width}}" for name, width, _ in COLUMNS)]
    kernel = None
    for loop in loops:
        if loop.kernel != kernel:
            kernel = loop.kernel
            lines.append(kernel)
        cells = "".join(f"{text(loop):>{width}}" for _, width, text in COLUMNS)
        marks = "".join(f"  !{rule}" for rule in broken.get(id(loop), []))
        lines.append(f"  {function_of(loop)[:30]:30}{loop.address:>6x} {cells}{marks}")
    return "\n".join(lines)


def document(commit: str, reports: Iterable[tuple[Build, list[Loop], list[Finding]]]) -> str:
    """One JSON document of the loops and findings of several builds."""
    builds = [
        {
            "compiler": build.compiler,
            "build_type": build.build_type,
            "directory": str(build.directory),
            "loops": [_loop_object(loop) for loop in loops],
            "findings": [
                {"kernel": finding.kernel, "rule": finding.rule, "text": str(finding)}
                for finding in findings
            ],
        }
        for build, loops, findings in reports
    ]
    return json.dumps(
        {"schema": "simdattn-asm-report-1", "commit": commit, "builds": builds}, indent=1
    )


def _loop_object(loop: Loop) -> dict:
    return {
        **asdict(loop),
        "function": function_of(loop),
        "is_product": loop.is_product,
        "share": round(loop.share, 4),
        "instructions_per_lane": round(loop.instructions_per_lane, 4),
    }
