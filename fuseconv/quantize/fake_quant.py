"""Ranges that the model itself tells by FAKE_QUANT, as those that were trained quantized do."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass

import numpy as np

from fuseconv.errors import InputError
from fuseconv.facts import TFL_ONLY
from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Module, Op, Quantization, Value
from fuseconv.pass_manager import module_pass
from fuseconv.quantize.affine import Range, constant_range
from fuseconv.quantize.calibrate import Calibration
from fuseconv.quantize.grids import grid_scales
from fuseconv.quantize.samples import FORMS
from fuseconv.tfl.integer import INT8, INT16, Kernels
from fuseconv.tfl.linear import LAYOUTS

KIND = "tfl.FAKE_QUANT"
_KERNELS = {"int8": INT8, "int16x8": INT16}
_CLAMPS = frozenset({"RELU", "RELU6", "RELU_0_TO_1", "RELU_N1_TO_1"})
# Their results lie between numbers of the operand, not among them: rounded before and behind it they differ.
_AVERAGES = frozenset({"AVERAGE_POOL_2D", "MEAN", "RESIZE_BILINEAR"})


@module_pass("read-fake-quant", requires=(TFL_ONLY,))
def read_fake_quant(module: Module, calibration: Calibration, quantize: str) -> bool:
    """Take the ranges that FAKE_QUANTs tell, and pass them on through ops that keep them. Changes nothing.

    Raises InputError if there is neither a FAKE_QUANT nor data to measure ranges on."""
    kernels = _KERNELS[quantize]
    found = _Ranges(kernels, calibration.ranges)
    count = sum([found.read(graph) for graph in module.graphs()])
    if calibration.samples is None and not count:
        why = f"--quantize {quantize} needs samples of real inputs, as no FakeQuant of the model tells ranges"
        raise InputError(f"{why}: give --calibration-data {FORMS}")
    for graph in module.graphs() if count else ():
        found.pass_back(graph)
        found.pass_on(graph)
    return False


def refusal(op: Op, kernels: Kernels) -> str:
    """Return why a FAKE_QUANT stays one; empty if its grid is that of a tensor of these kernels."""
    return "" if fixed_range(op, kernels) else f"{kernels.activations} does not round as it does"


# Of the kernel, and of TensorFlow's.
_MOST_BITS = 16


@dataclass(frozen=True)
class Steps:
    """The grid of `count` numbers least, least + step, ..., of which 0 is one."""

    least: float
    step: float
    count: int

    @property
    def largest(self) -> float:
        return self.least + (self.count - 1) * self.step


def steps_of(op: Op) -> Steps | None:
    """Return the grid that a FAKE_QUANT rounds to, with the zero where TensorFlow moves it; None if it has none."""
    bits = op.attrs.get("num_bits", 0)
    if not 1 <= bits <= _MOST_BITS:
        return None
    count = 2**bits - bool(op.attrs.get("narrow_range"))
    if count < 2:
        return None
    low, high = np.float32(op.attrs.get("min", 0.0)), np.float32(op.attrs.get("max", 0.0))
    step = (high - low) / np.float32(count - 1)
    if not (np.isfinite(step) and step >= np.finfo(np.float32).tiny):
        return None
    zero = int(np.clip(np.floor(np.float32(0.5) - low / step), 0, count - 1))
    return Steps(-zero * float(step), float(step), count)


def fixed_range(op: Op, kernels: Kernels) -> Range | None:
    """Return the range that a FAKE_QUANT rounds to; None if the kernels' integers have other steps, or more of them."""
    steps = steps_of(op)
    if steps is None or steps.count != 2 ** (8 * kernels.activations.numpy.itemsize):
        return None
    if kernels.activations is types.INT8:
        return Range(steps.least, steps.largest, fixed=True)
    # Kernels of int16 have their zero in the middle.
    largest = 32767 * steps.step
    return Range(-largest, largest, fixed=True) if round(steps.least / steps.step) in (-32767, -32768) else None


