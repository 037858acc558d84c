"""Runs the model in TensorFlow and the converted file in LiteRT on the same inputs, and compares the outputs.

Each signature of the file runs twice in a row in one interpreter, with different inputs, so that state that leaks from
one invoke to the next shows; where a size is not fixed it is then resized and runs twice again.

Inputs that the caller does not give are drawn with a fixed seed: floats from the standard normal distribution, whole
numbers of 8 bits from their whole range and others from [0, 8), booleans with even odds, strings of three letters.
Unknown dimensions beyond the batch get the size 7. Both are guesses about a model that may want other ones - fewer
rows in an embedding, an image that survives five strides - so if TensorFlow refuses them smaller numbers, whole numbers
for floats (Keras 2 declares the ids of an embedding as float32) and larger sizes are tried, and only if it refuses them
all the caller is asked for shapes or data.

TensorFlow runs the model's own graph, and a Keras file's own layers: verify only what you would run.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fuseconv.errors import FuseconvError, InputError, VerificationError
from fuseconv.fuse.plugins import load_registry
from fuseconv.runners import Arrays, Dims, Function, Spec, TFLiteFile, first_line, original_functions

# Two correct float32 programs differ by the order of their sums: by some 1e-7 of the largest value for an op, and by
# 1e-5 after a hundred layers. A wrong program differs by far more than 1e-4 of it.
RTOL = 1e-4
ATOL = 1e-6

_BATCHES = (1, 3)
_SIZES = (7, 32, 64, 224)
_BOUNDS = (8, 2)


class Range(NamedTuple):
    """What is drawn: whole numbers below the first bound; floats below the second, and whole, unless it is None."""

    whole: int
    floats: int | None


@dataclass
class Comparison:
    """One output over all runs.

    absolute: the largest difference; relative: the largest quotient of a run's largest difference and its largest
    expected value. None if the arrays could not be compared or it is not finite. why: what failed, else empty.
    """

    signature: str
    output: str
    dtype: str
    shapes: list[tuple[int, ...]] = field(default_factory=list)
    absolute: float | None = 0.0
    relative: float | None = 0.0
    why: str = ""

    @property
    def passed(self) -> bool:
        return not self.why

    def add(self, expected: np.ndarray, actual: np.ndarray, atol: float, rtol: float) -> None:
        """Takes in one run."""
        if expected.shape not in self.shapes:
            self.shapes.append(expected.shape)
        absolute, relative, why = compare(expected, actual, atol, rtol)
        self.absolute = None if absolute is None or self.absolute is None else max(absolute, self.absolute)
        self.relative = None if relative is None or self.relative is None else max(relative, self.relative)
        self.why = self.why or why


@dataclass
class Verification:
    """The result: each output of each signature, and what was run: (signature, shapes of its inputs, invokes)."""

    model: str
    file: str
    atol: float
    rtol: float
    outputs: list[Comparison] = field(default_factory=list)
    runs: list[tuple[str, dict[str, tuple[int, ...]], int]] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return all(output.passed for output in self.outputs)

    @property
    def failure(self) -> VerificationError | None:
        """What to raise if an output differs by more than the tolerance."""
        failed = [output for output in self.outputs if not output.passed]
        if not failed:
            return None
        first = failed[0]
        where = f"the output {first.output!r} of the signature {first.signature!r}"
        return VerificationError(
            f"{len(failed)} of {len(self.outputs)} outputs differ from the model: {where} has {first.why}"
        )

    def check(self) -> None:
        """Raises VerificationError if an output differs by more than the tolerance."""
        if self.failure:
            raise self.failure

    def to_json(self) -> dict[str, Any]:
        """A document of JSON's own types.

        `model` and `file`: the paths; `passed`; `atol` and `rtol`: an output passes if
        |actual - expected| <= atol + rtol * max|expected| for each element of each run; `runs`: `{"signature",
        "inputs": {name: shape}, "invokes"}`; `outputs`: `{"signature", "output", "type", "shapes", "absolute",
        "relative", "passed", "why"}` with the largest differences over all runs, null where they are not finite.
        """
        return {
            "model": self.model,
            "file": self.file,
            "passed": self.passed,
            "atol": self.atol,
            "rtol": self.rtol,
            "runs": [
                {"signature": signature, "inputs": {name: list(shape) for name, shape in shapes.items()}, "invokes": n}
                for signature, shapes, n in self.runs
            ],
            "outputs": [
                {
                    "signature": output.signature,
                    "output": output.output,
                    "type": output.dtype,
                    "shapes": [list(shape) for shape in output.shapes],
                    "absolute": output.absolute,
                    "relative": output.relative,
                    "passed": output.passed,
                    "why": output.why,
                }
                for output in self.outputs
            ],
        }


def compare(
    expected: np.ndarray, actual: np.ndarray, atol: float = ATOL, rtol: float = RTOL
) -> tuple[float | None, float | None, str]:
    """(largest absolute difference, that over the largest |expected|, what is wrong or "") of two arrays.

    Floats pass if every |actual - expected| <= atol + rtol * max|expected|, over the finite elements; infinities and
    NaN must stand in the same places. Whole numbers, booleans and strings must be equal. Shapes and types must agree.
    """
    if expected.dtype.kind in "OSU" and actual.dtype.kind in "OSU":
        if expected.shape != actual.shape:
            return None, None, f"the shape {list(actual.shape)} instead of {list(expected.shape)}"
        wrong = sum(_as_bytes(a) != _as_bytes(b) for a, b in zip(expected.flat, actual.flat, strict=True))
        return (None, None, f"{wrong} of {expected.size} strings wrong") if wrong else (0.0, 0.0, "")
    if expected.dtype != actual.dtype:
        return None, None, f"the type {actual.dtype} instead of {expected.dtype}"
    if expected.shape != actual.shape:
        return None, None, f"the shape {list(actual.shape)} instead of {list(expected.shape)}"
    exact = expected.dtype.kind in "biu"
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    want, have = expected.astype(wide), actual.astype(wide)
    finite = np.isfinite(want) & np.isfinite(have)
    same = finite | (want == have) | (np.isnan(want) & np.isnan(have))
    if not same.all():
        return None, None, f"{np.count_nonzero(~same)} of {same.size} elements NaN or infinite on one side only"
    difference = np.subtract(want, have, out=np.zeros_like(want), where=finite)
    absolute = float(np.max(np.abs(difference), initial=0.0))
    largest = float(np.max(np.abs(want), where=finite, initial=0.0))
    relative = absolute / largest if largest else (0.0 if absolute == 0 else math.inf)
    finite_relative = relative if math.isfinite(relative) else None
    # int64 does not fit float64: equality decides, the difference is for show.
    wrong = int(np.count_nonzero(expected != actual)) if exact else 0
    if wrong:
        return absolute, finite_relative, f"{wrong} of {expected.size} elements wrong by up to {absolute:g}"
    if not exact and absolute > atol + rtol * largest:
        return absolute, finite_relative, f"a difference of {absolute:.3g} where {atol + rtol * largest:.3g} is allowed"
    return absolute, finite_relative, ""


def verify(
    model: str | os.PathLike,
    tflite: str | os.PathLike | bytes,
    *,
    data: str | os.PathLike | Arrays | None = None,
    atol: float = ATOL,
    rtol: float = RTOL,
    signatures: Sequence[str] = (),
    tags: Sequence[str] = (),
    input_shapes: Mapping[str, Sequence[int | None]] | None = None,
    plugins: Sequence[str] = (),
    trust_model: bool = False,
    follow_links: bool = False,
    seed: int = 0,
) -> Verification:
    """Compares a model with the file that was made from it; see the module's docstring for how.

    model: what `convert` takes. tflite: the file's path, or its bytes. data: an .npz file, or arrays, by input name, to
    run instead of random ones (the second batch then has two rows more, the first ones again). signatures: those to
    run, by default every one of the file, or every one that the data serves. tags, plugins, trust_model,
    follow_links: as for `convert`. input_shapes: sizes for dimensions that the model leaves open.

    Returns the differences; call `.check()` to fail on them. Raises InputError if the model or the data cannot be
    used, and VerificationError if the file cannot be run or is not a conversion of the model.
    """
    for option, tolerance in (("atol", atol), ("rtol", rtol)):
        if not 0 <= tolerance < math.inf:
            raise InputError(f"{option} is {tolerance}, which is no tolerance")
    file = TFLiteFile(tflite)
    names = _signature_names(file, signatures)
    custom_objects = load_registry(plugins).custom_objects if plugins else None
    originals = original_functions(
        Path(model), file, tags=tags, trust_model=trust_model, follow_links=follow_links, custom_objects=custom_objects
    )
    given = _load_data(data)
    if given is not None and not signatures:
        names = [name for name in names if set(file.inputs(name)) <= set(given)] or names[:1]
    unknown = set(input_shapes or ()) - {name for signature in names for name in file.inputs(signature)}
    if unknown:
        raise InputError(f"--input-shape: no signature that runs has an input {', '.join(sorted(unknown))}")
    result = Verification(os.fspath(model), "" if isinstance(tflite, bytes) else os.fspath(tflite), atol, rtol)
    for name in names:
        if name not in originals:
            raise VerificationError(f"{result.file or 'the file'} has a signature {name!r}, which the model has not")
        _verify_signature(result, name, originals[name], file, given, dict(input_shapes or {}), seed)
    return result


def _verify_signature(
    result: Verification,
    signature: str,
    original: Function,
    file: TFLiteFile,
    given: Arrays | None,
    shapes: Mapping[str, Sequence[int | None]],
    seed: int,
) -> None:
    specs = _agree(signature, original.inputs, file.inputs(signature), shapes, given or {})
    dynamic = {name for name, spec in specs.items() if spec.shape and spec.shape[0] is None}
    if given is None:
        batches = _random_batches(original, signature, specs, dynamic, np.random.default_rng(seed))
    else:
        batches = _given_batches(original, signature, specs, dynamic, given)
    rows: dict[str, Comparison] = {}
    for batch in batches:
        count = 0
        for feed, expected in batch:
            actual = file.run(signature, feed)
            missing = sorted(set(expected) ^ set(actual))
            if missing:
                raise VerificationError(
                    f"the outputs of the signature {signature!r} differ: {', '.join(missing)} is not in both"
                )
            for name, array in expected.items():
                row = rows.setdefault(name, Comparison(signature, name, _dtype_name(array.dtype)))
                row.add(array, actual[name], result.atol, result.rtol)
            count += 1
        result.runs.append((signature, {name: array.shape for name, array in feed.items()}, count))
    failed = [row for row in rows.values() if not row.passed]
    if failed:
        # Of random numbers, or state that counts, no file can make the same.
        again = _call(original, signature, feed)
        for row in failed:
            if compare(expected[row.output], again[row.output], result.atol, result.rtol)[2]:
                row.why += "; run again on the same inputs, the model differs from itself too"
    result.outputs.extend(rows.values())


def _agree(
    signature: str,
    model: Mapping[str, Spec],
    file: Mapping[str, Spec],
    shapes: Mapping[str, Sequence[int | None]],
    given: Arrays,
) -> dict[str, Spec]:
    """What each input takes by what the model, the file and the caller say; a known size wins over an unknown one."""
    differing = sorted(set(model) ^ set(file))
    if differing:
        raise VerificationError(
            f"the inputs of the signature {signature!r} differ: {', '.join(differing)} is not in both model and file"
        )
    specs = {}
    for name, spec in model.items():
        if spec.dtype != file[name].dtype:
            types = f"{_dtype_name(spec.dtype)} in the model and {_dtype_name(file[name].dtype)} in the file"
            raise VerificationError(f"the input {name!r} is {types}")
        # The file says [] of an input whose rank the model does not tell.
        shape = _merge(spec.shape, file[name].shape or spec.shape, name, "the file", VerificationError)
        shape = _merge(shape, shapes.get(name), name, "--input-shape", InputError)
        if shape is None and name in given:
            shape = (None,) * given[name].ndim
        if shape is None:
            raise InputError(f"the rank of the input {name!r} is not known: give --input-shape {name}=...")
        specs[name] = Spec(spec.dtype, shape)
    return specs


def _merge(
    known: Dims | None, other: Sequence[int | None] | None, name: str, who: str, error: type[FuseconvError]
) -> Dims | None:
    if known is None or other is None:
        return known if other is None else tuple(other)
    if len(other) != len(known) or any(a != b and None not in (a, b) for a, b in zip(known, other, strict=True)):
        raise error(f"the input {name!r} has the shape {_dims(known)} in the model, and {_dims(other)} by {who}")
    return tuple(b if a is None else a for a, b in zip(known, other, strict=True))


Run = tuple[Arrays, dict[str, np.ndarray]]  # inputs, and what the original makes of them


def _random_batches(
    original: Function, signature: str, specs: Mapping[str, Spec], dynamic: set[str], random: np.random.Generator
) -> Iterator[list[Run]]:
    """Two runs on random inputs that the original accepts; two more with another size of what is not fixed: more rows,
    and twice the other sizes if the original takes that."""
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
    """A run that the original accepts, the size of the unknown dimensions in it, and the ranges of numbers that it has
    not refused: what one draw avoids the next may hit."""
    refusal: InputError | None = None
    for size, (index, limits) in itertools.product(sizes, enumerate(ranges)):
        feed = _draw(specs, batch, size, limits, random)
        try:
            expected = _call(original, signature, feed)
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


def _given_batches(
    original: Function, signature: str, specs: Mapping[str, Spec], dynamic: set[str], given: Arrays
) -> Iterator[list[Run]]:
    """The caller's arrays twice, and where the batch is dynamic with two more rows, the first ones again, if the
    original takes that: a first dimension need not be the batch."""
    missing = sorted(set(specs) - set(given))
    if missing:
        wanted = ", ".join(f"{name} {_dtype_name(s.dtype)}{_dims(s.shape or ())}" for name, s in specs.items())
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
            runs: list[Run] = [(one, _call(original, signature, one)) for _ in range(2)]
        except InputError:
            if one is feed:
                raise
            continue
        yield runs


def _fit(name: str, array: np.ndarray, spec: Spec) -> np.ndarray:
    """The caller's array with the type that the input has; refuses what would lose more than precision."""
    assert spec.shape is not None
    if array.ndim != len(spec.shape) or any(d not in (None, n) for d, n in zip(spec.shape, array.shape, strict=True)):
        shape = f"the data for {name!r} has the shape {list(array.shape)}"
        raise InputError(f"{shape}, where the model takes {_dims(spec.shape)}")
    if spec.dtype == np.dtype(object) and array.dtype.kind in "OSU":
        strings = np.empty(array.shape, object)
        for index in np.ndindex(array.shape):
            strings[index] = _as_bytes(array[index])
        return strings
    if spec.dtype == np.dtype(object) or not np.can_cast(array.dtype, spec.dtype, "same_kind"):
        raise InputError(f"the data for {name!r} is {array.dtype}, where the model takes {_dtype_name(spec.dtype)}")
    cast = array.astype(spec.dtype)
    if spec.dtype.kind in "iu" and not np.array_equal(cast, array):
        raise InputError(f"the data for {name!r} holds numbers that {spec.dtype} cannot hold")
    return cast


