"""Converts a small model of every kind that keras-hub has: `make keras-hub`, or
`python -m tests.keras_hub.run [--only A,B] [--json]`.

Each step of a kind is a process of its own with limits, so that none takes the others with it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from fnmatch import fnmatchcase
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.bench.process import Limits, WorkerError, convert_cold
from tests.bench.worker import SIDES
from tests.keras_hub import table
from tests.keras_hub.server import Server
from tests.keras_hub.sizes import REAL_KINDS

OUTCOMES = Path("build/keras-hub.json")
# Right is what differs by no more, over the largest number of an output: float32, and by a kind's variant.
_TOLERANCE = 1e-4
_TOLERANCES = {"float16": 1e-2, "mixed_float16": 1e-2, "bfloat16": 5e-2}


def measure(
    kind: str, folder: Path, server: Server, sides: Sequence[str] = SIDES, known: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return what becomes of a kind: {"state", "why", "ours": {...}, "peer": {...}}, see `table.State`.

    known: what is known of some sides whose files the folder has."""
    results = {side: known[side] for side in SIDES if known and side in known}
    if not (folder / "runs.npz").exists() or not results:
        try:
            made = server.work("make", kind, folder)
        except WorkerError as error:
            return {"state": "not built", "why": str(error)}
        if "not_tried" in made:
            return {"state": "not tried", "why": made["not_tried"]}
        results = {}
    for side in sides:
        if side not in results:
            results[side] = _convert(side, folder, server)
            if results[side]["state"] == "converted":
                results[side] |= _checked(server, folder / f"{side}.tflite", tolerance(kind))
    there = [side for side in results if results[side]["state"] in ("right", "wrong")]
    # A file that ran may still not end in time; then there is no latency. It takes long: only once all sides are there.
    with contextlib.suppress(WorkerError):
        milliseconds = server.work("latency", folder, ",".join(there)) if there and len(results) == len(SIDES) else {}
        for side in there:
            results[side] |= {"milliseconds": milliseconds[side]} if milliseconds else {}
    return {"state": results["ours"]["state"], "why": results["ours"].get("why", ""), **results}


def tolerance(kind: str) -> float:
    return _TOLERANCES.get(kind.partition("+")[2], _TOLERANCE)


def _convert(side: str, folder: Path, server: Server) -> dict[str, Any]:
    """Convert: fuseconv by its command, started anew, TFLiteConverter where TensorFlow has been imported."""
    try:
        if side == "ours":
            process = convert_cold(folder / "model", folder / "ours.tflite", server.limits)
            cost = {"seconds": process.processor_seconds, "megabytes": process.peak_megabytes}
        else:
            cost = server.work("peer", folder)
    except WorkerError as error:
        return {"state": "refused", "why": str(error)}
    return {"state": "converted", **cost}


def _checked(server: Server, file: Path, most: float) -> dict[str, Any]:
    try:
        checked = server.work("check", file, str(most))
    except WorkerError as error:
        return {"state": "does not run", "why": str(error)}
    wrong = checked.pop("wrong", None)
    found = {name: value for name, value in checked.items() if name not in ("seconds", "megabytes")}  # of the check
    return found | ({"state": "wrong", "why": wrong} if wrong else {"state": "right"})


def chosen(kinds: Sequence[str], only: str) -> list[str]:
    """Return the kinds that patterns with commas between them name; all without any. Raises ValueError for one that
    names none."""
    if not only:
        return list(kinds)
    patterns = only.split(",")
    for pattern in patterns:
        if not any(fnmatchcase(kind, pattern) for kind in kinds):
            raise ValueError(f"no kind is named {pattern}")
    return [kind for kind in kinds if any(fnmatchcase(kind, pattern) for pattern in patterns)]


