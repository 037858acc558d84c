"""How exact a tensor must be: which part of its range its readers tell apart, and which steps of integers they bear.

Bounds come from derivatives, and the ranges that were measured. They are about errors that make a result useless, not
about the best scales: a tensor of integers always has an error of half a step."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Op, Value
from fuseconv.ir.terms import either_way, look_through, op_of
from fuseconv.quantize.affine import Range, as_floats, step_of
from fuseconv.tfl.integer import LSTM, READS_SHAPE, Kernels
from fuseconv.tfl.linear import LAYOUTS
from fuseconv.tfl.traits import RESHAPES, activation_of

# A step may be as large a part of the largest number that is made of it.
_PART = {types.INT8: 1 / 16, types.INT16: 1 / 160}
# The same of the least number, away from zero, where a function is steep at zero.
_PART_OF_LEAST = {types.INT8: 1 / 4, types.INT16: 1 / 32}
# Steps of exponents that softmax is not computed on; of other exponents, and of angles; of what is rounded to integers.
_COARSE_LOGITS = {types.INT8: 1.0, types.INT16: 1 / 16}
_COARSE_EXPONENTS = {types.INT8: 1 / 8, types.INT16: 1 / 64}
_COARSE_INTEGERS = 1 / 4
# Most of the time and the bytes of a model are its products with weights: these bear as many times larger steps.
_SLACK_OF_SUMS = 4
# The error of sums that weights of int8 make, as a part of the largest sum.
_OF_WEIGHTS = 1 / 350
# Weights have 8 bits beside activations of 16, too. Beside such of 8, twice the errors are a tenth of the result's.
_SLACK_OF_WEIGHTS = {types.INT8: 2, types.INT16: 1}
# An output whose numbers differ by less is a constant; what matters of others is by how much they differ.
_CONSTANT = 1e-3
# Ops whose results differ by no more than their operands do.
_HAND_ON = frozenset({
    "ABS", "ADD", "ELU", "GELU", "HARD_SWISH", "LEAKY_RELU", "PRELU", "RELU", "RELU6", "RELU_0_TO_1",
    "RELU_N1_TO_1", "SUB",
})  # fmt: skip
_ROUND = frozenset({"CAST", "CEIL", "FLOOR", "FLOOR_DIV", "FLOOR_MOD", "ROUND"})
# Beyond these, an op's results are as at them.
_LIMITS = {
    "HARD_SWISH": (-3.0, math.inf), "RELU": (0.0, math.inf), "RELU6": (0.0, 6.0), "RELU_0_TO_1": (0.0, 1.0),
    "RELU_N1_TO_1": (-1.0, 1.0),
}  # fmt: skip


_RESHAPES = frozenset(f"tfl.{name}" for name in RESHAPES)

# An error that is as large a part of the largest number leaves little of a tensor.
_LOST = 1 / 8
# A step that goes as often into what is borne leaves room for the errors of what is read.
_ENOUGH_ROOM = 1.25
# What they make of a coarse step is no small part of their results, however large these are.
_SHARP = frozenset({"CAST", "COS", "EXP", "POW", "SIN", "SOFTMAX"})
# They hand on few of many numbers, such as the last step: the largest of these are no sharp bound of later ones, which
# those of all steps make wider.
_PICKS = frozenset({"GATHER", "GATHER_ND", "SLICE", "SPLIT", "SPLIT_V", "STRIDED_SLICE", "UNPACK"})
_ROOM_OF_PARTS = 1.25
# They move no numbers on: averages of parts are no parts of averages.
AVERAGES = frozenset({"AVERAGE_POOL_2D", "RESIZE_BILINEAR"})


def narrow_ranges(graph: Graph, ranges: MutableMapping[Value, Range], kernels: Kernels) -> dict[Value, Range]:
    """Leave out of ranges what no reader tells apart: a gate of an LSTM may reach 50, where 6 make a LOGISTIC of 1.
    Return those that were wider. A fused LSTM reads in each step what it made in the one before: all of it counts."""
    limits = _limits(kernels)
    wider: dict[Value, Range] = {}
    everything = -math.inf, math.inf
    for op in reversed(graph.ops):
        if op.type == LSTM:
            continue
        for value in op.results:
            found = ranges.get(value)
            if found is None or found.fixed:
                continue
            readers = [reader for reader in value.uses if reader.type not in READS_SHAPE]
            told = [_told_apart(reader, ranges, wider, limits, kernels) for reader in readers]
            least = min((each[0] for each in told), default=everything[0])
            largest = max((each[1] for each in told), default=everything[1])
            if least > found.least or largest < found.largest:
                wider[value] = found
                # Of a range that lies outside, the nearer end is left.
                low, high = (min(max(end, least), largest) for end in (found.least, found.largest))
                ranges[value] = Range(low, high)
    return wider


def _limits(kernels: Kernels) -> dict[str, tuple[float, float]]:
    """Return by types of ops the operands beyond which results are less than half a step from where they end."""
    steps = {name: how.scale[0] for name, how in kernels.fixed_scale.items()}
    logistic, tanh = math.log(2 / steps["LOGISTIC"] - 1), math.atanh(1 - steps["TANH"] / 2)
    return {**_LIMITS, "LOGISTIC": (-logistic, logistic), "TANH": (-tanh, tanh)}


def _told_apart(
    reader: Op, ranges: Mapping[Value, Range], wider: Mapping[Value, Range],
    limits: Mapping[str, tuple[float, float]], kernels: Kernels,
) -> tuple[float, float]:  # fmt: skip
    """Return the ends of the range in which an op tells its operands apart. wider: what was narrowed already."""
    if reader.type in limits:
        return limits[reader.type]
    if reader.type == "SOFTMAX":
        return _least_that_counts(reader, ranges, kernels), math.inf
    hands_on = kernels.moves(reader) and reader.type not in AVERAGES
    # What reads the results is known by now: their ranges are what it tells apart, or hold more than the operand does.
    known = [ranges.get(value) for value in reader.results] if hands_on else [None]
    if any(each is None for each in known):
        return -math.inf, math.inf
    # What is narrower for another reason ends where that one says.
    room = [1.0 if value in wider or reader.type not in _PICKS else _ROOM_OF_PARTS for value in reader.results]
    return (
        min(min(by * each.least, each.least) for by, each in zip(room, known) if each),
        max(max(by * each.largest, each.largest) for by, each in zip(room, known) if each),
    )


def _least_that_counts(softmax: Op, ranges: Mapping[Value, Range], kernels: Kernels) -> float:
    """Return a number below which operands of a SOFTMAX make less than half a step of its results, where a constant
    mask is added to scores (of windows that are shifted, say): no row's largest number is below the least score."""
    (x,) = softmax.operands
    assert x is not None
    moved = look_through(x, _RESHAPES)
    masked = op_of(moved, "tfl.ADD")
    if masked is None or activation_of(masked) != "NONE" or not x.shape or not moved.shape:
        return -math.inf
    beta = softmax.attrs.get("beta", 0.0)
    if moved.shape[-1] != x.shape[-1] or not beta > 0:  # files of others may have any number, or none
        return -math.inf
    half_a_step = math.log(2 / kernels.fixed_scale["SOFTMAX"].scale[0]) / beta
    for scores, mask in either_way(masked):
        found = ranges.get(scores)
        if found is not None and mask.data is not None and mask.data.size > 1 and not np.isnan(mask.data).any():
            return found.least + float(mask.data.max(axis=-1).min()) - half_a_step
    return -math.inf


