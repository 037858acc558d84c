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
import time
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from tests.bench.process import Limits, Process, WorkerError, convert_cold, run
from tests.bench.worker import SIDES
from tests.keras_hub import table

OUTCOMES = Path("build/keras-hub.json")
# Right is what differs by no more, over the largest number of an output: float32, and by a kind's variant.
_TOLERANCE = 1e-4
_TOLERANCES = {"float16": 1e-2, "mixed_float16": 1e-2, "bfloat16": 5e-2}


def measure(kind: str, folder: Path, limits: Limits) -> dict[str, Any]:
    """Return what becomes of a kind: {"state", "why", "ours": {...}, "peer": {...}}, see `table.State`."""

    def work(*arguments: str | Path) -> dict[str, Any]:
        return json.loads(_worker(limits, *arguments).output.splitlines()[-1])

    try:
        made = work("make", kind, folder)
    except WorkerError as error:
        return {"state": "not built", "why": str(error)}
    if "not_tried" in made:
        return {"state": "not tried", "why": made["not_tried"]}
    sides = {side: _convert(side, folder, limits) for side in SIDES}
    for side, result in sides.items():
        if result["state"] == "converted":
            result |= _checked(work, folder / f"{side}.tflite", tolerance(kind))
    there = [side for side in SIDES if sides[side]["state"] in ("right", "wrong")]
    # A file that ran may still not end in time; then there is no latency.
    with contextlib.suppress(WorkerError):
        for side, milliseconds in (work("latency", folder, ",".join(there)) if there else {}).items():
            sides[side]["milliseconds"] = milliseconds
    return {"state": sides["ours"]["state"], "why": sides["ours"].get("why", ""), **sides}


def tolerance(kind: str) -> float:
    return _TOLERANCES.get(kind.partition("+")[2], _TOLERANCE)


def _worker(limits: Limits, *arguments: str | Path) -> Process:
    return run(["-m", "tests.keras_hub.worker", *arguments], limits)


def _convert(side: str, folder: Path, limits: Limits) -> dict[str, Any]:
    try:
        if side == "ours":
            process = convert_cold(folder / "model", folder / "ours.tflite", limits)
        else:
            process = _worker(limits, "peer", folder)
    except WorkerError as error:
        return {"state": "refused", "why": str(error)}
    return {"state": "converted", "seconds": process.seconds, "megabytes": process.peak_megabytes}


def _checked(work: Any, file: Path, most: float) -> dict[str, Any]:
    try:
        checked = work("check", file, str(most))
    except WorkerError as error:
        return {"state": "does not run", "why": str(error)}
    wrong = checked.pop("wrong", None)
    return checked | ({"state": "wrong", "why": wrong} if wrong else {"state": "right"})


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


def main() -> int:
    parser = argparse.ArgumentParser(description="Converts a small model of every kind that keras-hub has.")
    parser.add_argument("--only", default="", help="kinds, with commas between them; * stands for anything")
    parser.add_argument("--json", action="store_true", help="the outcomes as JSON in place of a table")
    parser.add_argument("--keep", type=Path, help="leave each kind's model and files in this folder")
    parser.add_argument("--seconds", type=float, default=300, help="most seconds of a step")
    parser.add_argument("--gigabytes", type=float, default=16, help="most memory of a step, as address space")
    parser.add_argument("--resume", action="store_true", help=f"take what {OUTCOMES} has of an earlier run")
    parser.add_argument("--write", action="store_true", help="write the table into the README")
    options = parser.parse_args()
    limits = Limits(options.seconds, options.gigabytes)
    try:
        names = chosen(json.loads(_worker(limits, "kinds").output.splitlines()[-1]), options.only)
    except ValueError as error:
        parser.error(str(error))
    outcomes = json.loads(OUTCOMES.read_text()) if options.resume and OUTCOMES.exists() else {}
    OUTCOMES.parent.mkdir(exist_ok=True)
    for name in names:
        if name in outcomes:
            continue
        start = time.perf_counter()
        with tempfile.TemporaryDirectory(prefix="keras-hub-") as directory:
            folder = options.keep / name.replace("/", "_") if options.keep else Path(directory)
            if options.keep:
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir(parents=True)
            outcomes[name] = measure(name, folder, limits)
        seconds = time.perf_counter() - start
        OUTCOMES.write_text(json.dumps(outcomes, indent=1) + "\n")
        print(f"{name}: {outcomes[name]['state']}, {seconds:.0f} s", file=sys.stderr, flush=True)
    outcomes = {name: outcomes[name] for name in names}
    text = table.markdown(outcomes)
    print(json.dumps(outcomes, indent=1) if options.json else text)
    if options.write:
        table.write(text)
    return 1 if any(outcome["state"] in table.DEFECTS for outcome in outcomes.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
