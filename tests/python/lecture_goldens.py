#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""lecture_goldens.py: writes tests/data/lecture, the lecture's systems as PyTorch computes them.

    build-python/venv/bin/python tests/python/lecture_goldens.py

docs/lecture-data.md has the equations. Each system is made of PyTorch's own modules and primitives,
which get the seeded float32 numbers of lecture_cases.py and run twice: in float64, which is the
golden result, and in float32, whose distance from it shows how much of an error is float32's own.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import lecture_cases
import numpy as np
import torch
from lecture_cases import CASES, DATA, Arrays, Case, Numbers
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

# How far the best logit must lead: no rounding of a float32 implementation comes near it.
MARGIN = 0.1

Tensors: TypeAlias = dict[str, Tensor]
Module = TypeVar("Module", bound=nn.Module)


def loaded(module: Module, **parameters: Tensor) -> Module:
    """The module in the type of these parameters, which must be all that it has."""
    module.to(next(iter(parameters.values())).dtype)
    module.load_state_dict(parameters)
    return module


def linear(weight: Tensor, bias: Tensor | None = None) -> nn.Linear:
    module = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None)
    return loaded(module, weight=weight, **({} if bias is None else {"bias": bias}))


# ---- attention


class Additive(nn.Module):
    """Bahdanau's alignment of every query with every key, from Linear modules."""

    def __init__(self, p: Tensors) -> None:
        super().__init__()
        self.w = linear(p["align_w"], p["align_b"])
        self.u = linear(p["align_u"])
        self.v = linear(p["align_v"][None])

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        hidden = torch.tanh(self.w(queries)[:, None] + self.u(keys)[None])
        scores: Tensor = self.v(hidden)[..., 0]
        return scores


def bilinear(q: Tensor, x: Tensor, w: Tensor) -> Tensor:
    module = loaded(nn.Bilinear(w.shape[0], w.shape[1], 1, bias=False), weight=w[None])
    pairs = (len(q), len(x), -1)
    scores: Tensor = module(q[:, None].expand(pairs), x[None].expand(pairs))[..., 0]
    return scores


def general(case: Case, p: Tensors) -> Tensors:
    q, x = p["q"], p["x"]
    if case.kind == "additive":
        scores = Additive(p)(q, x)
    elif case.kind == "bilinear":
        scores = bilinear(q, x, p["w"])
    else:
        scores = q @ x.T
        if case.kind == "scaled":
            scores = scores / q.shape[1] ** 0.5
    attention = functional.softmax(scores, -1)
    return {"scores": scores, "attention": attention, "y": attention @ x}


def sdpa(q: Tensor, k: Tensor, v: Tensor, causal: bool = False) -> tuple[Tensor, Tensor]:
    """The output, and the weights: those are the output for values that are the unit vectors."""
    unit = torch.eye(k.shape[-2], dtype=v.dtype).expand(*k.shape[:-1], -1)
    y, attention = (
        functional.scaled_dot_product_attention(q, k, values, is_causal=causal)
        for values in (v, unit)
    )
    return y, attention


def key_value(_case: Case, p: Tensors) -> Tensors:
    y, attention = sdpa(p["q"], linear(p["w_k"])(p["x"]), linear(p["w_v"])(p["x"]))
    return {"attention": attention, "y": y}


def multihead(case: Case, x: Tensor, p: Tensors, causal: bool) -> tuple[Tensor, Tensor]:
    """nn.MultiheadAttention: in_proj is W_Q, W_K and W_V one below the other."""
    module = loaded(
        nn.MultiheadAttention(case.extents["d_x"], case.extents["heads"]),
        in_proj_weight=torch.cat([p["w_q"], p["w_k"], p["w_v"]]),
        in_proj_bias=torch.cat([p["b_q"], p["b_k"], p["b_v"]]),
        **{"out_proj.weight": p["w_o"], "out_proj.bias": p["b_o"]},
    )
    hidden = torch.ones(len(x), len(x), dtype=torch.bool).triu(1) if causal else None
    y, attention = module(x, x, x, attn_mask=hidden, average_attn_weights=False)
    return y, attention


def projected(case: Case, x: Tensor, p: Tensors, causal: bool) -> tuple[Tensor, Tensor]:
    """The same from its primitives, which take d_q, d_v and d_o other than d_x."""
    heads = (len(x), case.extents["heads"], -1)
    q, k, v = (linear(p[w])(x).view(heads).transpose(0, 1) for w in ("w_q", "w_k", "w_v"))
    joined, attention = sdpa(q, k, v, causal)
    return linear(p["w_o"])(joined.transpose(0, 1).flatten(1)), attention


def self_attention(case: Case, p: Tensors) -> Tensors:
    layer = multihead if case.kind == "module" else projected
    y, attention = layer(case, p["x"], p, causal=False)
    y_causal, attention_causal = layer(case, p["x"], p, causal=True)
    return {
        "attention": attention,
        "y": y,
        "attention_causal": attention_causal,
        "y_causal": y_causal,
        "y_permuted": layer(case, p["x"][p["permutation"]], p, causal=False)[0],
    }


# ---- recurrence


