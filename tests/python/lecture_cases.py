# SPDX-License-Identifier: MIT
"""lecture_cases.py: the cases of tests/data/lecture, their seeded numbers, and their files.

docs/lecture-data.md defines the systems and names every array. Here stand the extents of each case
and how its inputs and parameters are drawn: uniform numbers, so that the same seed gives the same
bits with every version and on every CPU (of normal ones that is not promised). A matrix [out, in]
times inputs of deviation 1 gives outputs of deviation `gain`; gains are such that attention weights
are far from equal, and tokens differ from step to step.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

DATA = Path(__file__).resolve().parent.parent / "data" / "lecture"
BOS, EOS = 1, 0
DTYPES = {"<f4": "f32", "<f8": "f64", "<i8": "i64"}

Arrays: TypeAlias = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Case:
    """One system at one size. `kind` says which similarity, layer or cell it has."""

    system: str
    name: str
    kind: str
    seed: int
    extents: dict[str, int]

    def __str__(self) -> str:
        return f"{self.system}-{self.name}"

    def file(self, array: str) -> str:
        """Relative to DATA."""
        return f"{self.system}/{self.name}/{array}.npy"


@dataclass
class Numbers:
    """Inputs and parameters in float32, in the order in which they are drawn."""

    inputs: Arrays = field(default_factory=dict)
    parameters: Arrays = field(default_factory=dict)

    def all(self) -> Arrays:
        return {**self.inputs, **self.parameters}


class Draw:
    """Uniform numbers of mean 0. The streams of RandomState never change (NEP 19)."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.RandomState(seed)

    def __call__(self, *shape: int, deviation: float = 1.0) -> NDArray[np.float32]:
        unit = self.random.random_sample(shape) * 2.0 - 1.0
        return (unit * (math.sqrt(3.0) * deviation)).astype("<f4")

    def matrix(self, n_out: int, n_in: int, gain: float = 1.0) -> NDArray[np.float32]:
        return self(n_out, n_in, deviation=gain / math.sqrt(n_in))


def alignment(draw: Draw, n_query: int, n_key: int, n_align: int) -> Arrays:
    """v . tanh(W q + b + U k)"""
    return {
        "align_w": draw.matrix(n_align, n_query),
        "align_b": draw(n_align, deviation=0.3),
        "align_u": draw.matrix(n_align, n_key),
        "align_v": draw(n_align, deviation=4 / math.sqrt(n_align)),
    }


def cell(draw: Draw, kind: str, n_in: int, n_hidden: int) -> Arrays:
    n_gates = {"gru": 3, "rnn": 1}[kind] * n_hidden
    return {
        "w_ih": draw.matrix(n_gates, n_in, gain=1.2),
        "w_hh": draw.matrix(n_gates, n_hidden),
        "b_ih": draw(n_gates, deviation=0.3),
        "b_hh": draw(n_gates, deviation=0.3),
    }


def decoder(draw: Draw, kind: str, e: dict[str, int]) -> Arrays:
    return {
        **alignment(draw, e["n_hidden"], e["n_enc"], e["n_align"]),
        "embedding": draw(e["n_vocab"], e["n_embed"], deviation=1.5),
        **cell(draw, kind, e["n_embed"] + e["n_enc"], e["n_hidden"]),
        "w_out": draw.matrix(e["n_vocab"], e["n_hidden"], gain=3),
        "b_out": draw(e["n_vocab"], deviation=0.3),
    }


def general(draw: Draw, kind: str, e: dict[str, int]) -> Numbers:
    numbers = Numbers({"q": draw(e["n_q"], e["d_q"]), "x": draw(e["n_x"], e["d_x"])})
    if kind == "additive":
        numbers.parameters = alignment(draw, e["d_q"], e["d_x"], e["n_align"])
    if kind == "bilinear":
        numbers.parameters["w"] = draw.matrix(e["d_q"], e["d_x"], gain=0.7)
    return numbers


def key_value(draw: Draw, _kind: str, e: dict[str, int]) -> Numbers:
    return Numbers(
        {"q": draw(e["n_q"], e["d_q"]), "x": draw(e["n_x"], e["d_x"])},
        {
            "w_k": draw.matrix(e["d_q"], e["d_x"], gain=1.5),
            "w_v": draw.matrix(e["d_v"], e["d_x"]),
        },
    )


