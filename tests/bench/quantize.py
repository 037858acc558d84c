"""Measures quantized files against TFLiteConverter's: `make bench ONLY=quantize`, or `python -m tests.bench.quantize
[--only LSTM,BERT] [--modes int8] [--skip peer] [--write]`.

Each model is converted in each mode by both, from one SavedModel with random weights and on the same samples; where
these are not needed but taken, with them and without; recurrent ones also with `--rnn auto`. Every conversion and every
comparison is a process of its own.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tests.bench.process import Limits, WorkerError, run
from tests.bench.quantize_models import MODELS, RECURRENT
from tests.bench.quantize_worker import FRESH, ROUNDED, SAMPLES, SAMPLES_OF_SEQUENCES, TIMED
from tests.bench.table import PAGE, aligned, insert

MODES = ("float16", "dynamic", "int4", "int8", "int16x8")
# What TFLiteConverter has no form of.
_OURS_ALONE = ("int4",)
# What each of our sides is called behind the mode.
_TITLES = {"ours": "", "samples": ", samples", "auto": ", `--rnn auto`"}
DIRECTORY = Path("build/bench")
_LIMITS = Limits(900, 64)
# What a side says of a model in a mode: the numbers of the worker, or why there are none.
Result = dict[str, Any]


def measure(name: str, modes: Iterable[str], skipped: Sequence[str]) -> dict[str, dict[str, Result]]:
    """Return for each mode what the sides say: ours, samples (of modes that need none), auto (of sequences) and peer.
    skipped: sides whose files are those of before, if there are any."""
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    _work("make", name, DIRECTORY)
    folder = DIRECTORY / f"{name}.quantized"
    folder.mkdir(exist_ok=True)
    _convert("ours", name, "float", folder)
    return {mode: _measure(name, mode, _sides(name, mode), folder, skipped) for mode in modes}


def _sides(name: str, mode: str) -> list[str]:
    return ["ours", *["samples"] * (mode in ROUNDED), *["auto"] * (name in RECURRENT), "peer"]


def _measure(name: str, mode: str, sides: Sequence[str], folder: Path, skipped: Sequence[str]) -> dict[str, Result]:
    results: dict[str, Result] = {}
    for side in sides:
        known = folder / f"{mode}.{side}.json"
        if side == "peer" and mode in _OURS_ALONE:
            known.unlink(missing_ok=True)
        elif side not in skipped:
            known.write_text(json.dumps(_convert(side, name, mode, folder)))
        results[side] = json.loads(known.read_text()) if known.exists() else {}
    try:
        for side, numbers in json.loads(_work("judge", name, folder, mode)).items():
            if side in results or side == "float":
                results.setdefault(side, {}).update(numbers)
    except WorkerError as error:
        results["ours"] = {"failed": str(error)}
    return results


def _convert(side: str, name: str, mode: str, folder: Path) -> Result:
    file = folder / f"{mode}.{side}.tflite"
    file.unlink(missing_ok=True)
    try:
        return json.loads(_work("convert", side, name, DIRECTORY / name, mode, file))
    except WorkerError as error:
        return {"failed": str(error)}


def _work(*arguments: str | Path) -> str:
    """Return the last line that a worker writes; libraries may say something before."""
    lines = run(["-m", "tests.bench.quantize_worker", *arguments], _LIMITS).output.splitlines()
    return lines[-1] if lines else ""


def markdown(results: dict[str, dict[str, dict[str, Result]]]) -> str:
    """Return the table of a row for each model and mode, with a caption above."""
    head = ["model", "mode", "error", "spread", "clipped", "file, kB", "latency, ms", "of float", "conversion, s"]
    rows = [head]
    for name, modes in results.items():
        for mode, sides in modes.items():
            for side in (side for side in _TITLES if side in sides):
                rows.append([name, mode + _TITLES[side], *_cells(sides[side], sides["peer"], sides.get("float", {}))])
    failed: dict[str, list[str]] = {}
    for name, modes in results.items():
        for mode, sides in modes.items():
            for side, result in sides.items():
                if "failed" in result:
                    failed.setdefault(f"{side} failed: {result['failed']}", []).append(f"{name}, {mode}")
    lines = [f"\n{why} ({'; '.join(where)})" for why, where in failed.items()]
    return "\n".join([_CAPTION, "", *aligned(rows), *lines])


_CAPTION = (
    "Each cell: fuseconv / TFLiteConverter (ours over theirs, or speed-up). Error: the largest difference from the "
    f"float file on {FRESH} fresh samples, over the range of the output; spread: the root of the mean square. "
    f"Clipped: how far these outputs lie beyond those of the {SAMPLES} samples that ranges were measured on "
    f"({SAMPLES_OF_SEQUENCES} of sequences). Latency: default delegates, one thread, the shortest of "
    "rounds in turns, as the processor counts it; of float: over that of our float file. "
    f"Conversion: the processor's seconds with TensorFlow imported, on {TIMED} samples, if the mode takes them ("
    f"{' and '.join(ROUNDED)} without and with). TFLiteConverter has no "
    f"{' or '.join(_OURS_ALONE)}."
)


def _cells(ours: Result, peer: Result, whole: Result) -> list[str]:
    if "failed" in ours:
        return ["fails", *[""] * 6]
    of_float = f"{ours['milliseconds'] / whole['milliseconds']:.2f}" if whole else ""
    clipped = f"{ours['clipped']:.4f}" if ours.get("clipped") else ""
    return [
        _pair(ours, peer, "error", ".4f"), _pair(ours, peer, "spread", ".4f"), clipped,
        _pair(ours, peer, "bytes", ".1f", 1e-3), _pair(ours, peer, "milliseconds", ".3g"), of_float,
        _pair(ours, peer, "seconds", ".3f", speed_up=True),
    ]  # fmt: skip


def _pair(ours: Result, peer: Result, key: str, how: str, unit: float = 1.0, speed_up: bool = False) -> str:
    mine, theirs = ours.get(key), peer.get(key)
    texts = [
        format(side[key] * unit, how) if key in side else "fails" if "failed" in side else "-" for side in (ours, peer)
    ]
    if not mine or not theirs:
        return " / ".join(texts)
    ratio = f"{theirs / mine:.0f}x" if speed_up else f"{mine / theirs:.2f}"
    return f"{' / '.join(texts)} ({ratio})"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help=f"models, with commas between them: {', '.join(MODELS)}")
    parser.add_argument("--modes", default=",".join(MODES), help="modes, with commas between them")
    sides = ", ".join([*_TITLES, "peer"])
    parser.add_argument("--skip", default="", help=f"sides whose files of before are taken, of {sides}")
    parser.add_argument("--write", action="store_true", help="put the table into bench/README.md")
    options = parser.parse_args(arguments)
    names = options.only.split(",") if options.only else list(MODELS)
    results = {}
    for name in names:
        results[name] = measure(name, options.modes.split(","), options.skip.split(","))
        print(markdown({name: results[name]}).partition("\n\n")[2], file=sys.stderr, flush=True)
    text = markdown(results)
    print(text)
    Path("build/quantize.json").write_text(json.dumps(results, indent=1) + "\n")
    if options.write:
        PAGE.write_text(insert(PAGE.read_text(), text, "bench-quantize"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
