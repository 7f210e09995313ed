# SPDX-License-Identifier: MIT
"""host.py: the frame of a host in Python; host.h has the messages.

A host gives `serve` its version and a function that opens calls. Tensors are NumPy arrays over the
memory that the program shares; nothing is copied. A call is tried in all the ways that its library
has, and the fastest one is kept."""

import contextlib
import ctypes
import json
import mmap
import resource
import signal
import socket
import sys
import time
import weakref

import numpy

CHANNEL = 3
ELEMENT = 4  # bytes of a float


class Declined(Exception):
    """The library has no such operation."""


class Request:
    """A call to be opened: sizes as attributes, tensors by `tensor`."""

    def __init__(self, message, files):
        self.__dict__.update({name: value for name, value in message.items()
                              if name not in ("do", "weights")})
        self.weights_at = message.get("weights")
        self.tensors = {name: message[name] for name in ("q", "k", "v", "o") if name in message}
        self.memory = _map(files[0], message["size"])
        self.mask_memory = _map(files[1], message["mask_size"]) if "mask" in message else None

    def tensor(self, name, number):
        """The array [batch, heads, rows, features] of one set."""
        offset, *strides = self.tensors[name]
        heads = self.n_q_heads if name in "qo" else self.n_kv_heads
        rows = self.n_q if name in "qo" else self.n_k
        is_state = name == "o" and self.task == "decoder"  # its next one, as wide as that in q
        features = self.d if name in "qk" or is_state else self.d_v
        return numpy.ndarray((self.batch, heads, rows, features), numpy.float32, self.memory,
                             number * self.set_bytes + offset,
                             [stride * ELEMENT for stride in strides] + [ELEMENT])

    def weights(self, number):
        """All numbers from the weights of a layer on, of one set."""
        begin = number * self.set_bytes + self.weights_at
        end = (number + 1) * self.set_bytes
        return numpy.ndarray((end - begin) // ELEMENT, numpy.float32, self.memory, begin)

    def hidden(self):
        """What the call hides, as a mask and whether there is a causal limit beside it that counts
        from the first key, as libraries do. The mask is None or [1 or batch, 1 or heads, queries,
        keys], of bool or of floats to be added."""
        mask = self._mask() if self.mask_memory else None
        is_causal = self.causal and self.offset < self.n_k - 1  # else it hides nothing
        if not is_causal or (mask is None and self.offset == 0):
            return mask, is_causal
        last = numpy.arange(self.n_q)[:, None] + self.offset
        visible = (numpy.arange(self.n_k) <= last)[None, None]
        if mask is None:
            return visible, False
        if mask.dtype == bool:
            return mask & visible, False
        return numpy.where(visible, mask, numpy.float32(-numpy.inf)), False

    def _mask(self):
        kind = numpy.uint8 if self.mask["kind"] == "bool" else numpy.float32
        strides = [stride * numpy.dtype(kind).itemsize for stride in self.mask["stride"]]
        array = numpy.ndarray(self.mask["extent"], kind, self.mask_memory, 0, strides)
        full = numpy.broadcast_to(array, (*array.shape[:2], self.n_q, self.n_k))
        return full != 0 if self.mask["kind"] == "bool" else full.copy()

    def expect_only(self, *known):
        """Declines what the library does not know."""
        unknown = [name for name in self.features if name not in known]
        if unknown:
            raise Declined("it knows no " + ", ".join(unknown))
        if self.task != "attention":
            raise Declined("it is measured on whole attentions alone")


LARGE_PAGE = 1 << 21
MAP_FIXED = 0x10  # on Linux and macOS, and not in the module mmap
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_size_t
_libc.mmap.argtypes = [ctypes.c_size_t, ctypes.c_size_t] + 3 * [ctypes.c_int] + [ctypes.c_long]
_libc.munmap.argtypes = [ctypes.c_size_t, ctypes.c_size_t]


def _map(file, size):
    """The file as a buffer. It begins at a multiple of a large page, so that it has the large pages
    that the program has made (shared.c); the module mmap leaves no choice."""
    no_access = 0
    place = _libc.mmap(0, size + LARGE_PAGE, no_access, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1,
                       0)
    base = (place + LARGE_PAGE - 1) // LARGE_PAGE * LARGE_PAGE
    flags = mmap.MAP_SHARED | MAP_FIXED | getattr(mmap, "MAP_POPULATE", 0)
    if _libc.mmap(base, size, mmap.PROT_READ | mmap.PROT_WRITE, flags, file, 0) != base:
        raise OSError(ctypes.get_errno(), "the memory cannot be mapped")
    memory = (ctypes.c_char * size).from_address(base)
    weakref.finalize(memory, _libc.munmap, place, size + LARGE_PAGE)
    return memory


class Way:
    """One way to compute a call: `run(set)`; `finish(set)`, which puts the output where it belongs;
    and `setting()`, a context that both run in. Only `run` is timed."""

    def __init__(self, name, run, finish=None, setting=contextlib.nullcontext):
        self.name, self.run, self.finish, self.setting = name, run, finish, setting


LONG_NS, TRIAL_NS = 300_000_000, 20_000_000_000  # as in host.c


def _time_run(way, number):
    begin = time.perf_counter_ns()
    way.run(number)
    return time.perf_counter_ns() - begin


def _try_way(way, n_sets):
    """Nanoseconds of a call, the best of a few after a first one; of a long one the first."""
    with way.setting():
        first = _time_run(way, 0)
        return first if first > LONG_NS else min(_time_run(way, i % n_sets) for i in range(1, 6))


def _choose(ways, n_sets):
    """The fastest of those that work; what the others say is printed."""
    best, least, error = None, None, None
    begin = time.perf_counter_ns()
    for way in ways:
        if best and time.perf_counter_ns() - begin > TRIAL_NS:
            break
        try:
            ns = _try_way(way, n_sets)
            if least is None or ns < least:
                best, least = way, ns
        except Exception as exception:  # libraries raise what they like
            error = exception
            print(f"{way.name}: {exception}", flush=True)
    if best is None:
        raise error or Declined("it has no way to compute this")
    return best


class _Call:
    def __init__(self, request, ways):
        self.n_sets = request.n_sets
        self.request = request  # holds the memory
        self.way = ways[request.way - 1] if request.way else _choose(ways, self.n_sets)

    def window(self, number, n):
        with self.way.setting():
            return self._window(number, n)

    def _window(self, number, n):
        run = self.way.run
        switches = resource.getrusage(_WHO).ru_nivcsw
        cpu, thread = time.process_time_ns(), time.thread_time_ns()
        begin = time.perf_counter_ns()
        for _ in range(n):
            run(number)
            number = number + 1 if number + 1 < self.n_sets else 0
        ns = time.perf_counter_ns() - begin
        answer = {
            "ns": ns,
            "cpu_ns": time.process_time_ns() - cpu,
            "thread_ns": time.thread_time_ns() - thread,
            "switches": resource.getrusage(_WHO).ru_nivcsw - switches,
        }
        if self.way.finish:
            for back in range(min(n, self.n_sets)):
                self.way.finish((number - 1 - back) % self.n_sets)
        return answer


_WHO = getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF)


