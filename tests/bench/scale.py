"""Measures how conversion grows with nodes and with bytes: `make scale`, or `python -m tests.bench.scale`.

The models are made on the fly (tests/synthetic.py). Each conversion is a process of its own, import and all.
"""

from __future__ import annotations

import json
import statistics
import tempfile
from pathlib import Path
from typing import Any

from tests.bench import table
from tests.bench.process import convert_cold, run

BUILD = Path("build")
_REPEATS = 3
# What is measured -> how it is made: by a function of tests.synthetic, with these arguments.
MODELS: dict[str, tuple[str, int, int]] = {
    "10,000 nodes": ("many_nodes", 10_000, 8),
    "50,000 nodes": ("many_nodes", 50_000, 8),
    "1 GB of weights": ("many_bytes", 15, 4096),
    "2.7 GB of weights": ("many_bytes", 10, 8192),
}


def measure() -> dict[str, dict[str, float]]:
    """{model: {"seconds", "peak_megabytes", "bytes", "copy_seconds"}}: of cold conversions, and the time that a plain
    copy of the file takes."""
    results = {}
    for name, (maker, *sizes) in MODELS.items():
        with tempfile.TemporaryDirectory(dir=BUILD) as directory:
            model, out = Path(directory) / "model", Path(directory) / "out.tflite"
            run(["-m", "tests.synthetic", maker, model, *map(str, sizes)])
            conversions = [convert_cold(model, out) for _ in range(_REPEATS)]
            copy = run(["-c", "import shutil, sys; shutil.copyfile(*sys.argv[1:])", out, f"{out}.copy"])
            results[name] = {
                "seconds": statistics.median(conversion.seconds for conversion in conversions),
                "peak_megabytes": max(conversion.peak_megabytes for conversion in conversions),
                "bytes": out.stat().st_size,
                "copy_seconds": copy.seconds,
            }
    return results


def markdown(results: dict[str, dict[str, Any]]) -> str:
    """The results as a table."""
    rows = [["model", "cold, s", "a copy of the file, s", "peak, MB", "file, MB"]]
    for name, result in results.items():
        seconds, copy, peak = (result[key] for key in ("seconds", "copy_seconds", "peak_megabytes"))
        rows.append([name, f"{seconds:.2f}", f"{copy:.2f}", f"{peak:.0f}", f"{result['bytes'] * 1e-6:.1f}"])
    return "\n".join(table.aligned(rows))


def main() -> None:
    BUILD.mkdir(exist_ok=True)
    results = measure()
    print(markdown(results))
    (BUILD / "scale.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
