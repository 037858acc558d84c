"""A process that has imported what a conversion needs, and forks for each case: `python -m tests.fuzz.server [keras]`.

Importing takes a second, and with TensorFlow ten: a fork takes milliseconds. A request is a line of JSON on standard
input (`Request`), its answer a line on standard output (`Outcome`). Nothing runs in the server itself, and it has one
thread only, so that what is forked is whole.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.fuzz import child

_MOST_TEXT = 20_000


@dataclass
class Request:
    """A case to run. folder: has `model`'s, `out`, `tmp` and `outside`; streams: where its output goes, outside of the
    folder; command: "module:function"; seconds: after which it is killed; loads: whether LiteRT must take the file;
    anywhere: whether it may write other files than out/out.tflite."""

    folder: str
    streams: str
    model: str
    args: list[str]
    seconds: float = 20.0
    command: str = "fuseconv.cli:main"
    loads: bool = True
    anywhere: bool = False


@dataclass
class Outcome:
    """What became of a case. exit: the code, None if it died of a signal (`signal`; 0 if it was killed for its time).
    events: what the watch saw; changed: the paths of the folder that are new, gone or other; lived_on: whether a
    process outlived it; load: why LiteRT refuses the file that was written; trace: the frames of a defect."""

    exit: int | None
    signal: int = 0
    seconds: float = 0.0
    peak_bytes: int = 0
    stdout: str = ""
    stderr: str = ""
    events: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    leaked: bool = False
    lived_on: bool = False
    load: str = ""
    trace: str = ""


def serve(with_keras: bool) -> None:
    """Answers requests until standard input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    _import(with_keras)
    for line in sys.stdin:
        answers.write(json.dumps(asdict(run(Request(**json.loads(line))))) + "\n")
        answers.flush()


def _import(with_keras: bool) -> None:
    """Imports what the commands import, by running them: a model without annotated functions starts no thread."""
    import ai_edge_litert.interpreter
    import h5py

    import fuseconv.verifying
    from fuseconv.cli import main
    from tests.fuzz.sources import TESTDATA

    assert ai_edge_litert.interpreter and h5py and fuseconv.verifying
    with tempfile.TemporaryDirectory() as folder, open(os.devnull, "w") as null, contextlib.redirect_stdout(null):
        file = os.path.join(folder, "out.tflite")
        main(["convert", os.fspath(TESTDATA / "two_signatures"), "-o", file], standalone_mode=False)
        main(["inspect", file], standalone_mode=False)
    if with_keras:
        import keras
        import tensorflow
        import tf_keras

        import fuseconv.load.through_keras.model_file

        assert keras and tensorflow and tf_keras
    # The collector of a child would write to, and so copy, the pages of everything that is imported.
    gc.collect()
    gc.freeze()


def run(request: Request) -> Outcome:
    """Runs one case in a child, and looks at what it left."""
    folder, streams = Path(request.folder), Path(request.streams)
    secret = folder / "outside" / "secret"
    before = _snapshot(folder)
    os.utime(secret, ns=(0, secret.stat().st_mtime_ns))

    def case() -> int:
        child.become(folder, streams)
        command = child.find(request.command)
        child.watch(folder, Path(request.model), streams / "events")
        return child.call(command, request.args)

    outcome = _forked(case, request.seconds)
    outcome.stdout, outcome.stderr = (_text(streams / name) for name in ("stdout", "stderr"))
    outcome.events = [json.loads(line) for line in _text(streams / "events").splitlines()]
    if secret.stat().st_atime_ns != 0:
        outcome.events.append("native code reads the file outside")
    two_lines = child.SECRET[: 2 * len(child.CANARY) + 2].encode()
    outcome.leaked = any(two_lines in file.read_bytes() for file in _regular(folder / "out"))
    outcome.changed = _changed(before, _snapshot(folder))
    written = folder / "out" / "out.tflite"
    if outcome.exit == 0 and request.loads and "out/out.tflite" in outcome.changed and written.is_file():
        outcome.load = _refusal(written, folder, streams, request.seconds)
        # What is made of a file that LiteRT does not take need not be one that it takes.
        if outcome.load and request.model.endswith(".tflite"):
            outcome.load = "" if _refusal(Path(request.model), folder, streams, request.seconds) else outcome.load
    if outcome.exit == 1:
        outcome.trace = _trace(request, folder, streams)
    return outcome