def cell(kind: str, p: Tensors) -> nn.GRUCell | nn.RNNCell:
    extents = p["w_ih"].shape[1], p["w_hh"].shape[1]
    return loaded(
        nn.GRUCell(*extents) if kind == "gru" else nn.RNNCell(*extents),
        weight_ih=p["w_ih"], weight_hh=p["w_hh"], bias_ih=p["b_ih"], bias_hh=p["b_hh"],
    )  # fmt: skip


def cells(case: Case, p: Tensors) -> Tensors:
    step = cell(case.kind, p)
    states = [p["h0"]]
    for x in p["x"]:
        states.append(step(x, states[-1]))
    return {"h": torch.stack(states[1:])}


def decode(case: Case, h: Tensor, start: Tensor, p: Tensors) -> Tensors:
    """Greedy, until the token is eos or max_steps are done. h: [T, n_enc]."""
    align, step, output = Additive(p), cell(case.kind, p), linear(p["w_out"], p["b_out"])
    embedding = loaded(nn.Embedding(*p["embedding"].shape), weight=p["embedding"])
    state, token = start, torch.tensor(case.extents["bos"])
    found: dict[str, list[Tensor]] = {
        name: [] for name in ("attention", "contexts", "states", "logits", "tokens")
    }
    while len(found["tokens"]) < case.extents["max_steps"] and token != case.extents["eos"]:
        attention = functional.softmax(align(state[None], h)[0], 0)
        context = attention @ h
        state = step(torch.cat([embedding(token), context]), state)
        logits = output(state)
        token = logits.argmax()
        for name, value in zip(found, (attention, context, state, logits, token), strict=True):
            found[name].append(value)
    return {name: torch.stack(values) for name, values in found.items()}


def seq2seq(case: Case, p: Tensors) -> Tensors:
    return decode(case, p["h"], p["s0"], p)


def captioning(case: Case, p: Tensors) -> Tensors:
    h = p["features"].flatten(0, 1)
    start = torch.tanh(linear(p["w_init"], p["b_init"])(h.mean(0)))
    found = decode(case, h, start, p)
    found["attention"] = found["attention"].view(-1, *p["features"].shape[:2])
    return {"s0": start, **found}


SYSTEMS: dict[str, Callable[[Case, Tensors], Tensors]] = {
    "general": general,
    "key_value": key_value,
    "self_attention": self_attention,
    "cells": cells,
    "seq2seq": seq2seq,
    "captioning": captioning,
}


# ---- results


@torch.no_grad()
def compute(case: Case, given: Arrays, dtype: torch.dtype) -> Arrays:
    """The outputs of a case from its inputs and parameters."""
    tensors = {name: torch.from_numpy(array) for name, array in given.items()}
    typed = {n: t.to(dtype) if t.is_floating_point() else t for n, t in tensors.items()}
    return {name: out.numpy() for name, out in SYSTEMS[case.system](case, typed).items()}


def margins(logits: NDArray[np.float64]) -> list[float]:
    """How far the best logit leads, step by step."""
    best = np.sort(logits, -1)
    return [float(f"{lead:.4g}") for lead in best[:, -1] - best[:, -2]]


def goldens(case: Case, drawn: Numbers) -> tuple[Arrays, dict[str, Any]]:
    """The outputs in both types, and what the manifest tells of them."""
    exact, rounded = (compute(case, drawn.all(), t) for t in (torch.float64, torch.float32))
    facts: dict[str, Any] = {}
    if "tokens" in exact:
        facts["margins"] = margins(exact["logits"])
        if min(facts["margins"]) < MARGIN:
            raise SystemExit(f"{case}: a logit leads by {min(facts['margins'])}: another seed")
        if not np.array_equal(exact["tokens"], rounded.pop("tokens")):
            raise SystemExit(f"{case}: float32 finds other tokens")
    errors = {name: float(abs(rounded[name] - exact[name]).max()) for name in rounded}
    facts["float32_error"] = {name: float(f"{error:.3g}") for name, error in errors.items()}
    return {**exact, **{f"{name}_f32": array for name, array in rounded.items()}}, facts


def main() -> int:
    torch.set_num_threads(1)
    drawn = [lecture_cases.numbers(case) for case in CASES]
    found = [goldens(case, numbers) for case, numbers in zip(CASES, drawn, strict=True)]
    shutil.rmtree(DATA, ignore_errors=True)
    entries, size = [], 0
    for case, numbers, (outputs, facts) in zip(CASES, drawn, found, strict=True):
        arrays = {**numbers.all(), **outputs}
        lecture_cases.write(case, arrays)
        entries.append(lecture_cases.entry(case, numbers, outputs, facts))
        size += sum(array.nbytes for array in arrays.values())
    head = {
        "source": "tests/python/lecture_goldens.py",
        "license": "MIT",
        "files": "NumPy .npy v1.0, C order, little endian",
        "numpy": np.__version__,
        "torch": torch.__version__,
    }
    lecture_cases.write_manifest(head, entries)
    print(f"{len(entries)} cases, {size / 1000:.0f} kB of data")
    return 0


if __name__ == "__main__":
    sys.exit(main())
