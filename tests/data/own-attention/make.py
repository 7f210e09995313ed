#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the conformance suite in this directory: what ONNX's tests of Attention do not reach.

    python3 make.py            writes manifest.json and the tensors beside this file
    python3 make.py --check    compares with what is there and writes nothing

Needs NumPy. The expectations come from attention(), plain loops in float64 that follow the ONNX
document: a hidden key is skipped, never multiplied by 0, so what it holds cannot matter. They are
rounded once to the type of the output.

A test's atol follows from its data. An output is a mean of V under weights that carry the errors of
their scores, so with u = 2^-24 its error stays below

    u * sum p|v| * (16 + 4 sqrt(d) S),    S = the row's largest sum |scale q k| + |bias|,

where sqrt(d) is how the errors of a sum of d products grow with probability near 1 (Higham & Mary,
A New Approach to Probabilistic Rounding Error Analysis, 2019), 4 leaves room for scale, exp and the
sums, and 16 is for rows of small scores. A score's own error is u * 4 sqrt(d) S. The largest of
these is the atol of the test; rtol is for the one rounding to the output's type."""
import argparse
import json
import math
import pathlib
import sys
import zlib

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
U = 2.0**-24
INF = np.inf
DTYPES = {"f16": np.float16, "f32": np.float32, "bool": np.bool_, "i64": np.int64}


# ---- the reference


def visible_range(i, n_k, offset, causal, left, right):
    """Keys [begin, end) that length, causal limit and window leave to query i."""
    begin, end = 0, n_k
    if causal:
        end = min(end, i + offset + 1)
    if right >= 0:
        end = min(end, i + offset + right + 1)
    if left >= 0:
        begin = max(begin, i + offset - left)
    return begin, max(begin, end)


def attention_row(q, k, v, keys, bias, scale, softcap):
    """One row over the visible keys: scores at four stages, output, sum p|v|, S."""
    raw = [scale * math.fsum(q * k[j]) for j in keys]
    capped = [softcap * math.tanh(s / softcap) if softcap else s for s in raw]
    biased = [s + b for s, b in zip(capped, bias)]
    if not keys:
        return raw, capped, biased, [], np.zeros(v.shape[1]), np.zeros(v.shape[1]), 0.0
    highest = max(biased)
    weights = np.array([math.exp(s - highest) for s in biased])
    weights /= math.fsum(weights)
    out = np.zeros(v.shape[1])
    size = np.zeros(v.shape[1])
    for p, j in zip(weights, keys):
        if p > 0:
            out += p * v[j]
            size += p * abs(v[j])
    spread = max(abs(scale) * np.sum(abs(q * k[j])) for j in keys)
    drowned = [b for b in bias if abs(b) < 1e6]  # beyond, scores are lost in the bias altogether
    spread += max((abs(b) for b in drowned), default=0.0)
    return raw, capped, biased, weights, out, size, spread


