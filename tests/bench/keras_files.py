"""Measures cold conversions of Keras files: `python -m tests.bench.keras_files [--only A,B] [--write]`.

Each model as .h5 and as .keras, against the same model as a SavedModel and against TFLiteConverter from the same file.
Processes are told by the processor's seconds, so that what else the machine does matters little.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.bench import table
from tests.bench.models import KERAS_FILES
from tests.bench.process import Process, convert_cold, work
from tests.bench.worker import SIDES

MODEL_DIRECTORY = Path("build/bench")
FORMATS = ("h5", "keras")
_REPEATS = 3
# What a file takes with each side, and what the SavedModel of it does: (processor's seconds, megabytes).
Costs = Mapping[str, tuple[float, float]]


def measure(name: str, repeats: int = _REPEATS) -> dict[str, Costs]:
    """{file: {"ours", "peer", "saved_model"}} of a model's Keras files; all sides take turns."""
    work("make", name, MODEL_DIRECTORY)
    saved_model, files = MODEL_DIRECTORY / name, [MODEL_DIRECTORY / f"{name}.{suffix}" for suffix in FORMATS]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "model.tflite"
        rounds = [[convert_cold(saved_model, out), *(_cold(path, side, out) for path in files for side in SIDES)]
                  for _ in range(repeats)]  # fmt: skip
    saved, *costs = (_cost(processes) for processes in zip(*rounds))
    found = iter(costs)
    return {path.name: {"saved_model": saved} | {side: next(found) for side in SIDES} for path in files}


def _cold(path: Path, side: str, out: Path) -> Process:
    return convert_cold(path, out) if side == "ours" else work("convert", side, path, out)


def _cost(processes: Sequence[Process]) -> tuple[float, float]:
    seconds = statistics.median(process.processor_seconds for process in processes)
    return seconds, max(process.peak_megabytes for process in processes)


def markdown(results: Mapping[str, Costs]) -> str:
    """The table, with the geometric means of its ratios below."""
    rows = [["file", "processor, s", "of SavedModel", "of TFLiteConverter", "peak, MB", "of SavedModel",
             "of TFLiteConverter"]]  # fmt: skip
    means: list[list[float]] = [[], [], [], []]
    for file, costs in results.items():
        row = [file]
        for at, form in enumerate((".2f", ".0f")):
            ours, saved, peer = (costs[side][at] for side in ("ours", "saved_model", "peer"))
            row += [f"{ours:{form}}", f"{saved:{form}} ({ours / saved:.2f})", f"{peer:{form}} ({peer / ours:.1f}x)"]
            means[2 * at].append(ours / saved)
            means[2 * at + 1].append(peer / ours)
        rows.append(row)
    saved, peer, memory, less = map(statistics.geometric_mean, means)
    rows.append(["geometric mean", "", f"{saved:.2f}", f"{peer:.1f}x", "", f"{memory:.2f}", f"{less:.1f}x"])
    return "\n".join(table.aligned(rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(KERAS_FILES), help="models, with commas between them")
    parser.add_argument("--write", action="store_true", help=f"write the table into {table.PAGE.name}")
    options = parser.parse_args()
    results: dict[str, Costs] = {}
    for name in options.only.split(","):
        results |= measure(name)
    text = markdown(results)
    print(text)
    if options.write:
        table.PAGE.write_text(table.insert(table.PAGE.read_text(), text, "bench-keras"))


if __name__ == "__main__":
    main()
