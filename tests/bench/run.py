"""Measures fuseconv against TFLiteConverter: `make bench`, or `python -m tests.bench.run [--only A,B] [--reuse-peer]`.

Every number comes from a process of its own. In each measurement the two sides take turns, so that what else the
machine does meets both.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.bench import scale, table
from tests.bench.models import MODELS
from tests.bench.process import WorkerError, convert_cold, work
from tests.bench.worker import SIDES

BUILD = Path("build")
MODEL_DIRECTORY = BUILD / "bench"
# Instead of models: quantized files, of all models or of those that follow.
QUANTIZE = "quantize"
# Cold conversions are repeated as often, or as long (in seconds).
_COLD_REPEATS, _COLD_SECONDS = 3, 25.0


def measure(name: str, reuse_peer: bool) -> dict[str, Any]:
    """All measurements of one model: {"ours": {...}, "peer": {...}}; a side that failed has only an "error"."""
    model = MODEL_DIRECTORY / name
    results_of_peer = MODEL_DIRECTORY / f"{name}.peer.json"
    files = MODEL_DIRECTORY / f"{name}.files"
    work("make", name, MODEL_DIRECTORY)
    if not (model / "expected.npz").exists():
        work("expected", name, model)
    files.mkdir(exist_ok=True)
    results: dict[str, dict[str, Any]] = {side: {} for side in SIDES}
    if reuse_peer and results_of_peer.exists():
        results["peer"] = json.loads(results_of_peer.read_text())
    sides = [side for side in SIDES if not results[side]]
    for side in sides:
        (files / f"{side}.tflite").unlink(missing_ok=True)
    _measure_cold(sides, model, files, results)
    sides = [side for side in sides if "error" not in results[side]]
    if sides:
        _measure_warm(sides, model, files, results)
    try:
        ran = work("run", name, model, files)
    except WorkerError as error:
        # Most likely it is our file that does not run, or says something else than the model.
        results["ours"] = {"error": str(error)}
        (files / "ours.tflite").unlink()
        ran = work("run", name, model, files)
    for side, result in json.loads(ran.output).items():
        results[side] |= result
    results_of_peer.write_text(json.dumps(results["peer"]))
    return results


def _measure_cold(sides: list[str], model: Path, files: Path, results: dict[str, dict[str, Any]]) -> None:
    seconds: dict[str, list[float]] = {side: [] for side in sides}
    begin = time.perf_counter()
    for _ in range(_COLD_REPEATS):
        for side in sides:
            if "error" in results[side]:
                continue
            try:
                file = files / f"{side}.tflite"
                process = convert_cold(model, file) if side == "ours" else work("convert", side, model, file)
            except WorkerError as error:
                results[side] = {"error": str(error)}
                continue
            seconds[side].append(process.seconds)
            results[side]["cold_seconds"] = statistics.median(seconds[side])
            results[side]["peak_megabytes"] = max(process.peak_megabytes, results[side].get("peak_megabytes", 0.0))
        if time.perf_counter() - begin > _COLD_SECONDS:
            break


def _measure_warm(sides: list[str], model: Path, files: Path, results: dict[str, dict[str, Any]]) -> None:
    with tempfile.TemporaryDirectory(dir=files) as directory:
        for side, seconds in json.loads(work("warm", ",".join(sides), model, directory).output).items():
            results[side]["warm_seconds"] = seconds


def environment() -> dict[str, Any]:
    """What the numbers depend on besides the code."""
    packages = ("fuseconv", "tensorflow", "ai-edge-litert", "keras", "numpy")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    versions = {"python": platform.python_version()} | {name: importlib.metadata.version(name) for name in packages}
    return {
        "date": datetime.date.today().isoformat(),
        "versions": versions,
        "machine": platform.machine(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gigabytes": round(memory / 2**30),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--only", default="", help=f"models to measure, with commas between them: {', '.join(MODELS)}; or {QUANTIZE}"
    )
    parser.add_argument(
        "--reuse-peer", action="store_true", help="take what was measured of TFLiteConverter before (not for quoting)"
    )
    options = parser.parse_args()
    names = options.only.split(",") if options.only else list(MODELS)
    if names[0] == QUANTIZE:
        more = ["--only", ",".join(names[1:])] if names[1:] else ["--write"]
        return subprocess.run([sys.executable, "-m", "tests.bench.quantize", *more]).returncode
    unknown = [name for name in names if name not in MODELS]
    if unknown:
        parser.error(f"no such model: {', '.join(unknown)}; there are {', '.join(MODELS)}")
    results = {}
    for name in names:
        start = time.perf_counter()
        results[name] = measure(name, options.reuse_peer)
        print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    facts = environment()
    scales = {} if options.only else scale.measure()
    text = table.markdown(results, facts) + (f"\n\n{scale.markdown(scales)}" if scales else "")
    print(text)
    document = {"environment": facts, "models": results, "scale": scales}
    (BUILD / "bench.json").write_text(json.dumps(document, indent=1) + "\n")
    if not options.only and not options.reuse_peer:
        table.PAGE.write_text(table.insert(table.PAGE.read_text(), text))
    if not options.only:
        written = [] if options.reuse_peer else ["--write"]
        for part in ("rnn", "keras_files"):
            subprocess.run([sys.executable, "-m", f"tests.bench.{part}", *written], check=True)
    return 1 if any("error" in result["ours"] for result in results.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
