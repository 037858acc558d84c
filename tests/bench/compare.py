"""Compares the working tree with another commit: `make bench-compare BASE=main~5 [ONLY=...]`, or
`python -m tests.bench.compare BASE [--only A,B] [--rounds 5]`.

The two take turns, each round in processes of its own. What counts is the processor's time of a warm conversion, and of
a cold one; the answer is "slower" where the faster quarter of one side's times lies above the slower quarter of the
other's, by more than 3%. Ops, bytes and peak memory are compared as they are.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.bench import table
from tests.bench.models import chosen
from tests.bench.process import WORKER, WorkerError, run, work

BUILD = Path("build")
MODEL_DIRECTORY = BUILD / "bench"
# Differences below these, as parts of the base's value, are none.
_TOLERANCE = {"warm": 0.03, "cold": 0.03, "peak_megabytes": 0.05, "ops": 0.0, "bytes": 0.0}
_QUARTER = 0.25


def verdict(measure: str, base: list[float], head: list[float]) -> str:
    """"slower" (or "larger", "more"), "faster" (...) or "" if the difference is within the noise."""
    change = statistics.median(head) / statistics.median(base) - 1 if statistics.median(base) else 0.0
    if abs(change) <= _TOLERANCE[measure]:
        return ""
    lower, upper = (base, head) if change > 0 else (head, base)
    if _quantile(upper, _QUARTER) <= _quantile(lower, 1 - _QUARTER):
        return ""
    worse, better = ("slower", "faster") if measure in ("warm", "cold") else ("more", "less")
    return worse if change > 0 else better


def _quantile(values: list[float], part: float) -> float:
    ordered = sorted(values)
    return ordered[round(part * (len(ordered) - 1))]


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """A directory with the files of a commit."""
    with tempfile.TemporaryDirectory(dir=BUILD) as directory:
        archive = subprocess.run(["git", "archive", commit], capture_output=True, check=True)
        subprocess.run(["tar", "-x", "-C", directory], input=archive.stdout, check=True)
        yield Path(directory).resolve()


def measure(name: str, trees: dict[str, Path], rounds: int) -> dict[str, dict[str, list[float]]]:
    """{side: {measure: values}}"""
    work("make", name, MODEL_DIRECTORY)
    results: dict[str, dict[str, list[float]]] = {side: {} for side in trees}
    with tempfile.TemporaryDirectory(dir=BUILD) as directory:
        for _ in range(rounds):
            for side, tree in trees.items():
                out = Path(directory) / f"{side}.tflite"
                # A script's own directory comes first, so that the tree is found before the installed package.
                process = run([WORKER, "times", MODEL_DIRECTORY / name, out], PYTHONPATH=str(tree))
                found: dict[str, Any] = json.loads(process.output)
                for key, values in (found | {"peak_megabytes": [process.peak_megabytes]}).items():
                    results[side].setdefault(key, []).extend(values)
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base", help="the commit to compare with")
    parser.add_argument("--only", default="", help="models, with commas between them")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    BUILD.mkdir(exist_ok=True)
    rows = [["model", *_TOLERANCE, "verdict"]]
    results = {}
    with checked_out(options.base) as base:
        trees = {"base": base, "head": Path.cwd()}
        for name in chosen(options.only):
            try:
                sides = results[name] = measure(name, trees, options.rounds)
            except WorkerError as error:
                rows.append([name, *["-"] * len(_TOLERANCE), f"failed: {error}"])
                continue
            pairs = {key: (sides["base"][key], sides["head"][key]) for key in _TOLERANCE}
            verdicts = [f"{key}: {said}" for key, pair in pairs.items() if (said := verdict(key, *pair))]
            cells = (" -> ".join(f"{statistics.median(values):.4g}" for values in pair) for pair in pairs.values())
            rows.append([name, *cells, ", ".join(verdicts)])
            print(name, file=sys.stderr, flush=True)
    print("\n".join(table.aligned(rows)))
    (BUILD / "bench-compare.json").write_text(json.dumps(results, indent=1) + "\n")
    return 1 if any(word in row[-1] for row in rows for word in ("slower", "more", "failed")) else 0


if __name__ == "__main__":
    sys.exit(main())
