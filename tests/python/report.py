# SPDX-License-Identifier: MIT
"""report.py: the variants that every comparison runs, and the errors that were seen."""

from __future__ import annotations

from dataclasses import dataclass, field

import simdattn


def usable_isas() -> list[str]:
    """The instruction sets that have a kernel of this build on this CPU, best first."""
    return list(
        dict.fromkeys(row.isa for row in simdattn.kernels() if row.op == "fused" and row.usable)
    )


VARIANTS = [
    simdattn.Options(plan=plan, isa=isa, threads=threads)
    for plan in ("fused", "chain")
    for isa in usable_isas()
    for threads in (1, 2)
]


def variant_name(options: simdattn.Options) -> str:
    """For test names: fused-avx2-1."""
    return f"{options.plan}-{options.isa}-{options.threads}"


@dataclass
class Group:
    """Worst errors of the cases of one name."""

    cases: set[str] = field(default_factory=set)
    worst: dict[str, float] = field(default_factory=dict)
    pytorch: float = 0.0
    share: float = 0.0


GROUPS: dict[str, Group] = {}
NOTES: list[str] = []


def record(group: str, case: str, plan: str, error: float, pytorch: float, share: float) -> None:
    """One comparison: errors in units of 2^-24 sum p|v|, and the share of what is allowed."""
    entry = GROUPS.setdefault(group, Group())
    entry.cases.add(case)
    entry.worst[plan] = max(entry.worst.get(plan, 0.0), error)
    entry.pytorch = max(entry.pytorch, pytorch)
    entry.share = max(entry.share, share)


def note(line: str) -> None:
    """A line below the table."""
    NOTES.append(line)


def table() -> list[str]:
    """What was recorded, as docs/python.md shows it."""
    lines = []
    if GROUPS:
        isas = ", ".join(usable_isas())
        lines += [
            "largest error against PyTorch in float64, in units of 2^-24 sum p|v|; share: of the",
            f"error allowed ({isas}; 1 and 2 threads)",
            f"{'':24}{'cases':>6}{'fused':>10}{'chain':>10}{'share':>8}{'PyTorch f32':>13}",
        ]
    for name, group in GROUPS.items():
        fused, chain = (f"{group.worst.get(plan, 0.0):.3g}" for plan in ("fused", "chain"))
        lines.append(
            f"{name:24}{len(group.cases):6}{fused:>10}{chain:>10}{group.share:>8.0%}"
            f"{group.pytorch:13.3g}"
        )
    return lines + NOTES
