"""Convert and run the modules of StableHLO's own tests, and compare with the outputs that they expect.

    python testdata/stablehlo/make_referee.py stablehlo OUT.tar
    python -m tests.load.stablehlo.referee OUT.tar [--only PART] [--table]

prints what is wrong, why what is refused is, and counts by op; ends with 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import io
import sys
import tarfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

import ml_dtypes
import numpy as np

import fuseconv
from fuseconv.errors import FuseconvError
from fuseconv.load.stablehlo.attributes import TensorType
from fuseconv.load.stablehlo.bytecode import read_bytecode
from fuseconv.load.stablehlo.module_file import module_of_bytes
from fuseconv.runners import TFLiteFile
from fuseconv.testing import assert_close

RIGHT, REFUSED, WRONG = "right", "refused", "wrong"
# StableHLO's interpreter computes transcendental functions as the C library does; LiteRT's kernels do so less exactly.
_CLOSE = 2e-5


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
    """Convert a module, and run it twice with delegates and once without."""
    path = folder / "module.mlirbc"
    path.write_bytes(data)
    try:
        file = fuseconv.convert(path).data or b""
    except FuseconvError as error:
        return Verdict(REFUSED, f"{error}".split("\n")[0])
    feed, expected = _typed(data, arrays)
    try:
        for delegates, runs in ((True, 2), (False, 1)):
            runner = TFLiteFile(file, delegates)
            taken = {name: feed[name] for name in runner.inputs("serving_default")}
            for _ in range(runs):
                made = runner.run("serving_default", taken)
                for index, array in enumerate(expected):
                    assert_close(made[f"output_{index}"], array, _CLOSE)
    except (AssertionError, FuseconvError) as error:
        return Verdict(WRONG, f"{error}".strip().replace("\n", " ")[:300])
    return Verdict(RIGHT)


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
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        for name, (data, arrays) in modules(options.archive).items():
            if options.only not in name:
                continue
            try:
                found = judge(data, arrays, Path(folder))
            except Exception as error:
                found = Verdict(WRONG, f"TRACEBACK {error!r}"[:300])
            counts[name.partition("/")[0]][found.state] += 1
            if found.state == WRONG:
                print(f"{name}: {found.why}", flush=True)
            elif found.state == REFUSED:
                reasons[found.why].append(name)
    for why, names in sorted(reasons.items(), key=lambda item: -len(item[1])):
        print(f"{len(names):5} refused, {names[0]}: {why[:260]}")
    total: Counter[str] = sum(counts.values(), Counter())
    for op, found_counts in sorted(counts.items()) if options.table else ():
        print(f"| {op} |" + "".join(f" {found_counts[state]} |" for state in (RIGHT, REFUSED, WRONG)))
    print(dict(total))
    return 1 if total[WRONG] else 0


if __name__ == "__main__":
    sys.exit(main())
