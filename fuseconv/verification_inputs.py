"""Inputs to verify a file with: arrays of the caller's, or random ones that the model accepts.

Inputs that the caller does not give are drawn with a fixed seed. What the file looks up in a table is drawn from the
numbers of its rows, whatever the input's type. Other floats come from the standard normal distribution, whole numbers
of 8 bits from their whole range and others from [0, 8), booleans with even odds, strings of three letters. Unknown
dimensions beyond the batch get the size 7. All are guesses: a model may want other ones, such as an image that survives
five strides. If TensorFlow refuses them, smaller numbers, whole numbers for floats (Keras 2 declares the ids of an
embedding as float32) and larger sizes are tried. If it refuses them all, the caller is asked for shapes or data.
"""

from __future__ import annotations

import itertools
import math
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from fuseconv.errors import InputError
from fuseconv.input_ranges import InputRange
from fuseconv.input_shapes import given_to
from fuseconv.npz import read_npz
from fuseconv.quantize.sample_shapes import cast, fits, stacked
from fuseconv.runners import Arrays, Function, Spec, first_line
from fuseconv.tfl.index_bounds import Bound

_BATCHES = (1, 3)
_SIZES = (7, 32, 64, 224)
_BOUNDS = (8, 2)
# Of all inputs together, which are drawn in numbers of 8 bytes or more.
_MOST_BYTES = 1 << 30
_LEAST_ITEM = 8


class Range(NamedTuple):
    """What is drawn: whole numbers below the first bound; floats below the second, and whole, unless it is None.

    by_use: but inputs that are indices by the bounds of the tables that they are looked up in."""

    whole: int
    floats: int | None
    by_use: bool = False


class Draws:
    """Draws the inputs of a signature.

    bounds: of inputs that are indices. given: the ranges of inputs that the caller knows. how: what was said of each
    input that was drawn, in words."""

    def __init__(
        self,
        specs: Mapping[str, Spec],
        bounds: Mapping[str, Bound],
        random: np.random.Generator,
        given: Mapping[str, InputRange] = MappingProxyType({}),
    ) -> None:
        self.specs = specs
        self.given = given
        self.bounds = {name: bound for name, bound in bounds.items() if specs[name].dtype.kind in "iufV"}
        self.random = random
        self.how: dict[str, list[str]] = {name: [] for name in specs}

    def ranges(self) -> list[Range]:
        """Return the ranges to try, the likeliest first."""
        kinds = {spec.dtype.kind for spec in self.specs.values()}
        ranges = [Range(bound, None) for bound in (_BOUNDS if kinds & set("iu") else _BOUNDS[:1])]
        ranges += [Range(bound, bound) for bound in _BOUNDS if kinds & set("fV")]
        return [Range(_BOUNDS[0], None, True), *ranges] if self.bounds else ranges

    def feed(self, batch: int, size: int, limits: Range) -> Arrays:
        """Return random inputs. Raises InputError for more than a machine may have memory for."""
        shapes = {name: _shape(spec, batch, size) for name, spec in self.specs.items()}
        total = 0
        for name, shape in shapes.items():
            total += math.prod(shape) * max(self.specs[name].dtype.itemsize, _LEAST_ITEM)
            if total > _MOST_BYTES:
                raise InputError(f"the input {name!r} takes an array of {dims_text(shape)}, which is too large to draw")
        return {name: self._array(name, shape, limits) for name, shape in shapes.items()}

    def _array(self, name: str, shape: tuple[int, ...], limits: Range) -> np.ndarray:
        dtype = self.specs[name].dtype
        if name in self.given:
            return self.random.integers(*self.given[name], shape, dtype, endpoint=True)
        return _random_array(shape, dtype, self._limits(name, limits), self.random)

    def tell(self, limits: Range) -> None:
        """Remember that inputs were drawn from these ranges."""
        for name, spec in self.specs.items():
            said = _how(spec.dtype, self._limits(name, limits))
            if name in self.given:
                said = "whole numbers from {} to {}".format(*self.given[name])
            elif limits.by_use and name in self.bounds:
                said += f", as {self.bounds[name].op} looks them up"
            if said not in self.how[name]:
                self.how[name].append(said)

    def _limits(self, name: str, limits: Range) -> Range:
        rows = self.bounds[name].rows if limits.by_use and name in self.bounds else 0
        return Range(rows, rows, True) if rows else limits._replace(by_use=False)


Run = tuple[Arrays, dict[str, np.ndarray]]  # inputs, and what the original makes of them


