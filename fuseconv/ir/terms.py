"""Tell the parts of a term: the ops that make values, the operands of these, and numbers."""

from __future__ import annotations

from collections.abc import Container

from fuseconv.ir.graph import Op, Value


def op_of(value: Value | None, kinds: str | Container[str]) -> Op | None:
    """Return the op that makes a value, if it is of this kind, or of one of these."""
    op = None if value is None else value.op
    if op is None or (op.kind != kinds if isinstance(kinds, str) else op.kind not in kinds):
        return None
    return op


def operand_of(value: Value | None, kinds: str | Container[str]) -> Value | None:
    """Return the first operand of the op that makes a value, if it is of this kind, or of one of these."""
    op = op_of(value, kinds)
    return None if op is None else op.operands[0]


def look_through(value: Value, kinds: str | Container[str]) -> Value:
    """Return what a value is made of by ops of these kinds alone, which hand on one operand for each result: of
    Reshape(Squeeze(x)) x, and of x itself."""
    while (op := op_of(value, kinds)) is not None and (source := op.operands[value.index]) is not None:
        value = source
    return value


def either_way(op: Op) -> list[tuple[Value, Value]]:
    """Return the operands of an op of two, in both orders."""
    x, y = op.operands
    assert x is not None and y is not None
    return [(x, y), (y, x)]


def number_of(value: Value) -> float | None:
    """Return the number that a constant is; None if it is no constant of one element."""
    if value.data is None or value.data.size != 1 or value.data.dtype.kind not in "fiu":
        return None
    return float(value.data.reshape(-1)[0])


def filled_with(value: Value) -> Value | None:
    """Return the number that Fill makes a value of; of another value itself."""
    op = op_of(value, "tf.Fill")
    return value if op is None else op.operands[1]


def is_zero(value: Value | None) -> bool:
    """Return whether a value is known to hold nothing but zeros, of whatever sign."""
    if value is None or value.is_const:
        return value is not None and not value.data.any()  # type: ignore[union-attr]
    op = op_of(value, ("tf.Fill", "tf.ZerosLike"))
    return op is not None and (op.kind == "tf.ZerosLike" or is_zero(op.operands[1]))


def shaped(value: Value, op: Op) -> Value:
    """Return a value that takes the place of an op's result, of the same shape."""
    value.shape = op.result.shape
    return value
