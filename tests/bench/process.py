"""Processes that measure, and what they cost.

The process that starts them must stay small: a child's peak memory counts from the size of its parent."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

WORKER = Path(__file__).with_name("worker.py")
MEGABYTE = 1e6 if sys.platform == "darwin" else 1e6 / 1024  # ru_maxrss counts bytes there, kibibytes elsewhere


class WorkerError(Exception):
    """A process failed; the text is the signal that ended it, or the last line that it wrote to stderr."""


@dataclass
class Process:
    """What a finished process wrote and cost; processor_seconds: on all processors, whatever else they do."""

    output: str
    seconds: float
    peak_megabytes: float
    processor_seconds: float = 0.0


@dataclass(frozen=True)
class Limits:
    """What a process may take: seconds, and gigabytes of address space (where the system limits that)."""

    seconds: float
    gigabytes: float

    def hold(self) -> None:
        """Limits the memory of this process."""
        size = int(self.gigabytes * (1 << 30))
        with contextlib.suppress(ImportError, ValueError, OSError):
            import resource

            resource.setrlimit(resource.RLIMIT_AS, (size, size))


def run(command: Sequence[str | os.PathLike], limits: Limits | None = None, **environment: str) -> Process:
    """Runs a Python program, `command` being its arguments, to its end, or that of its time."""
    variables = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""} | environment
    # Whoever runs a program for the second time has its bytecode.
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryFile("w+") as stdout, tempfile.TemporaryFile("w+") as stderr:
        os.sync()  # what was written before is not to slow down what is measured
        start = time.perf_counter()
        child = subprocess.Popen(
            [sys.executable, *command],
            stdout=stdout, stderr=stderr, env=variables, preexec_fn=limits.hold if limits else None,
        )  # fmt: skip
        with _killed_after(limits.seconds, child) if limits else contextlib.nullcontext():
            _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        if limits and child.returncode == -signal.SIGKILL and seconds >= limits.seconds:
            raise WorkerError(f"no end in {limits.seconds:g} s")
        for stream in (stdout, stderr):
            stream.seek(0)
        if child.returncode < 0:
            raise WorkerError(f"it ends by {signal.Signals(-child.returncode).name}")
        if child.returncode:
            lines = [line for line in stderr.read().splitlines() if line.strip()]
            raise WorkerError(lines[-1] if lines else f"exit code {child.returncode}")
        processor = usage.ru_utime + usage.ru_stime
        return Process(stdout.read(), seconds, usage.ru_maxrss / MEGABYTE, processor)


@contextlib.contextmanager
def _killed_after(seconds: float, child: subprocess.Popen) -> Iterator[None]:
    timer = threading.Timer(seconds, child.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def work(*arguments: str | os.PathLike) -> Process:
    """Runs a worker (tests/bench/worker.py)."""
    return run(["-m", "tests.bench.worker", *arguments])


def convert_cold(model: Path, out: Path, limits: Limits | None = None) -> Process:
    """Runs `fuseconv convert`, as a user does."""
    return run(["-c", "from fuseconv.__main__ import main; main()", "convert", model, "-o", out], limits)