def serve(version, open_call):
    """Answers requests until there are no more. `open_call(request)` returns a list of ways and the
    number of threads that the library says it uses."""
    channel = socket.socket(fileno=CHANNEL)
    calls = {}
    _end_with_program()

    def answer(message, files):
        if message["do"] == "open":
            request = Request(message, files)
            ways, threads = open_call(request)
            call = calls[message["id"]] = _Call(request, ways)
            call.window(0, 1)
            return {"picked": call.way.name, "threads": threads, "n_ways": len(ways)}
        if message["do"] == "run":
            return calls[message["id"]].window(message["set"], message["n"])
        calls.pop(message["id"], None)
        return {}

    _send(channel, {"version": version})
    while True:
        message, files = _receive(channel)
        if message is None:
            return
        try:
            reply = answer(message, files)
        except Declined as why:
            reply = {"declined": str(why)}
        except Exception as why:  # goes to the program, which shows it
            reply = {"error": f"{type(why).__name__}: {why}"[:300]}
        finally:
            for file in files:
                socket.close(file)
        _send(channel, reply)


def _end_with_program():
    """This process may be stopped when the program ends."""
    if sys.platform == "linux":
        set_death_signal = 1
        _libc.prctl(set_death_signal, signal.SIGKILL)


def absent(why):
    """Introduces a library that cannot be loaded."""
    _send(socket.socket(fileno=CHANNEL), {"absent": why})


def _send(channel, message):
    channel.sendall(json.dumps(message).encode() + b"\n")


def _receive(channel):
    line, files = b"", []
    while not line.endswith(b"\n"):
        part, more, _, _ = socket.recv_fds(channel, 1 << 16, 2)
        files += more
        if not part:
            return None, files
        line += part
    return json.loads(line), files
