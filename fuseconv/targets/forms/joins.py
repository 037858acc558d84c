"""Forms of ops that join tensors or take them apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fuseconv.ir.graph import Op, Value
from fuseconv.targets.forms.shapes import known_shape
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.traits import activation_of

# As many operands as TensorFlow Lite Micro's CONCATENATION takes.
_MOST_JOINED = 10


def split_beside(tfl: Builder, op: Op) -> list[Value] | None:
    """UNPACK(x[5,1,4]) -> SPLIT(RESHAPE(x, [5,4])): a dimension of 1 beside the axis takes its place."""
    x, shape = op.operands[0], known_shape(op.result)
    if x is None or x.shape is None or shape is None or len(op.results) < 2:
        return None
    place = _beside(shape, op.attrs.get("axis", 0) % len(x.shape))
    if place is None:
        return None
    whole = [len(op.results) if index == place else size for index, size in enumerate(shape)]
    return tfl.op("SPLIT", (place, tfl.reshape(x, whole)), {"num_splits": len(op.results)})


def _beside(shape: Sequence[int], axis: int) -> int | None:
    """Return the place of a dimension of 1 in the shape of a part, which stood before or behind the axis that the whole
    has more; None if there is none."""
    return next((place for place in (axis, axis - 1) if 0 <= place < len(shape) and shape[place] == 1), None)


def split(tfl: Builder, op: Op) -> list[Value] | None:
    """UNPACK(x) -> RESHAPE(SPLIT(x)[0]), RESHAPE(SPLIT(x)[1]), ..."""
    x, shape = op.operands[0], known_shape(op.result)
    if x is None or x.shape is None or shape is None:
        return None
    axis = op.attrs.get("axis", 0) % len(x.shape)
    parts = tfl.op("SPLIT", (axis, x), {"num_splits": len(op.results)}) if len(op.results) > 1 else [x]
    return [tfl.reshape(part, shape) for part in parts]


def picked(tfl: Builder, op: Op) -> list[Value] | None:
    """UNPACK(x) -> RESHAPE(SLICE(x)), RESHAPE(SLICE(x)), ...: SPLIT takes no truths."""
    x, shape = op.operands[0], known_shape(op.result)
    sizes = None if x is None else known_shape(x)
    if x is None or sizes is None or shape is None:
        return None
    axis = op.attrs.get("axis", 0) % len(sizes)
    row = [1 if index == axis else size for index, size in enumerate(sizes)]
    starts = ([number if index == axis else 0 for index in range(len(sizes))] for number in range(len(op.results)))
    return [tfl.reshape(tfl.slice_(x, start, row), shape) for start in starts]


def joined_beside(tfl: Builder, op: Op) -> list[Value] | None:
    """PACK(x[1,4], y[1,4]) -> RESHAPE(CONCATENATION(x, y), [2,1,4]): a dimension of 1 beside the axis takes its
    place."""
    shape = known_shape(op.result)
    if shape is None or None in op.operands or len(op.operands) < 2:
        return None
    axis = op.attrs.get("axis", 0) % len(shape)
    place = _beside([*shape[:axis], *shape[axis + 1 :]], axis)
    return None if place is None else [tfl.reshape(tfl.concatenation(*op.operands, axis=place), shape)]


def concatenation(tfl: Builder, op: Op) -> list[Value] | None:
    """PACK(x, y) -> CONCATENATION(RESHAPE(x), RESHAPE(y))."""
    shape = known_shape(op.result)
    if shape is None or None in op.operands:
        return None
    axis = op.attrs.get("axis", 0) % len(shape)
    row = [1 if index == axis else size for index, size in enumerate(shape)]
    rows = [tfl.reshape(value, row) for value in op.operands]
    return [tfl.concatenation(*rows, axis=axis) if len(rows) > 1 else rows[0]]


def joined_in_turn(tfl: Builder, op: Op) -> list[Value] | None:
    """CONCATENATION of many -> CONCATENATION of CONCATENATIONs of a few."""
    values, axis = list(op.operands), op.attrs.get("axis", 0)
    if len(values) <= _MOST_JOINED or None in values or activation_of(op) != "NONE":
        return None
    while len(values) > _MOST_JOINED:
        groups = [values[index : index + _MOST_JOINED] for index in range(0, len(values), _MOST_JOINED)]
        values = [tfl.concatenation(*group, axis=axis) if len(group) > 1 else group[0] for group in groups]
    return [tfl.concatenation(*values, axis=axis)]


def slices(tfl: Builder, op: Op) -> list[Value] | None:
    """SPLIT(x) or SPLIT_V(x) -> SLICE(x), SLICE(x), ..."""
    x, at = (op.operands[0], op.operands[2]) if op.type == "SPLIT_V" else (op.operands[1], op.operands[0])
    shape = None if x is None else known_shape(x)
    if x is None or shape is None or at is None or at.data is None or not all(r.is_static for r in op.results):
        return None
    axis, first, parts = int(at.data.reshape(())) % len(shape), 0, []
    for result in op.results:
        sizes = known_shape(result)
        assert sizes is not None
        parts.append(tfl.slice_(x, [first if index == axis else 0 for index in range(len(shape))], sizes))
        first += sizes[axis]
    return parts


def sum_in_turn(tfl: Builder, op: Op) -> list[Value] | None:
    """ADD_N(x, y, z) -> ADD(ADD(x, y), z)."""
    if None in op.operands:
        return None
    total, *others = op.operands
    for value in others:
        total = tfl.add(total, value)
    return [total]  # type: ignore[list-item]


def reverse(tfl: Builder, op: Op) -> list[Value] | None:
    """REVERSE_V2(x) of few -> CONCATENATION of the parts of SPLIT(x), the last one first."""
    x, axes = op.operands[:2]
    shape = None if x is None else known_shape(x)
    if x is None or shape is None or axes is None or axes.data is None or axes.data.size != 1:
        return None
    axis = int(np.ravel(axes.data)[0]) % len(shape)
    if not 1 < shape[axis] <= _MOST_JOINED:
        return None
    parts = tfl.op("SPLIT", (axis, x), {"num_splits": shape[axis]})
    return [tfl.concatenation(*parts[::-1], axis=axis)]


def reversed_in_turn(tfl: Builder, op: Op) -> list[Value] | None:
    """REVERSE_V2(x, [1, 2]) -> REVERSE_V2(REVERSE_V2(x, [1]), [2])."""
    x, axes = op.operands[:2]
    if x is None or x.rank is None or axes is None or axes.data is None or axes.data.size < 2 or op.result.quantization:
        return None
    for axis in sorted({int(axis) % x.rank for axis in axes.data.ravel()}):
        x = tfl.reverse_v2(x, [axis])
    return [x]  # type: ignore[list-item]


FORMS = {
    "UNPACK": (split_beside, split, picked), "PACK": (joined_beside, concatenation),
    "CONCATENATION": (joined_in_turn,), "SPLIT_V": (slices,), "SPLIT": (slices,), "ADD_N": (sum_in_turn,),
    "REVERSE_V2": (reverse, reversed_in_turn),
}  # fmt: skip
