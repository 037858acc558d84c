"""Read calibration data: samples, each an array for each input by its name in the signature."""

from __future__ import annotations

import importlib.util
import os
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from fuseconv.errors import InputError

Sample = Mapping[str, np.ndarray]
FORMS = "an .npz file, a directory of such files, or a .py file with a function samples()"

# What errors are measured on.
_COMPARED = 32


class Samples:
    """Samples, of which the first are measured on and others held back to compare with.

    most: how many to measure on; None for all."""

    def __init__(self, samples: Iterable[Sample], most: int | None = None) -> None:
        self._all, self._most = iter(samples), most
        self._measured: list[Sample] = []
        self._others: list[Sample] | None = None

    def __iter__(self) -> Iterator[Sample]:
        """Yield those to measure on; once only."""
        for sample in islice(self._all, self._most):
            if len(self._measured) < _COMPARED:
                self._measured.append(sample)
            yield sample

    def to_compare(self) -> tuple[list[Sample], bool]:
        """Return some samples, and whether they were held back: if there are none such, they were measured on."""
        if self._others is None:
            self._others = list(islice(self._all, _COMPARED))
        return (self._others, True) if self._others else (self._measured, False)


def read_samples(data: str | os.PathLike | Iterable[Sample]) -> Iterable[Sample]:
    """Return the samples of a file, or of a directory of .npz files in the order of their names; what is no path is
    returned as it is.

    FILE.npz: an array for each input, with one more dimension in front: the samples, each fed as it stands. FILE.py
    runs, and its function `samples` yields dicts. Raises InputError for what cannot be read."""
    if not isinstance(data, (str, os.PathLike)):
        return data
    path = Path(data)
    if path.is_dir():
        files = sorted(path.glob("*.npz"))
        if not files:
            raise InputError(f"the calibration data {path} holds no .npz files")
        return (sample for file in files for sample in _of_arrays(file))
    if not path.is_file():
        raise InputError(f"there is no calibration data {path}; give {FORMS}")
    if path.suffix == ".npz":
        return _of_arrays(path)
    if path.suffix == ".py":
        return _of_script(path)
    raise InputError(f"the calibration data {path} is not {FORMS}")


def _of_arrays(path: Path) -> Iterator[Sample]:
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"the calibration data {path} cannot be read: {error}") from error
    counts = {array.shape[0] if array.ndim else 0 for array in arrays.values()}
    if len(counts) != 1:
        sizes = f"their first sizes are {sorted(counts)}"
        raise InputError(f"the arrays of {path} hold different numbers of samples: {sizes}")
    for index in range(counts.pop()):
        yield {name: array[index] for name, array in arrays.items()}


def _of_script(path: Path) -> Iterator[Sample]:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        if callable(getattr(module, "samples", None)):
            yield from module.samples()
            return
    except Exception as error:
        raise InputError(f"the calibration data {path} cannot be run: {type(error).__name__}: {error}") from error
    raise InputError(f"the calibration data {path} has no function samples()")
