"""Limits on what Keras may take as it makes and traces a model: weights, time and memory that the file can justify."""

from __future__ import annotations

import contextlib
import ctypes
import math
import resource
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

    with tf.variable_creator_scope(_counting(justified_bytes(size))), _watched(size):
        yield


def _counting(limit: int) -> Callable[..., Any]:
    """A creator of variables that counts their bytes before any is allocated."""
    total = 0

    def create(next_creator: Callable[..., Any], **options: Any) -> Any:
        nonlocal total
        total += _bytes(options)
        if total > limit:
            raise Exceeded(f"its layers ask for weights of {total} bytes, where the file justifies {limit}")
        return next_creator(**options)

    return create


def _bytes(options: dict[str, Any]) -> int:
    import tensorflow as tf

    initial = options.get("initial_value")
    shape = options.get("shape")
    if shape is None and not callable(initial):
        shape = getattr(initial, "shape", ())
    sizes = tf.TensorShape(shape).as_list() if shape is not None and tf.TensorShape(shape).rank is not None else []
    dtype = options.get("dtype") or getattr(initial, "dtype", tf.float32)
    return math.prod(size or 1 for size in sizes) * max(1, tf.as_dtype(dtype).size or 1)


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
                with lock:
                    if not finished.is_set():
                        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(Exceeded))
                finished.wait(1)

    lock = threading.Lock()
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        with lock:
            finished.set()
        watcher.join()


def _cpu_clock(thread: int) -> Callable[[], float]:
    """The seconds that a thread has computed; a busy machine does not count. Seconds of the day where none tells."""
    if not hasattr(time, "pthread_getcpuclockid"):
        return time.monotonic
    number = time.pthread_getcpuclockid(thread)
    return lambda: time.clock_gettime(number)


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _MAXRSS_UNIT