def random_batches(
    original: Function, signature: str, dynamic: set[str], draws: Draws
) -> Iterator[list[Run]]:
    """Yield two runs on random inputs that the original accepts; two more with another size of what is not fixed: more
    rows, and twice the other sizes if the original takes that."""
    open_sizes = any(None in (spec.shape or ())[1:] for spec in draws.specs.values())
    sizes: Sequence[int] = _SIZES if open_sizes else _SIZES[:1]
    ranges = draws.ranges()
    for batch in _BATCHES if dynamic or open_sizes else _BATCHES[:1]:
        first, size, ranges = _accepted(original, signature, batch, sizes, ranges, draws)
        second, _, ranges = _accepted(original, signature, batch, (size,), ranges, draws)
        yield [first, second]
        sizes = (2 * size, size) if open_sizes else (size,)


def _accepted(
    original: Function,
    signature: str,
    batch: int,
    sizes: Sequence[int],
    ranges: list[Range],
    draws: Draws,
) -> tuple[Run, int, list[Range]]:
    """Return a run that the original accepts, the size of the unknown dimensions in it, and the ranges of numbers that
    it has not refused: what one draw avoids the next may hit."""
    refusal: InputError | None = None
    for size, (index, limits) in itertools.product(sizes, enumerate(ranges)):
        feed = draws.feed(batch, size, limits)
        try:
            expected = call_original(original, signature, feed)
        except InputError as error:
            refusal = refusal or error
            continue
        # Nothing is compared if the image is used up before the last layer.
        if size == sizes[-1] or any(array.size for array in expected.values()):
            draws.tell(limits)
            return (feed, expected), size, ranges[index:]
    assert refusal is not None
    raise refusal


def _how(dtype: np.dtype, limits: Range) -> str:
    """Say in words what `_random_array` draws."""
    if dtype == np.dtype(object):
        return "three letters"
    if dtype.kind == "b":
        return "even odds"
    if dtype.kind in "iu":
        return "all numbers of 8 bits" if _whole_range(dtype, limits) else f"whole numbers below {limits.whole}"
    if dtype.kind != "c" and limits.floats is not None:
        return f"whole numbers below {limits.floats}"
    return "normal distribution"


def _whole_range(dtype: np.dtype, limits: Range) -> bool:
    return dtype.itemsize == 1 and limits.whole == _BOUNDS[0] and not limits.by_use


def _shape(spec: Spec, batch: int, size: int) -> tuple[int, ...]:
    assert spec.shape is not None
    return tuple((batch if axis == 0 else size) if dim is None else dim for axis, dim in enumerate(spec.shape))


def _random_array(shape: tuple[int, ...], dtype: np.dtype, limits: Range, random: np.random.Generator) -> np.ndarray:
    """Draw an array of a type: normal floats, words of three letters, integers below `limits.whole`, or all of 8 bits
    that are no indices."""
    if dtype == np.dtype(object):
        letters = random.integers(ord("a"), ord("z") + 1, (*shape, 3), dtype=np.uint8)
        array = np.empty(shape, object)
        for index in np.ndindex(shape):
            array[index] = letters[index].tobytes()
        return array
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(np.bool_)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        if _whole_range(dtype, limits):
            return random.integers(info.min, info.max + 1, shape, dtype=dtype)
        return random.integers(0, min(limits.whole, int(info.max) + 1), shape, dtype=dtype)
    if dtype.kind != "c" and limits.floats is not None:
        return random.integers(0, limits.floats, shape).astype(dtype)
    values = random.standard_normal(shape)
    if dtype.kind == "c":
        values = values + 1j * random.standard_normal(shape)
    return np.asarray(values).astype(dtype)


def given_batches(
    original: Function, signature: str, specs: Mapping[str, Spec], dynamic: set[str], given: Arrays
) -> Iterator[list[Run]]:
    """Yield the caller's arrays twice, or the samples that they hold. Where the batch is dynamic, yield them with two
    more rows too, the first ones again, if the original takes that: a first dimension need not be the batch."""
    feeds = feeds_of(given, specs, signature)
    # Called for each run, as a model may keep state.
    yield [(feed, call_original(original, signature, feed)) for feed in (feeds * 2 if len(feeds) == 1 else feeds)]
    first = feeds[0]
    # Of no rows there are no more to be had.
    if dynamic and all(len(first[name]) for name in dynamic):
        more = {
            name: np.take(array, np.arange(len(array) + 2) % len(array), 0) if name in dynamic else array
            for name, array in first.items()
        }
        try:
            runs: list[Run] = [(more, call_original(original, signature, more)) for _ in range(2)]
        except InputError:
            return
        yield runs


