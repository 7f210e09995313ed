# SPDX-License-Identifier: MIT
"""host_onnxruntime.py: the attention operators of ONNX Runtime as a peer, on its CPU provider.

  Attention            of ONNX, opset 23: takes tensors as ours are, [batch, heads, rows, features]
  MultiHeadAttention   of com.microsoft: queries and outputs are [batch, rows, heads x features]
  GroupQueryAttention  of com.microsoft, always causal: the same, with a cache of keys and values

Tensors that an operator wants in another order are copied before the time begins, and outputs after
it has ended; a decode step needs no copy. GroupQueryAttention appends keys to a cache: for one
query the cache is K and V themselves, and what it appends is the last row once more, in its
place."""

import host

try:
    import numpy
    import onnxruntime
    from onnx import helper
except ImportError as why:
    onnxruntime = None
    reason = str(why)

PROVIDERS = ["CPUExecutionProvider"]
MOST_COPIED = 1 << 28  # bytes of all sets


class Model:
    """One operator as a model, bound to arrays of each set. `arrays(set)` gives inputs and outputs
    by name; two of the same memory are bound as one."""

    def __init__(self, request, operator, inputs, outputs, arrays, **attributes):
        self.request = request
        domain = attributes.pop("domain", "")
        node = helper.make_node(operator, inputs, outputs, domain=domain, **attributes)
        self.bound = [arrays(number) for number in range(request.n_sets)]
        first = self.bound[0]
        graph = helper.make_graph([node], "attention",
                                  [_info(name, first[name]) for name in inputs],
                                  [_info(name, first[name]) for name in outputs])
        model = helper.make_model(graph, ir_version=10, opset_imports=[
            helper.make_opsetid("", 23), helper.make_opsetid("com.microsoft", 1)])
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = request.threads
        self.session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                                    providers=PROVIDERS)
        self.bindings = [self._bind(inputs, outputs, arrays) for arrays in self.bound]

    def _bind(self, inputs, outputs, arrays):
        binding = self.session.io_binding()
        values = {}
        for name in (*inputs, *outputs):
            place = (arrays[name].ctypes.data, arrays[name].shape)
            if place not in values:
                values[place] = onnxruntime.OrtValue.ortvalue_from_numpy(arrays[name])
            if name in inputs:
                binding.bind_ortvalue_input(name, values[place])
            else:
                binding.bind_ortvalue_output(name, values[place])
        return binding

    def run(self, number):
        self.session.run_with_iobinding(self.bindings[number])


def _info(name, array):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype),
                                         array.shape)


def _by_rows(array):
    """[batch, heads, rows, features] as [batch, rows, heads x features]: the same memory where
    there is one row or one head, else a copy."""
    batch, heads, rows, features = array.shape
    if rows > 1 and heads > 1:
        array = numpy.ascontiguousarray(array.transpose(0, 2, 1, 3))
    return array.reshape(batch, rows, heads * features)


def _from_rows(array, output):
    """The way back, into the shared memory."""
    batch, heads, rows, features = output.shape
    output[...] = array.reshape(batch, rows, heads, features).transpose(0, 2, 1, 3)


def onnx_attention(request, mask, is_causal):
    names = ["q", "k", "v"] if mask is None else ["q", "k", "v", "mask"]

    def arrays(number):
        found = {name: request.tensor(name, number) for name in "qkvo"}
        return found if mask is None else {**found, "mask": mask}

    model = Model(request, "Attention", names, ["o"], arrays, scale=request.scale,
                  is_causal=int(is_causal))
    return host.Way("Attention of ONNX, opset 23" + (", with a mask" if mask is not None else ""),
                    model.run)


def multi_head_attention(request, is_causal, by_rows):
    """`by_rows`: which of the tensors are in its own order; K and V may also be as ours are."""
    def arrays(number):
        return {name: _by_rows(request.tensor(name, number)) if name in by_rows else
                request.tensor(name, number) for name in "qkvo"}

    model = Model(request, "MultiHeadAttention", ["q", "k", "v"], ["o"], arrays,
                  domain="com.microsoft", num_heads=request.n_q_heads, scale=request.scale,
                  unidirectional=int(is_causal))

    def finish(number):
        _from_rows(model.bound[number]["o"], request.tensor("o", number))

    return host.Way("MultiHeadAttention of com.microsoft" +
                    (", K and V by rows" if "k" in by_rows else ""), model.run, finish)


def group_query_attention(request):
    """A prompt with an empty cache, or one query whose cache is K and V but for the last row."""
    is_step = request.n_q == 1
    sizes = (request.batch, request.n_kv_heads, request.n_k, request.d)
    lengths = numpy.full((request.batch,), request.n_k - 1, numpy.int32)
    total = numpy.array(request.n_k, numpy.int32)

    def arrays(number):
        q, k, v, o = (request.tensor(name, number) for name in "qkvo")
        found = {"q": _by_rows(q), "o": _by_rows(o), "lengths": lengths, "total": total}
        for name, cache in (("k", k), ("v", v)):
            new = cache[:, :, -1:].copy() if is_step else cache
            found[name] = _by_rows(new)
            found["past_" + name] = cache if is_step else numpy.empty(
                (*sizes[:2], 0, request.d), numpy.float32)
            found["all_" + name] = cache if is_step else numpy.empty(sizes, numpy.float32)
        return found

    model = Model(request, "GroupQueryAttention",
                  ["q", "k", "v", "past_k", "past_v", "lengths", "total"], ["o", "all_k", "all_v"],
                  arrays, domain="com.microsoft", num_heads=request.n_q_heads,
                  kv_num_heads=request.n_kv_heads, scale=request.scale)

    def finish(number):
        _from_rows(model.bound[number]["o"], request.tensor("o", number))

    return host.Way("GroupQueryAttention of com.microsoft" +
                    (", cache in place" if is_step else ", empty cache"), model.run, finish)


def open_call(request):
    request.expect_only("mask")
    if not all(request.tensor(name, 0).flags["C_CONTIGUOUS"] for name in "qkvo"):
        raise host.Declined("it takes dense tensors alone")
    mask, is_causal = request.hidden()
    makers = [lambda: onnx_attention(request, mask, is_causal)]
    is_prompt = is_causal and request.n_q == request.n_k
    may_copy = request.size <= MOST_COPIED
    if mask is None and request.n_q_heads == request.n_kv_heads and (is_prompt or not is_causal):
        if may_copy or request.n_q == 1:
            makers.append(lambda: multi_head_attention(request, is_causal, "qo"))
        if may_copy:
            makers.append(lambda: multi_head_attention(request, is_causal, "qkvo"))
    if mask is None and request.d == request.d_v and (
            request.n_q == 1 and not is_causal or is_prompt and may_copy):
        makers.append(lambda: group_query_attention(request))
    return [way for way in map(_try_to_make, makers) if way], request.threads


def _try_to_make(maker):
    """A session that the operator's limits forbid is one way less; what it said is printed."""
    try:
        return maker()
    except Exception as why:  # of many types
        print(why, flush=True)
        return None


if onnxruntime is None:
    host.absent(reason)
else:
    onnxruntime.set_default_logger_severity(3)
    host.serve(f"ONNX Runtime {onnxruntime.__version__}", open_call)
