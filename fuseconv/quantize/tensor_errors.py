"""Run a file of floats and a quantized one on the same samples, and compare their tensors."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from fuseconv.child import survive
from fuseconv.quantize.floats import Guards
from fuseconv.quantize.samples import Sample


@dataclass
class TensorError:
    """How a tensor differs from that of floats, over all elements of all samples.

    largest, mean: of the absolute differences. range: the largest float less the least. cosine: of the angle between
    both, 1 where they agree. sqnr: signal to noise in decibels; None where there is no noise, or no signal.
    saturated: the part of the floats that lie beyond what the quantized tensor can hold. held: the largest difference,
    where such floats are taken for the end that they lie beyond: their readers may tell no more apart. Elements that
    are infinite or NaN in one tensor alone differ by infinity; range, cosine and signal are of the others."""

    largest: float = 0.0
    held: float = 0.0
    count: int = 0
    least_float: float = math.inf
    largest_float: float = -math.inf
    _sums: np.ndarray = field(default_factory=lambda: np.zeros(6))

    def add(self, floats: np.ndarray, others: np.ndarray, ends: tuple[float, float]) -> None:
        """Take in the tensor of one sample. ends: the least and the largest number that the other one can hold."""
        want, have = floats.astype(np.float64), others.astype(np.float64)
        difference = _differences(want, have)
        self.largest = max(self.largest, float(difference.max(initial=0.0)))
        self.held = max(self.held, float(_differences(np.clip(want, *ends), have).max(initial=0.0)))
        self.count += want.size
        beyond = np.count_nonzero((want < ends[0]) | (want > ends[1]))
        finite = np.isfinite(want) & np.isfinite(have)
        want, have = want[finite], have[finite]
        self.least_float = min(self.least_float, float(want.min(initial=math.inf)))
        self.largest_float = max(self.largest_float, float(want.max(initial=-math.inf)))
        self._sums += [
            difference.sum(), (difference**2).sum(), (want**2).sum(), (have**2).sum(), (want * have).sum(), beyond
        ]  # fmt: skip

    @property
    def mean(self) -> float:
        return float(self._sums[0]) / max(self.count, 1)

    @property
    def range(self) -> float:
        return max(self.largest_float - self.least_float, 0.0)

    @property
    def relative(self) -> float:
        """Return the largest difference as a part of the range; infinite if there is no range."""
        return self.largest / self.range if self.range else (math.inf if self.largest else 0.0)

    @property
    def sqnr(self) -> float | None:
        noise, signal = self._sums[1], self._sums[2]
        if np.isinf(noise):
            return -math.inf
        return 10 * math.log10(signal / noise) if noise and signal else None

    @property
    def cosine(self) -> float | None:
        product = math.sqrt(self._sums[2]) * math.sqrt(self._sums[3])
        return float(self._sums[4]) / product if product else None

    @property
    def saturated(self) -> float:
        return float(self._sums[5]) / max(self.count, 1)

    def to_json(self) -> dict[str, Any]:
        return {
            "max": self.largest, "held": self.held, "mean": self.mean, "range": self.range, "relative": self.relative,
            "sqnr": self.sqnr, "cosine": self.cosine, "saturated": self.saturated,
        }  # fmt: skip


def _differences(want: np.ndarray, have: np.ndarray) -> np.ndarray:
    """Return the absolute differences: 0 where both are the same infinity or NaN, infinity where one is."""
    with np.errstate(invalid="ignore"):
        made = np.abs(want - have)
    if np.isfinite(made).all():
        return made
    same = (want == have) | (np.isnan(want) & np.isnan(have))
    return np.where(same, 0.0, np.where(np.isnan(made), np.inf, made))


def compare_tensors(
    floats: bytes, quantized: bytes, pairs: Mapping[str, str], samples: Iterable[Sample], inputs: Iterable[str],
    guards: Mapping[str, Guards] = MappingProxyType({}), tries: bool = True,
) -> dict[str, TensorError]:  # fmt: skip
    """Return the errors of tensors, by their names in the file of floats. Those of a loop's body are compared as its
    last iteration leaves them; those of a branch, for the samples that run it in both files.

    pairs: names in the quantized file by those in the file of floats. Left out are tensors that one of the files lacks,
    that hold no numbers, or whose name several subgraphs have. inputs: the names of the inputs, in their
    order, by which samples hold them. guards: the conditions of branches, by the names of tensors in the file of
    floats: where they do not hold, these are as another sample left them. tries: whether the first sample runs in a
    child process first.
    Raises RuntimeError or ValueError if LiteRT cannot run a file."""
    names = list(inputs)
    if tries:
        _survive((floats, quantized), names, samples)
    one, other = _Runner(floats), _Runner(quantized)
    known = {a: b for a, b in pairs.items() if a in one.places and b in other.places}
    errors = {name: TensorError() for name in known}
    for sample in samples:
        for runner in (one, other):
            runner.run([np.asarray(sample[name]) for name in names])
        for name, theirs in known.items():
            if not all(_runs(one, other, pairs, *each) for each in guards.get(name, ())):
                continue
            want, have = one.tensor(name), other.tensor(theirs)
            if want is not None and have is not None and want.shape == have.shape:
                errors[name].add(want, have, other.ends(theirs))
    return {name: error for name, error in errors.items() if error.count}


def _survive(files: Sequence[bytes], names: Sequence[str], samples: Iterable[Sample]) -> None:
    """Run the first sample in a child process. Raises RuntimeError if LiteRT ends that."""
    import ai_edge_litert.interpreter  # noqa: F401  (the child need not load it)

    def run() -> None:
        for sample in itertools.islice(samples, 1):
            for file in files:
                _Runner(file).run([np.asarray(sample[name]) for name in names])

    survive(run, sum(map(len, files)))


def _runs(one: _Runner, other: _Runner, pairs: Mapping[str, str], condition: str, wanted: bool) -> bool:
    """Return whether a condition is as wanted in both files."""
    return one.flag(condition) is wanted and other.flag(pairs.get(condition, "")) is wanted


class _Runner:
    """A file in LiteRT without delegates, all of whose tensors can be read after a run."""

    def __init__(self, data: bytes) -> None:
        from ai_edge_litert.interpreter import Interpreter, OpResolverType

        self.interpreter = Interpreter(
            model_content=data, experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
            experimental_preserve_all_tensors=True,
        )  # fmt: skip
        self.places: dict[str, dict[str, Any]] = {}
        # By the names of tensors, the subgraphs that they belong to.
        self.subgraphs: dict[str, int] = {}
        names: Counter[str] = Counter()
        for subgraph in range(self.interpreter._interpreter.NumSubgraphs()):
            for detail in self.interpreter.get_tensor_details(subgraph):
                names[detail["name"]] += 1
                self.places[detail["name"]], self.subgraphs[detail["name"]] = detail, subgraph
        for name in [name for name, count in names.items() if count > 1]:
            del self.places[name]
        self.shapes: list[tuple[int, ...]] | None = None

    def run(self, arrays: list[np.ndarray]) -> None:
        details = self.interpreter.get_input_details()
        shapes = [array.shape for array in arrays]
        if shapes != self.shapes:
            for detail, shape in zip(details, shapes, strict=True):
                self.interpreter.resize_tensor_input(detail["index"], shape)
            self.interpreter.allocate_tensors()
            self.shapes = shapes
        for detail, array in zip(details, arrays, strict=True):
            scale, zero_point = detail["quantization"]
            if scale and array.dtype.kind == "f" and np.dtype(detail["dtype"]).kind in "iu":
                ends = np.iinfo(detail["dtype"])
                array = np.clip(np.rint(array / scale) + zero_point, ends.min, ends.max).astype(ends.dtype)
            self.interpreter.set_tensor(detail["index"], array)
        self.interpreter.invoke()

    def tensor(self, name: str) -> np.ndarray | None:
        """Return the floats that a tensor holds or stands for; None if it has none."""
        detail = self.places[name]
        scale, zero_point = detail["quantization"]
        kind = np.dtype(detail["dtype"]).kind
        if kind != "f" and not (scale and kind in "iu"):
            return None
        try:
            array = self.interpreter.get_tensor(detail["index"], self.subgraphs[name])
        except ValueError:  # nothing has made it: it belongs to a branch that was not taken, or has no elements
            return None
        return array if kind == "f" else (array.astype(np.float64) - zero_point) * scale

    def flag(self, name: str) -> bool | None:
        """Return the bool that a tensor holds; None if it holds none."""
        detail = self.places.get(name)
        if detail is None or detail["dtype"] is not np.bool_:
            return None
        return bool(self.interpreter.get_tensor(detail["index"], self.subgraphs[name]).all())

    def ends(self, name: str) -> tuple[float, float]:
        """Return the numbers that a tensor can hold, and half a step more."""
        detail = self.places[name]
        scale, zero_point = detail["quantization"]
        if np.dtype(detail["dtype"]).kind == "f":
            return -math.inf, math.inf
        limits = np.iinfo(detail["dtype"])
        return (limits.min - 0.5 - zero_point) * scale, (limits.max + 0.5 - zero_point) * scale
