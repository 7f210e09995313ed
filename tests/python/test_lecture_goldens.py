# SPDX-License-Identifier: MIT
"""test_lecture_goldens.py: tests/data/lecture holds what docs/lecture-data.md says.

The equations of that page are written out here once more in NumPy, in float64, without PyTorch and
as plainly as they stand there. Their results must be the committed ones to 1e-12, and PyTorch's own
of today too. Then the data itself: seeds give the same bits, no file is missing or left over, the
program's C reader can take each, and every number in them matters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import lecture_cases
import numpy as np
import pytest
from lecture_cases import CASES, DATA, Arrays, Case
from numpy.typing import NDArray

TOLERANCE = 1e-12

Array: TypeAlias = NDArray[np.float64]

DECODERS = [case for case in CASES if case.system in ("seq2seq", "captioning")]
ENTRIES = {f"{e['system']}-{e['name']}": e for e in lecture_cases.manifest()["cases"]}


def given(case: Case) -> Arrays:
    """Inputs and parameters as committed; tokens and permutations stay whole numbers."""
    entry = ENTRIES[str(case)]
    arrays = lecture_cases.read({**entry["inputs"], **entry["parameters"]})
    return {n: a.astype(np.float64) if a.dtype.kind == "f" else a for n, a in arrays.items()}


def committed(case: Case) -> Arrays:
    return lecture_cases.read(ENTRIES[str(case)]["outputs"])


# ---- the equations


def softmax(scores: Array) -> Array:
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    weights: Array = powers / powers.sum(-1, keepdims=True)
    return weights


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def additive(p: Arrays, query: Array, key: Array) -> float:
    hidden = np.tanh(p["align_w"] @ query + p["align_b"] + p["align_u"] @ key)
    return float(p["align_v"] @ hidden)


SIMILARITIES: dict[str, Callable[[Arrays, Array, Array], float]] = {
    "additive": additive,
    "dot": lambda p, q, x: float(q @ x),
    "scaled": lambda p, q, x: float(q @ x) / np.sqrt(len(q)),
    "bilinear": lambda p, q, x: float(q @ p["w"] @ x),
}


def all_scores(kind: str, p: Arrays, queries: Array, keys: Array) -> Array:
    return np.array([[SIMILARITIES[kind](p, q, k) for k in keys] for q in queries])


def general(case: Case, p: Arrays) -> Arrays:
    scores = all_scores(case.kind, p, p["q"], p["x"])
    attention = softmax(scores)
    return {"scores": scores, "attention": attention, "y": attention @ p["x"]}


def key_value(_case: Case, p: Arrays) -> Arrays:
    keys, values = p["x"] @ p["w_k"].T, p["x"] @ p["w_v"].T
    attention = softmax(all_scores("scaled", p, p["q"], keys))
    return {"attention": attention, "y": attention @ values}


def heads_of(case: Case, x: Array, causal: bool, p: Arrays) -> tuple[Array, Array]:
    """One head after the other, each on its slice of the features of q, k and v."""
    n_heads = case.extents["heads"]
    q, k, v = (x @ p[f"w_{name}"].T + p.get(f"b_{name}", 0.0) for name in "qkv")
    d, d_v = q.shape[1] // n_heads, v.shape[1] // n_heads
    joined, attention = np.zeros(v.shape), np.zeros((n_heads, len(x), len(x)))
    for head in range(n_heads):
        features, values = slice(head * d, (head + 1) * d), slice(head * d_v, (head + 1) * d_v)
        scores = q[:, features] @ k[:, features].T / np.sqrt(d)
        for i in range(len(x)):
            seen = i + 1 if causal else len(x)
            attention[head, i, :seen] = softmax(scores[i, :seen])
        joined[:, values] = attention[head] @ v[:, values]
    return joined @ p["w_o"].T + p.get("b_o", 0.0), attention


def self_attention(case: Case, p: Arrays) -> Arrays:
    y, attention = heads_of(case, p["x"], False, p)
    y_causal, attention_causal = heads_of(case, p["x"], True, p)
    return {
        "attention": attention,
        "y": y,
        "attention_causal": attention_causal,
        "y_causal": y_causal,
        "y_permuted": heads_of(case, p["x"][p["permutation"]], False, p)[0],
    }


def rnn_step(p: Arrays, x: Array, state: Array) -> Array:
    return np.tanh(p["w_ih"] @ x + p["b_ih"] + p["w_hh"] @ state + p["b_hh"])


def gru_step(p: Arrays, x: Array, state: Array) -> Array:
    x_r, x_z, x_n = np.split(p["w_ih"] @ x + p["b_ih"], 3)
    h_r, h_z, h_n = np.split(p["w_hh"] @ state + p["b_hh"], 3)
    reset, update = sigmoid(x_r + h_r), sigmoid(x_z + h_z)
    new = np.tanh(x_n + reset * h_n)
    return (1 - update) * new + update * state


STEPS = {"rnn": rnn_step, "gru": gru_step}


def cells(case: Case, p: Arrays) -> Arrays:
    states = np.zeros((len(p["x"]), *p["h0"].shape))
    for row, state in enumerate(p["h0"]):
        for step, x in enumerate(p["x"][:, row]):
            state = states[step, row] = STEPS[case.kind](p, x, state)
    return {"h": states}


def decode(case: Case, h: Array, state: Array, p: Arrays) -> Arrays:
    found: dict[str, list[Any]] = {
        name: [] for name in ("attention", "contexts", "states", "logits", "tokens")
    }
    token = case.extents["bos"]
    for _ in range(case.extents["max_steps"]):
        attention = softmax(np.array([additive(p, state, h_i) for h_i in h]))
        context = sum(a_i * h_i for a_i, h_i in zip(attention, h, strict=True))
        state = STEPS[case.kind](p, np.concatenate([p["embedding"][token], context]), state)
        logits = p["w_out"] @ state + p["b_out"]
        token = int(np.argmax(logits))
        for name, value in zip(found, (attention, context, state, logits, token), strict=True):
            found[name].append(value)
        if token == case.extents["eos"]:
            break
    return {name: np.array(values) for name, values in found.items()}


def seq2seq(case: Case, p: Arrays) -> Arrays:
    return decode(case, p["h"], p["s0"], p)


def captioning(case: Case, p: Arrays) -> Arrays:
    rows, columns, n_enc = p["features"].shape
    h = p["features"].reshape(rows * columns, n_enc)
    start = np.tanh(p["w_init"] @ (h.sum(0) / len(h)) + p["b_init"])
    found = decode(case, h, start, p)
    found["attention"] = found["attention"].reshape(-1, rows, columns)
    return {"s0": start, **found}


SYSTEMS = {
    "general": general,
    "key_value": key_value,
    "self_attention": self_attention,
    "cells": cells,
    "seq2seq": seq2seq,
    "captioning": captioning,
}


# ---- comparisons


def assert_same(found: Arrays, case: Case) -> None:
    """All outputs of the case but PyTorch's float32 ones."""
    expected = {n: a for n, a in committed(case).items() if not n.endswith("_f32")}
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_allclose(
            found[name], array, rtol=0, atol=TOLERANCE, equal_nan=False, strict=True, err_msg=name
        )