def self_attention(draw: Draw, kind: str, e: dict[str, int]) -> Numbers:
    n, d_x, d_q, d_v, d_o = (e[name] for name in ("n", "d_x", "d_q", "d_v", "d_o"))
    inputs = {"x": draw(n, d_x), "permutation": draw.random.permutation(n).astype("<i8")}
    parameters: Arrays = {
        "w_q": draw.matrix(d_q, d_x, gain=1.5),
        "w_k": draw.matrix(d_q, d_x, gain=1.5),
        "w_v": draw.matrix(d_v, d_x),
        "w_o": draw.matrix(d_o, d_v, gain=1.5),
    }
    if kind == "module":
        for name, size in (("b_q", d_q), ("b_k", d_q), ("b_v", d_v), ("b_o", d_o)):
            parameters[name] = draw(size, deviation=0.3)
    return Numbers(inputs, parameters)


def cells(draw: Draw, kind: str, e: dict[str, int]) -> Numbers:
    return Numbers(
        {
            "x": draw(e["n_steps"], e["batch"], e["n_in"]),
            "h0": draw(e["batch"], e["n_hidden"], deviation=0.5),
        },
        cell(draw, kind, e["n_in"], e["n_hidden"]),
    )


def seq2seq(draw: Draw, kind: str, e: dict[str, int]) -> Numbers:
    return Numbers(
        {"h": draw(e["t"], e["n_enc"]), "s0": draw(e["n_hidden"], deviation=0.5)},
        decoder(draw, kind, e),
    )


def captioning(draw: Draw, kind: str, e: dict[str, int]) -> Numbers:
    # The mean over a grid of numbers of mean 0 is small: the start state is told by b_init too.
    return Numbers(
        {"features": draw(e["rows"], e["columns"], e["n_enc"])},
        {
            "w_init": draw.matrix(
                e["n_hidden"], e["n_enc"], gain=math.sqrt(e["rows"] * e["columns"])
            ),
            "b_init": draw(e["n_hidden"], deviation=0.3),
            **decoder(draw, kind, e),
        },
    )


SYSTEMS = {
    "general": general,
    "key_value": key_value,
    "self_attention": self_attention,
    "cells": cells,
    "seq2seq": seq2seq,
    "captioning": captioning,
}


def numbers(case: Case) -> Numbers:
    return SYSTEMS[case.system](Draw(case.seed), case.kind, case.extents)


def _general(name: str, kind: str, seed: int, *extents: int) -> Case:
    names = ("n_q", "n_x", "d_q", "d_x", "n_align")
    return Case("general", name, kind, seed, dict(zip(names, extents)))


def _self(name: str, kind: str, seed: int, *extents: int) -> Case:
    names = ("n", "heads", "d_x", "d_q", "d_v", "d_o")
    return Case("self_attention", name, kind, seed, dict(zip(names, extents, strict=True)))


def _cell(kind: str, seed: int, *extents: int) -> Case:
    names = ("n_hidden", "n_in", "n_steps", "batch")
    return Case("cells", f"{kind}_{extents[0]}", kind, seed, dict(zip(names, extents, strict=True)))


def _decoder(
    system: str, name: str, kind: str, seed: int, where: dict[str, int], *sizes: int
) -> Case:
    names = ("n_enc", "n_hidden", "n_align", "n_embed")
    limits = {"n_vocab": 23, "max_steps": 6, "bos": BOS, "eos": EOS}
    return Case(
        system, name, kind, seed, {**where, **dict(zip(names, sizes, strict=True)), **limits}
    )


