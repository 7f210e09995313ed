# SPDX-License-Identifier: MIT
"""aarch64.py: AArch64, as objdump of GNU binutils and of LLVM print it."""

from __future__ import annotations

import re
from functools import lru_cache

from operation import Flow, Memory, Operation

STACK_POINTER = "sp"
# The procedure call standard; VOLATILE is what a called function may change.
FIRST_ARGUMENT = RESULT = "x0"
VOLATILE = frozenset(f"x{number}" for number in range(19))

BRANCH = re.compile(r"bc?\..*|cbn?z|tbn?z")
END = frozenset("ret retaa retab brk udf hlt".split())
UNKNOWN = frozenset("br braa brab braaz brabz".split())
CALL = frozenset("bl blr blraa blrab blraaz blrabz".split())
TARGET = re.compile(r"(?:0x)?([0-9a-f]+)(?: <.*)?$")
MEMORY = re.compile(
    r"\[(?P<base>x\d+|sp)"
    r"(?:, *(?P<index>[xw]\d+)(?:, *(?P<scale>\w+ #\d))?|, *#(?P<displacement>-?\w+))?"
)
GENERAL = re.compile(r"\b(?:[xw](\d+)|sp)\b")
VECTOR = re.compile(r"(?<![\w.#])[vqdshb](\d+)")
FMA = re.compile(r"fml[as](?:\.|$)")
LANES = re.compile(r"\.([248])[shd]")
MOVE = re.compile(r"v(\d+)\.16b, *v(\d+)\.16b")
NO_RESULT = re.compile(r"st|cmp|cmn|tst|ccmp|ccmn|prf|nop|fcmp|fccmp")
# Results that may be an address if an operand of full width is: none that is shifted or subtracted.
PASSES_ADDRESS = frozenset("add sub mov csel and orr".split())
POINTER = re.compile(r"\b(x\d+|sp)\b(?!, *(?:lsl|[su]xt))")


def _general(text: str) -> tuple[str, ...]:
    return tuple(f"x{found[1]}" if found[1] else "sp" for found in GENERAL.finditer(text))


@lru_cache(maxsize=None)
def decode(text: str) -> Operation:
    mnemonic, _, arguments = text.partition(" ")
    arguments = arguments.strip()
    flow = _flow(mnemonic)
    if flow in (Flow.BRANCH, Flow.JUMP):
        target = TARGET.search(arguments)
        return Operation(text, flow, int(target[1], 16) if target else None)
    if flow is not Flow.NEXT:
        return Operation(text, flow)
    if mnemonic == "nop":
        return Operation(text, is_padding=True)
    memory = _memory(arguments)
    if mnemonic.startswith(("prfm", "prfum")):
        return Operation(text, memory=memory, is_prefetch=True)
    general = _general_registers(mnemonic, arguments)
    if "<" in arguments or not VECTOR.search(arguments):
        return Operation(text, memory=memory, **general)
    return Operation(text, memory=memory, **general, **_vector(mnemonic, arguments))


def _flow(mnemonic: str) -> Flow:
    if BRANCH.fullmatch(mnemonic):
        return Flow.BRANCH
    if mnemonic in CALL:
        return Flow.CALL
    if mnemonic in END:
        return Flow.END
    if mnemonic in UNKNOWN:
        return Flow.UNKNOWN
    return Flow.JUMP if mnemonic == "b" else Flow.NEXT


def _memory(arguments: str) -> Memory | None:
    found = MEMORY.search(arguments)
    if not found:
        return None
    index = found["index"]
    return Memory(
        base=found["base"],
        index=f"x{index[1:]}" if index else "",
        scale=found["scale"] or "",
        displacement=int(found["displacement"] or "0", 0),
    )


def _vector(mnemonic: str, arguments: str) -> dict:
    facts = {
        "is_vector": True,
        "is_store": mnemonic.startswith("st"),
        "is_broadcast": mnemonic.startswith(("dup", "ld1r")),
    }
    if not NO_RESULT.match(mnemonic):
        # A load may write several registers, anything else writes its first operand.
        results = (
            arguments.partition("[")[0]
            if "[x" in arguments or "[sp" in arguments
            else arguments.partition(",")[0]
        )
        facts["vectors_written"] = tuple(VECTOR.findall(results))
    lanes = LANES.search(f"{mnemonic} {arguments}")
    if FMA.match(mnemonic) and lanes and arguments[0] not in "sdh":
        facts["lanes"] = int(lanes[1])
        facts["addend"] = facts["vectors_written"][0]
    elif mnemonic == "mov" and (copy := MOVE.fullmatch(arguments)):
        facts["copied"] = copy[2]
    return facts


def _general_registers(mnemonic: str, arguments: str) -> dict:
    if NO_RESULT.match(mnemonic) or not re.match(r"[xw]\d", arguments):
        return {}
    first, _, rest = arguments.partition(",")
    written = _general(first)
    if mnemonic in ("ldp", "ldnp"):
        written += _general(rest.partition(",")[0])
    pointers: tuple[str, ...] = ()
    if mnemonic in PASSES_ADDRESS and first.startswith("x"):
        pointers = tuple(POINTER.findall(rest))
        if mnemonic == "sub":
            pointers = pointers[:1]
    return {"written": written, "pointers": pointers}
