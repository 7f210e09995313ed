# SPDX-License-Identifier: MIT
"""host_pytorch.py: scaled_dot_product_attention of PyTorch as a peer.

It is called as a user would, on tensors over the shared memory, with its output allocated by
PyTorch. Tried are its backends, and for grouped heads that are not causal also the heads of a group
as rows of one head, which reads K and V once."""

import contextlib

import host

try:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import linear, scaled_dot_product_attention, softmax
except ImportError as why:
    torch = None
    reason = str(why)

BACKENDS = ("FLASH_ATTENTION", "MATH")


def decoder_ways(request):
    """A step of Bahdanau's attention by primitives, nn.GRUCell, and an output layer; weights as
    bench/ops/decoder.c has them."""
    d, n_enc, words = request.d, request.d_v, request.n_words
    shapes = [(d, d), (d, n_enc), (3 * d, d + n_enc), (3 * d, d), (words, d), (1, d)]
    sizes = [rows * columns for rows, columns in shapes]
    weights = torch.from_numpy(request.weights(0))[:sum(sizes)].split(sizes)
    w_state, _, w_input, w_hidden, w_out, v = (w.view(shape) for w, shape in zip(weights, shapes))
    v = v[0]
    cell = torch.nn.GRUCell(d + n_enc, d, bias=False)
    cell.weight_ih = torch.nn.Parameter(w_input, requires_grad=False)
    cell.weight_hh = torch.nn.Parameter(w_hidden, requires_grad=False)
    state, keys, h, o = (torch.from_numpy(request.tensor(name, 0))[0, 0] for name in "qkvo")
    token = torch.tensor([request.token])
    results = [None]

    def run(_):
        scores = torch.tanh(linear(state, w_state) + keys) @ v
        context = softmax(scores, 0) @ h
        cell_input = torch.cat((w_out[token], context[None]), 1)
        results[0] = cell(cell_input, state)
        linear(results[0], w_out)

    def by_vectors(_):
        scores = torch.mv(torch.tanh(torch.mv(w_state, state[0]) + keys), v)
        context = torch.mv(h.t(), softmax(scores, 0))
        x = torch.mv(w_input, torch.cat((w_out[request.token], context))).chunk(3)
        g = torch.mv(w_hidden, state[0]).chunk(3)
        reset, update = torch.sigmoid(x[0] + g[0]), torch.sigmoid(x[1] + g[1])
        candidate = torch.tanh(x[2] + reset * g[2])
        results[0] = torch.lerp(candidate, state[0], update)[None]
        torch.mv(w_out, results[0][0])

    return [host.Way("nn.GRUCell, attention by tanh, matmul and softmax", run,
                     lambda _: o.copy_(results[0]), torch.inference_mode),
            host.Way("mv and functions of vectors", by_vectors,
                     lambda _: o.copy_(results[0]), torch.inference_mode)]


