# SPDX-License-Identifier: MIT
"""test_sdpa.py: sattn_attention against torch.nn.functional.scaled_dot_product_attention.

Each case runs fused and as a chain, on every instruction set of this CPU, with one and two threads,
and is compared with what PyTorch computes from the same tensors in float64. PyTorch's own float32
result is compared with that too, for the table at the end. Most shapes are those of PyTorch's own
tests of its CPU kernels; the rest is what its users reported broken, and what SDPA can only say
through a mask or an additional key: windows, ALiBi, sinks, lengths.

How much is allowed follows from the data. With u = 2^-24, the weights p and the output o,

    |error| <= u (SUMS sum p |v| + (WEIGHTS + SCORES max A) spread),
    spread = min(sqrt(sum p v^2 - o^2), 2 sum p |v|),

where A = sum |scale q k| is the size of a score's own terms. Errors of sums count by sum p |v|, and
those of a weight by the distance of its v from o, of which the spread bounds the mean. The derived
bound of docs/numerics.md has the same parts; its constants hold for the worst case, these are what
good kernels reach, with room.
"""

from __future__ import annotations

import functools
import itertools
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pytest
import report
import simdattn
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

U = 2.0**-24
SUMS = 12.0
WEIGHTS = 16.0
SCORES = 4.0

Tensors: TypeAlias = tuple[Tensor, Tensor, Tensor]


@dataclass
class Problem:
    """Tensors, and how both sides are told the same thing about them."""

    q: Tensor
    k: Tensor
    v: Tensor
    ours: dict[str, Any] = field(default_factory=dict)
    theirs: dict[str, Any] = field(default_factory=dict)
    # Keys of zeros with values of zeros behind the others, for PyTorch only.
    padding: int = 0


@dataclass(frozen=True)
class Case:
    """A name, unique in its group, and how its problem is made from seeded random numbers."""

    group: str
    name: str
    make: Callable[[torch.Generator], Problem]

    def __str__(self) -> str:
        return f"{self.group}-{self.name}".replace(" ", "-")


@dataclass(frozen=True)
class Reference:
    """PyTorch's float64 result; rows that see no key, which are +0; and the error allowed."""

    out: Tensor
    empty: Tensor
    size: Tensor
    allowed: Tensor
    pytorch_error: float


# ---- what is expected


def visible(problem: Problem, shape: tuple[int, ...]) -> Tensor:
    """Which keys PyTorch's mask and is_causal leave."""
    seen = torch.ones(shape[-2:], dtype=torch.bool)
    if problem.theirs.get("is_causal"):
        seen = seen.tril()
    mask = problem.theirs.get("attn_mask")
    if mask is not None:
        seen = seen & (mask if mask.dtype == torch.bool else mask > -torch.inf)
    return seen.expand(shape)


def padded(x: Tensor, rows: int) -> Tensor:
    """With so many rows of zeros behind."""
    return torch.nn.functional.pad(x, (0, 0, 0, rows)) if rows else x


def sdpa(problem: Problem, values: Tensor, dtype: torch.dtype) -> Tensor:
    """PyTorch's attention of the problem in one type, with these values."""
    options = dict(problem.theirs)
    mask = options.get("attn_mask")
    if mask is not None and mask.dtype != torch.bool:
        options["attn_mask"] = mask.to(dtype)
    keys = padded(problem.k, problem.padding).to(dtype)
    q, v = problem.q.to(dtype), values.to(dtype)
    out: Tensor = scaled_dot_product_attention(q, keys, v, **options)
    return out


