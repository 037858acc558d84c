"""Sandbox for TFLite files that may be hostile: a child process, killed when it exceeds its time or memory.

The parent hands files and arrays over, and takes arrays back, through two pipes. A message is a JSON header behind its
length, and the bytes of its arrays; nothing is unpickled. On Linux the child is a fork of this process, which has the
runtime loaded already (3 ms, 10 beside TensorFlow); elsewhere it is a Python of its own (0.3 s). It has no more memory
than `_MEMORY` above what it starts with and a few times the files, writes no files, leaves no core, and ends with its
parent.
"""

from __future__ import annotations

import contextlib
import faulthandler
import itertools
import json
import math
import os
import signal
import struct
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any, NoReturn

import numpy as np

from fuseconv.child import end_with, libc, limit_memory

_MEMORY = 1 << 30
# What an interpreter takes for each byte of a file: the file itself, what it is read into, and weights made larger.
_MEMORY_PER_BYTE = 4
_CPU_SECONDS = 600
# What a child may answer at most; it could be out to fill this process's memory.
_MAX_HEADER = 1 << 20
_MAX_ANSWER = 1 << 30
_TYPES = {
    np.dtype(name).str: np.dtype(name)
    for name in (
        "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
        "float64", "complex64", "complex128",
    )
}  # fmt: skip
_LENGTH = struct.Struct("<I")
# How often it is looked whether a request takes too long, in seconds.
_TICK = 0.1
# What a broken pipe raises, and what comes through it that is no answer.
_NO_ANSWER = (OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, RecursionError)
# The children of this process, whose pipes another fork must not keep open.
_children: weakref.WeakSet[_Child] = weakref.WeakSet()
_starting = threading.Lock()


class Failed(Exception):
    """The runtime refused a file or operands; the message is its own."""


class ChildEnded(Exception):
    """Raised if the child process timed out or crashed. overdue: which of the two."""

    def __init__(self, overdue: bool) -> None:
        super().__init__()
        self.overdue = overdue


class Sandbox:
    """A child process that runs files; it is started on demand, and again after its end.

    While it lives, the first write to each page of this process copies the page: it is to be closed early.

    seconds: what the child has worked so far, as the processor counts it."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._child: _Child | None = None

    @property
    def pid(self) -> int:
        """Return the child's process id; 0 if there is none."""
        return 0 if self._child is None else self._child.pid

    def load(self, data: bytes, patience: float) -> int:
        """Load a file and return its number, to run it by. Raises Failed, and ChildEnded, after which no file is loaded
        any more."""
        return self._ask({"do": "load"}, [np.frombuffer(data, np.uint8)], patience)[0]["number"]

    def run(self, number: int, arrays: Sequence[np.ndarray], patience: float) -> list[np.ndarray]:
        """Run the only signature of a file on its inputs x0, x1, ..., and return its outputs y0, y1, ... Raises as
        `load`."""
        return self._ask({"do": "run", "number": number}, arrays, patience)[1]

    def forget(self) -> None:
        """Let the child drop the files that it has loaded."""
        if self._child is not None:
            with contextlib.suppress(ChildEnded):
                self._ask({"do": "forget"}, [], 1.0)

    def close(self) -> None:
        """Kill the child."""
        if self._child is not None:
            self._child.end()
            self._child = None

    def _ask(
        self, header: dict[str, Any], arrays: Sequence[np.ndarray], patience: float
    ) -> tuple[dict[str, Any], list[np.ndarray]]:
        """Send a request to the child, which is started if there is none, and return its answer. Raises Failed for what
        the child could not do, and ChildEnded if it ended or worked longer than `patience` seconds: then it is
        killed."""
        if self._child is None:
            self._child = _start()
        watch = self._child.watch
        watch.wait_until(time.monotonic() + patience)
        try:
            _send(self._child.writer, header, arrays)
            answer, made = _receive(self._child.reader, _MAX_HEADER, _MAX_ANSWER)
            watch.wait_until(math.inf)
            if watch.overdue:
                raise TimeoutError  # it was killed just as it had answered
            self.seconds += float(answer.get("seconds", 0.0))
        except _NO_ANSWER:
            self.seconds += patience if watch.overdue else 0.0
            self.close()
            raise ChildEnded(watch.overdue) from None
        except BaseException:
            self.close()
            raise
        if "error" in answer:
            raise Failed(str(answer["error"]))
        return answer, made


