"""A process that has imported what the steps need, and forks for each: `python -m tests.keras_hub.server`.

Importing TensorFlow and keras-hub takes longer than most steps. A request is a line of JSON on standard input, its
answer a line on standard output: "told", or "failure" with a sentence, the seconds that it took of the processor, and
the most megabytes that it had, what was imported included.
Nothing runs in the server itself, so that what is forked is whole.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any

from tests.bench.process import MEGABYTE, Limits, WorkerError

if TYPE_CHECKING:
    from resource import struct_rusage


class Server:
    """The process, from the side of who asks; a context manager."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.keras_hub.server"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment,
        )  # fmt: skip

    def __enter__(self) -> Server:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def work(self, action: str, *arguments: str | os.PathLike) -> Any:
        """Return what a step tells, with "seconds" and "megabytes" if that is a dict. Raises WorkerError."""
        assert self._process.stdin and self._process.stdout
        limits = {"seconds": self.limits.seconds, "gigabytes": self.limits.gigabytes}
        request = {"action": action, "arguments": [os.fspath(argument) for argument in arguments], **limits}
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise WorkerError("the server ended")
        reply = json.loads(line)
        if "failure" in reply:
            raise WorkerError(reply["failure"])
        told = reply.pop("told")
        return told | reply if isinstance(told, dict) else told


def serve() -> None:
    """Answers requests until standard input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    import ai_edge_litert.interpreter
    import keras_hub
    import tensorflow

    import fuseconv.verifying

    assert ai_edge_litert.interpreter and keras_hub and tensorflow and fuseconv.verifying
    # The collector of a child would write to, and so copy, the pages of everything that is imported.
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        request = json.loads(line)
        limits = Limits(request["seconds"], request["gigabytes"])
        answers.write(json.dumps(answer(request["action"], request["arguments"], limits)) + "\n")
        answers.flush()


def answer(action: str, arguments: list[str], limits: Limits) -> dict[str, Any]:
    """Run a step in a child; return {"told", "seconds", "megabytes"}, or {"failure"}."""
    with tempfile.TemporaryFile("w+") as reply:
        pid = os.fork()
        if pid == 0:
            _be_child(action, arguments, limits, reply)
        status, usage, in_time = _wait(pid, limits.seconds)
        if not in_time:
            return {"failure": f"no end in {limits.seconds:g} s"}
        if status:
            return {"failure": f"exit code {status}"}
        reply.seek(0)
        cost = {"seconds": usage.ru_utime + usage.ru_stime, "megabytes": usage.ru_maxrss / MEGABYTE}
        return json.load(reply) | cost


def _be_child(action: str, arguments: list[str], limits: Limits, reply: IO[str]) -> None:
    """Write what a step tells, or why it fails, and end."""
    code = 1
    try:
        os.setpgid(0, 0)
        limits.hold()
        from tests.keras_hub.worker import step

        try:
            told = {"told": step(action, *arguments)}
        except WorkerError as error:
            told = {"failure": str(error)}
        except Exception as error:
            told = {"failure": f"{type(error).__name__}: {' '.join(str(error).split())}".removesuffix(": ")}
        json.dump(told, reply)
        reply.flush()
        code = 0
    finally:
        os._exit(code)


def _wait(pid: int, seconds: float) -> tuple[int, struct_rusage, bool]:
    """Return a child's exit code, what it used, and whether it ended in time; else it is killed."""
    start = time.monotonic()
    in_time = True
    while True:
        done, status, usage = os.wait4(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status), usage, in_time
        if in_time and time.monotonic() - start > seconds:
            in_time = False
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        time.sleep(0.01)


if __name__ == "__main__":
    serve()
