#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""saturation.py: what dividing scores by sqrt(D) does to softmax and to its gradient.

    python3 results/saturation.py                             the tables of docs/saturation.md
    python3 results/saturation.py --svg docs/saturation.svg   and its figure

Needs NumPy. Random rows are seeded; those of a model come from tests/data/minilm.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parent.parent
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
KEYS = 64
SETS, QUERIES = 32, 64  # sets of inputs, and queries to each

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Saturation:
    """Of many rows of attention."""

    entropy: float  # mean, in bits
    largest: float  # mean of the largest weight
    gradient: float  # median of |da/de|
    gradient_mean: float
    query_gradient: float  # median of |dy/dq|
    query_gradient_mean: float
    one: float  # share of rows whose largest weight float32 rounds to 1


# ---- measures


def softmax(scores: Array) -> Array:
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    weights: Array = powers / powers.sum(-1, keepdims=True)
    return weights


def entropy(weights: Array) -> Array:
    """In bits. What is 0 adds nothing."""
    bits: Array = -(weights * np.log2(np.maximum(weights, 1e-300))).sum(-1)
    return bits


def others(weights: Array) -> Array:
    """All but the largest weight of each row, which becomes 0."""
    rest = weights.copy()
    np.put_along_axis(rest, weights.argmax(-1)[:, None], 0.0, -1)
    return rest


def gradient(weights: Array) -> Array:
    """Frobenius norm of da/de = diag(a) - a a^T, without differences of nearly equal numbers."""
    top, rest = weights.max(-1), others(weights)
    left, squares = rest.sum(-1), (rest**2).sum(-1)
    diagonal = (top * left) ** 2 + ((rest * (1 - rest)) ** 2).sum(-1)
    beside = 2 * top**2 * squares + squares**2 - (rest**4).sum(-1)
    norm: Array = np.sqrt(diagonal + beside)
    return norm


def query_gradient(weights: Array, x: Array, scale: float) -> Array:
    """Frobenius norm of dy/dq = scale sum_j a_j (x_j - y) (x_j - y)^T, from products of inputs."""
    products = x @ x.T
    to_mean = weights @ products
    mean = (to_mean * weights).sum(-1)
    centred = products - to_mean[:, :, None] - to_mean[:, None] + mean[:, None, None]
    squares = weights[:, :, None] * weights[:, None] * centred**2
    norm: Array = scale * np.sqrt(squares.sum((1, 2)))
    return norm


# ---- rows


def random_rows(n: int, d: int, scale: float) -> Iterator[tuple[Array, Array]]:
    """Weights and inputs, for queries and inputs of independent numbers of deviation 1."""
    random = np.random.RandomState(d)
    for _ in range(SETS):
        x, q = random.standard_normal((n, d)), random.standard_normal((QUERIES, d))
        yield softmax(scale * (q @ x.T)), x


def measure(d: int, scale: float) -> Saturation:
    rows = list(random_rows(KEYS, d, scale))
    weights = np.concatenate([w for w, _ in rows])
    by_score = gradient(weights)
    by_query = np.concatenate([query_gradient(w, x, scale) for w, x in rows])
    return Saturation(
        entropy=float(entropy(weights).mean()),
        largest=float(weights.max(-1).mean()),
        gradient=float(np.median(by_score)),
        gradient_mean=float(by_score.mean()),
        query_gradient=float(np.median(by_query)),
        query_gradient_mean=float(by_query.mean()),
        one=float((others(weights).sum(-1) < 2.0**-25).mean()),
    )


def model_rows(layer: int, scale: float) -> Iterator[tuple[Array, Array]]:
    """Entropy and gradient of the first text of tests/data/minilm, head by head."""
    data = ROOT / "tests" / "data" / "minilm"
    n = int(np.load(data / "lengths.npy")[0])
    q, k = (np.load(data / f"layer{layer}_entry0_{t}.npy").astype(float)[:, :n] for t in "qk")
    for q_head, k_head in zip(q, k, strict=True):
        weights = softmax(scale * (q_head @ k_head.T))
        yield entropy(weights), gradient(weights)


# ---- tables


def print_by_size(found: list[tuple[Saturation, Saturation]]) -> None:
    print(f"{KEYS} keys, scores as they are | divided by sqrt(D)\n")
    print(f"{'D':>5}{'deviation':>11}" + 2 * f"{'entropy':>9}{'largest':>9}{'|da/de|':>10}")
    for d, pair in zip(SIZES, found, strict=True):
        cells = "".join(f"{s.entropy:9.2f}{s.largest:9.3f}{s.gradient:10.2g}" for s in pair)
        print(f"{d:5}{math.sqrt(d):11.1f}{cells}")
    print("\nmean of |da/de|, median and mean of |dy/dq|, rows with a weight of 1 in float32\n")
    print(f"{'D':>5}" + 2 * f"{'da/de':>9}{'dy/dq':>9}{'mean':>8}{'one':>7}")
    for d, pair in zip(SIZES, found, strict=True):
        cells = "".join(
            f"{s.gradient_mean:9.3f}{s.query_gradient:9.2f}{s.query_gradient_mean:8.2f}{s.one:7.1%}"
            for s in pair
        )
        print(f"{d:5}{cells}")