def coarse_ops(
    graph: Graph, ranges: Mapping[Value, Range], wider: Mapping[Value, Range], kernels: Kernels, is_main: bool
) -> dict[Op, str]:
    """Return the ops that stay float, and why: the steps of integers are too coarse for what they read, or for what is
    made of their results. wider: ranges that were narrowed. is_main: what the graph returns is an output of the
    model."""
    bounds = _Bounds(ranges, wider, kernels)
    if is_main:
        bounds.begin(graph.outputs)
    for op in reversed(graph.ops):
        if op.type not in READS_SHAPE:
            bounds.visit(op)
    return bounds.coarse


class _Bounds:
    """The largest steps that the readers of tensors bear, from the last op to the first."""

    def __init__(self, ranges: Mapping[Value, Range], wider: Mapping[Value, Range], kernels: Kernels) -> None:
        self.ranges, self.wider, self.kernels, self.dtype = ranges, wider, kernels, kernels.activations
        self.borne: dict[Value, float] = {}
        self.coarse: dict[Op, str] = {}
        # What ops read that make errors of any size of a step that is too coarse.
        self.sharp: set[Value] = set()

    def begin(self, outputs: Iterable[Value]) -> None:
        for value in outputs:
            found = self.ranges.get(value)
            if found is not None and found.largest - found.least > _CONSTANT * abs(found):
                self.borne[value] = _PART[self.dtype] * (found.largest - found.least)

    def visit(self, op: Op) -> None:
        """Note how large the errors of an op's operands may be for those of its results to be borne, and the op itself
        if the steps of integers make larger ones."""
        results = [value for value in op.results if value in self.ranges]
        wanted = min((self.borne.get(value, math.inf) for value in results), default=math.inf)
        least = _PART[self.dtype] * max((abs(self.ranges[value]) for value in results), default=0.0) or math.inf
        sharp = op.type in _SHARP
        slack = _SLACK_OF_SUMS if op.type in LAYOUTS and self.sharp.isdisjoint(results) else 1
        # How often the step of a result goes into what is borne.
        rooms = [self.borne.get(value, math.inf) / step for value in results if (step := self._step(value))]
        room = min(rooms, default=math.inf)
        if room * slack < 1:
            self.coarse[op] = f"the steps of {self.dtype} are coarse for what is made of its results"
            sharp = sharp or not self.sharp.isdisjoint(results)
        elif op.type in LAYOUTS and (largest := self._beyond(op.result, wanted, least)):
            self.coarse[op] = f"its results reach {largest:.3g}, and smaller ones matter alone"
            wanted = min(wanted, least)
        elif room >= _ENOUGH_ROOM:
            # Errors of ops cancel out, and do not add up: each alone may make its part.
            wanted = max(wanted, least) if wanted < math.inf else least
        for value, bears in self._operands(op, wanted):
            self.borne[value] = min(self.borne.get(value, math.inf), bears)
            if sharp:
                self.sharp.add(value)
            # What a kernel with one scale makes too coarse is made in floats, and has any scale where it is read.
            if self._step(value, made=False) > bears:
                self.coarse.setdefault(op, f"the steps of {self.dtype} are coarse for what it makes of {value.name}")

    def _beyond(self, value: Value, wanted: float, least: float) -> float:
        """Return what a sum of products reaches, if errors of its weights are larger than its readers bear; else 0."""
        largest = abs(self.wider.get(value) or self.ranges.get(value) or Range(0.0, 0.0))
        borne = _SLACK_OF_SUMS * wanted if value in self.sharp else math.inf
        if value in self.wider:
            borne = _SLACK_OF_WEIGHTS[self.dtype] * least
        return largest if _OF_WEIGHTS * largest > borne else 0.0

    def _step(self, value: Value, made: bool = True) -> float:
        """Return the step of a tensor in integers, as its op makes them or as they are made of floats. Of a range that
        the model itself rounds to, or that no integers hold, none."""
        found = self.ranges[value]
        if found.fixed or not found.is_usual:
            return 0.0
        fixed = self.kernels.fixed_scale.get(value.op.type) if made and value.op is not None else None
        return step_of(found, self.dtype) if fixed is None else fixed.scale[0]

    def _operands(self, op: Op, wanted: float) -> Iterator[tuple[Value, float]]:
        """Yield the operands that are measured, and the step of each that makes a step of the result of `wanted`."""
        bears = _BEARS.get(op.type) or (_as_result if self.kernels.moves(op) else _of_itself)
        for index, value in enumerate(op.operands):
            if value is not None and not value.is_const and self.range(value) is not None:
                yield value, bears(_Use(op, index, wanted, self))

    def range(self, value: Value | None) -> Range | None:
        if value is None or value.dtype is not types.FLOAT32:
            return None
        return Range.of(value.data) if value.data is not None else self.ranges.get(value)


