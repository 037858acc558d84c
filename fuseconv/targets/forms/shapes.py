"""Forms of ops that change a shape, or make a tensor of one."""

from __future__ import annotations

import numpy as np

from fuseconv.ir import budget, types
from fuseconv.ir.graph import Op, Value
from fuseconv.tfl.builder import Builder

# What is made a constant of a tensor that the op would fill takes so much of the file at most.
_MOST_BYTES = 1 << 16


def known_shape(value: Value) -> list[int] | None:
    """Return the sizes of a tensor, if all are known."""
    return [int(dim) for dim in value.shape] if value.shape is not None and value.is_static else None  # type: ignore[arg-type]


def reshape(tfl: Builder, op: Op) -> list[Value] | None:
    """EXPAND_DIMS(x), SQUEEZE(x) or RESHAPE(x, computed) -> RESHAPE(x, shape)."""
    x, shape = op.operands[0], known_shape(op.result)
    if x is None or shape is None or op.result.variable:
        return None
    return [tfl.reshape(x, shape)]


def total(tfl: Builder, op: Op) -> list[Value] | None:
    """RESHAPE(x[1,1], []) -> SUM(x) of its one element: the shape of a scalar holds nothing, and GPUs take what holds
    nothing for computed."""
    x = op.operands[0]
    before = None if x is None else known_shape(x)
    number = x is not None and x.dtype in (types.FLOAT32, types.INT32) and x.quantization is None
    if not number or op.result.shape != () or not before:
        return None
    return [tfl.sum(x, np.arange(len(before), dtype=np.int32))]


def constant_fill(tfl: Builder, op: Op) -> list[Value] | None:
    """FILL(shape, number) or ZEROS_LIKE(x) -> a constant."""
    shape, result = known_shape(op.result), op.result
    value = op.operands[1] if op.type == "FILL" else None
    known = value is None or value.is_const
    if shape is None or result.variable or result.quantization or not known or result.dtype is types.STRING:
        return None
    size = int(np.prod(shape, dtype=np.int64)) * result.dtype.numpy.itemsize
    if size > _MOST_BYTES or (op.type == "FILL" and value is None) or not budget.has_room(size):
        return None
    number = 0 if value is None or value.data is None else value.data.reshape(())
    return [tfl.const(np.full(shape, number, result.dtype.numpy), result.dtype)]


def computed_fill(tfl: Builder, op: Op) -> list[Value] | None:
    """FILL(shape, x) -> BROADCAST_TO(x, shape)."""
    shape, value = known_shape(op.result), op.operands[1]
    if shape is None or value is None or value.is_const or op.result.variable:
        return None
    return [tfl.broadcast_to(value, shape)]


def constant_shape(tfl: Builder, op: Op) -> list[Value] | None:
    """SHAPE(x) -> a constant."""
    x = op.operands[0]
    shape = None if x is None else known_shape(x)
    return None if shape is None else [tfl.const(np.array(shape, op.result.dtype.numpy), op.result.dtype)]


def tiled(tfl: Builder, op: Op) -> list[Value] | None:
    """BROADCAST_TO(x, shape) -> TILE(RESHAPE(x), multiples)."""
    found = _aligned(op)
    if found is None:
        return None
    x, before, after = found
    factors = [b // a if a else 1 for a, b in zip(before, after)]
    return [tfl.tile(tfl.reshape(x, before), factors)] if 0 not in before else None


def times_ones(tfl: Builder, op: Op) -> list[Value] | None:
    """BROADCAST_TO(x, shape) -> MUL(x, ones); of truths LOGICAL_OR(x, falses)."""
    found = _aligned(op)
    if found is None:
        return None
    x, before, after = found
    others = [1 if a == b else b for a, b in zip(before, after)]
    if x.dtype is types.BOOL:
        return [tfl.logical_or(tfl.reshape(x, before), np.zeros(others, np.bool_))]
    if x.dtype not in (types.FLOAT32, types.INT32):
        return None
    return [tfl.mul(tfl.reshape(x, before), np.ones(others, x.dtype.numpy))]


def written(tfl: Builder, op: Op) -> list[Value] | None:
    """TILE(x, 1), which writes the state of a recurrent op -> GATHER(x, [0, 1, ...]): XNNPACK runs neither."""
    x, shape = op.operands[0], known_shape(op.result)
    if x is None or shape is None or not op.result.variable or x.shape != op.result.shape:
        return None
    state = tfl.typed_op("GATHER", [x, tfl.ints([*range(shape[0])])], [(x.dtype, x.shape)], {"axis": 0})[0]
    state.variable = True
    return [state]


def broadcast(tfl: Builder, op: Op) -> list[Value] | None:
    """TILE(x, multiples) -> RESHAPE(BROADCAST_TO(RESHAPE(x, [1, a]), [m, a]), [m * a])."""
    x, shape = op.operands[0], known_shape(op.result)
    before = None if x is None else known_shape(x)
    if x is None or op.result.variable or shape is None or before is None or 0 in before:
        return None
    apart: list[tuple[int, int]] = []
    for size, whole in zip(before, shape):
        # A size of one needs no dimension for its copies, and one without copies none either.
        apart += [(size, whole)] if size == 1 or size == whole else [(1, whole // size), (size, size)]
    wide = tfl.broadcast_to(tfl.reshape(x, [a for a, _ in apart]), [b for _, b in apart])
    return [tfl.reshape(wide, shape)]


def _aligned(op: Op) -> tuple[Value, list[int], list[int]] | None:
    """Return what BROADCAST_TO reads, its shape with as many dimensions as the result's, and that."""
    x, shape = op.operands[0], known_shape(op.result)
    before = None if x is None else known_shape(x)
    if x is None or shape is None or before is None or op.result.quantization:
        return None
    return x, [1] * (len(shape) - len(before)) + before, shape


FORMS = {
    "EXPAND_DIMS": (reshape,), "SQUEEZE": (reshape,), "RESHAPE": (total, reshape),
    "FILL": (constant_fill, computed_fill), "ZEROS_LIKE": (constant_fill,), "SHAPE": (constant_shape,),
    "BROADCAST_TO": (tiled, times_ones), "TILE": (written, broadcast),
}  # fmt: skip
