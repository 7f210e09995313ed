# SPDX-License-Identifier: MIT
"""simdattn.py: the library's public interface (dispatch/simdattn.h) on NumPy arrays, by ctypes.

    import numpy as np, simdattn
    out = simdattn.attention(q, k, v, causal=True, options=simdattn.Options(threads=2))

q is [batch, heads, rows, features]; k, v and the results as in the header. Arrays are never copied:
their addresses and strides go to the library as they are, so any view works whose features lie next
to each other. A torch CPU tensor joins by its .numpy(), which shares memory and strides.

What only Python can see (rank, type, extents that contradict each other, an innermost stride) is
refused here, with ValueError or TypeError naming the argument. Everything else is left to the
library, whose refusals become Error with the text of sattn_last_error().

The classes named after C structs have the fields of the header in its order; test_simdattn.py
compares them with the header through a C compiler. Calls release Python's lock.
"""

from __future__ import annotations

import ctypes
import enum
import functools
import os
import platform
import weakref
from collections.abc import Sequence
from ctypes import c_bool, c_char_p, c_float, c_int, c_int64, c_size_t, c_void_p
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Floats: TypeAlias = NDArray[np.float32]
Integers: TypeAlias = "Sequence[int] | NDArray[np.int64]"


class Status(enum.IntEnum):
    """sattn_status"""

    OK = 0
    ERR_ARGUMENT = 1
    ERR_UNSUPPORTED = 2
    ERR_TOO_LARGE = 3
    ERR_OVERLAP = 4
    ERR_KERNEL = 5
    ERR_ENVIRONMENT = 6
    ERR_WORKSPACE = 7
    ERR_MEMORY = 8
    ERR_PROFILE = 9


class Dtype(enum.IntEnum):
    """sattn_dtype"""

    F32 = 0
    F16 = 1
    BF16 = 2


class MaskKind(enum.IntEnum):
    """sattn_mask_kind"""

    NONE = 0
    BOOL = 1
    ADDITIVE = 2


class ScoresStage(enum.IntEnum):
    """sattn_scores_stage"""

    SCALED = 0
    SOFTCAPPED = 1
    BIASED = 2
    PROBABILITIES = 3


class View(ctypes.Structure):
    """sattn_view"""

    _fields_ = (
        ("data", c_void_p),
        ("dtype", c_int),
        ("stride_b", c_int64),
        ("stride_h", c_int64),
        ("stride_t", c_int64),
    )


class MutView(ctypes.Structure):
    """sattn_mut_view"""

    _fields_ = View._fields_


class Mask(ctypes.Structure):
    """sattn_mask"""

    _fields_ = (
        ("kind", c_int),
        ("data", c_void_p),
        ("extent", c_int64 * 4),
        ("stride", c_int64 * 4),
    )


class AttentionArgs(ctypes.Structure):
    """sattn_attention_args"""

    _fields_ = (
        ("batch", c_int64),
        ("n_q_heads", c_int64),
        ("n_kv_heads", c_int64),
        ("n_q", c_int64),
        ("n_k", c_int64),
        ("d", c_int64),
        ("d_v", c_int64),
        ("q", View),
        ("k", View),
        ("v", View),
        ("o", MutView),
        ("has_scale", c_bool),
        ("scale", c_float),
        ("softcap", c_float),
        ("mask", Mask),
        ("alibi_slopes", c_void_p),
        ("sinks", c_void_p),
        ("causal", c_bool),
        ("causal_offset", c_void_p),
        ("has_window", c_bool),
        ("window_left", c_int64),
        ("window_right", c_int64),
        ("n_k_valid", c_void_p),
        ("lse", c_void_p),
        ("lse_stride_b", c_int64),
        ("lse_stride_h", c_int64),
        ("scores", c_void_p),
        ("scores_stage", c_int),
        ("scores_stride_b", c_int64),
        ("scores_stride_h", c_int64),
        ("scores_stride_t", c_int64),
        ("scores_in", c_void_p),
        ("scores_in_stride_b", c_int64),
        ("scores_in_stride_h", c_int64),
        ("scores_in_stride_t", c_int64),
    )


