"""Two .tflite files side by side: bytes, ops, latency, and the outputs on the same inputs."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

from fuseconv.errors import FuseconvError, InputError, VerificationError
from fuseconv.files import read_file
from fuseconv.inspecting import inspect
from fuseconv.profiling import RUNS, Timer, check_timing, inputs_of
from fuseconv.runners import Arrays, TFLiteFile
from fuseconv.verification_inputs import load_data
from fuseconv.verifying import verify

Pair = tuple[Any, Any]


@dataclass
class FileComparison:
    """Two files. bytes, weights: of the files and of their constants. ops: by type. latency: median seconds of each, or
    None if they were not timed. outputs: what `Verification.to_json` says, or None and why in `why`."""

    files: tuple[str, str]
    bytes: Pair
    weights: Pair
    ops: dict[str, Pair]
    latency: Pair | None = None
    outputs: dict[str, Any] | None = None
    why: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return a document of JSON's own types: each pair as a list, `latency` and `outputs` null where they are not
        known, with the reason in `why`."""
        return {
            "files": list(self.files), "bytes": list(self.bytes), "weights": list(self.weights),
            "ops": {type: list(counts) for type, counts in self.ops.items()},
            "latency": None if self.latency is None else list(self.latency), "outputs": self.outputs, "why": self.why,
        }  # fmt: skip


def compare_files(
    one: str | os.PathLike,
    other: str | os.PathLike,
    *,
    runs: int = RUNS,
    threads: int = 1,
    delegate: str = "xnnpack",
    data: str | os.PathLike | Arrays | None = None,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> FileComparison:
    """Compare what two files have and do. The outputs of both on the same inputs are compared as those of a model and
    its file; differences are told, and fail nothing.

    runs: to time each file with, in turns; 0 for none. threads, delegate: as for `profile`; outputs are compared as
    LiteRT runs by default. data: an .npz file, or the arrays, by the names of inputs. seed: of random inputs without.

    Raises InputError for a file that cannot be read."""
    check_timing(runs, threads, delegate, least=0)
    given = load_data(data)
    documents = inspect(one), inspect(other)
    counts = _of_both(documents, lambda d: d["op_counts"])
    found = FileComparison(
        (os.fspath(one), os.fspath(other)), _of_both(documents, lambda d: d["file"]["size"]),
        _of_both(documents, lambda d: sum(d["weight_bytes"].values())),
        {type: (counts[0].get(type, 0), counts[1].get(type, 0)) for type in sorted({*counts[0], *counts[1]})},
    )  # fmt: skip
    try:
        if progress:
            progress("compare: outputs")
        found.outputs = verify(one, other, data=given, seed=seed).to_json()
        if runs:
            found.latency = _latency((one, other), runs, threads, delegate, given, progress)
    except FuseconvError as error:
        if data is not None and isinstance(error, InputError):
            raise  # it is the caller's data that does not fit
        found.why = str(error)
    return found


def _of_both(documents: tuple[dict, dict], take: Callable[[dict], Any]) -> Pair:
    return take(documents[0]), take(documents[1])


def _latency(
    files: tuple[Any, Any], runs: int, threads: int, delegate: str, data: Arrays | None,
    progress: Callable[[str], None] | None,
) -> Pair:
    """Time two files, run in turns, and return the median seconds of each: what slows the machine for a while slows
    both."""
    feed = inputs_of(TFLiteFile(files[0]), data)
    timers = []
    for file in files:
        _, names, _ = next(iter(TFLiteFile(file).signatures.values()))
        if set(names) != set(feed):
            raise VerificationError("the files take different inputs")
        timers.append(Timer(read_file(file), [feed[name] for name in names], threads, delegate))
    if progress:
        progress("compare: latency")
    seconds = [[timer.run() for timer in timers] for _ in range(runs)]
    return median(pair[0] for pair in seconds), median(pair[1] for pair in seconds)
