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


def of_image(tfl: Builder, op: Op) -> list[Value] | None:
    """ADD(x[8,2,4,4], c[8,1,4,4]) -> RESHAPE(ADD(RESHAPE(x, [1,8,2,16]), c[1,8,1,16])): of a batch of one."""
    shape, shapes = known_shape(op.result), [None if value is None else known_shape(value) for value in op.operands]
    if shape is None or len(shape) != _MOST or op.result.quantization or any(not known for known in shapes):
        return None
    wide = [[1] * (_MOST - len(known)) + known for known in shapes if known]
    at = next((at for at in (2, 1, 0) if all(_merges(sizes, shape, at) for sizes in wide)), None)
    if at is None:
        return None
    merged = [[1, *sizes[:at], sizes[at] * sizes[at + 1], *sizes[at + 2 :]] for sizes in wide]
    values = [_shaped(tfl, value, sizes) for value, sizes in zip(op.operands, merged)]  # type: ignore[arg-type]
    return [tfl.reshape(tfl.op(op.type, tuple(values), dict(op.attrs))[0], shape)]


def _merges(sizes: Sequence[int], shape: Sequence[int], at: int) -> bool:
    """Return whether an operand's dimension and the next may be one: both are the result's, or copied along it."""
    pair = list(sizes[at : at + 2])
    return pair in ([1, 1], list(shape[at : at + 2]))


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
    return value if len(shape) == rank else _shaped(tfl, value, [1] * (rank - len(shape)) + list(shape))


def _shaped(tfl: Builder, value: Value, shape: Sequence[int]) -> Value:
    return tfl.reshape(value, list(shape)) if value.data is None else tfl.const(value.data.reshape(shape), value.dtype)


FORMS = {
    **dict.fromkeys(_BINARY.split(), (of_one_rank, of_four, of_image)), "CONCATENATION": (joined_in_four,),
}  # fmt: skip
