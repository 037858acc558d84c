"""Tell the parts of a term: the operands of ops of one kind, and numbers."""

from __future__ import annotations

from fuseconv.ir.graph import Op, Value


def operand_of(value: Value | None, kind: str) -> Value | None:
    """Return the first operand of the op that makes a value, if it is of this kind."""
    return value.op.operands[0] if value is not None and value.op is not None and value.op.kind == kind else None


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


def shaped(value: Value, op: Op) -> Value:
    """Return a value that takes the place of an op's result, of the same shape."""
    value.shape = op.result.shape
    return value