class RawOptions(ctypes.Structure):
    """sattn_options"""

    _fields_ = (
        ("threads", c_int),
        ("isa", c_char_p),
        ("kernels", c_char_p),
        ("profile", c_void_p),
        ("workspace", c_void_p),
        ("workspace_size", c_size_t),
        ("key_splits", c_int),
        ("plan", c_char_p),
    )


class Ragged(ctypes.Structure):
    """sattn_ragged"""

    _fields_ = (("q_starts", c_void_p), ("k_starts", c_void_p))


class KernelInfo(ctypes.Structure):
    """sattn_kernel_info"""

    _fields_ = (
        ("name", c_char_p),
        ("op", c_char_p),
        ("isa", c_char_p),
        ("phases", c_char_p),
        ("note", c_char_p),
        ("usable", c_bool),
        ("missing", c_char_p),
    )


def fields(struct: type[ctypes.Structure]) -> list[str]:
    """The names of a struct's fields, in order."""
    return [field[0] for field in struct._fields_]


# The struct of the header that each class mirrors.
STRUCTS: dict[str, type[ctypes.Structure]] = {
    "sattn_view": View,
    "sattn_mut_view": MutView,
    "sattn_mask": Mask,
    "sattn_attention_args": AttentionArgs,
    "sattn_options": RawOptions,
    "sattn_ragged": Ragged,
    "sattn_kernel_info": KernelInfo,
}

# What the enumerators of the header begin with.
ENUMS: dict[type[enum.IntEnum], str] = {
    Status: "SATTN_",
    Dtype: "SATTN_",
    MaskKind: "SATTN_MASK_",
    ScoresStage: "SATTN_SCORES_",
}


class Error(RuntimeError):
    """A call that the library refused: its status, and what it says is wrong."""

    def __init__(self, status: Status, text: str) -> None:
        super().__init__(text)
        self.status = status


@dataclass(frozen=True)
class Options:
    """sattn_options. A workspace starts at a multiple of 64 bytes; see workspace()."""

    threads: int = 0
    isa: str | None = None
    kernels: str | None = None
    profile: Profile | None = None
    workspace: NDArray[np.uint8] | None = None
    key_splits: int = 0
    plan: str | None = None


@dataclass(frozen=True)
class Kernel:
    """sattn_kernel_info: one row of the registry."""

    name: str
    op: str
    isa: str
    phases: str
    note: str
    usable: bool
    missing: str


def library_path() -> Path:
    """SATTN_LIBRARY, or the shared library that ./run builds."""
    suffix = ".dylib" if platform.system() == "Darwin" else ".so"
    built = Path(__file__).resolve().parents[2] / "build" / f"libsimdattn{suffix}"
    return Path(os.environ.get("SATTN_LIBRARY") or built)


@functools.cache
def library() -> ctypes.CDLL:
    """The shared library, with the types of its functions."""
    lib = ctypes.CDLL(str(library_path()))
    args, options, size = (ctypes.POINTER(t) for t in (AttentionArgs, RawOptions, c_size_t))
    ragged = ctypes.POINTER(Ragged)
    for name, result, parameters in [
        ("sattn_status_string", c_char_p, [c_int]),
        ("sattn_last_error", c_char_p, []),
        ("sattn_version", c_char_p, []),
        ("sattn_kernels", ctypes.POINTER(KernelInfo), [size]),
        ("sattn_attention", c_int, [args, options]),
        ("sattn_attention_workspace_size", c_int, [args, options, size]),
        ("sattn_attention_ragged", c_int, [args, ragged, options]),
        ("sattn_attention_ragged_workspace_size", c_int, [args, ragged, options, size]),
        ("sattn_profile_load", c_int, [ctypes.POINTER(c_void_p), c_char_p]),
        ("sattn_profile_destroy", None, [c_void_p]),
        ("sattn_qk", c_int, [args, options]),
        ("sattn_softmax", c_int, [args, options]),
        ("sattn_av", c_int, [args, options]),
    ]:
        function = getattr(lib, name)
        function.restype, function.argtypes = result, parameters
    return lib


