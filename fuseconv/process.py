"""The process that a command is: its standard streams, and the signals that end it."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator

# Signals are handled once this is imported: what takes longer to import is imported by whoever needs it.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import logging
    from typing import Any

# What a user, a supervisor and a terminal that is closed send. Windows has no SIGHUP.
_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
# A terminal that is closed sends its signal more than once; what is under way then is the cleaning up.
_SECONDS_TO_CLEAN_UP = 2.0
INTERRUPTED = "fuseconv: interrupted"


class Stopped(KeyboardInterrupt):
    """A signal that asks the process to end. It takes the way of Ctrl-C, so that everything cleans up."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def exit_code(interrupt: KeyboardInterrupt) -> int:
    """Return what a shell says of a process that a signal ended: 130 for SIGINT, 143 for SIGTERM, 129 for SIGHUP."""
    return 128 + (interrupt.number if isinstance(interrupt, Stopped) else signal.SIGINT)


def end_at_signals() -> None:
    """Let signals end the process at once, for as long as there is nothing to clean up: while what a command needs is
    imported, and once it is done. In between, `stopping` has its own way."""

    def end(number: int, frame: Any) -> None:
        with contextlib.suppress(OSError):
            os.write(2, f"{INTERRUPTED}\n".encode())
        os._exit(128 + number)

    _handle(end)


@contextlib.contextmanager
def stopping() -> Iterator[None]:
    """Raise Stopped when a signal asks the process to end. One that is ignored, as under nohup, stays so."""
    raised, last = -_SECONDS_TO_CLEAN_UP, 0

    def stop(number: int, frame: Any) -> None:
        nonlocal raised, last
        if time.monotonic() - raised >= _SECONDS_TO_CLEAN_UP:
            raised, last = time.monotonic(), number
            raise Stopped(number)

    before = {}
    with contextlib.suppress(ValueError):  # in a thread, signals are none of its business
        before = _handle(stop)
    try:
        yield
    except Exception as error:
        if last:  # C++ that is interrupted while it is imported makes another error of it
            raise Stopped(last) from error
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _handle(handler: Callable[[int, Any], None]) -> dict[int, Any]:
    """Set the handler of the signals that are heeded, and return those that they had."""
    heeded = [number for number in _SIGNALS if signal.getsignal(number) not in (signal.SIG_IGN, None)]
    return {number: signal.signal(number, handler) for number in heeded}


def keep_streams() -> None:
    """See to it that the standard streams stay what they are, whoever has closed them.

    A closed descriptor would be given to the next file that is opened - and what a library prints would be written into
    that one. And who reads no longer changes nothing about what was done, nor the exit code that tells it: a full disk
    does, under standard output."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest that is free
    if _own(sys.stdout, 1):
        sys.stdout = _stream(1, sys.stdout, (BrokenPipeError,))
    if _own(sys.stderr, 2):
        sys.stderr = _stream(2, sys.stderr, (OSError,))


@contextlib.contextmanager
def native_logs_muted() -> Iterator[None]:
    """Silence what Python's libraries and TensorFlow warn of, and what its and LiteRT's C++ writes to descriptor 2; our
    own text still gets through."""
    import logging
    import warnings

    logging.getLogger("tensorflow").addFilter(_is_error)
    try:
        ours = sys.stderr.fileno() if sys.stderr is not None else None
        saved = os.dup(2)
    except OSError:  # there is no standard error, or it is no file
        ours, saved = None, None
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    python_stderr = sys.stderr
    if ours == 2:
        # Never closed: TensorFlow's loggers keep the stream that they find.
        sys.stderr = _stream(os.dup(2), python_stderr, (OSError,))
    if saved is not None:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 2)
        os.close(null)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.getLogger("tensorflow").removeFilter(_is_error)
        sys.stderr = python_stderr
        if saved is not None:
            os.dup2(saved, 2)
            os.close(saved)


def _is_error(record: logging.LogRecord) -> bool:
    import logging

    return record.levelno >= logging.ERROR


def _own(stream: Any, number: int) -> bool:
    """Return whether a standard stream is the process's own, and not what a caller has put in its place."""
    try:
        return stream is None or stream.fileno() == number
    except (AttributeError, OSError, ValueError):  # it is no file
        return False


def _stream(descriptor: int, like: Any, ignored: tuple[type[OSError], ...]) -> Any:
    """Return a stream like another, if there is one, to a descriptor, which ignores these errors, and spells out what
    its encoding does not have, as that of Windows' pipes."""
    file: Any = _Lenient(descriptor, ignored)
    if like is None:
        return io.TextIOWrapper(io.BufferedWriter(file), "utf-8", "backslashreplace")
    like.flush()
    errors = "backslashreplace" if like.errors == "strict" else like.errors
    return io.TextIOWrapper(io.BufferedWriter(file), like.encoding, errors, line_buffering=like.line_buffering)


class _Lenient(io.FileIO):
    """A descriptor that is written to, if it can be. An error that is not ignored is raised once: what could not be
    written is tried again when Python ends."""

    def __init__(self, descriptor: int, ignored: tuple[type[OSError], ...]) -> None:
        super().__init__(descriptor, "w", closefd=False)
        self._ignored = ignored

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            if not isinstance(error, self._ignored):
                self._ignored = (OSError,)
                error.filename = "standard output"  # the only stream whose errors are told
                raise
            return len(data)
