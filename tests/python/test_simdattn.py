# SPDX-License-Identifier: MIT
"""test_simdattn.py: simdattn.py itself: its structs against the header, and what it refuses."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import simdattn

HEADER = Path(__file__).resolve().parents[2] / "dispatch" / "simdattn.h"


def header_text() -> str:
    """The header without comments."""
    return re.sub(r"/\*.*?\*/", "", HEADER.read_text(encoding="utf-8"), flags=re.DOTALL)


def run_c(directory: Path, body: str) -> dict[str, int]:
    """Compile a program that includes the header; read the lines "name number" that it prints."""
    source, program = directory / "layout.c", directory / "layout"
    source.write_text(
        f'#include "{HEADER}"\n#include <stddef.h>\n#include <stdio.h>\n'
        '#define SHOW(text, value) printf("%s %lld\\n", text, (long long)(value));\n'
        f"int main(void)\n{{\n{body}return 0;\n}}\n",
        encoding="utf-8",
    )
    compiler = os.environ.get("CC", "cc")
    subprocess.run([compiler, "-std=c11", str(source), "-o", str(program)], check=True)
    output = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    return {name: int(number) for name, number in (line.split() for line in output.splitlines())}


@pytest.mark.parametrize("struct", simdattn.STRUCTS)
def test_struct_layout(struct: str, tmp_path: Path) -> None:
    mirror = simdattn.STRUCTS[struct]
    expected = {"size": ctypes.sizeof(mirror)}
    body = f'SHOW("size", sizeof({struct}))\n'
    for name in simdattn.fields(mirror):
        expected[f"{name}.offset"] = getattr(mirror, name).offset
        expected[f"{name}.size"] = getattr(mirror, name).size
        body += f'SHOW("{name}.offset", offsetof({struct}, {name}))\n'
        body += f'SHOW("{name}.size", sizeof(({struct} *)0)->{name})\n'
    assert run_c(tmp_path, body) == expected


@pytest.mark.parametrize("struct", simdattn.STRUCTS)
def test_struct_has_every_field(struct: str) -> None:
    """A field in what was padding changes no size and no offset."""
    body = re.search(rf"typedef struct {struct} \{{(.*?)\}} {struct};", header_text(), re.DOTALL)
    assert body
    declared = re.findall(r"(\w+)(?:\[\d+\])?\s*[,;]", body.group(1))
    assert declared == simdattn.fields(simdattn.STRUCTS[struct])


def test_enumerators(tmp_path: Path) -> None:
    expected: dict[str, int] = {}
    for kind, prefix in simdattn.ENUMS.items():
        expected |= {prefix + member.name: member.value for member in kind}
    body = "".join(f'SHOW("{name}", {name})\n' for name in expected)
    assert run_c(tmp_path, body) == expected


def test_version_is_that_of_the_header() -> None:
    numbers = [
        re.search(rf"#define SATTN_VERSION_{part} (\d+)", header_text())
        for part in ("MAJOR", "MINOR", "PATCH")
    ]
    assert simdattn.version() == ".".join(number.group(1) for number in numbers if number)


def test_kernels() -> None:
    rows = simdattn.kernels()
    assert len({row.name for row in rows}) == len(rows)
    scalar = [row for row in rows if row.isa == "scalar" and row.op == "fused"]
    assert scalar and all(row.usable and row.missing == "" for row in scalar)


# ---- what is refused, and by which name


def zeros(*shape: int) -> Any:
    return np.zeros(shape, np.float32)


def call(**changes: Any) -> Any:
    """A call of shape [2, 4, 3, 8] with 2 KV heads of 5 keys, after some changes."""
    tensors = {"q": zeros(2, 4, 3, 8), "k": zeros(2, 2, 5, 8), "v": zeros(2, 2, 5, 8)}
    return simdattn.attention(**(tensors | changes))


@pytest.mark.parametrize(
    ("changes", "error", "text"),
    [
        ({"q": [[0.0]]}, TypeError, "q is a list: expected a NumPy array"),
        ({"q": zeros(2, 3, 8)}, ValueError, "q has 3 axes: expected 4"),
        ({"k": np.zeros((2, 2, 5, 8))}, TypeError, "k.dtype = float64: expected float32"),
        ({"v": zeros(2, 2, 5, 8).astype(">f4")}, TypeError, "v.dtype = >f4"),
        ({"q": zeros(2, 4, 8, 3).swapaxes(2, 3)}, ValueError, r"q.strides\[3\] = 12 bytes"),
        ({"v": zeros(2, 2, 5, 16)[..., ::2]}, ValueError, r"v.strides\[3\] = 8 bytes"),
        ({"k": zeros(2, 2, 5, 7)}, ValueError, r"k.shape\[3\] = 7: expected 8"),
        ({"k": zeros(1, 2, 5, 8)}, ValueError, r"k.shape\[0\] = 1: expected 2"),
        ({"v": zeros(2, 2, 4, 8)}, ValueError, r"v.shape\[2\] = 4: expected 5"),
        ({"out": zeros(2, 4, 3, 9)}, ValueError, r"out.shape\[3\] = 9: expected 8"),
        ({"out": np.broadcast_to(zeros(8), (2, 4, 3, 8))}, ValueError, "out is read-only"),
        ({"lse": zeros(2, 4, 2)}, ValueError, r"lse.shape\[2\] = 2: expected 3"),
        ({"lse": zeros(2, 4, 6)[..., ::2]}, ValueError, r"lse.strides\[2\] = 8 bytes"),
        ({"scores": zeros(2, 4, 3, 4)}, ValueError, r"scores.shape\[3\] = 4: expected 5"),
        ({"mask": np.zeros((3, 5))}, TypeError, "mask.dtype = float64"),
        ({"mask": zeros(1, 1, 1, 3, 5)}, ValueError, "mask has 5 axes"),
        ({"n_k_valid": [5]}, ValueError, r"n_k_valid has shape \(1,\): expected \(2,\)"),
        ({"n_k_valid": [1.5, 2]}, TypeError, "n_k_valid has type float64"),
        ({"alibi_slopes": [1.0] * 3}, ValueError, "alibi_slopes has shape"),
    ],
)
def test_refused_here(changes: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call(**changes)


ARGUMENT, KERNEL = simdattn.Status.ERR_ARGUMENT, simdattn.Status.ERR_KERNEL
OVERLAP, WORKSPACE = simdattn.Status.ERR_OVERLAP, simdattn.Status.ERR_WORKSPACE
UNSUPPORTED = simdattn.Status.ERR_UNSUPPORTED
BACKWARDS = zeros(2, 4, 3, 8)[:, ::-1]
SAME = zeros(2, 2, 5, 8)


@pytest.mark.parametrize(
    ("changes", "status", "text"),
    [
        ({"q": BACKWARDS}, ARGUMENT, "q.stride_h = -24"),
        ({"k": zeros(2, 3, 5, 8), "v": zeros(2, 3, 5, 8)}, ARGUMENT, "n_q_heads = 4"),
        ({"mask": zeros(5, 3).T}, ARGUMENT, r"mask.stride\[3\] = 3"),
        ({"mask": zeros(2, 5)}, ARGUMENT, r"mask.extent\[2\] = 2: expected 1 or 3"),
        ({"n_k_valid": [5, 6]}, ARGUMENT, r"n_k_valid\[1\] = 6"),
        ({"scale": float("nan")}, ARGUMENT, "scale = "),
        ({"softcap": -1.0}, ARGUMENT, "softcap = -1"),
        ({"window": (-2, 0)}, ARGUMENT, "window_left = -2"),
        ({"alibi_slopes": [1.0, 2.0, float("inf"), 0.0]}, ARGUMENT, r"alibi_slopes\[2\] = "),
        ({"scores_in": zeros(2, 4, 3, 5)}, ARGUMENT, "scores_in is set"),
        ({"q": SAME[:, :, :3], "k": SAME, "v": SAME, "out": SAME[:, :, 2:]}, OVERLAP, "o"),
        ({"options": simdattn.Options(threads=-1)}, ARGUMENT, "threads = -1"),
        ({"options": simdattn.Options(isa="mmx")}, KERNEL, "mmx"),
        ({"options": simdattn.Options(kernels="none")}, KERNEL, "none"),
        ({"options": simdattn.Options(plan="both")}, ARGUMENT, "both"),
        ({"options": simdattn.Options(key_splits=-1)}, ARGUMENT, "key_splits = -1"),
        (
            {"options": simdattn.Options(workspace=simdattn.workspace(256)[1:])},
            WORKSPACE,
            "workspace",
        ),
        (
            {name: zeros(2, 2, 5, 8).astype(np.float16) for name in "qkv"},
            UNSUPPORTED,
            "dtype",
        ),
    ],
)
def test_refused_by_the_library(changes: Any, status: simdattn.Status, text: str) -> None:
    with pytest.raises(simdattn.Error, match=text) as refusal:
        call(**changes)
    assert refusal.value.status == status


def test_no_profile(tmp_path: Path) -> None:
    with pytest.raises(simdattn.Error, match="no.json") as refusal:
        simdattn.Profile(tmp_path / "no.json")
    assert refusal.value.status in (simdattn.Status.ERR_PROFILE, UNSUPPORTED)


def test_nothing_is_written_on_a_refusal() -> None:
    out = np.full((2, 4, 3, 8), 7, np.float32)
    with pytest.raises(simdattn.Error):
        call(out=out, n_k_valid=[5, 9])
    assert (out == 7).all()


def test_output_of_the_caller_and_workspace() -> None:
    generator = np.random.default_rng(1)
    q, k, v = (generator.standard_normal((2, 3, 70, 16), np.float32) for _ in "qkv")
    rows = np.full((2, 70, 3, 16), 7, np.float32)
    for plan in ("fused", "chain"):
        options = simdattn.Options(plan=plan)
        size = simdattn.attention_workspace_size(q, k, v, options=options)
        options = simdattn.Options(plan=plan, workspace=simdattn.workspace(size))
        out = rows.swapaxes(1, 2)
        assert simdattn.attention(q, k, v, out=out, options=options) is out
        expected = simdattn.attention(q, k, v, options=simdattn.Options(plan=plan))
        assert (out == expected).all()
