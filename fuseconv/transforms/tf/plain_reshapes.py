"""Reshape without sizes that only a run tells, where it can do without them.

    Reshape(x [b, t, 4], [b, t, 1, 4])  ->  ExpandDims(x, 2)
    Reshape(x [b, t, 4], [b, t * 4])    ->  Reshape(x, [b, -1])
"""

from __future__ import annotations

from fuseconv.ir.dims import Sym
from fuseconv.ir.graph import Op, Value
from fuseconv.ir.terms import look_through, op_of
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.operands import added_units, content_of
from fuseconv.tf.traits import RESHAPES


def plain_reshape(op: Op, tf: TfBuilder) -> list[Value] | None:
    """Add or drop dimensions of size 1, or leave one size, which is computed, to the reshape."""
    x, shape = op.operands
    assert x is not None and shape is not None
    if op.kind != "tf.Reshape" or shape.is_const or x.shape is None or op.result.shape is None:
        return None
    units = added_units(x.shape, op.result.shape)
    if units is not None and len(units) == 1:
        return [tf.add("ExpandDims", [x, tf.ints(next(iter(units)))], {}, x.dtype, op.result.shape)]
    units = added_units(op.result.shape, x.shape)
    if units:
        return [tf.add("Squeeze", [x], {"squeeze_dims": sorted(units)}, x.dtype, op.result.shape)]
    return _with_open_size(op, x, shape, tf)


def _with_open_size(op: Op, x: Value, shape: Value, tf: TfBuilder) -> list[Value] | None:
    """Open the one size that is computed of others, if all sizes are known before a run, or as symbols."""
    made, sizes = op_of(shape, "tf.ConcatV2"), content_of(shape)
    if made is None or sizes is None or -1 in sizes.tolist():
        return None
    *parts, axis = made.operands
    computed = [place for place, part in enumerate(parts) if part is not None and _is_computed(part)]
    if len(computed) != 1:
        return None
    parts[computed[0]] = tf.ints([-1])
    opened = tf.add("ConcatV2", [*parts, axis], {}, shape.dtype, shape.shape)
    return [tf.add("Reshape", [x, opened], {}, x.dtype, op.result.shape)]


def _is_computed(size: Value) -> bool:
    """Return whether a vector is one size, an expression of those of tensors."""
    size = look_through(size, RESHAPES)
    content = content_of(size)
    known = content is not None and content.size == 1 and isinstance(content.reshape(-1)[0], Sym)
    return known and size.op is not None and size.op.kind not in ("tf.Shape", "tf.StridedSlice")
