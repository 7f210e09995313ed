# SPDX-License-Identifier: MIT
"""x86.py: x86-64 in AT&T syntax, as objdump of GNU binutils and of LLVM print it."""

from __future__ import annotations

import re
from functools import lru_cache

from operation import Flow, Memory, Operation

STACK_POINTER = "rsp"
# The System V calling convention; VOLATILE is what a called function may change.
FIRST_ARGUMENT = "rdi"
RESULT = "rax"
VOLATILE = frozenset("rax rcx rdx rsi rdi r8 r9 r10 r11".split())

PREFIX = re.compile(r"^(?:(?:notrack|bnd|lock|data16|[cdefgs]s|rep[a-z]*|rex[.A-Z]*) +)+")
OPERAND = re.compile(r"(?:\([^)]*\)|[^,(])+")
MEMORY = re.compile(
    r"(?P<displacement>-?(?:0x)?[0-9a-f]+)?"
    r"\((?P<base>%\w+)?(?:, *(?P<index>%\w+)?(?:, *(?P<scale>[1248]))?)?\)"
    r"(?P<broadcast>\{1to\d+\})?"
)
VECTOR = re.compile(r"%([xyz])mm(\d+)")
GENERAL = re.compile(r"%(\w+)")
FMA = re.compile(r"vfn?m(?:add|sub)(132|213|231)p([sd])")
BROADCAST = re.compile(r"v(?:p?broadcast|movddup)")
MOVE = re.compile(r"vmov(?:ap|up|dq[au])")
NO_RESULT = re.compile(r"cmp|test|push|bt|nop|prefetch|v?u?comis|v?ptest|vtest")
# Results that may be an address if an operand is, and if what was there before is.
PASSES_ADDRESS = re.compile(r"(?:mov|cmov\w+|add|and|or)q?")
KEEPS_ADDRESS = re.compile(r"(?:cmov\w+|add|sub|and|or|inc|dec)q?")
WIDE_PRODUCT = re.compile(r"i?(?:div|mul)[lq]?")


def _full_names() -> dict[str, str]:
    names = {}
    for letter in "abcd":
        for name in (f"r{letter}x", f"e{letter}x", f"{letter}x", f"{letter}l", f"{letter}h"):
            names[name] = f"r{letter}x"
    for name in ("si", "di", "bp", "sp"):
        for form in (f"r{name}", f"e{name}", name, f"{name}l"):
            names[form] = f"r{name}"
    for number in range(8, 16):
        for suffix in ("", "d", "w", "b"):
            names[f"r{number}{suffix}"] = f"r{number}"
    return names


FULL_NAMES = _full_names()
WIDE_NAMES = frozenset(FULL_NAMES.values())


def _general(text: str) -> tuple[str, ...]:
    return tuple(FULL_NAMES[name] for name in GENERAL.findall(text) if name in FULL_NAMES)


def _number(text: str) -> int:
    value = int(text, 16 if "0x" in text else 10)
    return value - 2**64 if value >= 2**63 else value  # GNU prints -128 as 0xffffffffffffff80


@lru_cache(maxsize=None)
def decode(text: str) -> Operation:
    bare = PREFIX.sub("", text).replace(" {", "{")
    mnemonic, _, arguments = bare.partition(" ")
    arguments = arguments.strip()
    flow = _flow(mnemonic, arguments)
    if flow in (Flow.BRANCH, Flow.JUMP):
        return Operation(text, flow, int(arguments.partition(" ")[0], 16))
    if flow is not Flow.NEXT:
        return Operation(text, flow)
    operands = [operand.strip() for operand in OPERAND.findall(arguments)]
    last = operands[-1] if operands else ""
    general = _general_registers(mnemonic, operands, last)
    memory = _memory(arguments)
    if mnemonic.startswith("nop") or bare == "xchg %ax,%ax":
        return Operation(text, is_padding=True)
    if mnemonic.startswith("prefetch"):
        return Operation(text, memory=memory, is_prefetch=True)
    if not VECTOR.search(arguments):
        return Operation(text, memory=memory, **general)
    return Operation(text, memory=memory, **general, **_vector(mnemonic, operands, last))


