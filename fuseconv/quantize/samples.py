"""Read calibration data: samples, each an array for each input by its name in the signature.

Samples of another signature than the first name it in front of the input, with a slash: `decode/x`.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from fuseconv.errors import FuseconvError, InputError, raised
from fuseconv.ir.graph import Signature, Value
from fuseconv.npz import read_npz
from fuseconv.quantize.images import Images, Pixels, image_files
from fuseconv.quantize.sample_shapes import Sample, checked, fitted, inputs_of, shape_text, sizes_of, stacked

# What gives samples once it is known which signatures they are for.
Reader = Callable[[Sequence[Signature]], Iterable[Sample]]
FORMS = "an .npz file, a directory of such files or of images, or a .py file with a function samples()"

# What errors are measured on.
_COMPARED = 32


class Samples:
    """Samples, of which the first are measured on and others held back to compare with.

    data: a file, a directory or an iterable, as `reader` takes it. most: how many to measure on; None for all.
    of_others: some that were measured on, of other signatures than the first, as they are named."""

    def __init__(
        self, data: str | os.PathLike | Iterable[Sample] | Mapping[str, Any], most: int | None = None,
        pixels: Pixels | None = None,
    ) -> None:  # fmt: skip
        self._read, self._most = reader(data, pixels or Pixels()), most
        self._signatures: Sequence[Signature] = ()
        self._all: Iterator[Sample] = iter(())
        self._measured: list[Sample] = []
        self.of_others: list[Sample] = []
        self._others: list[Sample] | None = None

    def bind(self, signatures: Sequence[Signature]) -> None:
        """Begin to read samples of these signatures; before, there are none."""
        self._signatures, inputs = signatures, inputs_of(signatures)
        self._all = (fitted(sample, inputs) for sample in _told(self._read(signatures)))

    @property
    def are_plain_images(self) -> bool:
        """Return whether they are images of which nothing tells what numbers the model takes."""
        return isinstance(self._read, Images) and not self._read.pixels.told

    def __iter__(self) -> Iterator[Sample]:
        """Yield those to measure on; once only."""
        for sample in islice(self._all, self._most):
            index, found = of_signature(sample, self._signatures)
            kept = self.of_others if index else self._measured
            if len(kept) < _COMPARED:
                kept.append(sample if index else found)
            yield sample

    def to_compare(self) -> tuple[list[Sample], bool]:
        """Return some samples of the first signature, and whether they were held back: if there are none such, they
        were measured on."""
        if self._others is None:
            found = [each for sample in islice(self._all, _COMPARED) for each in self._of_first(sample)]
            self._others = [checked(each, self._signatures[0], number) for number, each in enumerate(found)]
        return (self._others, True) if self._others else (self._measured, False)

    def _of_first(self, sample: Sample) -> list[Sample]:
        index, found = of_signature(sample, self._signatures)
        return [] if index else [found]


def of_signature(sample: Sample, signatures: Sequence[Signature]) -> tuple[int, Sample]:
    """Return the place of the signature that a sample is of, and its arrays by the names of that one's inputs."""
    if not isinstance(sample, Mapping) or not signatures or sample.keys() == set(signatures[0].inputs):
        return 0, sample
    for index, signature in enumerate(signatures):
        for name in signature.names:
            if sample.keys() == {f"{name}/{each}" for each in signature.inputs}:
                return index, {each: sample[f"{name}/{each}"] for each in signature.inputs}
    return 0, sample


def _told(samples: Iterable[Sample]) -> Iterator[Sample]:
    """Yield samples. Raises InputError for what the caller's code raises."""
    try:
        yield from samples
    except FuseconvError:
        raise
    except Exception as error:
        raise _unreadable(error) from error


def _unreadable(error: Exception) -> InputError:
    return InputError(f"the calibration data cannot be read: {raised(error)}")


def reader(data: str | os.PathLike | Iterable[Sample] | Mapping[str, Any], pixels: Pixels) -> Reader:
    """Return what reads samples of a file, of a directory of .npz files in the order of their names or of images, or
    of an iterable.

    FILE.npz, or a dict of arrays: one for each input, with the samples in front, each fed as it stands, or of rows of
    which each is a sample. FILE.py runs, and its function `samples` yields dicts. pixels: what becomes of images.
    Raises InputError for what is none of these; reading raises it for what cannot be read."""
    path = Path(data) if isinstance(data, (str, os.PathLike)) else None
    if path is not None and path.is_dir():
        return _of_directory(path, pixels)
    if pixels.told:
        raise InputError("--image-mean and --image-scale are for calibration data that is a directory of images")
    if path is None:
        return _of_python(data)
    if not path.is_file():
        raise InputError(f"there is no calibration data {path}; give {FORMS}")
    if path.suffix == ".npz":
        return partial(_of_file, path)
    if path.suffix == ".py":
        return lambda signatures: _of_script(path)
    raise InputError(f"the calibration data {path} is not {FORMS}")


