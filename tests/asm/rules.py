# SPDX-License-Identifier: MIT
"""rules.py: what is asked of hot loops; docs/debugging.md explains each rule."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hot_loop import Loop

MIN_FMAS = 8  # of a loop that is worth a look
MIN_SHARE = 0.75  # of FMAs among the instructions of a NEON prefill kernel's product
FULL_TILE = 8  # sums; a tile with fewer is there for the rest of an extent

PRODUCTS = re.compile(r"(fused|qk|av|linear)_")
NEON_PREFILL = re.compile(r"fused_f32_neon(?!.*_(decode|few))")


@dataclass(frozen=True)
class Finding:
    rule: str
    kernel: str
    text: str
    loop: Loop | None = None

    def __str__(self) -> str:
        where = f"loop at {self.loop.address:x} of {self.loop.function}: " if self.loop else ""
        return f"{self.kernel}: {where}{self.text} [{self.rule}]"


def is_autovec(kernel: str) -> bool:
    return "_autovec" in kernel


def is_by_library(kernel: str) -> bool:
    """SLEEF's functions are called, vector by vector, and nothing stays in registers meanwhile."""
    return kernel.endswith("_sleef")


def is_written_product(kernel: str) -> bool:
    return bool(PRODUCTS.match(kernel)) and not is_autovec(kernel) and "_scalar" not in kernel


def is_shown(loop: Loop) -> bool:
    return loop.fmas >= (1 if is_autovec(loop.kernel) else MIN_FMAS)


def judge(kernels: dict[str, list[Loop]]) -> list[Finding]:
    """Applies every rule to the kernels of one build, by name, with their innermost loops."""
    findings = []
    for name, loops in kernels.items():
        if not is_autovec(name) and not is_by_library(name):
            findings += [finding for loop in loops for finding in _judge_loop(loop)]
        if is_written_product(name):
            findings += _judge_product(name, loops)
    return findings + _compare_with_autovec(kernels)


def _judge_loop(loop: Loop) -> list[Finding]:
    findings = []
    if loop.stack:
        text = f"{loop.stack} vector instructions on the stack, such as {loop.first_on_stack}"
        findings.append(Finding("stack", loop.kernel, text, loop))
    if loop.calls:
        findings.append(Finding("calls", loop.kernel, f"{loop.calls} calls", loop))
    if loop.fmas >= MIN_FMAS and loop.rereads:
        text = (
            f"{loop.rereads} of {loop.fmas} FMAs read a vector from memory that is read once more"
        )
        findings.append(Finding("rereads", loop.kernel, text, loop))
    return findings


def _judge_product(kernel: str, loops: list[Loop]) -> list[Finding]:
    products = [loop for loop in loops if loop.is_product]
    if not products:
        return [Finding("product", kernel, f"no loop with {MIN_FMAS} FMAs on sums")]
    # A loop with more jumps chooses what part of a vector to load.
    straight = [loop for loop in products if loop.jumps <= 1]
    if NEON_PREFILL.match(kernel):
        widest = max(straight, key=lambda loop: (loop.fmas, -loop.share), default=None)
        share = widest.share if widest else 0
        if share < MIN_SHARE:
            text = f"FMAs are {share:.1%} of the product loop with the most, not {MIN_SHARE:.0%}"
            return [Finding("share", kernel, text, widest)]
    return []


def _compare_with_autovec(kernels: dict[str, list[Loop]]) -> list[Finding]:
    """Where there is no Arm hardware, this stands in for being faster than the autovec kernels."""
    costs = [
        loop.instructions_per_lane
        for loops in kernels.values()
        for loop in loops
        if is_autovec(loop.kernel) and loop.others == 0
    ]
    findings = []
    for name, loops in kernels.items():
        if is_autovec(name) or "_neon" not in name:
            continue
        for loop in loops:
            if not loop.is_product or loop.jumps > 1:
                continue
            limit = 0.0
            if costs:
                limit = max(costs) if loop.sums < FULL_TILE else min(costs)
            if loop.instructions_per_lane >= limit:
                text = (
                    f"{loop.instructions_per_lane:.3f} instructions per lane of an FMA, the "
                    f"autovec kernels have {limit:.3f}"
                )
                findings.append(Finding("autovec", name, text, loop))
    return findings
