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
    from torch.nn.functional import scaled_dot_product_attention
except ImportError as why:
    torch = None
    reason = str(why)

BACKENDS = ("FLASH_ATTENTION", "MATH")


def open_call(request):
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