class _Child:
    def __init__(
        self, reader: IO[bytes], writer: IO[bytes], pid: int, kill: Callable[[], None], reap: Callable[[], Any]
    ) -> None:
        self.reader, self.writer, self.pid, self.kill, self._reap = reader, writer, pid, kill, reap
        self.watch = _Watch(kill)

    def end(self) -> None:
        self.watch.ended.set()
        self.kill()
        with _starting:
            for stream in (self.writer, self.reader):
                with contextlib.suppress(OSError):
                    stream.close()
        self._reap()


class _Watch:
    """A thread that kills a child when a request takes too long. One for all requests: to start one takes longer than
    most requests. overdue: whether the child was killed."""

    def __init__(self, kill: Callable[[], None]) -> None:
        self.overdue = False
        self.ended = threading.Event()
        self._deadline = math.inf
        self._lock = threading.Lock()
        self._kill = kill
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def wait_until(self, deadline: float) -> None:
        """Set the deadline of the present request: no child is killed for the one before, from now on."""
        with self._lock:
            self._deadline = deadline

    def _run(self) -> None:
        while not self.ended.wait(_TICK):
            with self._lock:
                if time.monotonic() > self._deadline:
                    self.overdue = True
                    self._kill()
                    return


def _start() -> _Child:
    return _forked() if sys.platform == "linux" else _spawned()


def _spawned() -> _Child:
    import subprocess

    command = [sys.executable, "-m", "fuseconv.fuse.isolation"]
    paths = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=paths)
    assert process.stdin is not None and process.stdout is not None
    return _Child(process.stdout, process.stdin, process.pid, process.kill, process.wait)


def _forked() -> _Child:
    """Start a child as a copy of this process, with a pipe each way."""
    import ai_edge_litert.interpreter  # noqa: F401  (the child need not load it)

    libc()
    with _starting, warnings.catch_warnings():
        # Newer Pythons warn of forks beside threads, whose locks nobody would open in the child: it calls nothing of
        # theirs, and one that hangs all the same is killed as one that takes too long.
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.filterwarnings("ignore", r"os\.fork\(\) was called", RuntimeWarning)  # JAX's of the same
        theirs, ours = os.pipe(), os.pipe()
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            _become_child(theirs[0], ours[1], (theirs[1], ours[0]), parent)
        os.close(theirs[0])
        os.close(ours[1])
        reader, writer = os.fdopen(ours[0], "rb"), os.fdopen(theirs[1], "wb")

    def kill() -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def reap() -> None:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)

    child = _Child(reader, writer, pid, kill, reap)
    _children.add(child)
    return child


def _become_child(read: int, write: int, others: Sequence[int], parent: int) -> NoReturn:
    """Serve until the pipe ends, and leave without any of the parent's clean-up."""
    try:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        faulthandler.disable()  # a crash here is the model's, and is told in a sentence
        streams = [stream for child in _children for stream in (child.reader, child.writer) if not stream.closed]
        for end in (*others, *(stream.fileno() for stream in streams)):
            os.close(end)
        end_with(parent)
        serve(os.fdopen(read, "rb"), os.fdopen(write, "wb"))
    finally:
        os._exit(0)