class Outcomes:
    """What became of each kind, kept in a file from run to run."""

    def __init__(self, resume: bool) -> None:
        there = resume and OUTCOMES.exists()
        self.by_kind: dict[str, dict[str, Any]] = json.loads(OUTCOMES.read_text()) if there else {}
        self._lock = threading.Lock()
        OUTCOMES.parent.mkdir(exist_ok=True)

    def has(self, kind: str, sides: Sequence[str]) -> bool:
        """Whether a kind was measured on these sides, or did not come so far."""
        outcome = self.by_kind.get(kind)
        return outcome is not None and ("ours" not in outcome or all(side in outcome for side in sides))

    def add(self, kind: str, outcome: dict[str, Any], seconds: float) -> None:
        with self._lock:
            self.by_kind[kind] = outcome
            OUTCOMES.write_text(json.dumps(self.by_kind, indent=1) + "\n")
        print(f"{kind}: {outcome['state']}, {seconds:.0f} s. {outcome['why']}", file=sys.stderr, flush=True)


def _measure_all(names: Sequence[str], outcomes: Outcomes, sides: Sequence[str], options: argparse.Namespace) -> None:
    """Measure what is left to be, with some servers at the same time."""
    left = iter([name for name in names if not outcomes.has(name, sides)])
    lock = threading.Lock()

    def serve() -> None:
        with Server(Limits(options.seconds, options.gigabytes)) as server:
            while True:
                with lock:
                    name = next(left, None)
                if name is None:
                    return
                start = time.perf_counter()
                known = outcomes.by_kind.get(name)
                with _folder(name, options.keep, known is None) as folder:
                    outcome = measure(name, folder, server, sides, known)
                outcomes.add(name, outcome, time.perf_counter() - start)

    with ThreadPoolExecutor(options.jobs) as pool:
        for job in [pool.submit(serve) for _ in range(options.jobs)]:
            job.result()


@contextlib.contextmanager
def _folder(name: str, keep: Path | None, anew: bool) -> Iterator[Path]:
    """Give a folder for a kind, the one that is kept if there is one to be."""
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="keras-hub-") as directory:
            yield Path(directory)
        return
    folder = keep / name.replace("/", "_")
    if anew:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    yield folder


def _facts(options: argparse.Namespace) -> str:
    """Return when this was measured and with what."""
    packages = ("keras-hub", "keras", "tensorflow", "ai-edge-litert")
    return f"{date.today()}: {', '.join(f'{name} {version(name)}' for name in packages)}. {options.note}".strip()


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Converts a small model of every kind that keras-hub has.")
    parser.add_argument("--only", default="", help="kinds, with commas between them; * stands for anything")
    parser.add_argument("--real", action="store_true", help="five kinds of the sizes that are published, of 1 GB each")
    parser.add_argument("--json", action="store_true", help="the outcomes as JSON in place of a table")
    parser.add_argument("--keep", type=Path, help="leave each kind's model and files in this folder")
    parser.add_argument("--side", choices=SIDES[:1], help="leave TFLiteConverter out; there is no table then")
    parser.add_argument("--seconds", type=float, default=300, help="most seconds of a step")
    parser.add_argument("--gigabytes", type=float, default=16, help="most memory of a step, as address space")
    parser.add_argument("--jobs", type=int, default=1, help="kinds at the same time")
    parser.add_argument("--resume", action="store_true", help=f"take what {OUTCOMES} has of an earlier run, and --keep")
    parser.add_argument("--write", action="store_true", help="write the table into the README")
    parser.add_argument("--note", default="", help="a sentence on the machine, for the head of the table")
    return parser


def main() -> int:
    parser = _options()
    options = parser.parse_args()
    if options.real:
        there = list(REAL_KINDS)
    else:
        with Server(Limits(options.seconds, options.gigabytes)) as server:
            there = server.work("kinds")
    try:
        names = chosen(there, options.only)
    except ValueError as error:
        parser.error(str(error))
    sides = [options.side] if options.side else SIDES
    outcomes = Outcomes(options.resume)
    _measure_all(names, outcomes, sides, options)
    found = {name: outcomes.by_kind[name] for name in names}
    if options.json or options.side:
        print(json.dumps(found, indent=1))
    else:
        text = table.markdown(found, _facts(options), real=options.real)
        print(text)
        if options.write:
            table.write(text, real=options.real)
    return 1 if any(outcome["state"] in table.DEFECTS for outcome in found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