@dataclass(frozen=True)
class _Use:
    """An operand of an op, by its index, and the step of the result that is borne."""

    op: Op
    index: int
    wanted: float
    bounds: _Bounds

    @property
    def range(self) -> Range:
        found = self.bounds.range(self.op.operands[self.index])
        assert found is not None
        return found

    @property
    def is_coarse(self) -> bool:
        return self.op in self.bounds.coarse

    @property
    def dtype(self) -> types.DType:
        return self.bounds.dtype


def _as_result(use: _Use) -> float:
    return use.wanted


def _of_itself(use: _Use) -> float:
    return _PART[use.dtype] * abs(use.range) or math.inf


def _of_factor(use: _Use) -> float:
    """Bound by x * y: an error of x is as many times larger as y is; of x * x, twice, and flat where x is near zero."""
    first, second = use.op.operands[:2]
    if first is second and use.is_coarse:
        return math.sqrt(use.wanted) / 2
    other = use.bounds.range(second if use.index == 0 else first)
    times = abs(other) * (2 if first is second else 1) if other is not None else 0.0
    return use.wanted / times if times else math.inf


def _of_difference(use: _Use) -> float:
    """Bound by (x - y) ** 2: the largest difference is the root of the largest result; flat where small ones matter."""
    if use.is_coarse:
        return math.sqrt(use.wanted) / 2
    largest = abs(use.bounds.ranges[use.op.result])
    return use.wanted / (2 * math.sqrt(largest)) if largest else math.inf