def serve(reader: IO[bytes], writer: IO[bytes]) -> None:
    """Answer requests until the pipe ends."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    _limit_resources()
    memory = limit_memory(_MEMORY)
    loaded: list[tuple[Any, list[int], list[int]]] = []
    while True:
        try:
            header, arrays = _receive(reader)
        except EOFError:
            return
        start = time.thread_time()
        answer: dict[str, Any] = {}
        made: list[np.ndarray] = []
        try:
            if header["do"] == "load":
                data = arrays[0].tobytes()
                memory = limit_memory(_MEMORY_PER_BYTE * len(data), memory)
                resolver = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
                interpreter = Interpreter(model_content=data, experimental_op_resolver_type=resolver)
                interpreter.allocate_tensors()
                loaded.append((interpreter, *signature_tensors(interpreter)))
                answer["number"] = len(loaded) - 1
            elif header["do"] == "run":
                interpreter, inputs, outputs = loaded[header["number"]]
                made = _run(interpreter, inputs, outputs, arrays)
            else:
                loaded.clear()
        except (RuntimeError, ValueError, MemoryError) as error:
            answer["error"] = str(error)[:10000] or "no memory is left"
        answer["seconds"] = time.thread_time() - start
        _send(writer, answer, made)


def signature_tensors(interpreter: Any) -> tuple[list[int], list[int]]:
    """Return the tensors of the inputs x0, x1, ... and of the outputs y0, y1, ..."""
    # An interpreter takes no new shape while its runner is held.
    runner = interpreter.get_signature_runner()
    ends = runner.get_input_details(), runner.get_output_details()
    inputs, outputs = ([end[f"{x}{n}"]["index"] for n in range(len(end))] for x, end in zip("xy", ends))
    return inputs, outputs


def _run(interpreter: Any, inputs: list[int], outputs: list[int], arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    for index, array in zip(inputs, arrays):
        interpreter.set_tensor(index, array)
    interpreter.invoke()
    return [interpreter.get_tensor(index) for index in outputs]


def _limit_resources() -> None:
    if sys.platform != "win32":
        import resource

        for limit, most in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CPU, _CPU_SECONDS)):
            hard = resource.getrlimit(limit)[1]
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(limit, (most, hard))


def _send(writer: IO[bytes], header: dict[str, Any], arrays: Sequence[np.ndarray]) -> None:
    parts = list(map(_encoded, arrays))
    text = json.dumps(header | {"arrays": [spec for spec, _ in parts]}).encode()
    writer.write(_LENGTH.pack(len(text)) + text)
    for _, data in parts:
        writer.write(data)
    writer.flush()


def _encoded(array: np.ndarray) -> tuple[dict[str, Any], bytes | memoryview]:
    shape = list(array.shape)
    if array.dtype == object:
        words = [bytes(word) for word in array.flat]
        return {"type": "O", "shape": shape, "lengths": list(map(len, words))}, b"".join(words)
    spec = {"type": array.dtype.str, "shape": shape}
    return spec, array.tobytes()


def _receive(
    reader: IO[bytes], most_text: float = math.inf, most_data: float = math.inf
) -> tuple[dict[str, Any], list[np.ndarray]]:
    """Receive a message of at most so many bytes. Raises EOFError if none comes, ValueError if it is none."""
    (length,) = _LENGTH.unpack(_read(reader, _LENGTH.size))
    if length > most_text:
        raise ValueError("the header is too long")
    header = json.loads(_read(reader, length))
    return header, list(_arrays(reader, header["arrays"], most_data))


def _arrays(reader: IO[bytes], specs: Sequence[dict[str, Any]], left: float) -> Iterator[np.ndarray]:
    """Yield the arrays that follow a header. left: the most bytes that they may have in all. Raises ValueError for
    more."""
    for spec in specs:
        shape = tuple(map(int, spec["shape"]))
        lengths = list(map(int, spec.get("lengths", ())))
        size = sum(lengths) if spec["type"] == "O" else math.prod(shape) * _TYPES[spec["type"]].itemsize
        left -= size
        if min((*shape, *lengths, size), default=0) < 0 or left < 0:
            raise ValueError("the arrays are too large")
        data = _read(reader, size)
        if spec["type"] == "O":
            words = np.empty(len(lengths), object)
            ends = np.cumsum([0, *lengths]).tolist()
            words[:] = [data[begin:end] for begin, end in itertools.pairwise(ends)]
            yield words.reshape(shape)
        else:
            yield np.frombuffer(data, _TYPES[spec["type"]]).reshape(shape)


def _read(reader: IO[bytes], size: int) -> bytes:
    data = reader.read(size)
    if len(data) < size:
        raise EOFError
    return data


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