def print_by_keys() -> None:
    print("\nentropy in bits at D = 64: scores as they are, divided by 8, of equal weights\n")
    for n in (16, 64, 256, 1024):
        plain, divided = (
            np.mean([entropy(weights) for weights, _ in random_rows(n, 64, scale)])
            for scale in (1.0, 1 / 8)
        )
        print(f"{n:5} keys{plain:8.2f}{divided:8.2f}{math.log2(n):8.2f}")


def print_model() -> None:
    print("\nall-MiniLM-L6-v2, heads of D = 32: entropy and median |da/de|, then divided\n")
    for layer in (1, 3, 5):
        line = f"layer {layer}"
        for scale in (1.0, 1 / math.sqrt(32)):
            bits, by_score = (
                np.concatenate(a) for a in zip(*model_rows(layer, scale), strict=True)
            )
            line += f"{bits.mean():8.2f}{np.median(by_score):10.2g}"
        print(line)


# ---- figure

PLAIN, DIVIDED, INK = "#b5460f", "#1f6f8b", "#444444"
WIDTH, HEIGHT, LEFT, TOP, PANEL_WIDTH, PANEL_HEIGHT, STEP = 760, 300, 52, 46, 290, 200, 370


def text(x: float, y: float, words: str, colour: str = INK, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" text-anchor="{anchor}">{words}</text>'


def curve(points: list[tuple[float, float]], colour: str) -> list[str]:
    joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    marks = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>' for x, y in points]
    return [f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="2"/>', *marks]


def panel(
    index: int, title: str, ticks: dict[str, float], values: tuple[list[float], list[float]]
) -> list[str]:
    """D from left to right; `values` and `ticks` from 0 at the bottom to 1 at the top."""
    left = LEFT + index * STEP

    def x_of(number: int) -> float:
        return left + PANEL_WIDTH * number / (len(SIZES) - 1)

    def y_of(value: float) -> float:
        return TOP + PANEL_HEIGHT * (1 - value)

    parts = [text(left, TOP - 20, title, anchor="start")]
    for label, value in ticks.items():
        y = y_of(value)
        parts.append(f'<path d="M{left} {y:.1f}h{PANEL_WIDTH}" stroke="#dddddd"/>')
        parts.append(text(left - 8, y + 4, label, anchor="end"))
    parts += [text(x_of(i), y_of(0) + 18, str(d)) for i, d in enumerate(SIZES) if i % 2 == 0]
    parts.append(text(left + PANEL_WIDTH / 2, y_of(0) + 38, "D"))
    for series, colour in zip(values, (PLAIN, DIVIDED), strict=True):
        parts += curve([(x_of(i), y_of(v)) for i, v in enumerate(series)], colour)
    return parts


def figure(found: list[tuple[Saturation, Saturation]]) -> str:
    bits = math.log2(KEYS)
    plain, divided = zip(*found, strict=True)

    def level(value: float) -> float:
        """1e-4 at the bottom, 1 at the top."""
        return 1 + math.log10(value) / 4

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"'
        ' font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        *panel(
            0, f"entropy of the weights of {KEYS} keys, bits",
            {str(b): b / bits for b in range(int(bits) + 1)},
            ([s.entropy / bits for s in plain], [s.entropy / bits for s in divided]),
        ),
        *panel(
            1, "size of the gradient |da/de|, median",
            {"1": 1.0, "0.1": 0.75, "0.01": 0.5, "0.001": 0.25, "0.0001": 0.0},
            ([level(s.gradient) for s in plain], [level(s.gradient) for s in divided]),
        ),
        text(LEFT + 200, TOP + 16, "q · x / √D", DIVIDED),
        text(LEFT + 146, TOP + 124, "q · x", PLAIN),
        text(LEFT + STEP + 225, TOP + 28, "q · x / √D", DIVIDED),
        text(LEFT + STEP + 205, TOP + 96, "q · x", PLAIN),
        "</svg>",
    ]  # fmt: skip
    return "\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--svg", type=Path, help="the figure's file")
    arguments = parser.parse_args()
    found = [(measure(d, 1.0), measure(d, 1 / math.sqrt(d))) for d in SIZES]
    print_by_size(found)
    print_by_keys()
    print_model()
    if arguments.svg:
        arguments.svg.write_text(figure(found), encoding="utf-8")


if __name__ == "__main__":
    main()
