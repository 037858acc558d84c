"""Whether the rows of indices are distinct, as the TF ops that make them tell: then a scatter writes nothing twice."""

from __future__ import annotations

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Op, Value
from fuseconv.tf.traits import ADDS, FORWARDS, RESHAPES, SLICES

# Ops are followed this far, and of each some operands.
_FARTHEST = 8


def has_distinct_rows(indices: Value, farthest: int = _FARTHEST) -> bool:
    """Return whether all rows of integers [..., n] are known to differ from each other: one of the columns is a
    range, say, or they are what Where makes. False tells nothing."""
    if indices.data is not None:
        table = indices.data.reshape(-1, indices.data.shape[-1])
        return len(np.unique(table, axis=0)) == len(table)
    if not farthest or indices.shape is None:
        return False
    if indices.shape[-1:] == (1,):
        return _has_distinct_elements(indices, farthest - 1)
    op = indices.op
    if op is None or op.kind == "tf.Where":
        return op is not None
    operands = [operand for operand in op.operands if operand is not None]
    last = (-1, len(indices.shape) - 1)
    if op.kind in FORWARDS or _keeps_integers(op):
        return has_distinct_rows(operands[indices.index], farthest - 1)
    if op.kind == "tf.Pack" and op.attrs.get("axis", 0) in last:
        return any(_has_distinct_elements(column, farthest - 1) for column in operands)
    if op.kind == "tf.ConcatV2" and any(operands[-1].data == axis for axis in last):
        return any(has_distinct_rows(columns, farthest - 1) for columns in operands[:-1])
    return False


def _has_distinct_elements(value: Value, farthest: int) -> bool:
    """Return whether all elements of an integer tensor are known to differ from each other."""
    if value.data is not None:
        return bool(np.unique(value.data).size == value.data.size)
    op = value.op
    if op is None or not farthest:
        return False
    if op.kind == "tf.Range":
        return True
    operands = [operand for operand in op.operands if operand is not None]
    if op.kind == "tf.Where":
        return operands[0].rank == 1
    if op.kind == "tf.TopKV2":
        return value.index == 1 and value.rank == 1
    if op.kind in FORWARDS or _keeps_integers(op):
        return _has_distinct_elements(operands[value.index], farthest - 1)
    if op.kind in RESHAPES or op.kind in SLICES:
        return _has_distinct_elements(operands[0], farthest - 1)
    if op.kind in ADDS or op.kind == "tf.Sub":
        pairs = (operands, operands[::-1])
        return any(other.shape == () and _has_distinct_elements(each, farthest - 1) for each, other in pairs)
    if op.kind == "tf.Pack":
        # tf.range(n)[:, None] may be the only column of many.
        return len(operands) == 1 and _has_distinct_elements(operands[0], farthest - 1)
    return False


def _keeps_integers(op: Op) -> bool:
    """Return whether an op casts integers to a type that holds them: places that Where tells are small."""
    source, result = op.operands[0] if op.operands else None, op.results[0]
    if op.kind != "tf.Cast" or source is None or {source.dtype.numpy.kind, result.dtype.numpy.kind} != {"i"}:
        return False
    size = result.dtype.numpy.itemsize
    is_small = source.op is not None and source.op.kind == "tf.Where" and size >= types.INT32.numpy.itemsize
    return is_small or size >= source.dtype.numpy.itemsize
