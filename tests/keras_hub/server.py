"""A process that has imported what the steps need, and forks for each: `python -m tests.keras_hub.server`.

Importing TensorFlow and keras-hub takes longer than most steps. A request is a line of JSON on standard input, its
answer a line on standard output: what the step tells, or "failure" with a sentence, and the seconds that it took of the
processor. Nothing runs in the server itself, so that what is forked is whole.
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
import traceback
from types import TracebackType
from typing import IO, Any

from tests.bench.process import Limits, WorkerError


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
        """Return what a step of the worker tells, with "seconds" if that is a dict. Raises WorkerError."""
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
        return reply["told"] | {"seconds": reply["seconds"]} if isinstance(reply["told"], dict) else reply["told"]


def serve() -> None:
    """Answers requests until standard input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    import ai_edge_litert.interpreter
    import keras_hub
    import tensorflow

    import fuseconv.verify

    assert ai_edge_litert.interpreter and keras_hub and tensorflow and fuseconv.verify
    # The collector of a child would write to, and so copy, the pages of everything that is imported.
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        request = json.loads(line)
        limits = Limits(request["seconds"], request["gigabytes"])
        answers.write(json.dumps(answer(request["action"], request["arguments"], limits)) + "\n")
        answers.flush()


def answer(action: str, arguments: list[str], limits: Limits) -> dict[str, Any]:
    """Run a step in a child; return {"told", "seconds"} or {"failure"}."""
    with tempfile.TemporaryFile("w+") as told, tempfile.TemporaryFile("w+") as errors:
        pid = os.fork()
        if pid == 0:
            _be_child(action, arguments, limits, told, errors)
        status, seconds, in_time = _wait(pid, limits.seconds)
        for stream in (told, errors):
            stream.seek(0)
        if status == 0:
            return {"told": json.loads(told.read()), "seconds": seconds}
        lines = [line for line in errors.read().splitlines() if line.strip()]
        if not in_time:
            return {"failure": f"no end in {limits.seconds:g} s"}
        return {"failure": lines[-1] if status > 0 and lines else f"exit code {status}"}


def _be_child(action: str, arguments: list[str], limits: Limits, told: IO[str], errors: IO[str]) -> None:
    code = 1
    try:
        os.setpgid(0, 0)
        limits.hold()
        for stream in (1, 2):
            os.dup2(errors.fileno(), stream)
        from tests.keras_hub.worker import step

        json.dump(step(action, *arguments), told)
        told.flush()
        code = 0
    except SystemExit as error:
        print(error, file=errors)
    except BaseException:
        traceback.print_exc(file=errors)
    finally:
        with contextlib.suppress(OSError):
            errors.flush()
        os._exit(code)


def _wait(pid: int, seconds: float) -> tuple[int, float, bool]:
    """Return a child's exit code, its seconds of the processor, and whether it ended in time; else it is killed."""
    start = time.monotonic()
    in_time = True
    while True:
        done, status, usage = os.wait4(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, in_time
        if in_time and time.monotonic() - start > seconds:
            in_time = False
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        time.sleep(0.01)


if __name__ == "__main__":
    serve()
