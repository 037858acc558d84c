"""Sums with a number for each channel, ADD(x, c), as a batch normalization behind RELU leaves.

With one step for the operand and for the result, the sum rounds nothing but the numbers c, and each channel is off by
the same everywhere. Products that read it make up for that in their biases. With steps of their own, numbers that come
often, such as the zeros of RELU, would all be off by as much, and nothing would make up for it."""

from __future__ import annotations

from collections.abc import Set

import numpy as np

from fuseconv.ir.graph import Op, Quantization, Value
from fuseconv.quantize.affine import Range, constant_range
from fuseconv.quantize.channel_means import errors_have_means, has_channels
from fuseconv.tfl.linear import LAYOUTS
from fuseconv.tfl.traits import activation_of

# A result whose steps would be as much coarser than its range asks for keeps its own.
_MOST_COARSE = 1.5
# Steps are rounded to float32.
_ROUNDED = 1 + 1e-6
# They hand on what all numbers of a channel are off by.
_HAND_ON = frozenset({"AVERAGE_POOL_2D", "MAX_POOL_2D", "MEAN", "PAD"})


def is_shift(op: Op, integer: Set[Op]) -> bool:
    """Return whether an op adds numbers that products of integers make up for."""
    if op.type != "ADD" or op not in integer or activation_of(op) != "NONE":
        return False
    data, numbers = op.operands
    if data is None or numbers is None or numbers.data is None or data.is_const or data.shape != op.result.shape:
        return False
    shape = data.shape or ()
    along_channels = bool(shape) and numbers.data.shape[-1:] == shape[-1:] == (numbers.data.size,)
    return along_channels and _made_up_for(op.result, integer)


def _made_up_for(value: Value, integer: Set[Op]) -> bool:
    """Return whether products with weights alone read a tensor, or what hands on its channels."""
    pending, seen = [value], {value}
    while pending:
        value = pending.pop()
        for op in value.uses:
            if op not in integer:
                return False
            if hands_on(op):
                if op.result not in seen:
                    seen.add(op.result)
                    pending.append(op.result)
                continue
            layout = LAYOUTS.get(op.type)
            weights = None if layout is None else op.operands[layout.weights]
            if weights is None or not has_channels(op, value, weights) or not errors_have_means(op):
                return False
        if not value.uses:
            return False
    return True


def hands_on(op: Op) -> bool:
    """Return whether an op hands on what all numbers of a channel are off by: those of MEAN are the last, and stay."""
    if op.type not in _HAND_ON:
        return False
    shapes = [None if value is None else value.shape for value in (op.operands[0], op.result)]
    keeps = all(shapes) and len({shape[-1] for shape in shapes if shape}) == 1
    return keeps and (op.type != "MEAN" or not _averages_channels(op))


def _averages_channels(op: Op) -> bool:
    """Return whether the axes of a MEAN hold the last one, which the one before may be as long as."""
    data, axes = op.operands[:2]
    rank = len(data.shape or ()) if data is not None else 0
    return axes is None or axes.data is None or rank - 1 in axes.data % rank


def span(values: Range) -> float:
    """Return the length of a range that holds zero."""
    return max(values.largest, 0.0) - min(values.least, 0.0)


def widened(values: Range, length: float) -> Range:
    """Return a range of as many steps, if a longer one has them."""
    least = min(values.least, 0.0)
    return Range(least, least + length) if length > span(values) else values


def tied(numbers: Value, step: float, result: Range) -> tuple[Quantization, Quantization] | None:
    """Return the scales of the result and of the numbers, both of the operand's step; None where it does not suit."""
    assert numbers.data is not None
    added = constant_range(numbers.data)
    held = 255 * step * _ROUNDED
    if not span(result) <= held <= _MOST_COARSE * span(result) or span(added) > held - step:
        return None
    return _of_step(result, step), _of_step(added, step)


def _of_step(values: Range, step: float) -> Quantization:
    return Quantization((step,), (int(np.clip(np.rint(-128 - min(values.least, 0.0) / step), -128, 127)),))


def off_by(exact: Value, stored: Value) -> np.ndarray:
    """Return by how much the sum is off in each channel: numbers in integers less those of floats."""
    assert exact.data is not None and stored.data is not None and stored.quantization is not None
    (step,), (zero_point,) = stored.quantization.scale, stored.quantization.zero_point
    return ((stored.data.astype(np.float64) - zero_point) * step - exact.data).ravel()