def _load_data(data: str | os.PathLike | Arrays | None) -> Arrays | None:
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


def _call(original: Function, signature: str, feed: Arrays) -> dict[str, np.ndarray]:
    import tensorflow as tf

    try:
        return original.run(feed)
    except (tf.errors.OpError, ValueError, TypeError) as error:
        shapes = ", ".join(f"{name}{list(array.shape)}" for name, array in feed.items())
        raise InputError(
            f"TensorFlow cannot run the signature {signature!r} on {shapes}: {first_line(error)} "
            "(give sizes with --input-shape NAME=1,28,28, or inputs with --data FILE.npz)"
        ) from error


def _signature_names(file: TFLiteFile, wanted: Sequence[str]) -> list[str]:
    """The signatures to run: those asked for, else each of the file but second names of the same subgraph."""
    for name in wanted:
        if name not in file.signatures:
            there = ", ".join(filter(None, file.signatures)) or "none"
            raise InputError(f"{file.name} has no signature {name!r}; it has {there}")
    if wanted:
        return list(dict.fromkeys(wanted))
    by_subgraph: dict[tuple, str] = {}
    for name, (subgraph, inputs, outputs) in file.signatures.items():
        key = (subgraph, tuple(sorted(inputs.items())), tuple(sorted(outputs.items())))
        if key not in by_subgraph or name == "serving_default":
            by_subgraph[key] = name
    return list(by_subgraph.values())


def _dtype_name(dtype: np.dtype) -> str:
    return "string" if dtype.kind in "OSU" else dtype.name


def _dims(shape: Sequence[int | None]) -> str:
    return "[" + ",".join("?" if n is None else str(n) for n in shape) + "]"


def _as_bytes(text: Any) -> bytes:
    return text.encode() if isinstance(text, str) else bytes(text)
