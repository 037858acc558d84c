"""Whether the rows of indices are distinct, as the TF ops that make them tell: then a scatter writes nothing twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.dims import Shape
from fuseconv.ir.graph import Op, Value
from fuseconv.tf.traits import ADDS, FORWARDS, REPEATS, RESHAPES, SLICES

# So many values are looked at: there is no end of ways through columns that are put together from each other.
_MOST_VALUES = 256


def has_distinct_rows(indices: Value) -> bool:
    """Return whether all rows of integers [..., n] are known to differ from each other: one of the columns is a
    range, say, or they are what Where makes, or TopKV2 in each row of a batch whose number is a column as well. False
    tells nothing."""
    return _has_distinct_rows(indices, iter(range(_MOST_VALUES)))


def _has_distinct_rows(indices: Value, left: Iterator[int]) -> bool:
    """Return as `has_distinct_rows`. left: counts the values that may yet be looked at, here and below."""
    if indices.data is not None:
        table = indices.data.reshape(-1, indices.data.shape[-1])
        return len(np.unique(table, axis=0)) == len(table)
    if next(left, None) is None or indices.shape is None:
        return False
    if indices.shape[-1:] == (1,):
        return _has_distinct_elements(indices, left)
    op = indices.op
    if op is None or op.kind == "tf.Where":
        return op is not None
    operands = [operand for operand in op.operands if operand is not None]
    last = (-1, len(indices.shape) - 1)
    if op.kind in FORWARDS or _keeps_integers(op):
        return _has_distinct_rows(operands[indices.index], left)
    if op.kind == "tf.Pack" and op.attrs.get("axis", 0) in last:
        single = any(_has_distinct_elements(column, left) for column in operands)
        return single or _number_all_axes(operands, indices.shape[:-1], left)
    if op.kind == "tf.ConcatV2" and any(operands[-1].data == axis for axis in last):
        single = any(_has_distinct_rows(columns, left) for columns in operands[:-1])
        return single or _number_all_axes(operands[:-1], indices.shape[:-1], left)
    return False


def _number_all_axes(columns: Sequence[Value], shape: Shape, left: Iterator[int]) -> bool:
    """Return whether columns of these dimensions, and perhaps one of 1 behind them, tell where along each axis a row
    stands: those that number an axis, and places of TopKV2 for the last one."""
    axes = {_numbered_axis(column, left) for column in columns}
    rest = {axis for axis, size in enumerate(shape) if size != 1} - axes
    return not rest or (rest == {len(shape) - 1} and any(_is_best(column, shape, left) for column in columns))


def _numbered_axis(value: Value, left: Iterator[int]) -> int | None:
    """Return the axis along which the elements of an integer tensor differ, if they are the same along all others."""
    op, shape = value.op, value.shape
    if shape is None:
        return None
    if value.data is not None:
        axes = (axis for axis, size in enumerate(value.data.shape) if size > 1)
        return next((axis for axis in axes if _numbers(np.moveaxis(value.data, axis, 0))), None)
    wide = [axis for axis, size in enumerate(shape) if size != 1]
    if len(wide) == 1 and _has_distinct_elements(value, left):
        return wide[0]
    if op is None or next(left, None) is None:
        return None
    x = op.operands[value.index] if op.kind in FORWARDS else op.operands[0] if op.operands else None
    if x is None or x.shape is None:
        return None
    if op.kind in FORWARDS or _keeps_integers(op):
        return _numbered_axis(x, left)
    axis = _numbered_axis(x, left) if op.kind in REPEATS else None
    if axis is None:
        return None
    at = axis + len(shape) - len(x.shape)
    return at if shape[at] == x.shape[axis] else None


def _numbers(data: np.ndarray) -> bool:
    """Return whether the rows of data are each of one number, and these differ."""
    rows = data.reshape(len(data), -1)
    return bool((rows == rows[:, :1]).all()) and len(np.unique(rows[:, 0])) == len(rows)


def _is_best(value: Value, shape: Shape, left: Iterator[int]) -> bool:
    """Return whether these are places that TopKV2 tells for each row: those of one row differ."""
    op = value.op
    if op is None or next(left, None) is None or value.shape not in (shape, (*shape, 1)):
        return False
    if op.kind == "tf.TopKV2":
        return value.index == 1
    x = op.operands[value.index] if op.kind in FORWARDS else op.operands[0] if op.operands else None
    follows = op.kind in FORWARDS or op.kind in RESHAPES or _keeps_integers(op)
    return x is not None and follows and _is_best(x, shape, left)


def _has_distinct_elements(value: Value, left: Iterator[int]) -> bool:
    """Return whether all elements of an integer tensor are known to differ from each other."""
    if value.data is not None:
        return bool(np.unique(value.data).size == value.data.size)
    op = value.op
    if op is None or next(left, None) is None:
        return False
    if op.kind == "tf.Range":
        return True
    operands = [operand for operand in op.operands if operand is not None]
    if op.kind == "tf.Where":
        return operands[0].rank == 1
    if op.kind == "tf.TopKV2":
        return value.index == 1 and value.rank == 1
    if op.kind in FORWARDS or _keeps_integers(op):
        return _has_distinct_elements(operands[value.index], left)
    if op.kind in RESHAPES or op.kind in SLICES:
        return _has_distinct_elements(operands[0], left)
    if op.kind in ADDS or op.kind == "tf.Sub":
        pairs = (operands, operands[::-1])
        return any(other.shape == () and _has_distinct_elements(each, left) for each, other in pairs)
    if op.kind == "tf.Pack":
        # tf.range(n)[:, None] may be the only column of many.
        return len(operands) == 1 and _has_distinct_elements(operands[0], left)
    return False


def _keeps_integers(op: Op) -> bool:
    """Return whether an op casts integers to a type that holds them: places that Where tells are small."""
    source, result = op.operands[0] if op.operands else None, op.results[0]
    if op.kind != "tf.Cast" or source is None or {source.dtype.numpy.kind, result.dtype.numpy.kind} != {"i"}:
        return False
    size = result.dtype.numpy.itemsize
    is_small = source.op is not None and source.op.kind == "tf.Where" and size >= types.INT32.numpy.itemsize
    return is_small or size >= source.dtype.numpy.itemsize