def version() -> str:
    """Version of the library that is loaded."""
    return str(library().sattn_version().decode())


def kernels() -> list[Kernel]:
    """All kernels of the library, in the order in which they are tried."""
    count = c_size_t()
    rows = library().sattn_kernels(ctypes.byref(count))
    texts = ("name", "op", "isa", "phases", "note", "missing")
    return [
        Kernel(usable=row.usable, **{text: getattr(row, text).decode() for text in texts})
        for row in rows[: count.value]
    ]


def workspace(size: int) -> NDArray[np.uint8]:
    """Bytes for Options.workspace, aligned as the library wants them."""
    memory = np.empty(size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + size]


def _check(status: int) -> None:
    if status != Status.OK:
        raise Error(Status(status), library().sattn_last_error().decode())


class Profile:
    """sattn_profile: what `simdattn tune` measured, read from a file."""

    def __init__(self, path: str | Path) -> None:
        self.raw = c_void_p()
        _check(library().sattn_profile_load(ctypes.byref(self.raw), os.fsencode(path)))
        weakref.finalize(self, library().sattn_profile_destroy, self.raw)


# ---- from arrays to the structs

_DTYPES = {np.dtype(np.float32): Dtype.F32, np.dtype(np.float16): Dtype.F16}


def _strides(name: str, array: Array) -> list[int]:
    """Strides in elements; those of extents of 1 are left to the library, which ignores them."""
    for axis, (extent, stride) in enumerate(zip(array.shape, array.strides, strict=True)):
        if extent > 1 and stride % array.itemsize:
            raise ValueError(
                f"{name}.strides[{axis}] = {stride} bytes: expected a multiple of the element's "
                f"size, {array.itemsize}"
            )
    return [stride // array.itemsize for stride in array.strides]


def _check_tensor(name: str, array: Array, rank: int, writes: bool) -> None:
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{name} is a {type(array).__name__}: expected a NumPy array")
    if array.ndim != rank:
        raise ValueError(f"{name} has {array.ndim} axes: expected {rank}")
    if array.dtype not in _DTYPES:
        raise TypeError(f"{name}.dtype = {array.dtype}: expected float32")
    if array.shape[-1] > 1 and array.strides[-1] != array.itemsize:
        raise ValueError(
            f"{name}.strides[{rank - 1}] = {array.strides[-1]} bytes: expected {array.itemsize}, "
            "innermost elements next to each other"
        )
    if writes and not array.flags.writeable:
        raise ValueError(f"{name} is read-only: expected an array that can be written")


def _check_shape(name: str, array: Array, expected: tuple[int, ...]) -> None:
    for axis, (have, want) in enumerate(zip(array.shape, expected, strict=True)):
        if have != want:
            raise ValueError(f"{name}.shape[{axis}] = {have}: expected {want}, of {expected}")


class _Call:
    """The arguments of one call, and the arrays that they point to."""

    def __init__(self) -> None:
        self.raw = AttentionArgs()
        self.ragged = Ragged()
        self.kept: list[Array] = []

    def set_view(self, field: str, name: str, array: Array) -> None:
        strides = _strides(name, array)
        view = getattr(self.raw, field)
        view.data, view.dtype = array.ctypes.data, _DTYPES[array.dtype]
        view.stride_b, view.stride_h, view.stride_t = strides[:3]
        self.kept.append(array)

    def set_floats(self, field: str, array: Floats | None, rank: int, writes: bool) -> None:
        if array is None:
            return
        _check_tensor(field, array, rank, writes)
        if array.dtype != np.float32:
            raise TypeError(f"{field}.dtype = {array.dtype}: expected float32")
        setattr(self.raw, field, array.ctypes.data)
        for axis, stride in zip("bht"[: rank - 1], _strides(field, array)[:-1], strict=True):
            setattr(self.raw, f"{field}_stride_{axis}", stride)
        self.kept.append(array)

    def set_list(self, struct: Any, field: str, values: Any, dtype: Any, length: int) -> None:
        """A short array of numbers, which may be any sequence."""
        if values is None:
            return
        array = np.ascontiguousarray(values)
        if array.size and not np.can_cast(array.dtype, dtype, "same_kind"):
            raise TypeError(f"{field} has type {array.dtype}: expected {np.dtype(dtype)}")
        array = array.astype(dtype, copy=False)
        if array.shape != (length,):
            raise ValueError(f"{field} has shape {array.shape}: expected ({length},)")
        setattr(struct, field, array.ctypes.data)
        self.kept.append(array)

    def set_mask(self, mask: Array | None) -> None:
        """Bytes or bools let through where not zero, floats are added; missing axes are 1."""
        if mask is None:
            return
        if mask.ndim > 4:
            raise ValueError(f"mask has {mask.ndim} axes: expected up to 4")
        if mask.dtype in (np.dtype(np.bool_), np.dtype(np.uint8)):
            kind = MaskKind.BOOL
        elif mask.dtype == np.float32:
            kind = MaskKind.ADDITIVE
        else:
            raise TypeError(f"mask.dtype = {mask.dtype}: expected bool, uint8 or float32")
        missing = 4 - mask.ndim
        self.raw.mask.kind, self.raw.mask.data = kind, mask.ctypes.data
        self.raw.mask.extent[:] = [1] * missing + list(mask.shape)
        self.raw.mask.stride[:] = [0] * missing + _strides("mask", mask)
        self.kept.append(mask)

    def set_visibility(
        self,
        mask: Array | None,
        causal: bool,
        causal_offset: int | Integers | None,
        window: tuple[int, int] | None,
        n_k_valid: Integers | None,
    ) -> None:
        raw = self.raw
        self.set_mask(mask)
        raw.causal = causal
        if isinstance(causal_offset, int):
            causal_offset = [causal_offset] * raw.batch
        self.set_list(raw, "causal_offset", causal_offset, np.int64, raw.batch)
        if window is not None:
            raw.has_window = True
            raw.window_left, raw.window_right = window
        self.set_list(raw, "n_k_valid", n_k_valid, np.int64, raw.batch)

    def set_logits(
        self,
        scale: float | None,
        softcap: float,
        alibi_slopes: Sequence[float] | Floats | None,
        sinks: Sequence[float] | Floats | None,
    ) -> None:
        raw = self.raw
        if scale is not None:
            raw.has_scale, raw.scale = True, scale
        raw.softcap = softcap
        self.set_list(raw, "alibi_slopes", alibi_slopes, np.float32, raw.n_q_heads)
        self.set_list(raw, "sinks", sinks, np.float32, raw.n_q_heads)

    def set_queries_and_keys(self, q: Array, k: Array) -> None:
        for name, array in (("q", q), ("k", k)):
            _check_tensor(name, array, 4, writes=False)
            self.set_view(name, name, array)
        raw = self.raw
        raw.batch, raw.n_q_heads, raw.n_q, raw.d = q.shape
        raw.n_kv_heads, raw.n_k = k.shape[1:3]
        _check_shape("k", k, (q.shape[0], k.shape[1], k.shape[2], q.shape[3]))

    def set_values_and_output(self, v: Array, out: Array | None) -> Array:
        """Needs the extents of the others; makes the output where none is given."""
        raw = self.raw
        _check_tensor("v", v, 4, writes=False)
        raw.d_v = v.shape[3]
        _check_shape("v", v, (raw.batch, raw.n_kv_heads, raw.n_k, raw.d_v))
        self.set_view("v", "v", v)
        shape = (raw.batch, raw.n_q_heads, raw.n_q, raw.d_v)
        if out is None:
            out = np.empty(shape, np.float32)
        _check_tensor("out", out, 4, writes=True)
        _check_shape("out", out, shape)
        self.set_view("o", "out", out)
        return out

    def set_lse(self, lse: Floats | None) -> None:
        self.set_floats("lse", lse, 3, writes=True)
        if lse is not None:
            _check_shape("lse", lse, (self.raw.batch, self.raw.n_q_heads, self.raw.n_q))

    def set_scores(self, field: str, scores: Floats | None, writes: bool) -> None:
        raw = self.raw
        self.set_floats(field, scores, 4, writes)
        if scores is not None:
            _check_shape(field, scores, (raw.batch, raw.n_q_heads, raw.n_q, raw.n_k))


def _raw_options(options: Options | None) -> Any:
    if options is None:
        return None
    raw = RawOptions(threads=options.threads, key_splits=options.key_splits)
    if options.profile is not None:
        raw.profile = options.profile.raw
    for field in ("isa", "kernels", "plan"):
        text = getattr(options, field)
        setattr(raw, field, None if text is None else text.encode())
    if options.workspace is not None:
        raw.workspace = options.workspace.ctypes.data
        raw.workspace_size = options.workspace.nbytes
    return ctypes.byref(raw)


# ---- the calls


def attention(
    q: Array,
    k: Array,
    v: Array,
    *,
    out: Array | None = None,
    scale: float | None = None,
    softcap: float = 0.0,
    mask: Array | None = None,
    alibi_slopes: Sequence[float] | Floats | None = None,
    sinks: Sequence[float] | Floats | None = None,
    causal: bool = False,
    causal_offset: int | Integers | None = None,
    window: tuple[int, int] | None = None,
    n_k_valid: Integers | None = None,
    lse: Floats | None = None,
    scores: Floats | None = None,
    scores_stage: ScoresStage = ScoresStage.SCALED,
    scores_in: Floats | None = None,
    options: Options | None = None,
) -> Array:
    """sattn_attention: writes `out` (a new array if None), lse and scores, and returns `out`.

    A causal_offset of one number goes for all batch entries; window is (left, right), -1 on a side
    without an end.
    """
    call = _Call()
    call.set_queries_and_keys(q, k)
    out = call.set_values_and_output(v, out)
    call.set_logits(scale, softcap, alibi_slopes, sinks)
    call.set_visibility(mask, causal, causal_offset, window, n_k_valid)
    call.set_lse(lse)
    call.set_scores("scores", scores, writes=True)
    call.raw.scores_stage = scores_stage
    call.set_scores("scores_in", scores_in, writes=False)
    _check(library().sattn_attention(ctypes.byref(call.raw), _raw_options(options)))
    return out


def attention_workspace_size(
    q: Array,
    k: Array,
    v: Array,
    *,
    mask: Array | None = None,
    causal: bool = False,
    options: Options | None = None,
) -> int:
    """sattn_attention_workspace_size of the call with these arguments."""
    call = _Call()
    size = c_size_t()
    call.set_queries_and_keys(q, k)
    call.set_values_and_output(v, None)
    call.set_visibility(mask, causal, None, None, None)
    function = library().sattn_attention_workspace_size
    _check(function(ctypes.byref(call.raw), _raw_options(options), ctypes.byref(size)))
    return size.value


def attention_ragged(
    q: Array,
    k: Array,
    v: Array,
    q_starts: Integers,
    k_starts: Integers,
    *,
    out: Array | None = None,
    scale: float | None = None,
    softcap: float = 0.0,
    alibi_slopes: Sequence[float] | Floats | None = None,
    sinks: Sequence[float] | Floats | None = None,
    causal: bool = False,
    causal_offset: int | Integers | None = None,
    window: tuple[int, int] | None = None,
    lse: Floats | None = None,
    options: Options | None = None,
) -> Array:
    """sattn_attention_ragged: q, k, v and out are [heads, rows, features], lse is [heads, rows].

    Rows of a new `out` that belong to no sequence are +0.
    """
    call = _Call()
    for name, array in (("q", q), ("k", k), ("v", v)):
        _check_tensor(name, array, 3, writes=False)
    call.set_queries_and_keys(q[None], k[None])
    if out is None:
        out = np.zeros((q.shape[0], q.shape[1], v.shape[2]), np.float32)
    _check_tensor("out", out, 3, writes=True)
    call.set_values_and_output(v[None], out[None])
    if lse is not None:
        call.set_lse(lse[None])
    call.raw.batch = max(len(q_starts) - 1, 0)
    call.set_logits(scale, softcap, alibi_slopes, sinks)
    call.set_visibility(None, causal, causal_offset, window, None)
    for field, starts in (("q_starts", q_starts), ("k_starts", k_starts)):
        call.set_list(call.ragged, field, starts, np.int64, call.raw.batch + 1)
    function = library().sattn_attention_ragged
    ragged = ctypes.byref(call.ragged)
    _check(function(ctypes.byref(call.raw), ragged, _raw_options(options)))
    return out


def qk(
    q: Array,
    k: Array,
    *,
    scores: Floats | None = None,
    scale: float | None = None,
    softcap: float = 0.0,
    n_k_valid: Integers | None = None,
    scores_stage: ScoresStage = ScoresStage.SCALED,
    options: Options | None = None,
) -> Floats:
    """sattn_qk: scale Q K^T, softcapped on request."""
    call = _Call()
    call.set_queries_and_keys(q, k)
    call.set_logits(scale, softcap, None, None)
    call.set_visibility(None, False, None, None, n_k_valid)
    if scores is None:
        scores = np.empty((*q.shape[:3], k.shape[2]), np.float32)
    call.set_scores("scores", scores, writes=True)
    call.raw.scores_stage = scores_stage
    _check(library().sattn_qk(ctypes.byref(call.raw), _raw_options(options)))
    return scores


def softmax(
    scores_in: Floats,
    *,
    scores: Floats | None = None,
    mask: Array | None = None,
    alibi_slopes: Sequence[float] | Floats | None = None,
    sinks: Sequence[float] | Floats | None = None,
    causal: bool = False,
    causal_offset: int | Integers | None = None,
    window: tuple[int, int] | None = None,
    n_k_valid: Integers | None = None,
    lse: Floats | None = None,
    options: Options | None = None,
) -> Floats:
    """sattn_softmax: the weights of scores, 0 where the key is hidden."""
    call = _Call()
    _check_tensor("scores_in", scores_in, 4, writes=False)
    raw = call.raw
    raw.batch, raw.n_q_heads, raw.n_q, raw.n_k = scores_in.shape
    raw.n_kv_heads = raw.n_q_heads
    call.set_scores("scores_in", scores_in, writes=False)
    call.set_logits(None, 0.0, alibi_slopes, sinks)
    call.set_visibility(mask, causal, causal_offset, window, n_k_valid)
    if scores is None:
        scores = np.empty(scores_in.shape, np.float32)
    call.set_scores("scores", scores, writes=True)
    call.set_lse(lse)
    _check(library().sattn_softmax(ctypes.byref(raw), _raw_options(options)))
    return scores


def av(
    scores_in: Floats,
    v: Array,
    *,
    out: Array | None = None,
    mask: Array | None = None,
    causal: bool = False,
    causal_offset: int | Integers | None = None,
    window: tuple[int, int] | None = None,
    n_k_valid: Integers | None = None,
    options: Options | None = None,
) -> Array:
    """sattn_av: weights times V."""
    call = _Call()
    _check_tensor("scores_in", scores_in, 4, writes=False)
    _check_tensor("v", v, 4, writes=False)
    raw = call.raw
    raw.batch, raw.n_q_heads, raw.n_q, raw.n_k = scores_in.shape
    raw.n_kv_heads = v.shape[1]
    call.set_scores("scores_in", scores_in, writes=False)
    out = call.set_values_and_output(v, out)
    call.set_visibility(mask, causal, causal_offset, window, n_k_valid)
    _check(library().sattn_av(ctypes.byref(raw), _raw_options(options)))
    return out
