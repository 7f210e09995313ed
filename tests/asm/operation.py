# SPDX-License-Identifier: MIT
"""operation.py: what one instruction does, in terms that hold for every instruction set.

x86.py and aarch64.py turn the text that objdump prints for an instruction into an Operation;
nothing else knows how an instruction is written.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Flow(Enum):
    """How control goes on after an instruction."""

    NEXT = 0  # to the instruction behind it
    CALL = 1  # there too, after a function
    BRANCH = 2  # there, or to the target
    JUMP = 3  # to the target
    END = 4  # nowhere in the function
    UNKNOWN = 5  # to an address that is computed, as from a jump table


@dataclass(frozen=True)
class Memory:
    """An operand in memory: at displacement + base + index * scale, in general registers."""

    base: str
    index: str = ""
    scale: str = ""
    displacement: int = 0
    width: str = ""  # what is read: a register's width, or one element for all lanes

    @property
    def registers(self) -> tuple[str, ...]:
        return tuple(register for register in (self.base, self.index) if register)

    @property
    def pointers(self) -> tuple[str, ...]:
        """The registers that may hold an address: not one that is scaled."""
        return self.registers if self.scale in ("", "1") else (self.base,)


@dataclass(frozen=True)
class Operation:
    text: str  # as objdump prints it, without comments
    flow: Flow = Flow.NEXT
    target: int | None = None  # address that a branch or jump leads to

    # General registers, by the name of their full width.
    written: tuple[str, ...] = ()
    pointers: tuple[str, ...] = ()  # those from which `written` may get an address
    shifted: tuple[str, int] | None = None  # `written` is this register plus this constant

    memory: Memory | None = None
    is_prefetch: bool = False
    is_padding: bool = False  # does nothing

    # Vector registers, by their number. The rest says nothing where no vector register takes part.
    is_vector: bool = False
    vectors_written: tuple[str, ...] = ()
    lanes: int = 0  # of a fused multiply-add of vectors, else 0
    addend: str = ""  # the register that it adds to, "" if that is memory
    factors: tuple[str, ...] = ()  # the registers that it multiplies
    copied: str = ""  # the register whose copy is written, where that is all that is done
    is_store: bool = False
    is_broadcast: bool = False
