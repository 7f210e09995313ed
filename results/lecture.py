#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""lecture.py: the figures of docs/lecture.

    python3 results/lecture.py --figures docs/lecture             the systems, as boxes and arrows
    python3 results/lecture.py --split docs/lecture/split.svg FILE...
                        bars of a decoder's step, from results of bench --preset lecture

Needs nothing but Python.
"""

from __future__ import annotations

import argparse
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

KERNEL, TENSOR, WEIGHT = "#dbe9f6", "#f4f4f4", "#fbe9d0"
INK, FAINT = "#333333", "#999999"
PARTS = {
    "alignment": "#4878a8",
    "softmax": "#7a4f9a",
    "context": "#5aa469",
    "update": "#d98c3f",
    "output": "#b8b8b8",
    "embedding": "#777777",
}


@dataclass(frozen=True)
class Box:
    """Lines of text in a rectangle; the last one is a kernel's name where `fill` says so."""

    x: float
    y: float
    lines: tuple[str, ...]
    fill: str = TENSOR
    width: float = 120

    @property
    def height(self) -> float:
        return 14.0 + 16 * len(self.lines)

    def at(self, side: str) -> tuple[float, float]:
        across = {"l": 0.0, "r": self.width}.get(side, self.width / 2)
        down = {"t": 0.0, "b": self.height}.get(side, self.height / 2)
        return self.x + across, self.y + down

    def svg(self) -> str:
        parts = [
            f'<rect x="{self.x}" y="{self.y}" width="{self.width}" height="{self.height}"'
            f' rx="4" fill="{self.fill}" stroke="{FAINT}"/>'
        ]
        for number, line in enumerate(self.lines):
            style = "italic" if self.fill == KERNEL and number == len(self.lines) - 1 else "normal"
            parts.append(
                label(self.x + self.width / 2, self.y + 19 + 16 * number, line, style=style)
            )
        return "\n".join(parts)


def label(x: float, y: float, text: str, anchor: str = "middle", style: str = "normal") -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;")
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{INK}" text-anchor="{anchor}"'
        f' font-style="{style}">{text}</text>'
    )


def arrow(start: tuple[float, float], end: tuple[float, float]) -> str:
    return (
        f'<path d="M{start[0]:.1f} {start[1]:.1f}L{end[0]:.1f} {end[1]:.1f}" stroke="{INK}"'
        ' fill="none" marker-end="url(#head)"/>'
    )


def drawing(width: int, height: int, parts: list[str]) -> str:
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
            ' font-family="sans-serif" font-size="12">',
            f'<rect width="{width}" height="{height}" fill="white"/>',
            '<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7"'
            f' markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="{INK}"/>'
            "</marker></defs>",
            *parts,
            "</svg>\n",
        ]
    )


# ---- the systems


def decoder_step(x: float, y: float) -> tuple[list[str], dict[str, Box]]:
    """The boxes that translation and captions share."""
    boxes = {
        "align": Box(x, y, ("e = v . tanh(W s + U h)", "linear, additive"), KERNEL, 170),
        "softmax": Box(x, y + 80, ("a = softmax(e)", "softmax"), KERNEL, 170),
        "context": Box(x, y + 160, ("c = sum a h", "av"), KERNEL, 170),
        "update": Box(x + 250, y + 160, ("s' = g([y; c], s)", "linear, gru"), KERNEL, 150),
        "output": Box(x + 470, y + 160, ("z = W_out s' + b", "linear"), KERNEL, 140),
        "state": Box(x + 260, y, ("state s",)),
        "token": Box(x + 260, y + 250, ("previous word y",)),
    }
    lines = [
        ("state", "l", "align", "r"),
        ("align", "b", "softmax", "t"),
        ("softmax", "b", "context", "t"),
        ("context", "r", "update", "l"),
        ("state", "b", "update", "t"),
        ("token", "t", "update", "b"),
        ("update", "r", "output", "l"),
    ]
    parts = [box.svg() for box in boxes.values()]
    parts += [arrow(boxes[a].at(i), boxes[b].at(j)) for a, i, b, j in lines]
    right = boxes["output"].at("r")
    parts += [arrow(right, (right[0] + 34, right[1])), label(right[0] + 48, right[1] + 4, "y'")]
    return parts, boxes


