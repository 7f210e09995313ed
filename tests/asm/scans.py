# SPDX-License-Identifier: MIT
"""scans.py: rules on whole objects: what must not be there, what must, and symbols."""

from __future__ import annotations

import re
from typing import Callable

from disassembly import Object, kernel_of

# Instructions that need more than x86-64 itself. Not tzcnt: as `rep bsf` it runs everywhere.
BEYOND_BASELINE = re.compile(
    r"%[yz]mm|%k[0-7]|^v[a-z]"
    r"|^(?:shlx|shrx|sarx|rorx|andn|mulx|pdep|pext|bzhi|bextr|bls[ir]|blsmsk)[lq]? "
    r"|^(?:lzcnt|popcnt|movbe)[lqw]? "
)
# By registers, operands, or names that AVX2 does not have.
EVEX = re.compile(
    r"%zmm|%k[0-7]|%[xy]mm(?:1[6-9]|2[0-9]|3[01])|\{1to\d+\}|\{r[nduz]-sae\}|\{sae\}"
    r"|^v(?:pternlog|rndscale|scalef|reduce|range|getexp|getmant|fixupimm|perm[it]2|compress|expand"
    r"|movdq[au](?:8|16|32|64)|align[dq]|blendm|pblendm|pror|prol|pabsq|p(?:min|max)[su]q)"
    r"|^v\w+(?:32|64)x[248]"
)
FUSED = re.compile(r"^(?:vfn?m(?:add|sub)|fn?m(?:add|sub)|fml[as])[a-z0-9]* ")
PACKED = re.compile(
    r"^v?(?:(?:add|sub|mul|div)|fn?m(?:add|sub)\d+)p[sd] "
    r"|^(?:fadd|fsub|fmul|fmla|fmls|fdiv) v\d+\.[248][sd]"
)
PACKED_ADD = re.compile(r"^(?:v?add|vfn?madd\d+)ps |^(?:fadd|fmla) v\d+\.4s")
PACKED_MUL = re.compile(r"^(?:v?mul|vfn?madd\d+)ps |^(?:fmul|fmla) v\d+\.4s")


def _refuse(instructions: re.Pattern, what: str) -> Callable[[Object], list[str]]:
    def scan(scanned: Object) -> list[str]:
        found = [each for each in scanned.instructions() if instructions.search(each.text)]
        if not found:
            return []
        places = "".join(f"\n  {each.address:x}: {each.text}" for each in found[:3])
        return [f"{scanned.name}: {len(found)} instructions {what}, such as{places}"]

    return scan


def _autovec(scanned: Object) -> list[str]:
    kinds = {"add": PACKED_ADD, "mul": PACKED_MUL}
    return [
        f"{scanned.name}: no packed {kind}; the compiler did not vectorize it"
        for kind, pattern in kinds.items()
        if not any(pattern.match(each.text) for each in scanned.instructions())
    ]


# By name: which objects a rule is about, by the names of their files, and what it says of one.
RULES: dict[str, tuple[re.Pattern, Callable[[Object], list[str]]]] = {
    "baseline": (re.compile(""), _refuse(BEYOND_BASELINE, "beyond the baseline")),
    "avx2": (re.compile(""), _refuse(EVEX, "with EVEX encoding")),
    "unfused": (re.compile(""), _refuse(FUSED, "of fused arithmetic that nobody wrote")),
    "scalar": (re.compile("_f32_scalar"), _refuse(PACKED, "of packed arithmetic")),
    "autovec": (re.compile("_autovec"), _autovec),
}


def scan(rule: str, objects: list[Object]) -> tuple[int, list[str]]:
    """How many of the objects a rule is about and have code at all, and what it finds."""
    names, check = RULES[rule]
    subjects = [each for each in objects if names.search(each.name)]
    findings = [finding for each in subjects for finding in check(each)]
    return sum(any(each.instructions()) for each in subjects), findings


def scan_symbols(rule: str, symbols: dict[str, list[str]]) -> tuple[int, list[str]]:
    """`symbols`: a kernel exports one function, named like its file. `exports`: any other code for
    one ISA exports one function."""
    findings = []
    for path, names in symbols.items():
        kernel = f"sattn_{kernel_of(path)}" if rule == "symbols" else "sattn_[a-z0-9_]+"
        if len(names) != 1 or not re.fullmatch(kernel, names[0]):
            found = ", ".join(names) or "nothing"
            findings.append(
                f"{kernel_of(path)}: expected the one exported function {kernel}, "
                f"found: {found}"
            )
    return len(symbols), findings