@pytest.mark.parametrize("case", CASES, ids=str)
def test_equations(case: Case) -> None:
    """NumPy finds what PyTorch found."""
    assert_same(SYSTEMS[case.system](case, given(case)), case)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_pytorch(case: Case) -> None:
    """PyTorch finds it again."""
    goldens = pytest.importorskip("lecture_goldens")
    assert_same(goldens.compute(case, given(case), goldens.torch.float64), case)


# ---- the data


@pytest.mark.parametrize("case", CASES, ids=str)
def test_manifest(case: Case) -> None:
    """It tells of this case what its files hold, and those hold what the seed gives, to the bit."""
    entry, drawn, outputs = ENTRIES[str(case)], lecture_cases.numbers(case), committed(case)
    facts = {name: entry[name] for name in ("margins", "float32_error") if name in entry}
    assert entry == lecture_cases.entry(case, drawn, outputs, facts)
    stored = lecture_cases.read({**entry["inputs"], **entry["parameters"]})
    for name, array in drawn.all().items():
        np.testing.assert_array_equal(stored[name], array, strict=True, err_msg=name)
    for name, error in entry["float32_error"].items():
        assert error == pytest.approx(abs(outputs[f"{name}_f32"] - outputs[name]).max(), rel=0.01)


def test_files() -> None:
    """None is missing or left over, and each is as bench/verify/npy.h takes it."""
    described = {
        about["file"]: about
        for entry in ENTRIES.values()
        for part in ("inputs", "parameters", "outputs")
        for about in entry[part].values()
    }
    assert ENTRIES.keys() == {str(case) for case in CASES}
    assert described.keys() == {str(path.relative_to(DATA)) for path in DATA.rglob("*.npy")}
    for name, about in described.items():
        with (DATA / name).open("rb") as file:
            assert np.lib.format.read_magic(file) == (1, 0)
            shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(file)
        assert not is_fortran and 1 <= len(shape) <= 8 and 0 not in shape
        assert lecture_cases.DTYPES[dtype.str] == about["dtype"] and list(shape) == about["shape"]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_properties(case: Case) -> None:
    """Weights sum to 1, causal ones hide later inputs, inputs may come in any order."""
    out = committed(case)
    for name in ("attention", "attention_causal"):
        if name in out:
            axes = (1, 2) if case.system == "captioning" else -1
            np.testing.assert_allclose(out[name].sum(axes), 1, rtol=0, atol=TOLERANCE)
            assert (out[name] >= 0).all()
    if case.system == "self_attention":
        assert (np.triu(out["attention_causal"], 1) == 0).all()
        order = given(case)["permutation"]
        assert (order != np.arange(len(order))).any()
        np.testing.assert_allclose(out["y_permuted"], out["y"][order], rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("case", DECODERS, ids=str)
def test_tokens(case: Case) -> None:
    """No float32 implementation may find others: the best logit leads by far. eos is the last."""
    entry, out = ENTRIES[str(case)], committed(case)
    best = np.sort(out["logits"], -1)
    np.testing.assert_allclose(entry["margins"], best[:, -1] - best[:, -2], rtol=1e-3)
    assert min(entry["margins"]) > 1e4 * entry["float32_error"]["logits"]
    tokens, eos = out["tokens"].tolist(), case.extents["eos"]
    assert eos not in tokens[:-1]
    assert (tokens[-1] == eos) == (len(tokens) < case.extents["max_steps"])


def cannot_matter(case: Case, name: str) -> bool:
    """A bias of all keys moves all scores of a row alike; one input has weight 1 whatever it is."""
    alone = case.extents.get("n_x") == 1 or case.extents.get("t") == 1
    return name == "b_k" or (alone and (name == "q" or name.startswith("align_")))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_array_matters(case: Case) -> None:
    """Zeros in place of one of them move an output far beyond any rounding."""
    arrays, expected = given(case), committed(case)
    expected.pop("scores", None)
    for name in arrays:
        found = SYSTEMS[case.system](case, {**arrays, name: np.zeros_like(arrays[name])})
        moved = max(
            np.inf if found[n].shape != a.shape else abs(found[n] - a).max()
            for n, a in expected.items()
            if not n.endswith("_f32")
        )
        assert moved < TOLERANCE if cannot_matter(case, name) else moved > 0.01, name
