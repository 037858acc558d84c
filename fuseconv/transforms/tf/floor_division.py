"""Name divisions of integers that round down, which JAX spells out by those that cut: x // 2 -> FloorDiv(x, 2)."""

from __future__ import annotations

from fuseconv.ir.graph import Op, Value
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.terms import either_way, number_of, operand_of, shaped
from fuseconv.tf.traits import ADDS

_NAMES = {"tf.TruncateDiv": "FloorDiv", "tf.TruncateMod": "FloorMod"}


def floor_division(op: Op, tf: TfBuilder) -> list[Value] | None:
    """SelectV2(x % n != 0 & x < 0, x / n - 1, x / n) -> FloorDiv(x, n), of a positive number n; and
    SelectV2(x % n != 0 & x % n < 0, x % n + n, x % n) -> FloorMod(x, n)."""
    condition, moved, cut = op.operands
    division = cut.op if cut is not None else None
    both = condition.op if condition is not None else None
    if division is None or division.kind not in _NAMES or both is None or both.kind != "tf.LogicalAnd":
        return None
    x, n = division.operands
    assert x is not None and n is not None and cut is not None
    number = number_of(n)
    if number is None or number < 1 or not x.dtype.is_integer or x.shape is None or x.shape != op.result.shape:
        return None
    if division.kind == "tf.TruncateMod":
        fits = any(_leaves(one, x, number, cut) and _is_negative(other, cut) for one, other in either_way(both))
        more = number
    else:
        fits = any(_leaves(one, x, number, None) and _has_not_sign_one(other, x) for one, other in either_way(both))
        more = -1
    if not fits or _difference(moved, cut) != more:
        return None
    return [shaped(tf.add(_NAMES[division.kind], [x, n], {}, x.dtype), op)]


def _leaves(test: Value, x: Value, number: float, rest: Value | None) -> bool:
    """Return whether a test is that x is no multiple of a number. rest: what x leaves, if one value is to stand for
    it."""
    if test.op is None or test.op.kind != "tf.NotEqual":
        return False
    for left, zero in either_way(test.op):
        found = left.op if left.op is not None and left.op.kind == "tf.TruncateMod" else None
        same = found is not None and found.operands[0] is x and number_of(found.operands[1]) == number  # type: ignore[arg-type]
        if same and number_of(zero) == 0 and rest in (None, left):
            return True
    return False


def _is_negative(test: Value, x: Value) -> bool:
    op = test.op
    return op is not None and op.kind == "tf.Less" and op.operands[0] is x and number_of(op.operands[1]) == 0  # type: ignore[arg-type]


def _has_not_sign_one(test: Value, x: Value) -> bool:
    """Return whether a test is that x is not positive, by its sign; 0 is a multiple of any number."""
    if test.op is None or test.op.kind != "tf.NotEqual":
        return False
    return any(operand_of(sign, "tf.Sign") is x and number_of(one) == 1 for sign, one in either_way(test.op))


def _difference(moved: Value | None, x: Value) -> float | None:
    """Return the number that is added to x, or None."""
    op = moved.op if moved is not None else None
    if op is None:
        return None
    if op.kind == "tf.Sub" and op.operands[0] is x:
        number = number_of(op.operands[1])  # type: ignore[arg-type]
        return None if number is None else -number
    if op.kind in ADDS:
        return next((number_of(number) for other, number in either_way(op) if other is x), None)
    return None