def score_size(problem: Problem) -> Tensor:
    """max over keys of sum |scale q k|, for each row."""
    q, k = problem.q.abs(), problem.k.abs()
    if q.shape[1] != k.shape[1]:
        k = k.repeat_interleave(q.shape[1] // k.shape[1], 1)
    scale = problem.theirs.get("scale", q.shape[-1] ** -0.5)
    return (q @ k.mT).amax(-1, keepdim=True).double() * abs(scale)


def units(error: Tensor, size: Tensor) -> float:
    """The largest error in units of 2^-24 sum p |v|."""
    ratio = torch.where(size > 0, error / (U * size), 0.0)
    return float(ratio.max()) if ratio.numel() else 0.0


def reference(problem: Problem) -> Reference:
    """PyTorch in float64, and the sizes that errors are measured by."""
    values = padded(problem.v, problem.padding).double()
    out = sdpa(problem, values, torch.float64)
    shape = (*out.shape[:3], problem.k.shape[2] + problem.padding)
    empty = ~visible(problem, shape).any(-1, keepdim=True)
    # A row without a key is NaN in some versions of PyTorch and 0 in others.
    out = torch.where(empty, 0.0, out)
    size = torch.where(empty, 0.0, sdpa(problem, values.abs(), torch.float64))
    square = torch.where(empty, 0.0, sdpa(problem, values.square(), torch.float64))
    spread = torch.minimum((square - out.square()).clamp(min=0).sqrt(), 2 * size)
    allowed = U * (SUMS * size + (WEIGHTS + SCORES * score_size(problem)) * spread)
    theirs = torch.where(empty, 0.0, sdpa(problem, values, torch.float32).double())
    return Reference(out, empty, size, allowed, units((theirs - out).abs(), size))


def compare(case: Case) -> None:
    """Every variant against the reference."""
    problem = case.make(torch.Generator().manual_seed(zlib.crc32(str(case).encode())))
    expected = reference(problem)
    q, k, v = (x.numpy() for x in (problem.q, problem.k, problem.v))
    wrong = []
    for options in report.VARIANTS:
        name = report.variant_name(options)
        lse = np.full(q.shape[:3], np.nan, np.float32)
        out = torch.from_numpy(
            simdattn.attention(q, k, v, lse=lse, options=options, **problem.ours)
        ).double()
        error = (out - expected.out).abs()
        excess = torch.where(expected.allowed > 0, error / expected.allowed, error * torch.inf)
        share = float(torch.where(error == 0, 0.0, excess).nan_to_num(torch.inf).max())
        if not share <= 1:
            wrong.append(f"{name}: {share:.3g} times the error allowed")
        if out[expected.empty.expand(out.shape)].any():
            wrong.append(f"{name}: a row without keys is not 0")
        hidden = torch.from_numpy(lse)[expected.empty[..., 0]] != -torch.inf
        if hidden.any() or np.isnan(lse).any():
            wrong.append(f"{name}: log-sum-exp is NaN, or not -inf without keys")
        plan = options.plan or ""
        found = units(error, expected.size)
        report.record(case.group, case.name, plan, found, expected.pytorch_error, share)
    assert not wrong, "\n".join(wrong)


# ---- tensors


def normal(generator: torch.Generator, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=generator)


def three(g: torch.Generator, batch: int, heads: int, n_q: int, n_k: int, d: int) -> Tensors:
    """Q, K and V, each in an allocation of its own."""
    shapes = ((batch, heads, n_q, d), (batch, heads, n_k, d), (batch, heads, n_k, d))
    q, k, v = (normal(g, *shape) for shape in shapes)
    return q, k, v


def packed(g: torch.Generator, batch: int, rows: int, heads: int, d: int) -> Tensors:
    """Q, K and V as views of one tensor [batch, rows, 3 heads d], as a projection leaves them."""
    parts = normal(g, batch, rows, 3 * heads * d).chunk(3, -1)
    q, k, v = (part.view(batch, rows, heads, d).transpose(1, 2) for part in parts)
    return q, k, v


def causal_arguments(causal: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """PyTorch's causal limit starts top left: row i sees keys up to i."""
    return {"causal": causal, "causal_offset": 0 if causal else None}, {"is_causal": causal}


def both_masks(problem: Problem, mask: Tensor) -> Problem:
    """The same mask for both sides; PyTorch wants two axes at least."""
    problem.ours["mask"] = mask.numpy()
    problem.theirs["attn_mask"] = mask if mask.ndim > 1 else mask[None]
    return problem


# ---- PyTorch's own grid


def make_packed(
    g: torch.Generator, batch: int, rows: int, heads: int, d: int, causal: bool
) -> Problem:
    return Problem(*packed(g, batch, rows, heads, d), *causal_arguments(causal))


def packed_cases() -> Iterator[Case]:
    small = itertools.product((2, 12), (267, 1030), (1, 3), (8, 16), (False, True))
    wide = itertools.product((2,), (267,), (3,), (32, 64, 80, 128, 256), (False, True))
    for batch, rows, heads, d, causal in (*small, *wide):
        name = f"B{batch} T{rows} H{heads} D{d}" + " causal" * causal
        make = functools.partial(
            make_packed, batch=batch, rows=rows, heads=heads, d=d, causal=causal
        )
        yield Case("packed", name, make)


def make_masked(g: torch.Generator, shape: tuple[int, ...], boolean: bool, causal: bool) -> Problem:
    problem = Problem(*three(g, 2, 3, 267, 514, 8), *causal_arguments(causal))
    if boolean:
        return both_masks(problem, torch.randint(0, 2, shape, generator=g).bool())
    return both_masks(problem, normal(g, *shape))


def masked_cases() -> Iterator[Case]:
    """Every broadcast pattern of a mask of rank 2 and 4; PyTorch takes is_causal on top."""
    patterns = [
        *itertools.product((1, 267), (1, 514)),
        *itertools.product((1, 2), (1, 3), (1, 267), (1, 514)),
    ]
    for shape, boolean, causal in itertools.product(patterns, (True, False), (False, True)):
        kind = "bool" if boolean else "float"
        name = f"{'x'.join(map(str, shape))}" + " causal" * causal
        make = functools.partial(make_masked, shape=shape, boolean=boolean, causal=causal)
        yield Case(f"mask {kind}", name, make)


def make_band(g: torch.Generator) -> Problem:
    """Only the last ten keys are seen: whole blocks of keys before them are -inf."""
    mask = torch.full((600, 600), -torch.inf)
    mask[:, -10:] = 0
    return both_masks(Problem(*three(g, 1, 2, 600, 600, 8)), mask)


def make_negative_scale(g: torch.Generator) -> Problem:
    scale = -1 / 0.0001
    return Problem(*three(g, 1, 3, 64, 64, 64), {"scale": scale}, {"scale": scale})


def make_square(g: torch.Generator, n_q: int, n_k: int, d: int) -> Problem:
    return Problem(*three(g, 1, 4, n_q, n_k, d))


def make_ranked_mask(g: torch.Generator, shape: tuple[int, ...]) -> Problem:
    return both_masks(Problem(*three(g, 8, 8, 64, 32, 64)), normal(g, *shape))


def make_short_mask(g: torch.Generator) -> Problem:
    mask = torch.randint(0, 2, (2, 4, 267, 15), generator=g).bool()
    return both_masks(Problem(*three(g, 2, 4, 267, 15, 64)), mask)


def make_shared_head(g: torch.Generator) -> Problem:
    """One K and V head in memory, shown sixteen times by a head stride of 0."""
    q, k, v = normal(g, 3, 16, 1, 128), normal(g, 3, 1, 14, 128), normal(g, 3, 1, 14, 128)
    problem = Problem(q, k.expand(3, 16, 14, 128), v.expand(3, 16, 14, 128))
    return both_masks(problem, normal(g, 3, 1, 1, 14))


def make_values(g: torch.Generator, rows: int, d: int, d_v: int, causal: bool) -> Problem:
    q, k, _ = three(g, 2, 3, rows, rows, d)
    return Problem(q, k, normal(g, 2, 3, rows, d_v), *causal_arguments(causal))


def other_pytorch_cases() -> Iterator[Case]:
    yield Case("band of -inf", "T600", make_band)
    yield Case("negative scale", "T64 D64", make_negative_scale)
    for n_q, n_k, d in itertools.product((4, 8, 64, 256), (4, 64, 128, 512), (8, 64)):
        make = functools.partial(make_square, n_q=n_q, n_k=n_k, d=d)
        yield Case("n_q and n_k", f"{n_q} {n_k} D{d}", make)
    for shape in ((32,), (64, 32), (8, 64, 32), (8, 8, 64, 32)):
        ranked = functools.partial(make_ranked_mask, shape=shape)
        yield Case("mask of rank 1 to 4", "x".join(map(str, shape)), ranked)
    yield Case("mask of rank 1 to 4", "15 keys", make_short_mask)
    yield Case("head stride 0", "H16", make_shared_head)
    for rows, d, d_v in ((640, 128, 64), (267, 64, 128), (267, 8, 80), (70, 96, 1), (70, 1, 33)):
        for causal in (False, True):
            values = functools.partial(make_values, rows=rows, d=d, d_v=d_v, causal=causal)
            yield Case("d_v is not d", f"{d} {d_v}" + " causal" * causal, values)


# ---- beyond that grid


def make_groups(
    g: torch.Generator, heads: int, kv_heads: int, n_q: int, n_k: int, causal: bool
) -> Problem:
    q = normal(g, 2, heads, n_q, 64)
    k, v = normal(g, 2, kv_heads, n_k, 64), normal(g, 2, kv_heads, n_k, 64)
    ours, theirs = causal_arguments(causal)
    return Problem(q, k, v, ours, theirs | {"enable_gqa": True})


def make_large(g: torch.Generator, factor: float) -> Problem:
    q, k, v = three(g, 2, 3, 130, 300, 64)
    return Problem(q * factor, k, v)


def make_bottom_right(g: torch.Generator, n_q: int, n_k: int) -> Problem:
    """Our default: the last query sees the last key. In PyTorch it takes a mask."""
    seen = torch.ones(n_q, n_k, dtype=torch.bool).tril(n_k - n_q)
    return Problem(*three(g, 2, 3, n_q, n_k, 64), {"causal": True}, {"attn_mask": seen})


def make_lengths(g: torch.Generator) -> Problem:
    lengths = torch.tensor([0, 1, 77, 128, 300])
    seen = torch.arange(300) < lengths.view(5, 1, 1, 1)
    problem = Problem(*three(g, 5, 3, 40, 300, 32), {"n_k_valid": lengths.numpy()})
    problem.theirs["attn_mask"] = seen
    return problem


def make_window(g: torch.Generator, left: int, right: int) -> Problem:
    distance = torch.arange(300) - torch.arange(300).view(-1, 1)
    seen = distance >= -left
    if right >= 0:
        seen &= distance <= right
    return Problem(*three(g, 2, 3, 300, 300, 32), {"window": (left, right)}, {"attn_mask": seen})


def make_alibi(g: torch.Generator) -> Problem:
    slopes = torch.tensor([2.0 ** -(head + 1) for head in range(8)])
    distance = (torch.arange(140).view(-1, 1) + 60 - torch.arange(200)).abs()
    bias = -slopes.view(8, 1, 1).double() * distance
    ours = {"alibi_slopes": slopes.numpy()}
    return Problem(*three(g, 2, 8, 140, 200, 32), ours, {"attn_mask": bias})


def make_sinks(g: torch.Generator) -> Problem:
    """A sink is a key with a value of zeros whose score the mask gives."""
    sinks = torch.tensor([-torch.inf, 0.0, 3.0, 40.0])
    bias = torch.zeros(4, 1, 201, dtype=torch.float64)
    bias[:, 0, 200] = sinks
    problem = Problem(*three(g, 2, 4, 140, 200, 32), {"sinks": sinks.numpy()})
    problem.theirs["attn_mask"] = bias
    problem.padding = 1
    return problem


def further_cases() -> Iterator[Case]:
    groups = ((4, 2), (8, 1), (6, 3), (32, 8))
    for (heads, kv_heads), (n_q, n_k), causal in itertools.product(
        groups, ((129, 129), (1, 500), (40, 333)), (False, True)
    ):
        make = functools.partial(
            make_groups, heads=heads, kv_heads=kv_heads, n_q=n_q, n_k=n_k, causal=causal
        )
        name = f"{heads} {kv_heads} Tq{n_q} Tk{n_k}" + " causal" * causal
        yield Case("grouped heads", name, make)
    for factor in (10.0, 100.0, 1000.0):
        large = functools.partial(make_large, factor=factor)
        yield Case("large scores", f"{factor:g}", large)
    for n_q, n_k in ((1, 2049), (7, 300), (130, 300), (300, 130)):
        corner = functools.partial(make_bottom_right, n_q=n_q, n_k=n_k)
        yield Case("causal, bottom right", f"{n_q} {n_k}", corner)
    yield Case("lengths", "0 to 300", make_lengths)
    for left, right in ((16, 0), (0, 0), (3, 130), (128, -1)):
        window = functools.partial(make_window, left=left, right=right)
        yield Case("window", f"{left} {right}", window)
    yield Case("ALiBi", "H8", make_alibi)
    yield Case("sinks", "H4", make_sinks)


CASES = [*packed_cases(), *masked_cases(), *other_pytorch_cases(), *further_cases()]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_sdpa(case: Case) -> None:
    compare(case)


# ---- what else a call returns


@pytest.mark.parametrize("options", report.VARIANTS, ids=report.variant_name)
def test_log_sum_exp(options: simdattn.Options) -> None:
    """The one that PyTorch's own CPU kernel returns, and torch.logsumexp in float64."""
    q, k, v = packed(torch.Generator().manual_seed(1), 2, 267, 3, 32)
    lse = np.empty((2, 3, 267), np.float32)
    simdattn.attention(q.numpy(), k.numpy(), v.numpy(), lse=lse, options=options)
    ours = torch.from_numpy(lse).double()
    scores = q.double() @ k.double().mT * 32**-0.5
    exact = torch.logsumexp(scores, -1)
    allowed = U * (SUMS + SCORES * score_size(Problem(q, k, v))[..., 0])
    assert ((ours - exact).abs() <= allowed).all()
    theirs = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, k, v)[1]
    assert (ours - theirs).abs().max() < 1e-5


def test_steps() -> None:
    """Q K^T, softmax and the product with V alone, against PyTorch's of each."""
    generator = torch.Generator().manual_seed(2)
    q, k, v = three(generator, 2, 3, 70, 130, 32)
    mask = torch.randint(0, 2, (70, 130), generator=generator).bool()
    scores = simdattn.qk(q.numpy(), k.numpy(), softcap=5.0, scores_stage=CAPPED)
    exact = 5 * torch.tanh(q.double() @ k.double().mT * 32**-0.5 / 5)
    assert torch.allclose(torch.from_numpy(scores).double(), exact, rtol=2e-6, atol=2e-6)
    weights = simdattn.softmax(scores, mask=mask.numpy())
    exact = torch.from_numpy(scores).double().masked_fill(~mask, -torch.inf).softmax(-1)
    assert torch.allclose(torch.from_numpy(weights).double(), exact, rtol=2e-6, atol=0)
    out = simdattn.av(weights, v.numpy(), mask=mask.numpy())
    exact = torch.from_numpy(weights).double() @ v.double()
    assert torch.allclose(torch.from_numpy(out).double(), exact, rtol=2e-6, atol=2e-6)


CAPPED = simdattn.ScoresStage.SOFTCAPPED


@pytest.mark.parametrize("stage", list(simdattn.ScoresStage), ids=lambda stage: stage.name)
def test_scores(stage: simdattn.ScoresStage) -> None:
    generator = torch.Generator().manual_seed(3)
    q, k, v = three(generator, 2, 3, 70, 130, 32)
    bias = normal(generator, 3, 70, 130)
    bias[bias < -1] = -torch.inf
    scores = np.empty((2, 3, 70, 130), np.float32)
    simdattn.attention(
        q.numpy(), k.numpy(), v.numpy(), softcap=2.0, mask=bias.numpy(), scores=scores,
        scores_stage=stage,
    )  # fmt: skip
    stages = [q.double() @ k.double().mT * 32**-0.5]
    stages.append(2 * torch.tanh(stages[0] / 2))
    stages.append(stages[1] + bias)
    stages.append(stages[2].softmax(-1))
    assert torch.allclose(torch.from_numpy(scores).double(), stages[stage], rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("options", report.VARIANTS, ids=report.variant_name)
def test_ragged(options: simdattn.Options, causal: bool) -> None:
    """Sequences one after the other, each as PyTorch computes it alone."""
    generator = torch.Generator().manual_seed(4)
    q_starts, k_starts = [0, 5, 5, 70, 200], [2, 12, 40, 105, 235]
    q, k, v = (normal(generator, 4, 240, 32) for _ in "qkv")
    out = torch.from_numpy(
        simdattn.attention_ragged(
            q.numpy(), k.numpy(), v.numpy(), q_starts, k_starts, causal=causal, options=options
        )
    ).double()
    assert not out[:, 200:].any()
    for rows, keys in zip(itertools.pairwise(q_starts), itertools.pairwise(k_starts), strict=True):
        at, to = slice(*rows), slice(*keys)
        n_q, n_k = rows[1] - rows[0], keys[1] - keys[0]
        seen = torch.ones(n_q, n_k, dtype=torch.bool).tril(n_k - n_q) if causal else None
        exact = scaled_dot_product_attention(
            q[:, at].double(), k[:, to].double(), v[:, to].double(), attn_mask=seen
        )
        assert torch.allclose(out[:, at], exact, rtol=2e-6, atol=2e-6)
