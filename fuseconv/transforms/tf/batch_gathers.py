"""Gather along a batch, whose places JAX writes out: GatherNd(x, [[0, i], [1, j], ...]) -> GatherV2(x, [i, j, ...])."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.dims import Dim
from fuseconv.ir.graph import Op, Value
from fuseconv.ir.terms import op_of, operand_of
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.iota import counts_up
from fuseconv.tf.operands import content_of
from fuseconv.tf.traits import RESHAPES


def batch_gather(op: Op, tf: TfBuilder) -> list[Value] | None:
    """Gather with a batch dimension: GatherNd(x, clamp(ConcatV2(Range(n), i))) -> GatherV2(x, clamp(i), batch_dims=1),
    of an x of n rows."""
    x, indices = op.operands
    if x is None or indices is None or x.shape is None or indices.dtype is not types.INT32:
        return None
    joined, low, high = _bounds(indices)
    columns = _columns(joined)
    if columns is None or any(bound is not None and len(bound) != 2 for bound in (low, high)):
        return None
    place = next((place for place in (0, 1) if _counts(columns[place], x.shape[place])), None)
    if place is None or any(_cuts(bound, place, end) for bound, end in ((low, 0), (high, x.shape[place] - 1))):
        return None
    at = _flat(columns[1 - place], tf)
    for kind, bound in (("Minimum", high), ("Maximum", low)):
        if bound is not None:
            if not isinstance(bound[1 - place], (int, np.integer)):
                return None
            at = tf.add(kind, [at, tf.ints(int(bound[1 - place]))], {}, at.dtype, at.shape)
    if place:
        order = [1, 0, *range(2, len(x.shape))]
        x = tf.add("Transpose", [x, tf.ints(order)], {}, x.dtype, tuple(x.shape[axis] for axis in order))
    return [tf.add("GatherV2", [x, at, tf.ints(1)], {"batch_dims": 1}, x.dtype, op.result.shape)]


def _bounds(indices: Value) -> tuple[Value, Sequence | None, Sequence | None]:
    """Return what Maximum(Minimum(value, high), low) clamps, low and high; None for a bound that there is not."""
    found: dict[str, Sequence | None] = {"tf.Maximum": None, "tf.Minimum": None}
    value = indices
    for kind in found:
        op = value.op
        inner, bound = op.operands if op is not None and op.kind == kind else (None, None)
        numbers = content_of(bound)
        if inner is None or inner.shape is None or numbers is None or numbers.ndim > 1:
            continue
        count = inner.shape[-1] if inner.shape else 0
        found[kind] = []
        if isinstance(count, int) and numbers.size in (1, count):
            found[kind] = [*np.broadcast_to(numbers, count)]
        value = inner
    return value, found["tf.Maximum"], found["tf.Minimum"]


def _columns(indices: Value) -> tuple[Value, Value] | None:
    """Return the columns of indices [n, 2], each [n, 1]."""
    op = op_of(indices, "tf.ConcatV2")
    if op is None or len(op.operands) != 3 or indices.rank != 2:
        return None
    first, second, axis = op.operands
    along = content_of(axis)
    if first is None or second is None or along is None or int(along.reshape(-1)[0]) not in (1, -1):
        return None
    return (first, second) if all(value.shape and value.shape[1:] == (1,) for value in (first, second)) else None


def _counts(column: Value, size: Dim) -> bool:
    """Return whether a column is 0, 1, 2, ... of all rows."""
    if column.data is not None:
        return np.array_equal(column.data.reshape(-1), np.arange(column.data.size)) and column.data.size == size
    return column.shape is not None and column.shape[0] == size and counts_up(column)


def _cuts(bound: Sequence | None, place: int, end: Dim) -> bool:
    """Return whether a bound may change the numbers of a column that ends there."""
    return bound is not None and bound[place] != end


def _flat(column: Value, tf: TfBuilder) -> Value:
    """Return a column [n, 1] as a vector."""
    source = operand_of(column, RESHAPES)
    if source is not None and source.rank == 1:
        return source
    assert column.shape is not None
    return tf.add("Reshape", [column, tf.ints([-1])], {}, column.dtype, column.shape[:1])