def _forked(work: Callable[[], int], seconds: float) -> Outcome:
    """Runs `work` in a child, whose group is killed when it is done or its time is over."""
    start = time.monotonic()
    pid = os.fork()
    if pid == 0:
        code = 125
        try:
            code = work()
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(code)
    killed = False
    pause = 0.001
    while True:
        done, status, usage = os.wait4(pid, os.WNOHANG)
        if done:
            break
        if time.monotonic() - start > seconds and not killed:
            killed = True
            os.killpg(pid, signal.SIGKILL)
        time.sleep(pause)
        pause = min(pause * 1.3, 0.02)
    ended = os.WIFEXITED(status)
    return Outcome(
        os.WEXITSTATUS(status) if ended else None,
        0 if ended or killed else os.WTERMSIG(status),
        time.monotonic() - start,
        usage.ru_maxrss * 1024,
        lived_on=_kill_rest(pid) and not killed,
    )


def _kill_rest(group: int) -> bool:
    """Kills what is left of a group; returns whether there was something. What is dying already gets a moment."""
    for _ in range(50):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.01)
    os.killpg(group, signal.SIGKILL)
    return True


def _refusal(file: Path, folder: Path, streams: Path, seconds: float) -> str:
    """Why LiteRT does not take a file. That a tensor is larger than the limits of this process is no refusal."""
    log = streams / "load"

    def loads() -> int:
        child.become(folder, streams)
        why = child.load(file)
        log.write_text(why)
        return 0

    outcome = _forked(loads, seconds)
    if outcome.exit == 0:
        return _text(log)
    return f"dies by signal {outcome.signal}" if outcome.signal else "does not end"


def _trace(request: Request, folder: Path, streams: Path) -> str:
    """The last frame of fuseconv's in the traceback of a defect, and its exception: "load/attrs.py:dtype KeyError"."""

    def case() -> int:
        child.become(folder, streams)
        return child.call(child.find(request.command), [*request.args, "--debug"])

    _forked(case, request.seconds)
    lines = _text(streams / "stderr").splitlines()
    frames = [line for line in lines if line.startswith('  File "') and f"{os.sep}fuseconv{os.sep}" in line]
    errors = [line for line in lines if line[:1].isalpha() and not line.startswith(("fuseconv: ", "Traceback "))]
    place = "?"
    if frames:
        path, _, function = frames[-1].partition('", line ')
        place = f"{path.rpartition(f'{os.sep}fuseconv{os.sep}')[2]}:{function.rpartition(' in ')[2]}"
    return f"{place} {errors[-1].partition(':')[0] if errors else ''}".strip()


def _snapshot(folder: Path) -> dict[str, Any]:
    """What is in a folder: for each path its kind, and when it changed and how large it is if it is a file."""
    found: dict[str, Any] = {}
    for root, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = os.path.join(root, name)
            info = os.lstat(path)
            is_file = not os.path.isdir(path)
            found[os.path.relpath(path, folder)] = (info.st_mode, (info.st_mtime_ns, info.st_size) if is_file else 0)
    return found


def _changed(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


def _regular(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and path.stat().st_size < 1 << 28]


def _text(path: Path) -> str:
    if not path.exists():
        return ""
    with path.open(encoding="utf-8", errors="backslashreplace") as file:
        return file.read(_MOST_TEXT)


if __name__ == "__main__":
    serve("keras" in sys.argv[1:])
