"""Processes that measure, and what they cost.

The process that starts them must stay small: a child's peak memory counts from the size of its parent."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

WORKER = Path(__file__).with_name("worker.py")
_MEGABYTE = 1e6 if sys.platform == "darwin" else 1e6 / 1024  # ru_maxrss counts bytes there, kibibytes elsewhere


class WorkerError(Exception):
    """A process failed; the text is the last line that it wrote to stderr."""


@dataclass
class Process:
    """What a finished process wrote and cost."""

    output: str
    seconds: float
    peak_megabytes: float


def run(command: Sequence[str | os.PathLike], **environment: str) -> Process:
    """Runs a Python program, `command` being its arguments, to its end."""
    variables = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""} | environment
    # Whoever runs a program for the second time has its bytecode.
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryFile("w+") as stdout, tempfile.TemporaryFile("w+") as stderr:
        os.sync()  # what was written before is not to slow down what is measured
        start = time.perf_counter()
        child = subprocess.Popen([sys.executable, *command], stdout=stdout, stderr=stderr, env=variables)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        for stream in (stdout, stderr):
            stream.seek(0)
        if child.returncode:
            lines = [line for line in stderr.read().splitlines() if line.strip()]
            raise WorkerError(lines[-1] if lines else f"exit code {child.returncode}")
        return Process(stdout.read(), seconds, usage.ru_maxrss / _MEGABYTE)


def work(*arguments: str | os.PathLike) -> Process:
    """Runs a worker (tests/bench/worker.py)."""
    return run(["-m", "tests.bench.worker", *arguments])


def convert_cold(model: Path, out: Path) -> Process:
    """Runs `fuseconv convert`, as a user does."""
    return run(["-c", "from fuseconv.cli import main; main()", "convert", model, "-o", out])
