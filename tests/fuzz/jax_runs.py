"""Hold files of random programs, which jax_programs.py draws, to what JAX computed."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

import fuseconv
from fuseconv.runners import TFLiteFile
from fuseconv.testing import assert_close

Arrays = Mapping[str, np.ndarray]
_SMALLEST, _LARGEST = 1e-3, 1e3
_CLOSE = 1e-4


def check_program(data: bytes, runs: Sequence[Arrays]) -> None:
    """Convert a module, and run the file with delegates and without, on inputs whose outputs are known. Numbers that
    are not moderate are not compared: what is small beside that of which it is made is rounding."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "module.mlirbc"
        path.write_bytes(data)
        converted = fuseconv.convert(path).data or b""
    for delegates in (True, False):
        file = TFLiteFile(converted, delegates)
        names = file.inputs("serving_default")
        for run in runs:
            made = file.run("serving_default", {name: run[name] for name in names})
            for name, array in made.items():
                if _is_moderate(run[name]):
                    assert_close(array, run[name], _CLOSE)


def _is_moderate(array: np.ndarray) -> bool:
    if array.dtype.kind in "biu" or not array.size:
        return True
    largest = np.max(np.abs(array))
    return bool(np.isfinite(array).all() and (largest == 0 or _SMALLEST <= largest <= _LARGEST))