def attention(q, k, v, mask, nonpad, causal, left, right, scale, softcap, mode, n_past):
    """q [B,Hq,Tq,D], k [B,Hkv,T,D], v [B,Hkv,T,Dv], mask [B,Hq,Tq,T] or None, as float64.

    Returns y, qk at the stage of the mode, and the tolerance."""
    n_batch, n_heads, n_q, d = q.shape
    n_k, group = k.shape[2], n_heads // k.shape[1]
    y = np.zeros((n_batch, n_heads, n_q, v.shape[3]))
    qk = np.zeros((n_batch, n_heads, n_q, n_k))
    atol = 0.0
    for b, h, i in np.ndindex(n_batch, n_heads, n_q):
        length = n_k if nonpad is None else int(nonpad[b])
        offset = n_past if nonpad is None else length - n_q
        begin, end = visible_range(i, length, offset, causal, left, right)
        keys, bias = [], []
        for j in range(begin, end):
            entry = True if mask is None else mask[b, h, i, j]
            if isinstance(entry, (bool, np.bool_)):
                is_visible, added = bool(entry), 0.0
            else:
                is_visible, added = entry != -INF, float(entry)
            if is_visible:
                keys.append(j)
                bias.append(added)
        rows = k[b, h // group], v[b, h // group]
        raw, capped, biased, weights, out, size, spread = attention_row(
            q[b, h, i], *rows, keys, bias, scale, softcap)
        y[b, h, i] = out
        error = U * np.nan_to_num(size) * (16 + 4 * math.sqrt(d) * spread)
        atol = max(atol, float(error.max()))
        if mode is None:
            continue
        atol = max(atol, 4 * U * math.sqrt(d) * spread)
        if mode in (0, 1):  # of every key, hidden or not
            for j in range(n_k):
                s = scale * math.fsum(q[b, h, i] * rows[0][j])
                qk[b, h, i, j] = softcap * math.tanh(s / softcap) if mode == 1 and softcap else s
        else:
            qk[b, h, i] = -INF if mode == 2 else 0.0
            for j, s, p in zip(keys, biased, weights):
                qk[b, h, i, j] = s if mode == 2 else p
    return y, qk, atol


# ---- tests


class Suite:
    def __init__(self):
        self.tests = []
        self.files = {}

    def tensor(self, test, role, array, dtype):
        array = np.asarray(array).astype(DTYPES[dtype])
        path = f"{test}/{role}.npy"
        self.files[path] = array
        described = {"file": path, "dtype": dtype, "shape": list(array.shape)}
        if array.dtype.kind == "f":
            for key, count in (("n_neginf", np.isneginf(array)), ("n_posinf", np.isposinf(array)),
                               ("n_nan", np.isnan(array))):
                if count.sum():
                    described[key] = int(count.sum())
        return described

    def add(self, name, note, q, k, v, mask=None, past=None, nonpad=None, causal=False, left=-1,
            right=-1, scale=None, softcap=0.0, mode=None, joined=False, dtype="f32", opset=25):
        """q, k, v are [B, H, T, D]; `mask` as it is stored; `past` is (K, V); `joined`: 3-D."""
        kind = DTYPES[dtype]
        q, k, v = (np.asarray(t).astype(kind) for t in (q, k, v))
        n_batch, n_heads, n_q, d = q.shape
        n_kv, n_new, d_v = k.shape[1], k.shape[2], v.shape[3]
        k_all, v_all, n_past = k, v, 0
        if past is not None:
            past = [t.astype(kind) for t in past]
            n_past = past[0].shape[2]
            k_all, v_all = (np.concatenate(pair, axis=2) for pair in zip(past, (k, v)))
        n_k = n_past + n_new
        full = None
        if mask is not None:
            mask = np.asarray(mask)
            mask = mask if mask.dtype == np.bool_ else mask.astype(kind)
            full = mask
            if mask.shape[-1] < n_k:
                hidden = False if mask.dtype == np.bool_ else -INF
                rest = np.full(mask.shape[:-1] + (n_k - mask.shape[-1],), hidden, mask.dtype)
                full = np.concatenate((mask, rest), axis=-1)
            full = np.broadcast_to(full, (n_batch, n_heads, n_q, n_k))
            full = full if mask.dtype == np.bool_ else full.astype(np.float64)
        used_scale = 1 / math.sqrt(d) if scale is None else float(np.float32(scale))
        used_cap = float(np.float32(softcap))
        y, qk, atol = attention(*(t.astype(np.float64) for t in (q, k_all, v_all)), full, nonpad,
                                causal, left, right, used_scale, used_cap, mode, n_past)

        def stored(t):
            return t.transpose(0, 2, 1, 3).reshape(t.shape[0], t.shape[2], -1) if joined else t

        attributes = {}
        if causal:
            attributes["is_causal"] = 1
        if joined:
            attributes.update(q_num_heads=n_heads, kv_num_heads=n_kv)
        if scale is not None:
            attributes["scale"] = used_scale
        if softcap:
            attributes["softcap"] = used_cap
        if mode:
            attributes["qk_matmul_output_mode"] = mode
        if left >= 0:
            attributes["left_window_size"] = left
        if right >= 0:
            attributes["right_window_size"] = right
        inputs = {role: self.tensor(name, role, stored(t), dtype)
                  for role, t in (("q", q), ("k", k), ("v", v))}
        if mask is not None:
            inputs["mask"] = self.tensor(name, "mask", mask,
                                         "bool" if mask.dtype == np.bool_ else dtype)
        if past is not None:
            inputs["past_k"] = self.tensor(name, "past_k", past[0], dtype)
            inputs["past_v"] = self.tensor(name, "past_v", past[1], dtype)
        if nonpad is not None:
            inputs["nonpad_kv_seqlen"] = self.tensor(name, "nonpad", nonpad, "i64")
        outputs = {"y": self.tensor(name, "y", stored(y), dtype)}
        if mode is not None:
            outputs["qk"] = self.tensor(name, "qk", qk, dtype)
        if past is not None:
            outputs["present_k"] = self.tensor(name, "present_k", k_all, dtype)
            outputs["present_v"] = self.tensor(name, "present_v", v_all, dtype)
        dims = {"B": n_batch, "Hq": n_heads, "Hkv": n_kv, "Tq": n_q, "Tk": n_new, "Tpast": n_past,
                "Ttotal": n_k, "D": d, "Dv": d_v}
        self.tests.append({
            "name": name, "note": note, "op": "Attention", "opset": opset,
            "rtol": 2.0**-10 if dtype == "f16" else 2.0**-23, "atol": float(f"{atol:.3g}"),
            "attributes": attributes, "layout": "BT(HD)" if joined else "BHTD", "dims": dims,
            "inputs": inputs, "outputs": outputs})


def normal(name, *shapes, size=1.0):
    """Arrays of normal numbers; the name is the seed."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    return [size * rng.standard_normal(shape) for shape in shapes]


def qkv(name, batch=1, heads=1, kv_heads=None, n_q=4, n_k=6, d=8, d_v=8, size=1.0):
    kv_heads = kv_heads or heads
    q, k, v = normal(name, (batch, heads, n_q, d), (batch, kv_heads, n_k, d),
                     (batch, kv_heads, n_k, d_v))
    return q * size, k, v


def random_bool(name, shape, share=0.6):
    rng = np.random.default_rng(zlib.crc32((name + " mask").encode()))
    return rng.random(shape) < share


def spoil(k, v, keys, batch=slice(None)):
    """What must never matter, at these keys: NaN, infinities, the largest numbers."""
    garbage = [np.nan, INF, -INF, 3e38, -3e38]
    for n, j in enumerate(keys):
        k[batch, :, j, n % k.shape[3]:] = garbage[n % 5]
        v[batch, :, j] = garbage[(n + 1) % 5]


def add_scores(suite):
    """Scores of a size that needs the maximum taken off, of both signs, rising, and one key alone."""
    for name, size, note in (("large_scores", 120.0, "|s| in the hundreds, both signs"),
                             ("huge_scores", 3000.0, "|s| near 10^4: one key has all weight")):
        q, k, v = qkv(name, heads=2, n_q=5, n_k=40, d=16, d_v=9, size=size)
        suite.add(name, note, q, k, v)
    name = "low_scores"
    q, k, v = qkv(name, n_q=3, n_k=20)
    suite.add(name, "every score far below 0, where exp(s) is 0", abs(q) * 60, -abs(k), v)
    name = "high_scores"
    q, k, v = qkv(name, n_q=3, n_k=20)
    suite.add(name, "every score far above 0, where exp(s) is infinite", abs(q) * 60, abs(k), v)
    name = "rising_scores"
    q, k, v = qkv(name, n_q=2, n_k=300, d=4, d_v=5)
    k[..., 0] = np.linspace(-40, 40, 300)
    q[..., 0] = 5 + np.arange(2)
    suite.add(name, "the maximum rises with every block of keys", q, k, v)
    name = "falling_scores"
    suite.add(name, "the maximum is in the first block, the rest hardly counts", q, k[:, :, ::-1], v)
    name = "hidden_large_scores"
    q, k, v = qkv(name, n_q=4, n_k=12)
    q = abs(q)
    k[:, :, 5] = k[:, :, 9] = 90.0
    mask = random_bool(name, (4, 12))
    mask[:, [5, 9]] = False
    suite.add(name, "hidden keys score hundreds above all visible ones", q, k, v, mask=mask)
    name = "cancelling_values"
    q, k, v = qkv(name, n_q=4, n_k=32, d=12, d_v=7)
    v = np.where(np.arange(32)[:, None] % 2, 1000.0, -1000.0) + v
    suite.add(name, "values of both signs that nearly cancel", q * 0.1, k, v)
    name = "equal_scores"
    q, k, v = qkv(name, n_q=3, n_k=17, d_v=3)
    suite.add(name, "all scores 0: the mean of V", q * 0, k, v)


def add_extents(suite):
    """Features around the widths of vectors, lengths around the edges of tiles."""
    for d, d_v in ((1, 17), (3, 9), (7, 1), (9, 33), (15, 7), (17, 15), (33, 3), (63, 65), (65, 63),
                   (80, 100), (96, 80), (100, 96)):
        name = f"d{d}_dv{d_v}"
        q, k, v = qkv(name, heads=2, kv_heads=1, n_q=3, n_k=9, d=d, d_v=d_v)
        suite.add(name, "features off the vector width; default scale of D, not Dv", q, k, v)
    for n_q, n_k, causal in ((1, 63, False), (1, 65, False), (15, 33, True), (17, 31, True),
                             (31, 127, False), (33, 129, False), (2, 128, False), (65, 66, True),
                             (64, 257, False), (3, 513, False), (1, 1025, False)):
        name = f"t{n_q}x{n_k}" + ("_causal" if causal else "")
        q, k, v = qkv(name, n_q=n_q, n_k=n_k, d=4, d_v=3, size=3.0)
        suite.add(name, "lengths at the edges of tiles", q, k, v, causal=causal)
    for n_q in (1, 5):
        name = f"one_key_{n_q}_queries"
        q, k, v = qkv(name, batch=2, heads=2, n_q=n_q, n_k=1)
        suite.add(name, "one key has all weight: its value", q, k, v)
    name = "one_key_causal"
    q, k, v = qkv(name, n_q=4, n_k=1)
    suite.add(name, "one key, seen by every row", q, k, v, causal=True)
    name = "one_of_everything"
    q, k, v = qkv(name, n_q=1, n_k=1, d=1, d_v=1)
    suite.add(name, "every extent is 1", q, k, v, causal=True, mask=np.array([0.5]))


def add_masks(suite):
    """Boolean and additive masks of every rank, rows that see nothing, and short masks."""
    shapes = {"rank1": (13,), "rank2": (5, 13), "rank2_rows": (1, 13), "rank3_heads": (2, 5, 13),
              "rank4_batch": (2, 1, 5, 13), "rank4_heads": (1, 2, 1, 13), "rank4": (2, 2, 5, 13)}
    for what, shape in shapes.items():
        name = f"bool_mask_{what}"
        q, k, v = qkv(name, batch=2, heads=2, n_q=5, n_k=13)
        suite.add(name, "a mask that hides some keys of each row", q, k, v,
                  mask=random_bool(name, shape))
        name = f"float_mask_{what}"
        q, k, v = qkv(name, batch=2, heads=2, n_q=5, n_k=13)
        bias, = normal(name + " bias", shape, size=4.0)
        suite.add(name, "biases of both signs, and -inf", q, k, v,
                  mask=np.where(random_bool(name, shape, 0.7), bias, -INF))
    name = "bool_mask_empty_rows"
    q, k, v = qkv(name, batch=2, heads=2, n_q=4, n_k=9)
    mask = random_bool(name, (4, 9))
    mask[1], mask[3] = False, True
    suite.add(name, "a row that sees nothing beside one that sees all", q, k, v, mask=mask)
    name = "float_mask_empty_rows"
    q, k, v = qkv(name, heads=2, n_q=4, n_k=9, size=40.0)
    mask = np.zeros((4, 9))
    mask[0], mask[2, ::2] = -INF, -INF
    suite.add(name, "a row of -inf is 0, with scores in the tens", q, k, v, mask=mask)
    name = "float_mask_lowest"
    q, k, v = qkv(name, n_q=3, n_k=7)
    mask = np.zeros((3, 7))
    mask[0], mask[1] = -1e30, -3.4e38
    suite.add(name, "rows of -1e30 and of nearly -FLT_MAX hide nothing: the mean of V", q, k, v,
              mask=mask)
    name = "float_mask_lowest_beside_visible"
    q, k, v = qkv(name, n_q=3, n_k=7)
    mask = np.zeros((3, 7))
    mask[:, ::2] = -1e30
    suite.add(name, "-1e30 beside visible keys leaves no weight", q, k, v, mask=mask)
    name = "bool_mask_gqa_causal"
    q, k, v = qkv(name, batch=2, heads=6, kv_heads=2, n_q=5, n_k=8)
    suite.add(name, "mask per head, causal limit, groups of 3 heads", q, k, v, causal=True,
              mask=random_bool(name, (2, 6, 5, 8), 0.7))
    for kind in ("bool", "float"):
        for n_short in (5, 1):
            name = f"short_{kind}_mask_{n_short}"
            q, k, v = qkv(name, heads=2, n_q=4, n_k=9)
            q = q * 3
            mask = random_bool(name, (4, n_short), 0.7)
            mask[:, 0] = True
            if kind == "float":
                mask = np.where(mask, normal(name + " bias", (4, n_short))[0], -INF)
            suite.add(name, "keys behind the end of a short mask are hidden", q, k, v, mask=mask)
    name = "short_mask_causal_past"
    q, k, v = qkv(name, heads=2, n_q=3, n_k=3)
    past = normal(name + " past", (1, 2, 6, 8), (1, 2, 6, 8))
    suite.add(name, "a short mask with past keys and a causal limit", q, k, v, past=past,
              causal=True, mask=random_bool(name, (1, 2, 3, 7), 0.8))


def add_garbage(suite):
    """NaN, infinities and the largest numbers where no row looks."""
    for kind in ("bool", "float"):
        name = f"garbage_{kind}_mask"
        q, k, v = qkv(name, batch=2, heads=2, n_q=5, n_k=12)
        spoil(k, v, (0, 3, 4, 7, 11))
        mask = random_bool(name, (5, 12), 0.8)
        mask[:, [0, 3, 4, 7, 11]] = False
        mask[2] = False
        if kind == "float":
            mask = np.where(mask, 0.25, -INF)
        suite.add(name, "garbage under the mask, and a row that sees nothing", q, k, v, mask=mask)
    name = "garbage_padding"
    q, k, v = qkv(name, batch=3, heads=2, n_q=2, n_k=9)
    spoil(k, v, range(4, 9), 0)
    spoil(k, v, range(9), 1)
    suite.add(name, "garbage in padding; one entry is nothing else", q, k, v, nonpad=[4, 0, 9])
    name = "garbage_behind_causal"
    q, k, v = qkv(name, batch=2, heads=2, n_q=3, n_k=8)
    spoil(k, v, range(3, 8))
    suite.add(name, "garbage behind the causal limit of every row", q, k, v, causal=True)
    name = "garbage_before_window"
    q, k, v = qkv(name, heads=2, n_q=3, n_k=2)
    past = normal(name + " past", (1, 2, 8, 8), (1, 2, 8, 8))
    spoil(*past, range(6))
    suite.add(name, "garbage in past keys that no window reaches", q, k, v, past=past, causal=True,
              left=2)
    name = "garbage_short_mask"
    q, k, v = qkv(name, n_q=3, n_k=10)
    spoil(k, v, range(6, 10))
    suite.add(name, "garbage behind the end of a short mask", q, k, v, mask=np.ones((3, 6), bool))
    name = "garbage_weights"
    q, k, v = qkv(name, heads=2, n_q=4, n_k=7)
    spoil(k, v, (2, 5))
    mask = random_bool(name, (4, 7), 0.8)
    mask[:, [2, 5]] = False
    suite.add(name, "weights of garbage are 0", q, k, v, mask=mask, mode=3)
    name = "garbage_biased"
    q, k, v = qkv(name, heads=2, n_q=4, n_k=7)
    spoil(k, v, (1, 6))
    mask = random_bool(name, (4, 7), 0.8)
    mask[:, [1, 6]] = False
    suite.add(name, "biased scores of garbage are -inf", q, k, v, mask=mask, mode=2)
    name = "nan_value_one_row"
    q, k, v = qkv(name, n_q=6, n_k=6, d_v=5)
    v[0, 0, 3, 2] = np.nan
    suite.add(name, "a NaN in V is that column of the rows that see it, and nobody else's", q, k, v,
              causal=True, left=1)


def add_positions(suite):
    """Offsets of caches, causal limits, windows."""
    name = "causal_wide"
    q, k, v = qkv(name, batch=2, heads=2, n_q=4, n_k=9)
    suite.add(name, "more keys than queries without a cache: the limit starts at key 0", q, k, v,
              causal=True)
    name = "causal_tall"
    q, k, v = qkv(name, heads=2, n_q=9, n_k=4)
    suite.add(name, "more queries than keys: the last rows see all", q, k, v, causal=True)
    name = "causal_past"
    q, k, v = qkv(name, batch=2, heads=4, kv_heads=2, n_q=4, n_k=6)
    past = normal(name + " past", (2, 2, 5, 8), (2, 2, 5, 8))
    suite.add(name, "the offset is the number of past keys, not keys less queries", q, k, v,
              past=past, causal=True)
    name = "causal_nonpad"
    q, k, v = qkv(name, batch=5, heads=2, n_q=4, n_k=9)
    suite.add(name, "an offset of its own for each batch entry: 5, 0, -1, -3, -4", q, k, v,
              nonpad=[9, 4, 3, 1, 0], causal=True)
    name = "nonpad"
    q, k, v = qkv(name, batch=5, heads=2, kv_heads=1, n_q=3, n_k=8)
    suite.add(name, "lengths alone: 8, 0, 1, 5, 7", q, k, v, nonpad=[8, 0, 1, 5, 7])
    name = "nonpad_decode"
    q, k, v = qkv(name, batch=3, heads=6, kv_heads=2, n_q=1, n_k=70, d=5, d_v=6)
    suite.add(name, "one query each, lengths at the edge of a block: 64, 65, 1", q, k, v,
              nonpad=[64, 65, 1], causal=True)
    name = "nonpad_mask"
    q, k, v = qkv(name, batch=3, heads=2, n_q=3, n_k=8)
    suite.add(name, "lengths and a mask with -inf together", q, k, v, nonpad=[8, 3, 0],
              mask=np.where(random_bool(name, (3, 1, 3, 8), 0.7), 0.5, -INF))
    for left, right in ((0, 0), (3, -1), (-1, 2), (2, 3), (1, 0), (200, 200)):
        name = f"window_{left}_{right}".replace("-1", "any")
        q, k, v = qkv(name, heads=2, n_q=8, n_k=8)
        suite.add(name, "a window without a causal limit", q, k, v, left=left, right=right)
    name = "window_wide"
    q, k, v = qkv(name, heads=2, n_q=3, n_k=9)
    suite.add(name, "more keys than queries: the window moves from key 0", q, k, v, left=1, right=2)
    name = "window_tall"
    q, k, v = qkv(name, heads=2, n_q=9, n_k=4)
    suite.add(name, "rows whose window lies behind the last key see nothing", q, k, v, left=2,
              right=0)
    name = "window_huge"
    q, k, v = qkv(name, heads=2, n_q=4, n_k=7)
    suite.add(name, "sizes near 2^63, where sums would overflow", q, k, v, left=2**63 - 1,
              right=2**63 - 2)
    name = "window_causal"
    q, k, v = qkv(name, batch=2, heads=2, n_q=7, n_k=7)
    suite.add(name, "the causal limit cuts the window's right side off", q, k, v, causal=True,
              left=2, right=3)
    name = "window_past"
    q, k, v = qkv(name, heads=2, n_q=4, n_k=4)
    past = normal(name + " past", (1, 2, 9, 8), (1, 2, 9, 8))
    suite.add(name, "a window over past and new keys, on both sides", q, k, v, past=past, left=3,
              right=1)
    name = "window_nonpad"
    q, k, v = qkv(name, batch=4, heads=2, n_q=3, n_k=10)
    suite.add(name, "a window at each entry's own offset, some of it before key 0", q, k, v,
              nonpad=[10, 6, 1, 0], left=2, right=0)
    name = "window_blocks"
    q, k, v = qkv(name, n_q=140, n_k=140, d=4, d_v=3, size=2.0)
    suite.add(name, "a window that moves over the edge of a block of keys", q, k, v, causal=True,
              left=17)
    name = "window_softcap_gqa_mask"
    q, k, v = qkv(name, batch=2, heads=4, kv_heads=2, n_q=6, n_k=6, size=6.0)
    suite.add(name, "window, softcap, mask and groups together", q, k, v, left=3, right=1,
              softcap=2.5, mask=random_bool(name, (2, 1, 6, 6), 0.8))


def add_numbers(suite):
    """Scale, softcap, and the scores of each stage."""
    name = "scale"
    q, k, v = qkv(name, heads=2, n_q=3, n_k=7, d=5, d_v=11)
    suite.add(name, "a scale of its own", q, k, v, scale=1.7)
    name = "scale_zero"
    q, k, v = qkv(name, n_q=3, n_k=7)
    suite.add(name, "scale 0: the mean of V", q, k, v, scale=0.0)
    name = "softcap_large_scores"
    q, k, v = qkv(name, heads=2, n_q=4, n_k=30, size=100.0)
    suite.add(name, "scores of both signs far beyond the cap", q, k, v, softcap=15.0)
    name = "softcap_small_scores"
    q, k, v = qkv(name, heads=2, n_q=4, n_k=10, size=0.3)
    suite.add(name, "a cap that hardly bends the scores", q, k, v, softcap=50.0)
    name = "softcap_bias"
    q, k, v = qkv(name, heads=2, n_q=4, n_k=10, size=4.0)
    bias, = normal(name + " bias", (4, 10), size=6.0)
    suite.add(name, "biases above the cap are added after it", q, k, v, softcap=2.0,
              mask=np.where(random_bool(name, (4, 10), 0.8), bias, -INF))
    mask = np.where(random_bool("stages", (4, 7), 0.6), 1.5, -INF)
    mask[2] = -INF
    for mode, what in enumerate(("scaled", "softcapped", "biased", "probabilities")):
        name = f"stage_{what}"
        q, k, v = qkv(name, batch=2, heads=4, kv_heads=2, n_q=4, n_k=7, size=5.0)
        suite.add(name, "scores of this stage, with softcap, mask, causal limit and an empty row",
                  q, k, v, softcap=3.0, mask=mask, causal=True, mode=mode)
    name = "stage_biased_nonpad"
    q, k, v = qkv(name, batch=3, heads=2, n_q=2, n_k=6)
    suite.add(name, "padded keys are -inf", q, k, v, nonpad=[6, 3, 0], mode=2)
    name = "stage_probabilities_nonpad"
    q, k, v = qkv(name, batch=3, heads=2, n_q=2, n_k=6, size=30.0)
    suite.add(name, "padded keys have weight 0", q, k, v, nonpad=[6, 3, 0], mode=3)


def add_layouts(suite):
    """Heads side by side, groups, caches, f16."""
    name = "joined"
    q, k, v = qkv(name, batch=2, heads=3, n_q=4, n_k=6, d=5, d_v=7)
    suite.add(name, "3-D: a head owns neighbouring columns", q, k, v, joined=True)
    name = "joined_gqa_past"
    q, k, v = qkv(name, batch=2, heads=6, kv_heads=3, n_q=3, n_k=4, d=5, d_v=7)
    past = normal(name + " past", (2, 3, 6, 5), (2, 3, 6, 7))
    suite.add(name, "3-D with groups and a 4-D past", q, k, v, joined=True, past=past, causal=True)
    name = "joined_window_nonpad"
    q, k, v = qkv(name, batch=3, heads=4, kv_heads=2, n_q=2, n_k=9, d=6, d_v=3)
    suite.add(name, "3-D with a padded cache and a window", q, k, v, joined=True,
              nonpad=[9, 5, 1], causal=True, left=3)
    for heads, kv_heads in ((6, 3), (8, 2), (7, 1)):
        name = f"gqa_{heads}_{kv_heads}"
        q, k, v = qkv(name, heads=heads, kv_heads=kv_heads, n_q=3, n_k=6)
        suite.add(name, "neighbouring query heads share a head of K and V", q, k, v)
    name = "f16_signs"
    q, k, v = qkv(name, batch=2, heads=4, kv_heads=2, n_q=4, n_k=11, d=9, d_v=7, size=4.0)
    suite.add(name, "f16 with negative numbers, softcap and a float mask with -inf", q, k, v,
              softcap=6.0, dtype="f16",
              mask=np.where(random_bool(name, (4, 11), 0.7), 0.5, -INF))


def make():
    suite = Suite()
    for group in (add_scores, add_extents, add_masks, add_garbage, add_positions, add_numbers,
                  add_layouts):
        group(suite)
    return suite


# ---- files


def manifest_text(suite):
    head = {
        "source": "make.py in this directory",
        "license": "MIT",
        "files": "NumPy .npy v1.0, C order, little endian; bool is one byte 0/1",
        "note": "What ONNX's own tests of Attention do not reach, in their format; n_neginf, n_posinf "
                "and n_nan count values that are there on purpose. Where the ONNX document leaves a "
                "choice: a mask of one column is a short mask (opset 24 and later), scores of mode 0 "
                "are those before softcap, a hidden key never matters whatever it holds.",
        "tolerance": "|got - want| <= atol + rtol * |want|, derived in make.py",
    }
    lines = [" " + json.dumps(key) + ": " + json.dumps(value) for key, value in head.items()]
    tests = ",\n".join(json.dumps(test) for test in suite.tests)
    return "{\n" + ",\n".join(lines) + ',\n "tests": [\n' + tests + "\n]}\n"


def check(suite):
    """Inputs are the same bits; expectations may differ by one unit in the last place."""
    wrong = []
    if (HERE / "manifest.json").read_text() != manifest_text(suite):
        wrong.append("manifest.json")
    for path, array in suite.files.items():
        there = np.load(HERE / path)
        same = there.dtype == array.dtype and np.array_equal(there, array, equal_nan=array.dtype.kind == "f")
        if not same and pathlib.Path(path).stem in ("y", "qk") and there.shape == array.shape:
            finite = np.isfinite(array) & np.isfinite(there)
            same = np.array_equal(there[~finite], array[~finite], equal_nan=True) and np.allclose(
                there[finite].astype(float), array[finite].astype(float),
                rtol=2 * float(np.finfo(array.dtype).eps), atol=1e-30)
        if not same:
            wrong.append(path)
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    arguments = parser.parse_args()
    suite = make()
    if arguments.check:
        wrong = check(suite)
        print(f"{len(suite.tests)} tests, {len(suite.files)} files, {len(wrong)} differ", *wrong)
        return 1 if wrong else 0
    for path, array in suite.files.items():
        (HERE / path).parent.mkdir(exist_ok=True)
        np.save(HERE / path, np.ascontiguousarray(array), allow_pickle=False)
    (HERE / "manifest.json").write_text(manifest_text(suite))
    size = sum(array.nbytes for array in suite.files.values())
    print(f"{len(suite.tests)} tests, {len(suite.files)} files, {size / 1000:.0f} kB of data")
    return 0


if __name__ == "__main__":
    sys.exit(main())
