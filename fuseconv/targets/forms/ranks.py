"""Forms of ops whose operands have as many dimensions as delegates take them for.

GPUs read the first dimension of a tensor as the batch and the last as the channels, however many there are, and
constants without a batch."""

from __future__ import annotations

from collections.abc import Sequence

from fuseconv.ir.graph import Op, Value
from fuseconv.targets.forms.shapes import known_shape
from fuseconv.tfl.builder import Builder

_MOST = 4
_BINARY = (
    "ADD SUB MUL DIV MAXIMUM MINIMUM POW SQUARED_DIFFERENCE FLOOR_DIV FLOOR_MOD EQUAL NOT_EQUAL GREATER GREATER_EQUAL "
    "LESS LESS_EQUAL LOGICAL_AND LOGICAL_OR"
)


def of_one_rank(tfl: Builder, op: Op) -> list[Value] | None:
    """ADD(x[2,4,3], y[3]) -> ADD(x, RESHAPE(y, [1,1,3]))."""
    shape = known_shape(op.result)
    wide = None if shape is None else _widened(tfl, op, len(shape))
    return None if wide is None else tfl.op(op.type, tuple(wide), dict(op.attrs))


def of_four(tfl: Builder, op: Op) -> list[Value] | None:
    """ADD(x[4,3], c[4,3]) -> RESHAPE(ADD(RESHAPE(x, [1,1,4,3]), c[1,1,4,3]), [4,3])."""
    shape = known_shape(op.result)
    wide = None if shape is None else _widened(tfl, op, _MOST)
    if shape is None or wide is None or len(shape) >= _MOST:
        return None
    return [tfl.reshape(tfl.op(op.type, tuple(wide), dict(op.attrs))[0], shape)]


def joined_in_four(tfl: Builder, op: Op) -> list[Value] | None:
    """CONCATENATION(x[2,3], c[2,4], axis=1) -> RESHAPE(CONCATENATION(RESHAPE(x), c[1,1,2,4], axis=3))."""
    shape = known_shape(op.result)
    wide = None if shape is None else _widened(tfl, op, _MOST)
    if not shape or wide is None or len(shape) >= _MOST:
        return None
    axis = op.attrs.get("axis", 0) % len(shape) + _MOST - len(shape)
    return [tfl.reshape(tfl.concatenation(*wide, **{**op.attrs, "axis": axis}), shape)]


def _widened(tfl: Builder, op: Op, rank: int) -> list[Value] | None:
    """Return operands of so many dimensions; None if they have them, or are of more, of unknown sizes or quantized."""
    shapes = [None if value is None else known_shape(value) for value in op.operands]
    if op.result.quantization or any(shape is None or len(shape) > rank for shape in shapes):
        return None
    wide = [_in_rank(tfl, value, shape, rank) for value, shape in zip(op.operands, shapes)]  # type: ignore[arg-type]
    return None if wide == list(op.operands) else wide


def _in_rank(tfl: Builder, value: Value, shape: Sequence[int], rank: int) -> Value:
    full = [1] * (rank - len(shape)) + list(shape)
    if len(shape) == rank:
        return value
    return tfl.reshape(value, full) if value.data is None else tfl.const(value.data.reshape(full), value.dtype)


FORMS = {
    **dict.fromkeys(_BINARY.split(), (of_one_rank, of_four)), "CONCATENATION": (joined_in_four,),
}  # fmt: skip
