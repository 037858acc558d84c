"""Limits on the resources of Keras while it builds and traces a model: weights, time and memory in proportion to the
file."""

from __future__ import annotations

import contextlib
import ctypes
import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from fuseconv.load.keras_container import justified_bytes

# For a model of next to nothing; a model that is a hundred times as long to make is a file of megabytes.
_SECONDS = 12.0
_SECONDS_PER_BYTE = 2e-6
_GROWTH_BYTES = 1 << 30
_INTERVAL = 0.1
_MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024


class Exceeded(BaseException):
    """Raised where Keras takes more than the file justifies. Not an Exception: Keras catches those and goes on."""

    def __str__(self) -> str:
        return super().__str__() or "making it takes more time or memory than a file of its size justifies"


@contextlib.contextmanager
def limited(size: int) -> Iterator[None]:
    """Raise Exceeded within the block if it takes more than a file of `size` bytes justifies: bytes of variables,
    seconds of this thread's CPU, or bytes of memory of this process."""
    import tensorflow as tf

    count = _counter(justified_bytes(size))
    with tf.variable_creator_scope(_counting(count)), _counted_initializers(count), _watched(size):
        yield


def _counter(limit: int) -> Callable[[Any, Any], None]:
    """Take the shape and type of each variable before it is allocated, and raise Exceeded at too many bytes in all."""
    import tensorflow as tf

    total = 0

    def count(shape: Any, dtype: Any) -> None:
        nonlocal total
        total += math.prod(size or 1 for size in shape) * (tf.as_dtype(dtype).size or 1)
        if total > limit:
            raise Exceeded(f"its layers ask for weights of {total} bytes, where the file justifies {limit}")

    return count


def _counting(count: Callable[[Any, Any], None]) -> Callable[..., Any]:
    """Return a creator of variables, of which tf-keras tells the shapes."""
    import tensorflow as tf

    def create(next_creator: Callable[..., Any], **options: Any) -> Any:
        shape = options.get("shape")
        if shape is not None and tf.TensorShape(shape).rank is not None:
            count(tf.TensorShape(shape).as_list(), options.get("dtype") or tf.float32)
        return next_creator(**options)

    return create


@contextlib.contextmanager
def _counted_initializers(count: Callable[[Any, Any], None]) -> Iterator[None]:
    """Count the variables of Keras 3, which makes their values before it tells TensorFlow their shapes."""
    from keras.src import backend

    original = backend.Variable._initialize_with_initializer

    def initialize(variable: Any, initializer: Any) -> None:
        count(variable.shape, variable.dtype)
        original(variable, initializer)

    backend.Variable._initialize_with_initializer = initialize
    try:
        yield
    finally:
        backend.Variable._initialize_with_initializer = original


@contextlib.contextmanager
def _watched(size: int) -> Iterator[None]:
    """Raise Exceeded in this thread when its time or the memory of the process has run out."""
    thread, finished = threading.get_ident(), threading.Event()
    clock = _cpu_clock(thread)
    deadline = clock() + _SECONDS + _SECONDS_PER_BYTE * size
    ceiling = _peak() + _GROWTH_BYTES + 4 * justified_bytes(size)

    def watch() -> None:
        while not finished.wait(_INTERVAL):
            # Again and again, as code that cannot raise, such as a destructor's, would swallow the first.
            if clock() > deadline or _peak() > ceiling:
                if not finished.is_set():
                    _raise_in(thread, Exceeded)
                finished.wait(1)

    watcher = threading.Thread(target=watch, daemon=True)
    try:
        watcher.start()  # within, as it may raise at once
        yield
    finally:
        try:
            _stop(watcher, finished)
        finally:
            # Once more, should the watcher have raised as it was about to be stopped. It waits before it does again.
            _stop(watcher, finished)


def _stop(watcher: threading.Thread, finished: threading.Event) -> None:
    """End the watcher; it may raise for a last time meanwhile.

    What it raises comes within `join`: to take it back instead would leave CPython 3.11 looking for it at each call
    for ever, and hang where a profiler listens."""
    while watcher.is_alive():
        with contextlib.suppress(Exceeded):
            finished.set()
            watcher.join()


def _raise_in(thread: int, error: type[BaseException]) -> None:
    """Raise an error in a thread at the next instruction of its."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))


def _cpu_clock(thread: int) -> Callable[[], float]:
    """Return the seconds that a thread has computed; a busy machine does not count. Seconds of the day where none
    tells."""
    if not hasattr(time, "pthread_getcpuclockid"):
        return time.monotonic
    number = time.pthread_getcpuclockid(thread)
    return lambda: time.clock_gettime(number)


def _peak() -> int:
    """Return the most memory that this process has had, in bytes; 0 on a system that does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _MAXRSS_UNIT
