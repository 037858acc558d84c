"""Inputs to verify a file with: arrays of the caller's, or random ones that the model accepts.

Inputs that the caller does not give are drawn with a fixed seed: floats from the standard normal distribution, whole
numbers of 8 bits from their whole range and others from [0, 8), booleans with even odds, strings of three letters.
Unknown dimensions beyond the batch get the size 7. Both are guesses about a model that may want other ones - fewer
rows in an embedding, an image that survives five strides - so if TensorFlow refuses them smaller numbers, whole numbers
for floats (Keras 2 declares the ids of an embedding as float32) and larger sizes are tried, and only if it refuses them
all the caller is asked for shapes or data.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from fuseconv.errors import InputError
from fuseconv.runners import Arrays, Function, Spec, first_line

_BATCHES = (1, 3)
_SIZES = (7, 32, 64, 224)
_BOUNDS = (8, 2)


class Range(NamedTuple):
    """What is drawn: whole numbers below the first bound; floats below the second, and whole, unless it is None."""

    whole: int
    floats: int | None


Run = tuple[Arrays, dict[str, np.ndarray]]  # inputs, and what the original makes of them


def random_batches(
    original: Function, signature: str, specs: Mapping[str, Spec], dynamic: set[str], random: np.random.Generator
) -> Iterator[list[Run]]:
    """Yield two runs on random inputs that the original accepts; two more with another size of what is not fixed: more
    rows, and twice the other sizes if the original takes that."""
    open_sizes = any(None in (spec.shape or ())[1:] for spec in specs.values())
    whole = any(spec.dtype.kind in "iu" for spec in specs.values())
    floats = any(spec.dtype.kind in "fV" for spec in specs.values())
    sizes: Sequence[int] = _SIZES if open_sizes else _SIZES[:1]
    ranges = [Range(bound, None) for bound in (_BOUNDS if whole else _BOUNDS[:1])]
    ranges += [Range(bound, bound) for bound in _BOUNDS if floats]
    for batch in _BATCHES if dynamic or open_sizes else _BATCHES[:1]:
        first, size, ranges = _accepted(original, signature, specs, batch, sizes, ranges, random)
        second, _, ranges = _accepted(original, signature, specs, batch, (size,), ranges, random)
        yield [first, second]
        sizes = (2 * size, size) if open_sizes else (size,)


def _accepted(
    original: Function,
    signature: str,
    specs: Mapping[str, Spec],
    batch: int,
    sizes: Sequence[int],
    ranges: list[Range],
    random: np.random.Generator,
) -> tuple[Run, int, list[Range]]:
    """Return a run that the original accepts, the size of the unknown dimensions in it, and the ranges of numbers that
    it has not refused: what one draw avoids the next may hit."""
    refusal: InputError | None = None
    for size, (index, limits) in itertools.product(sizes, enumerate(ranges)):
        feed = _draw(specs, batch, size, limits, random)
        try:
            expected = call_original(original, signature, feed)
        except InputError as error:
            refusal = refusal or error
            continue
        # Nothing is compared if the image is used up before the last layer.
        if size == sizes[-1] or any(array.size for array in expected.values()):
            return (feed, expected), size, ranges[index:]
    assert refusal is not None
    raise refusal


def _draw(specs: Mapping[str, Spec], batch: int, size: int, limits: Range, random: np.random.Generator) -> Arrays:
    return {name: _random_array(_shape(spec, batch, size), spec.dtype, limits, random) for name, spec in specs.items()}


def _shape(spec: Spec, batch: int, size: int) -> tuple[int, ...]:
    assert spec.shape is not None
    return tuple((batch if axis == 0 else size) if dim is None else dim for axis, dim in enumerate(spec.shape))


def _random_array(shape: tuple[int, ...], dtype: np.dtype, limits: Range, random: np.random.Generator) -> np.ndarray:
    if dtype == np.dtype(object):
        letters = random.integers(ord("a"), ord("z") + 1, (*shape, 3), dtype=np.uint8)
        array = np.empty(shape, object)
        for index in np.ndindex(shape):
            array[index] = letters[index].tobytes()
        return array
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(np.bool_)
    if dtype.kind in "iu":
        if dtype.itemsize == 1 and limits.whole == _BOUNDS[0]:
            info = np.iinfo(dtype)
            return random.integers(info.min, info.max + 1, shape, dtype=dtype)
        return random.integers(0, limits.whole, shape, dtype=dtype)
    if dtype.kind != "c" and limits.floats is not None:
        return random.integers(0, limits.floats, shape).astype(dtype)
    values = random.standard_normal(shape)
    if dtype.kind == "c":
        values = values + 1j * random.standard_normal(shape)
    return np.asarray(values).astype(dtype)


def given_batches(
    original: Function, signature: str, specs: Mapping[str, Spec], dynamic: set[str], given: Arrays
) -> Iterator[list[Run]]:
    """Yield the caller's arrays twice, and where the batch is dynamic with two more rows, the first ones again, if the
    original takes that: a first dimension need not be the batch."""
    missing = sorted(set(specs) - set(given))
    if missing:
        wanted = ", ".join(f"{name} {dtype_name(s.dtype)}{dims_text(s.shape or ())}" for name, s in specs.items())
        raise InputError(f"the data has no array {missing[0]!r}: the signature {signature!r} takes {wanted}")
    feed = {name: _fit(name, given[name], spec) for name, spec in specs.items()}
    feeds = [feed]
    # Of no rows there are no more to be had.
    if dynamic and all(len(feed[name]) for name in dynamic):
        feeds.append({
            name: np.take(array, np.arange(len(array) + 2) % len(array), 0) if name in dynamic else array
            for name, array in feed.items()
        })  # fmt: skip
    for one in feeds:
        try:
            # Called for each run, as a model may keep state.
            runs: list[Run] = [(one, call_original(original, signature, one)) for _ in range(2)]
        except InputError:
            if one is feed:
                raise
            continue
        yield runs


def _fit(name: str, array: np.ndarray, spec: Spec) -> np.ndarray:
    """Fit the caller's array to the type that the input has; refuse what would lose more than precision."""
    assert spec.shape is not None
    if array.ndim != len(spec.shape) or any(d not in (None, n) for d, n in zip(spec.shape, array.shape, strict=True)):
        shape = f"the data for {name!r} has the shape {list(array.shape)}"
        raise InputError(f"{shape}, where the model takes {dims_text(spec.shape)}")
    if spec.dtype == np.dtype(object) and array.dtype.kind in "OSU":
        strings = np.empty(array.shape, object)
        for index in np.ndindex(array.shape):
            strings[index] = as_bytes(array[index])
        return strings
    if spec.dtype == np.dtype(object) or not np.can_cast(array.dtype, spec.dtype, "same_kind"):
        raise InputError(f"the data for {name!r} is {array.dtype}, where the model takes {dtype_name(spec.dtype)}")
    cast = array.astype(spec.dtype)
    if spec.dtype.kind in "iu" and not np.array_equal(cast, array):
        raise InputError(f"the data for {name!r} holds numbers that {spec.dtype} cannot hold")
    return cast