CASES = (
    _general("additive_1", "additive", 11, 1, 10, 12, 20, 33),
    _general("additive_5", "additive", 12, 5, 37, 19, 19, 24),
    _general("additive_5_of_1", "additive", 13, 5, 1, 12, 20, 9),
    _general("dot_1", "dot", 14, 1, 13, 19, 19),
    _general("dot_5", "dot", 15, 5, 9, 8, 8),
    _general("scaled_1", "scaled", 16, 1, 49, 64, 64),
    _general("scaled_5", "scaled", 17, 5, 21, 33, 33),
    _general("bilinear_1", "bilinear", 18, 1, 7, 9, 21),
    _general("bilinear_5", "bilinear", 19, 5, 35, 22, 17),
    Case("key_value", "wide", "scaled", 21, {"n_q": 5, "n_x": 11, "d_x": 24, "d_q": 16, "d_v": 20}),
    Case("key_value", "odd", "scaled", 22, {"n_q": 17, "n_x": 33, "d_x": 13, "d_q": 7, "d_v": 9}),
    Case("key_value", "one", "scaled", 23, {"n_q": 1, "n_x": 50, "d_x": 31, "d_q": 40, "d_v": 3}),
    _self("h1_d24", "module", 31, 10, 1, 24, 24, 24, 24),
    _self("h4_d20", "module", 32, 13, 4, 20, 20, 20, 20),
    _self("h4_d36", "module", 33, 19, 4, 36, 36, 36, 36),
    _self("h3_unequal", "plain", 34, 12, 3, 22, 15, 12, 10),
    _cell("rnn", 41, 32, 20, 5, 1),
    _cell("rnn", 42, 33, 17, 5, 3),
    _cell("rnn", 43, 127, 9, 4, 2),
    _cell("gru", 44, 32, 20, 5, 1),
    _cell("gru", 45, 33, 17, 5, 3),
    _cell("gru", 46, 127, 9, 4, 2),
    _decoder("seq2seq", "gru_t1", "gru", 5204, {"t": 1}, 12, 32, 16, 8),
    _decoder("seq2seq", "gru_t7", "gru", 5920, {"t": 7}, 20, 33, 24, 12),
    _decoder("seq2seq", "gru_t50", "gru", 5807, {"t": 50}, 33, 40, 31, 17),
    _decoder("seq2seq", "rnn_t1", "rnn", 5474, {"t": 1}, 12, 33, 9, 8),
    _decoder("seq2seq", "rnn_t7", "rnn", 5502, {"t": 7}, 17, 32, 24, 12),
    _decoder("seq2seq", "rnn_t50", "rnn", 5613, {"t": 50}, 20, 33, 24, 12),
    _decoder("captioning", "gru_7x7", "gru", 6228, {"rows": 7, "columns": 7}, 24, 33, 32, 12),
    _decoder("captioning", "gru_14x14", "gru", 7132, {"rows": 14, "columns": 14}, 10, 32, 17, 9),
    _decoder("captioning", "rnn_7x7", "rnn", 6426, {"rows": 7, "columns": 7}, 24, 32, 15, 12),
)


# ---- files


def described(case: Case, arrays: Arrays) -> dict[str, Any]:
    return {
        name: {
            "file": case.file(name),
            "dtype": DTYPES[array.dtype.str],
            "shape": list(array.shape),
        }
        for name, array in arrays.items()
    }


def entry(case: Case, drawn: Numbers, outputs: Arrays, facts: dict[str, Any]) -> dict[str, Any]:
    """What the manifest says of a case."""
    return {
        "system": case.system,
        "name": case.name,
        "kind": case.kind,
        "seed": case.seed,
        "extents": case.extents,
        **facts,
        "inputs": described(case, drawn.inputs),
        "parameters": described(case, drawn.parameters),
        "outputs": described(case, outputs),
    }


def manifest() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DATA / "manifest.json").read_text(encoding="utf-8"))
    return found


def write_manifest(head: dict[str, Any], entries: list[dict[str, Any]]) -> None:
    """A case to a line."""
    lines = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    cases = ",\n".join(json.dumps(entry) for entry in entries)
    text = "{\n" + ",\n".join(lines) + ',\n "cases": [\n' + cases + "\n]}\n"
    (DATA / "manifest.json").write_text(text, encoding="utf-8")


def write(case: Case, arrays: Arrays) -> None:
    for name, array in arrays.items():
        path = DATA / case.file(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, np.ascontiguousarray(array), allow_pickle=False)


def read(files: dict[str, Any]) -> Arrays:
    """The arrays that one part of a manifest entry describes."""
    return {
        name: np.load(DATA / about["file"], allow_pickle=False) for name, about in files.items()
    }