def feeds_of(given: Arrays, specs: Mapping[str, Spec], signature: str) -> list[Arrays]:
    """Return the caller's arrays as a signature takes them, or else the samples that they hold, each fed by itself: of
    one dimension more, or of rows where the batch is fixed. Where no batch is fixed, samples are the rows of one.

    Raises InputError for an array that is missing or unfit."""
    missing = sorted(set(specs) - set(given))
    if missing:
        wanted = ", ".join(f"{name} {dtype_name(s.dtype)}{dims_text(s.shape or ())}" for name, s in specs.items())
        raise InputError(f"the data has no array {missing[0]!r}: the signature {signature!r} takes {wanted}")
    shapes = {name: spec.shape or () for name, spec in specs.items()}
    samples = {name: stacked(given[name], shape) for name, shape in shapes.items()}
    counts = {0 if array is None else len(array) for array in samples.values()}
    if 0 in counts or all(fits(given[name].shape, shape) for name, shape in shapes.items()):
        feeds = [given]
    elif len(counts) > 1:
        raise InputError(f"the data holds different numbers of samples: {', '.join(map(str, sorted(counts)))}")
    elif all(shape[:1] == (None,) for shape in shapes.values()):
        feeds = [{name: array.reshape(-1, *array.shape[2:]) for name, array in samples.items() if array is not None}]
    else:
        feeds = [{name: array[at] for name, array in samples.items() if array is not None} for at in range(*counts)]
    return [{name: _fit(name, feed[name], spec) for name, spec in specs.items()} for feed in feeds]


def data_of(samples: Iterable[Arrays], signature: str, specs: Mapping[str, Spec]) -> Arrays | None:
    """Return arrays with the samples in front that have the shapes of the first; None if none is of these inputs."""
    shapes = None
    found: list[Arrays] = []
    for sample in samples:
        one = given_to([signature], specs, sample)
        if len(one) < len(sample) or any(not _is_taken(one.get(name), spec) for name, spec in specs.items()):
            continue
        if shapes in (None, [one[name].shape for name in specs]):
            shapes = [one[name].shape for name in specs]
            found.append(one)
    return {name: np.stack([sample[name] for sample in found]) for name in specs} if found else None


def _is_taken(array: np.ndarray | None, spec: Spec) -> bool:
    return array is not None and (spec.shape is None or fits(array.shape, spec.shape))


def _fit(name: str, array: np.ndarray, spec: Spec) -> np.ndarray:
    """Fit the caller's array to the type that the input has; refuse what would lose more than precision."""
    assert spec.shape is not None
    if not fits(array.shape, spec.shape):
        shape = f"the data for {name!r} has the shape {list(array.shape)}"
        raise InputError(f"{shape}, where the model takes {dims_text(spec.shape)}, or samples of that in a row")
    if spec.dtype == np.dtype(object) and array.dtype.kind in "OSU":
        strings = np.empty(array.shape, object)
        for index in np.ndindex(array.shape):
            strings[index] = as_bytes(array[index])
        return strings
    made = None if spec.dtype == np.dtype(object) else cast(array, spec.dtype)
    if made is None:
        why = f"is {array.dtype}, where the model takes {dtype_name(spec.dtype)}"
        if spec.dtype.kind in "iu" and array.dtype.kind in "iu":
            why = f"holds numbers that {spec.dtype} cannot hold"
        raise InputError(f"the data for {name!r} {why}")
    return made


def load_data(data: str | os.PathLike | Arrays | None) -> Arrays | None:
    if data is None or isinstance(data, Mapping):
        return None if data is None else {name: np.asarray(array) for name, array in data.items()}
    if not isinstance(data, (str, os.PathLike)):
        raise InputError(f"data is an .npz file, or a dict of arrays by the names of inputs, not {type(data).__name__}")
    return read_npz(data, "the data")


def call_original(original: Function, signature: str, feed: Arrays) -> dict[str, np.ndarray]:
    try:
        return original.run(feed)
    except _run_errors() as error:
        shapes = ", ".join(f"{name}{list(array.shape)}" for name, array in feed.items())
        raise InputError(
            f"TensorFlow cannot run the signature {signature!r} on {shapes}: {first_line(error)} "
            "(give sizes with --input-shape NAME=1,28,28, or inputs with --data FILE.npz)"
        ) from error


def _run_errors() -> tuple[type[Exception], ...]:
    """Return what running a model raises: a .tflite file needs no TensorFlow for it."""
    tensorflow = sys.modules.get("tensorflow")
    return (ValueError, TypeError) if tensorflow is None else (ValueError, TypeError, tensorflow.errors.OpError)


def dtype_name(dtype: np.dtype) -> str:
    return "string" if dtype.kind in "OSU" else dtype.name


def dims_text(shape: Sequence[int | None]) -> str:
    return "[" + ",".join("?" if n is None else str(n) for n in shape) + "]"


def as_bytes(text: Any) -> bytes:
    return text.encode() if isinstance(text, str) else bytes(text)
