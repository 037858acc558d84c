"""Convert and run the modules of StableHLO's own tests, and compare with the outputs that they expect.

    python testdata/stablehlo/make_referee.py stablehlo OUT
    python -m tests.load.stablehlo.referee OUT [--only PART] [--table]

prints what is wrong, why what is refused is, and counts by op; ends with 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import io
import sys
import tarfile
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import ml_dtypes
import numpy as np

import fuseconv
from fuseconv.errors import FuseconvError
from fuseconv.load.stablehlo.attributes import TensorType
from fuseconv.load.stablehlo.bytecode import read_bytecode
from fuseconv.runners import TFLiteFile
from fuseconv.testing import assert_close

RIGHT, NEARLY, REFUSED, WRONG = "right", "right but for special numbers", "refused by name", "wrong"
# StableHLO's interpreter computes transcendental functions as the C library does; LiteRT's kernels do so less exactly.
_CLOSE = 2e-5
# What is not told to compute in float32 does not.
_CLOSE_IN_FLOAT64 = 1e-12
# Near a pole a function makes more of what float32 does not tell apart.
_CLOSE_IN_FLOAT32, _LARGE = 1e-4, 1e7
_NARROW = {"float64": np.float32, "complex128": np.complex64}


class Verdict(NamedTuple):
    """What became of a module. why: the first sentence of a refusal, or what is wrong."""

    state: str
    why: str = ""


def modules(path: Path) -> dict[str, tuple[bytes, dict[str, np.ndarray]]]:
    """Return the modules of an archive by name, with their arrays: in0, in1, ... and out0, out1, ...."""
    with tarfile.open(path) as archive:
        files = {member.name: archive.extractfile(member).read() for member in archive.getmembers()}  # type: ignore[union-attr]
    names = [name.removesuffix(".mlirbc") for name in files if name.endswith(".mlirbc")]
    return {name: (files[f"{name}.mlirbc"], dict(np.load(io.BytesIO(files[f"{name}.npz"])))) for name in names}


def judge(data: bytes, arrays: dict[str, np.ndarray], folder: Path) -> Verdict:
    """Convert a module, in float32 if TFLite lacks what it does in float64; run it twice with delegates and once
    without."""
    path = folder / "module.mlirbc"
    path.write_bytes(data)
    feed, expected = _typed(data, arrays)
    tolerance = _CLOSE
    try:
        file = fuseconv.convert(path).data or b""
    except FuseconvError as error:
        if not any(array.dtype.name in _NARROW for array in (*feed.values(), *expected)):
            return Verdict(REFUSED, f"{error}")
        try:
            file = fuseconv.convert(path, downcast_float64=True).data or b""
        except FuseconvError as narrow:
            return Verdict(REFUSED, f"{narrow}")
        feed = {name: _narrow(array) for name, array in feed.items()}
        expected, tolerance = [*map(_narrow, expected)], _CLOSE_IN_FLOAT32
    try:
        runners = (TFLiteFile(file, delegates) for delegates in (True, False))
        return min((_run(runner, feed, expected, tolerance) for runner in runners), key=_badness)
    except FuseconvError as error:
        return Verdict(WRONG, f"{error}")


def _badness(verdict: Verdict) -> int:
    return (WRONG, NEARLY, RIGHT).index(verdict.state)


def _run(runner: TFLiteFile, feed: dict[str, np.ndarray], expected: list[np.ndarray], close: float) -> Verdict:
    feed = {name: feed[name] for name in runner.inputs("serving_default")}
    state, why = RIGHT, ""
    for _ in range(2):
        made = runner.run("serving_default", feed)
        for index, array in enumerate(expected):
            found = made[f"output_{index}"]
            within = _CLOSE_IN_FLOAT64 if array.dtype.name in _NARROW else close
            try:
                assert_close(found, array, within)
            except AssertionError as error:
                state, why = NEARLY, f"{error}".strip().replace("\n", " ")
                plain = _plain(array, feed.values())
                if found.shape != array.shape or found.dtype != array.dtype:
                    return Verdict(WRONG, why)
                try:
                    assert_close(_with_one(found[plain]), _with_one(array[plain]), within)
                except AssertionError as error:
                    return Verdict(WRONG, f"{error}".strip().replace("\n", " "))
    return Verdict(state, why)


def _with_one(array: np.ndarray) -> np.ndarray:
    """Return numbers and a 1: errors of what float32 takes for 0 are measured by that, not by each other."""
    return np.append(array, np.ones(1, array.dtype))


def _plain(array: np.ndarray, inputs: Iterable[np.ndarray]) -> np.ndarray:
    """Return where a result is an ordinary number, made of such: LiteRT's ADD, SUB, MUL and DIV hold results to the
    largest finite number, its MAXIMUM and MINIMUM do not keep NaN, and XNNPACK takes numbers below the normal ones for
    0. All elements, where nothing special is about."""
    plain = np.isfinite(array) if array.dtype.kind in "biu" else np.isfinite(array) & (abs(array) < _LARGE)
    for each in inputs:
        if each.dtype.kind in "fcV":
            special = ~np.isfinite(each) | ((each != 0) & (abs(each) < 1e-37))
            plain = plain & ~special if each.shape == array.shape else plain & ~np.any(special)
    return plain


def _narrow(array: np.ndarray) -> np.ndarray:
    """Return float64 as float32; what is too small for it stays the least number, which `_plain` knows."""
    if array.dtype.name not in _NARROW:
        return array
    with np.errstate(over="ignore", invalid="ignore"):
        made = array.astype(_NARROW[array.dtype.name])
    return np.where((made == 0) & (array != 0), np.copysign(np.float32(1e-45), array.real), made).astype(made.dtype)


def _typed(data: bytes, arrays: dict[str, np.ndarray]) -> tuple[dict[str, np.ndarray], list[np.ndarray]]:
    """Return inputs by name and outputs, with the types of `main`, which .npz files do not have all of."""
    kind = read_bytecode(data, "it").functions["main"].attribute("function_type")
    named = {"in": kind.inputs, "out": kind.outputs}
    typed = {
        side: [_as(arrays[f"{side}{index}"], item) for index, item in enumerate(items)] for side, items in named.items()
    }
    return {f"args_{index}": array for index, array in enumerate(typed["in"])}, typed["out"]


def _as(array: np.ndarray, kind: object) -> np.ndarray:
    name = kind.dtype.name if isinstance(kind, TensorType) else ""
    return array.view(ml_dtypes.bfloat16) if name == "bfloat16" else array


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("archive", type=Path)
    parser.add_argument("--only", default="", help="modules whose names hold this")
    parser.add_argument("--table", action="store_true", help="print counts by op")
    options = parser.parse_args()
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    reasons: defaultdict[str, list[str]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        for name, (data, arrays) in modules(options.archive).items():
            if options.only not in name:
                continue
            try:
                found = judge(data, arrays, Path(folder))
            except Exception as error:
                found = Verdict(WRONG, f"TRACEBACK {error!r}"[:300])
            counts[name.partition("/")[0]][found.state] += 1
            if found.state in (WRONG, NEARLY):
                print(f"{found.state}: {name}: {found.why[:260]}", flush=True)
            elif found.state == REFUSED:
                reasons[" ".join(found.why.split())[:400]].append(name)
    for why, names in sorted(reasons.items(), key=lambda item: -len(item[1])):
        print(f"{len(names):5} refused, {names[0]}: {why}")
    total: Counter[str] = sum(counts.values(), Counter())
    for op, found_counts in sorted(counts.items()) if options.table else ():
        print(f"| {op} |" + "".join(f" {found_counts[state] or ''} |" for state in (RIGHT, NEARLY, REFUSED, WRONG)))
    print(dict(total))
    return 1 if total[WRONG] else 0


if __name__ == "__main__":
    sys.exit(main())