def _flow(mnemonic: str, arguments: str) -> Flow:
    if mnemonic.startswith("jmp"):
        return Flow.UNKNOWN if arguments.startswith("*") else Flow.JUMP
    if mnemonic.startswith("call"):
        return Flow.CALL
    if mnemonic.startswith(("ret", "ud2", "hlt", "int3")):
        return Flow.END
    return Flow.BRANCH if mnemonic.startswith(("j", "loop")) else Flow.NEXT


def _memory(arguments: str) -> Memory | None:
    found = MEMORY.search(arguments)
    if not found:
        return None
    widest = max((width for width, _ in VECTOR.findall(arguments)), default="")
    base = (found["base"] or "")[1:]
    index = (found["index"] or "")[1:]
    return Memory(
        base=FULL_NAMES.get(base, base),
        index=FULL_NAMES.get(index, index),
        scale=found["scale"] or "",
        displacement=_number(found["displacement"] or "0"),
        width="element" if found["broadcast"] else widest,
    )


def _vector(mnemonic: str, operands: list[str], last: str) -> dict:
    is_store = "(" in last
    is_broadcast = bool(BROADCAST.match(mnemonic)) or any("{1to" in each for each in operands)
    facts = {"is_vector": True, "is_store": is_store, "is_broadcast": is_broadcast}
    written = VECTOR.match(last)
    if written and not NO_RESULT.match(mnemonic):
        facts["vectors_written"] = (written[2],)
    fma = FMA.fullmatch(mnemonic)
    if fma:
        lanes = {"x": 4, "y": 8, "z": 16}[written[1]]
        facts["lanes"] = lanes if fma[2] == "s" else lanes // 2
        registers = [found[2] if (found := VECTOR.match(each)) else "" for each in operands]
        facts["addend"] = registers.pop({"132": 1, "213": 0, "231": 2}[fma[1]])
        facts["factors"] = tuple(register for register in registers if register)
    elif MOVE.match(mnemonic) and len(operands) == 2:
        registers = [VECTOR.fullmatch(operand) for operand in operands]
        if all(registers):
            facts["copied"] = registers[0][2]
    return facts


def _general_registers(mnemonic: str, operands: list[str], last: str) -> dict:
    if WIDE_PRODUCT.fullmatch(mnemonic) and len(operands) == 1:
        return {"written": ("rax", "rdx")}
    written = _general(last) if last.startswith("%") else ()
    if not written or NO_RESULT.match(mnemonic):
        return {}
    if last[1:] not in WIDE_NAMES:
        return {"written": written}
    pointers: tuple[str, ...] = ()
    if mnemonic in ("lea", "leaq"):
        pointers = memory.pointers if (memory := _memory(operands[0])) else ()
    elif PASSES_ADDRESS.fullmatch(mnemonic) and operands[0][1:] in WIDE_NAMES:
        pointers = _general(operands[0])
    if KEEPS_ADDRESS.fullmatch(mnemonic):
        pointers += written
    return {
        "written": written,
        "pointers": pointers,
        "shifted": _shifted(mnemonic, operands, last),
    }


def _shifted(mnemonic: str, operands: list[str], last: str) -> tuple[str, int] | None:
    """The register and the constant whose sum is written, if it is one."""
    source = operands[0]
    if mnemonic in ("mov", "movq") and source[1:] in WIDE_NAMES:
        return source[1:], 0
    if mnemonic in ("add", "addq", "sub", "subq") and source.startswith("$"):
        amount = _number(source[1:])
        return last[1:], amount if mnemonic.startswith("add") else -amount
    if mnemonic in ("inc", "incq", "dec", "decq"):
        return last[1:], 1 if mnemonic.startswith("inc") else -1
    if mnemonic in ("lea", "leaq"):
        memory = _memory(source)
        if memory and memory.base in FULL_NAMES and not memory.index:
            return memory.base, memory.displacement
    return None