def _of_python(data: Any) -> Reader:
    if isinstance(data, Mapping):
        return partial(_of_arrays, "the calibration data", {name: np.asarray(each) for name, each in data.items()})
    made = data
    if callable(data) and not isinstance(data, Iterable):
        try:
            made = data()
        except Exception as error:
            raise _unreadable(error) from error
    if not isinstance(made, Iterable):
        raise InputError(f"calibration_data is {FORMS}, or yields dicts of arrays; {type(data).__name__} is neither")
    return lambda signatures: made


def _of_directory(path: Path, pixels: Pixels) -> Reader:
    files, images = sorted(path.glob("*.npz")), image_files(path)
    if bool(files) == bool(images):
        held = "both .npz files and images" if files else "no .npz files, and no images that are JPEG or PNG"
        raise InputError(f"the calibration data {path} holds {held}")
    if images:
        return Images(images, pixels)
    if pixels.told:
        raise InputError(f"--image-mean and --image-scale are for images; {path} holds .npz files")
    return lambda signatures: (sample for file in files for sample in _of_file(file, signatures))


def _of_file(path: Path, signatures: Sequence[Signature]) -> Iterator[Sample]:
    return _of_arrays(str(path), read_npz(path, "the calibration data"), signatures)


def _of_arrays(where: str, arrays: Mapping[str, np.ndarray], signatures: Sequence[Signature]) -> Iterator[Sample]:
    """Yield the samples of arrays, of all signatures in turns. where: what they are of, in words."""
    inputs = inputs_of(signatures)
    groups: dict[str, dict[str, np.ndarray]] = {}
    for name in [each for each in arrays if each in inputs] or arrays:
        array = _stacked(where, name, arrays[name], inputs[name]) if name in inputs else arrays[name]
        groups.setdefault(_signature_of(name, signatures), {})[name] = array
    counts = [_count(where, group) for group in groups.values()]
    for index in range(max(counts, default=0)):
        for count, group in zip(counts, groups.values()):
            if index < count:
                yield {name: array[index] for name, array in group.items()}


def _stacked(where: str, name: str, array: np.ndarray, value: Value) -> np.ndarray:
    """Return the samples that an array holds. Raises InputError if it holds none."""
    wanted = sizes_of(value)
    found = array if wanted is None else stacked(array, wanted)
    if found is None or not found.ndim:
        forms = [(None, *(wanted or ())), *([] if not wanted else [(None, *wanted[1:])])]
        takes = " or rows ".join(map(shape_text, forms))
        raise InputError(f"the array {name} of {where} has the shape {list(array.shape)}: give samples {takes}")
    return found


def _signature_of(name: str, signatures: Sequence[Signature]) -> str:
    """Return the name of the signature that the name of an array begins with; empty if there is none."""
    if signatures and name in signatures[0].inputs:
        return ""
    known = [key for signature in signatures for key in signature.names if name.startswith(f"{key}/")]
    return max(known, key=len, default="")


def _count(where: str, arrays: Mapping[str, np.ndarray]) -> int:
    counts = {array.shape[0] if array.ndim else 0 for array in arrays.values()}
    if len(counts) != 1:
        sizes = f"their first sizes are {sorted(counts)}"
        raise InputError(f"the arrays of {where} hold different numbers of samples: {sizes}")
    return counts.pop()


def _of_script(path: Path) -> Iterator[Sample]:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    function = made = None
    folder = str(path.resolve().parent)
    sys.path.insert(0, folder)  # as Python runs a script
    try:
        spec.loader.exec_module(module)
        function = getattr(module, "samples", None)
        made = function() if callable(function) else None
        if isinstance(made, Iterable):
            yield from made
            return
    except (KeyboardInterrupt, GeneratorExit):  # the user ends it, or the reader of the samples
        raise
    except BaseException as error:
        raise InputError(f"the calibration data {path} cannot be run: {raised(error)}") from error
    finally:
        if folder in sys.path:
            sys.path.remove(folder)
    if not callable(function):
        raise InputError(f"the calibration data {path} has no function samples()")
    raise InputError(f"samples() of the calibration data {path} returns {type(made).__name__}: yield dicts of arrays")