def load_data(data: str | os.PathLike | Arrays | None) -> Arrays | None:
    if data is None or isinstance(data, Mapping):
        return None if data is None else {name: np.asarray(array) for name, array in data.items()}
    import zipfile

    path = os.fspath(data)
    try:
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            raise InputError(f"{path} holds one array without a name: save it with numpy.savez(file, NAME=array)")
        with loaded as archive:
            return {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"cannot read the data {path}: {first_line(error)}") from error


def call_original(original: Function, signature: str, feed: Arrays) -> dict[str, np.ndarray]:
    import tensorflow as tf

    try:
        return original.run(feed)
    except (tf.errors.OpError, ValueError, TypeError) as error:
        shapes = ", ".join(f"{name}{list(array.shape)}" for name, array in feed.items())
        raise InputError(
            f"TensorFlow cannot run the signature {signature!r} on {shapes}: {first_line(error)} "
            "(give sizes with --input-shape NAME=1,28,28, or inputs with --data FILE.npz)"
        ) from error


def dtype_name(dtype: np.dtype) -> str:
    return "string" if dtype.kind in "OSU" else dtype.name


def dims_text(shape: Sequence[int | None]) -> str:
    return "[" + ",".join("?" if n is None else str(n) for n in shape) + "]"


def as_bytes(text: Any) -> bytes:
    return text.encode() if isinstance(text, str) else bytes(text)
