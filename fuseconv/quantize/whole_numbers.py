"""Steps of integers that whole numbers lie on, where these become indices, or are compared.

Coordinates of a warp are rounded down, clipped, and cast to indices. In steps of 6/255 the number 1 is stored as 0.988
or 1.012, and a CAST makes 0 of the first: another pixel. Steps that are powers of two hold each of them exactly."""

from __future__ import annotations

import math
from collections.abc import Iterable, MutableMapping

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Value
from fuseconv.quantize.affine import LARGEST, ROOM, Range
from fuseconv.quantize.precision import AVERAGES
from fuseconv.tfl.integer import Kernels
from fuseconv.tfl.traits import activation_of

_ROUND = frozenset({"CEIL", "FLOOR", "FLOOR_DIV", "ROUND"})
# Ops that make whole numbers of such, and whose kernels of integers do, too.
_KEEP = frozenset({"ABS", "ADD", "MUL", "RELU", "RELU6", "RELU_0_TO_1", "RELU_N1_TO_1", "SUB"})
# What reads them tells such apart from what is a little less.
_SHARP = frozenset({
    *_ROUND, "CAST", "EQUAL", "FLOOR_MOD", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "NOT_EQUAL"
})  # fmt: skip


def hold_whole_numbers(graph: Graph, ranges: MutableMapping[Value, Range], kernels: Kernels) -> None:
    """Let ranges of whole numbers that become indices, or are compared, be those of integers in steps of a power of
    two."""
    whole = _whole(graph, kernels)
    read: set[Value] = set()
    for op in reversed(graph.ops if whole else ()):
        if op.type in _SHARP or not read.isdisjoint(op.results):
            read.update(value for value in op.operands if value is not None and value in whole)
    for value in read:
        found = ranges.get(value)
        if found is not None and not found.fixed:
            ranges[value] = _in_powers_of_two(found, kernels) or found


def _whole(graph: Graph, kernels: Kernels) -> set[Value]:
    """Return the tensors of floats that hold whole numbers, whatever the inputs are."""
    found: set[Value] = set()
    keep = (kernels.same_scale | kernels.joined_scale | _KEEP) - AVERAGES
    for op in graph.ops:
        if op.type in _ROUND or (op.type == "CAST" and not _floats(op.operands)):
            found.update(_floats(op.results))
        elif op.type in keep and found and activation_of(op) != "TANH":
            operands = _floats(op.operands)
            if any(value in found for value in operands) and all(_is_whole(value, found) for value in operands):
                found.update(op.results)
    return found


def _floats(values: Iterable[Value | None]) -> list[Value]:
    return [value for value in values if value is not None and value.dtype is types.FLOAT32]


def _is_whole(value: Value, found: set[Value]) -> bool:
    array = value.data
    return value in found if array is None else bool(np.all(np.rint(array) == array))


def _in_powers_of_two(found: Range, kernels: Kernels) -> Range | None:
    """Return the range of integers in the largest steps that hold a range of whole numbers; None if ones are small."""
    if not found.is_usual:
        return None
    if kernels.activations is types.INT16:
        largest = LARGEST[types.INT16]
        step = _step(largest / max(ROOM * abs(found), 1.0))
        return Range(-largest * step, largest * step, fixed=True) if step <= 1 else None
    least = math.floor(min(found.least, 0.0))
    step = _step(255 / max(found.largest - least, 1.0))
    return Range(least, least + 255 * step, fixed=True) if step <= 1 else None


def _step(steps_of_one: float) -> float:
    return float(2.0 ** -math.floor(math.log2(steps_of_one)))