def _of_steep(use: _Use) -> float:
    """Bound by LOG, RSQRT, SQRT and quotients: steep near zero, unless nothing but the sign is read."""
    if use.index != len(use.op.operands) - 1 or all(map(_is_with_zero, use.op.result.uses)):
        return math.inf
    least, bears = _distance_from_zero(use.range), math.inf
    if use.op.type in use.bounds.kernels.steep_at_zero:
        bears = _PART_OF_LEAST[use.dtype] * least
    if use.is_coarse and use.op.type in _SLOPES:
        bears = min(bears, use.wanted / _SLOPES[use.op.type](least) if least else 0.0)
    return bears


def _is_with_zero(reader: Op) -> bool:
    """Return whether an op tells which numbers are less than 0, or more."""
    constants = [value.data for value in reader.operands if value is not None and value.data is not None]
    return reader.type in ("LESS", "GREATER") and any(not array.any() for array in constants)


def _of_power(use: _Use) -> float:
    """Bound by x ** p: steep at zero if p is below 1, and where x is largest otherwise."""
    exponents = use.bounds.range(use.op.operands[1])
    if use.index or exponents is None or exponents.least != exponents.largest:
        return math.inf
    exponent, largest = exponents.least, abs(use.range)
    if exponent < 1:
        part = _PART_OF_LEAST[use.dtype] / max(1.0, abs(exponent))
        return math.inf if exponent == 0 else part * _distance_from_zero(use.range)
    return _PART[use.dtype] * largest / exponent


# Slopes of ops where their operand is nearest to zero.
_SLOPES: dict[str, Callable[[float], float]] = {
    "LOG": lambda x: 1 / x, "RSQRT": lambda x: 0.5 * x**-1.5, "SQRT": lambda x: 0.5 * x**-0.5
}


def _of_sum(use: _Use) -> float:
    """Bound by products with weights: rounding errors add up as their squares do."""
    layout = LAYOUTS[use.op.type]
    weights = use.op.operands[layout.weights]
    if use.index != layout.data or weights is None or weights.data is None or not weights.data.size:
        return math.inf
    numbers = weights.data if weights.dtype is types.FLOAT32 else as_floats(weights)
    axes = range(numbers.ndim)
    norm = math.sqrt(float(np.einsum(numbers, axes, numbers, axes, [layout.outputs]).max()))
    # Behind several products the slacks would bear errors as large as all that the first of them reads.
    lost = _LOST * abs(use.range) or math.inf
    return min(_SLACK_OF_SUMS * use.wanted / norm, lost) if norm else math.inf


def _of_mean(use: _Use) -> float:
    """Bound by MEAN: rounding errors of many numbers cancel out."""
    return use.wanted * math.sqrt(_count(use.op))


def _of_reduced(use: _Use) -> float:
    """Bound by SUM: rounding errors add up as their squares do."""
    return use.wanted / math.sqrt(_count(use.op))


def _count(op: Op) -> float:
    """Return of how many numbers each result of a reduction is made, as far as that is known."""
    sizes = [value.shape for value in (op.operands[0], op.result) if value is not None]
    counts = [math.prod(dim for dim in shape or () if isinstance(dim, int)) for shape in sizes]
    return max(1.0, counts[0] / max(counts[1], 1))


def _of_bounded(use: _Use) -> float:
    """LOGISTIC and TANH: what they alone read is narrowed to where they change. Else only small results matter."""
    if not use.is_coarse:
        return math.inf
    return use.wanted if use.op.type == "TANH" else 4 * use.wanted


def _distance_from_zero(values: Range) -> float:
    return max(values.least, -values.largest, 0.0)


_BEARS: dict[str, Callable[[_Use], float]] = {
    **dict.fromkeys((*_HAND_ON, "FAKE_QUANT"), _as_result), **dict.fromkeys(_ROUND, lambda use: _COARSE_INTEGERS),
    **dict.fromkeys(("SIN", "COS", "EXP"), lambda use: _COARSE_EXPONENTS[use.dtype]),
    "LOG_SOFTMAX": _as_result, "SOFTMAX": lambda use: _COARSE_LOGITS[use.dtype], **dict.fromkeys(LAYOUTS, _of_sum),
    **dict.fromkeys(("DIV", "LOG", "RSQRT", "SQRT"), _of_steep), **dict.fromkeys(("LOGISTIC", "TANH"), _of_bounded),
    "MEAN": _of_mean, "MUL": _of_factor, "POW": _of_power, "SQUARED_DIFFERENCE": _of_difference, "SUM": _of_reduced,
}  # fmt: skip