def seq2seq() -> str:
    parts, boxes = decoder_step(150, 20)
    states = [Box(20, 20 + 46 * i, (f"h_{name}",), width=60) for i, name in enumerate("123")]
    states.append(Box(20, 190, ("h_T",), width=60))
    parts += [box.svg() for box in states] + [label(50, 176, "...")]
    for box in states:
        parts.append(arrow(box.at("r"), boxes["align"].at("l")))
    parts.append(arrow(states[-1].at("r"), boxes["context"].at("l")))
    parts.append(label(20, 330, "Encoder states, with U h made once per sentence", "start"))
    return drawing(860, 345, parts)


def captioning() -> str:
    parts, boxes = decoder_step(190, 20)
    weights = [0.1, 0.1, 0.2, 0.1, 0.2, 0.8, 0.5, 0.1, 0.3, 1.0, 0.6, 0.1, 0.1, 0.2, 0.1, 0.1]
    for number, weight in enumerate(weights):
        x, y = 20 + 28 * (number % 4), 40 + 28 * (number // 4)
        parts.append(
            f'<rect x="{x}" y="{y}" width="26" height="26" fill="{PARTS["alignment"]}"'
            f' fill-opacity="{weight}" stroke="{FAINT}"/>'
        )
    parts.append(arrow((134, 60), boxes["align"].at("l")))
    parts.append(arrow((134, 140), boxes["context"].at("l")))
    parts.append(label(80, 176, "grid h_ij, shaded by a_ij"))
    parts.append(label(80, 192, "7 x 7 or 14 x 14 cells"))
    mean = Box(640, 12, ("s_0 = tanh(W mean h)", "av, linear, tanh"), KERNEL, 190)
    state = boxes["state"]
    parts += [mean.svg(), arrow(mean.at("l"), state.at("r"))]
    return drawing(900, 320, parts)


def chain(boxes: list[Box], links: list[tuple[int, str, int, str]], size: tuple[int, int]) -> str:
    parts = [box.svg() for box in boxes]
    parts += [arrow(boxes[a].at(i), boxes[b].at(j)) for a, i, b, j in links]
    return drawing(*size, parts)


def general_attention() -> str:
    boxes = [
        Box(20, 20, ("queries Q", "n_q x d_q")),
        Box(20, 130, ("inputs X", "n_x x d_x")),
        Box(210, 68, ("e = f_att(q, x)", "linear, additive, or qk"), KERNEL, 150),
        Box(420, 68, ("a = softmax(e)", "softmax"), KERNEL),
        Box(610, 68, ("y = sum a x", "av"), KERNEL),
    ]
    links = [(0, "r", 2, "l"), (1, "r", 2, "l"), (2, "r", 3, "l"), (3, "r", 4, "l")]
    parts = [box.svg() for box in boxes]
    parts += [arrow(boxes[a].at(i), boxes[b].at(j)) for a, i, b, j in links]
    parts += [arrow((140, 165), (670, boxes[4].at("b")[1])), label(430, 172, "X once more: values")]
    return drawing(760, 200, parts)


def attention_layer() -> str:
    boxes = [
        Box(20, 20, ("queries Q", "n_q x d_q")),
        Box(20, 130, ("inputs X", "n_x x d_x")),
        Box(200, 90, ("K = X W_K", "linear"), KERNEL, 110),
        Box(200, 170, ("V = X W_V", "linear"), KERNEL, 110),
        Box(
            390,
            60,
            ("A = softmax(Q K^T / sqrt(d_q))", "Y = A V", "fused (or qk, softmax, av)"),
            KERNEL,
            220,
        ),
        Box(670, 68, ("outputs Y", "n_q x d_v")),
    ]
    links = [
        (0, "r", 4, "l"),
        (1, "r", 2, "l"),
        (1, "r", 3, "l"),
        (2, "r", 4, "l"),
        (3, "r", 4, "b"),
        (4, "r", 5, "l"),
    ]
    return chain(boxes, links, (810, 230))


def self_attention() -> str:
    boxes = [
        Box(20, 96, ("inputs X", "n x d")),
        Box(190, 20, ("Q = X W_Q", "linear"), KERNEL, 110),
        Box(190, 96, ("K = X W_K", "linear"), KERNEL, 110),
        Box(190, 172, ("V = X W_V", "linear"), KERNEL, 110),
        Box(370, 80, ("head h: columns of its own", "softmax(..) V_h", "fused"), KERNEL, 190),
        Box(620, 96, ("[Y_0; Y_1; ..] W_O", "linear"), KERNEL, 140),
    ]
    links = [(0, "r", i, "l") for i in (1, 2, 3)] + [(i, "r", 4, "l") for i in (1, 2, 3)]
    return chain(boxes, [*links, (4, "r", 5, "l")], (790, 235))


FIGURES = {
    "seq2seq": seq2seq,
    "captioning": captioning,
    "general-attention": general_attention,
    "attention-layer": attention_layer,
    "self-attention": self_attention,
}


# ---- the split of a step


def rows_of(files: list[Path]) -> list[dict[str, Any]]:
    """Medians of decoders."""
    rows = []
    for file in files:
        document = json.loads(file.read_text(encoding="utf-8"))
        rows += [r for r in document["benchmarks"] if r.get("simdattn_op") == "decoder"]
    return rows


def order(row: dict[str, Any]) -> tuple[bool, int, int, int]:
    """Sequences before captions, by their states; the widest ISA first."""
    is_caption = not str(row["simdattn_shape"]).startswith("seq2seq")
    isa = ("avx512", "avx2", "neon", "scalar").index(str(row["simdattn_isa"]))
    return is_caption, row["simdattn_n_k"], row["simdattn_d_v"], isa


def split(rows: list[dict[str, Any]]) -> str:
    steps = [r for r in rows if "simdattn_part_of_step" not in r]
    steps.sort(key=order)
    left, width, step = 190, 520, 26
    parts = []
    for number, (name, colour) in enumerate(PARTS.items()):
        x = left + 90 * number
        parts.append(f'<rect x="{x}" y="12" width="12" height="12" fill="{colour}"/>')
        parts.append(label(x + 17, 22, name, "start"))
    for number, row in enumerate(steps):
        y, x = 40 + step * number, float(left)
        name = re.sub("^seq2seq-", "T = ", str(row["simdattn_shape"]))
        parts.append(label(left - 8, y + 14, f"{name}, {row['simdattn_isa']}", "end"))
        for part, colour in PARTS.items():
            share = next(
                float(r["simdattn_of_step"])
                for r in rows
                if r.get("simdattn_part_of_step") == part
                and r["simdattn_shape"] == row["simdattn_shape"]
                and r["simdattn_isa"] == row["simdattn_isa"]
            )
            parts.append(
                f'<rect x="{x:.1f}" y="{y}" width="{share * width:.1f}" height="18"'
                f' fill="{colour}"/>'
            )
            x += share * width
        time = f"{float(row['simdattn_time_ns']) / 1e3:.0f} µs"
        parts.append(label(max(x, left + width) + 10, y + 14, time, "start"))
    return drawing(820, 50 + step * len(steps), parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--figures", type=Path, help="the directory that gets them")
    parser.add_argument("--split", type=Path, help="the file of the bars")
    parser.add_argument("results", nargs="*", type=Path, help="what bench --out wrote")
    arguments = parser.parse_args()
    if arguments.figures:
        for name, figure in FIGURES.items():
            (arguments.figures / f"{name}.svg").write_text(figure(), encoding="utf-8")
    if arguments.split:
        arguments.split.write_text(split(rows_of(arguments.results)), encoding="utf-8")


if __name__ == "__main__":
    main()