def self_ways(request):
    """nn.MultiheadAttention, and the same by linear and scaled_dot_product_attention."""
    d, n, heads = request.d, request.n_q, request.n_heads
    weights = torch.from_numpy(request.weights(0))[:4 * d * d].view(4 * d, d)
    w_in, w_out = weights[:3 * d], weights[3 * d:]
    module = torch.nn.MultiheadAttention(d, heads, bias=False, batch_first=True).eval()
    module.in_proj_weight = torch.nn.Parameter(w_in, requires_grad=False)
    module.out_proj.weight = torch.nn.Parameter(w_out, requires_grad=False)
    x, o = (torch.from_numpy(request.tensor(name, 0))[0] for name in "qo")
    hidden = torch.ones(n, n, dtype=torch.bool).triu(1) if request.causal else None
    results = [None]

    def by_module(_):
        results[0] = module(x, x, x, need_weights=False, attn_mask=hidden,
                            is_causal=request.causal)[0]

    def by_functions(_):
        q, k, v = (part.view(1, n, heads, d // heads).transpose(1, 2)
                   for part in linear(x, w_in).split(d, -1))
        y = scaled_dot_product_attention(q, k, v, is_causal=request.causal)
        results[0] = linear(y.transpose(1, 2).reshape(1, n, d), w_out)

    return [host.Way(name, run, lambda _: o.copy_(results[0]), torch.inference_mode)
            for name, run in (("nn.MultiheadAttention", by_module),
                              ("linear, scaled_dot_product_attention, linear", by_functions))]


def general_ways(request):
    """Keys and values are the inputs; weights as bench/ops/general.c has them."""
    ways = {"additive": additive_ways, "scaled_dot": dot_ways, "bilinear": bilinear_ways}
    d = request.d
    weights = torch.from_numpy(request.weights(0))[:(2 * d + 1) * d].view(-1, d)
    w_q, w_x, v = weights.split([d, d, 1])
    q, x, o = (torch.from_numpy(request.tensor(name, 0))[0, 0] for name in "qko")
    results = [None]

    def way(name, compute):
        def run(_):
            results[0] = compute()

        return host.Way(name, run, lambda _: o.copy_(results[0]), torch.inference_mode)

    return [way(*named) for named in ways[request.align](q, x, w_q, w_x, v[0]).items()]


def additive_ways(q, x, w_q, w_x, v):
    """All n_q x n_k x d numbers at once, or those of one query after the other."""
    def attend(queries, keys):
        return softmax((queries + keys).tanh_() @ v, -1) @ x

    def one_by_one():
        keys = linear(x, w_x)
        return torch.stack([attend(query, keys) for query in linear(q, w_q)])

    return {"linear, tanh, matmul and softmax":
            lambda: attend(linear(q, w_q)[:, None], linear(x, w_x)),
            "the same, query by query": one_by_one}


def dot_ways(q, x, *_):
    root = q.shape[1] ** 0.5
    return {"scaled_dot_product_attention":
            lambda: scaled_dot_product_attention(q[None], x[None], x[None])[0],
            "matmul and softmax": lambda: softmax(q @ x.t() / root, -1) @ x}


def bilinear_ways(q, x, _, w, *__):
    """(q^T W) x or q^T (W x)."""
    def attend(queries, keys):
        return scaled_dot_product_attention(queries[None], keys[None], x[None], scale=1.0)[0]

    return {"matmul, scaled_dot_product_attention": lambda: attend(q @ w, x),
            "linear of inputs, scaled_dot_product_attention": lambda: attend(q, linear(x, w)),
            "matmul and softmax": lambda: softmax(q @ w @ x.t(), -1) @ x}


def attend_ways(request):
    """Keys and values by one linear or by two, then scaled_dot_product_attention."""
    d = request.d
    weights = torch.from_numpy(request.weights(0))[:2 * d * d].view(2 * d, d)
    w_k, w_v = weights.split(d)
    q, x, o = (torch.from_numpy(request.tensor(name, 0)) for name in "qko")
    results = [None]

    def by_one(_):
        k, v = linear(x, weights).split(d, -1)
        results[0] = scaled_dot_product_attention(q, k, v)

    def by_two(_):
        results[0] = scaled_dot_product_attention(q, linear(x, w_k), linear(x, w_v))

    return [host.Way(name, run, lambda _: o.copy_(results[0]), torch.inference_mode)
            for name, run in (("linear, scaled_dot_product_attention", by_one),
                              ("linear twice, scaled_dot_product_attention", by_two))]


def open_call(request):
    layers = {"decoder": decoder_ways, "self": self_ways, "general": general_ways,
              "attend": attend_ways}
    if request.task in layers:
        torch.set_num_threads(request.threads)
        return layers[request.task](request), torch.get_num_threads()
    request.expect_only("mask")
    torch.set_num_threads(request.threads)
    tensors = [[torch.from_numpy(request.tensor(name, number)) for name in "qkvo"]
               for number in range(request.n_sets)]
    mask, is_causal = request.hidden()
    mask = None if mask is None else torch.from_numpy(mask)
    group = request.n_q_heads // request.n_kv_heads
    results = [None] * request.n_sets

    def finish(number):
        tensors[number][3].copy_(results[number].reshape(tensors[number][3].shape))

    def way(backend, stacked):
        kind = getattr(SDPBackend, backend)

        def run(number):
            q, k, v, _ = tensors[number]
            if stacked:
                q = q.view(request.batch, request.n_kv_heads, group * request.n_q, request.d)
            results[number] = scaled_dot_product_attention(
                q, k, v, attn_mask=mask, is_causal=is_causal, scale=request.scale,
                enable_gqa=group > 1 and not stacked)

        @contextlib.contextmanager
        def setting():
            with torch.inference_mode(), sdpa_kernel(kind):
                yield

        name = f"scaled_dot_product_attention {backend}"
        if mask is not None:
            name += ", with a mask"
        if stacked:
            name += ", heads of a group as rows of one"
        return host.Way(name, run, finish, setting)

    ways = [way(backend, False) for backend in BACKENDS]
    if group > 1 and mask is None and not is_causal:
        ways += [way(backend, True) for backend in BACKENDS]
    return ways, torch.get_num_threads()


if torch is None:
    host.absent(reason)
else:
    host.serve(f"PyTorch {torch.__version__} {torch.backends.cpu.get_cpu_capability()}", open_call)