def keeps_weights(op: Op) -> bool:
    """Return whether int8 holds the weights of an op as they are; if it has none, too."""
    layout = LAYOUTS.get(op.type)
    weights = op.operands[layout.weights] if layout is not None else None
    if layout is None or weights is None or weights.data is None or weights.dtype is not types.FLOAT32:
        return True
    others = tuple(axis for axis in range(weights.data.ndim) if axis != layout.outputs)
    return not np.any(np.isnan(grid_scales(weights.data, layout.outputs)) & weights.data.any(others))


class _Ranges:
    """The ranges of tensors, as FAKE_QUANTs tell them and ops hand them on."""

    def __init__(self, kernels: Kernels, ranges: MutableMapping[Value, Range]) -> None:
        self.kernels, self.ranges = kernels, ranges
        self.keep = (kernels.same_scale | kernels.joined_scale | _CLAMPS) - _AVERAGES

    def read(self, graph: Graph) -> int:
        """Take the ranges of the results of FAKE_QUANT; return how many there are."""
        found = {op.result: fixed_range(op, self.kernels) for op in graph.ops if op.kind == KIND}
        self.ranges.update((value, each) for value, each in found.items() if each is not None)
        return len(found)

    def pass_back(self, graph: Graph) -> None:
        """Give a tensor that is read to be rounded alone, as it is or moved, the range of what it is rounded to:
        FAKE_QUANT(MAX_POOL_2D(x)) is MAX_POOL_2D(FAKE_QUANT(x))."""
        for op in reversed(graph.ops):
            for value in op.results:
                known = self.ranges.get(value)
                wanted = None if known is not None and known.fixed else self._wanted(value)
                if wanted is not None:
                    self.ranges[value] = wanted

    def _wanted(self, value: Value) -> Range | None:
        if value.dtype is not types.FLOAT32 or not value.uses:
            return None
        found: set[Range | None] = set()
        for reader in value.uses:
            if reader.kind != KIND and reader.type not in self.keep:
                return None
            found.update(self.ranges.get(result) for result in reader.results)
        (first, *others) = found
        return None if others or first is None or not first.fixed else first

    def pass_on(self, graph: Graph) -> None:
        """Give the results of ops that keep ranges those of their operands: where there are none, and where measured
        ones would have other steps than a FAKE_QUANT, among which clamps and moves leave numbers."""
        for op in graph.ops:
            values = [value for value in op.results if value.dtype is types.FLOAT32]
            unknown = [value for value in values if value not in self.ranges]
            measured = [value for value in values if op.type in self.keep and not self._is_fixed(value)]
            made = self._made(op) if unknown or measured else None
            if made is not None:
                self.ranges.update(dict.fromkeys(measured if made.fixed else unknown, made))

    def _is_fixed(self, value: Value) -> bool:
        return value in self.ranges and self.ranges[value].fixed

    def _made(self, op: Op) -> Range | None:
        if op.type in self.kernels.fixed_scale:
            return _range(self.kernels.fixed_scale[op.type], self.kernels)
        if op.type not in self.keep | _AVERAGES:
            return None
        values = [value for value in op.operands if value is not None and value.dtype is types.FLOAT32]
        known = [self.ranges.get(value) for value in values if value.data is None]
        if not known and len(values) == 1 and values[0].data is not None:
            own = constant_range(values[0].data, self.kernels.activations)
            return own if own.fixed else None
        first = known[0] if known else None
        if first is None or None in known:
            return None
        rest = {each for each in known if each is not None and each != first}
        rest |= {Range.of(value.data) for value in values if value.data is not None}
        return first if all(each in first for each in rest) and first.fixed else _union([first, *rest])


def _union(ranges: Sequence[Range]) -> Range:
    return Range(min(each.least for each in ranges), max(each.largest for each in ranges))


def _range(how: Quantization, kernels: Kernels) -> Range:
    """Return the range of a tensor of one scale."""
    ends = np.iinfo(kernels.activations.numpy)
    (scale,), (zero,) = how.scale, how.zero_point
    return Range((int(ends.min) - zero) * scale, (int(ends.max) - zero) * scale)
