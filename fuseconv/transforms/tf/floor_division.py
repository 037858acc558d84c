"""Name divisions of integers that round down, which JAX spells out by those that cut.

    x // 2  ->  FloorDiv(x, 2)        x % y  ->  FloorMod(x, y)
"""

from __future__ import annotations

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.dims import Sym, is_opaque
from fuseconv.ir.graph import Module, Op, Value, constant
from fuseconv.ir.rewriter import has_kind, rewrite_ops
from fuseconv.ir.terms import either_way, number_of, op_of, operand_of, shaped
from fuseconv.pass_manager import module_pass
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.operands import nonnegative
from fuseconv.tf.traits import ADDS
from fuseconv.transforms.tf.known_conditions import plain_choice

_NAMES = {"tf.TruncateDiv": "FloorDiv", "tf.TruncateMod": "FloorMod"}


@module_pass("floor-division", kinds=_NAMES.keys())
def name_floor_divisions(module: Module) -> bool:
    """Name divisions that round down: SelectV2(x % 2 != 0 & x < 0, x / 2 - 1, x / 2) -> FloorDiv(x, 2).

    JAX computes sizes so, which are known as symbols then: expects folded constants, and shapes inferred again. Returns
    whether anything changed."""

    def rewrite(op: Op, out: list[Op]) -> list[Value] | None:
        tf = TfBuilder(out, op)
        if op.kind != "tf.SelectV2":
            return fold_comparison(op, tf)
        return plain_choice(op, tf) or floor_division(op, tf) or floor_remainder(op, tf)

    changed = False
    for graph in module.graphs():
        if has_kind(graph, _NAMES):
            changed |= rewrite_ops(graph, ("tf.Equal", "tf.Less", "tf.SelectV2"), rewrite)
    return changed


def floor_division(op: Op, tf: TfBuilder) -> list[Value] | None:
    """SelectV2(x % n != 0 & x < 0, x / n - 1, x / n) -> FloorDiv(x, n), of a positive number n; and
    SelectV2(x % n != 0 & x % n < 0, x % n + n, x % n) -> FloorMod(x, n)."""
    condition, moved, cut = op.operands
    division, both = op_of(cut, _NAMES), op_of(condition, "tf.LogicalAnd")
    if division is None or both is None:
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


def floor_remainder(op: Op, tf: TfBuilder) -> list[Value] | None:
    """SelectV2(x % y != 0 & (x % y < 0) != (y < 0), x % y + y, x % y) -> FloorMod(x, y), of any y. What stands in for a
    divisor of 0 or -1, and for the result of 0, does so in what is made."""
    condition, moved, cut = op.operands
    both, more = condition.op if condition is not None else None, moved.op if moved is not None else None
    if cut is None or cut.op is None or both is None or more is None:
        return None
    if both.kind != "tf.LogicalAnd" or more.kind not in ADDS:
        return None
    y = next((other for one, other in either_way(more) if one is cut), None)
    guard = cut.op if cut.op.kind == "tf.SelectV2" else None
    rest = guard.operands[2] if guard is not None else cut
    division = op_of(rest, "tf.TruncateMod")
    if y is None or division is None or division.result.shape != op.result.shape:
        return None
    x, divisor = division.operands
    assert x is not None and divisor is not None
    if (guard is not None and x.shape != op.result.shape) or not _stands_for(divisor, y):
        return None
    # A half float would be rounded once, not twice.
    if not x.dtype.is_integer and x.dtype is not types.FLOAT32:
        return None
    tests = either_way(both)
    if not any(_is_test(some, "tf.NotEqual", cut, 0) and _signs_differ(other, cut, y) for some, other in tests):
        return None
    if guard is None:
        return [shaped(tf.FloorMod(x, divisor), op)]
    zero = guard.operands[0]
    if guard.operands[1] is not x or zero is None or not _is_test(zero, "tf.Equal", y, 0):
        return None
    return [shaped(tf.SelectV2(zero, x, shaped(tf.FloorMod(x, divisor), op), dtype=x.dtype), op)]


def fold_comparison(op: Op, tf: TfBuilder) -> list[Value] | None:
    """Fold what JAX asks of a divisor that it has replaced where it is 0: Equal(SelectV2(Equal(y, 0), 1, y), 0) ->
    False; and of one that is a size n: Equal(n, -1) -> False, Less(n, 0) -> False. Only scalars are followed."""
    if op.result.shape != ():
        return None
    pairs = either_way(op) if op.kind == "tf.Equal" else either_way(op)[:1]
    for x, bound in pairs:
        number = number_of(bound)
        if number is None or not x.dtype.is_integer:
            continue
        below = number < 0 if op.kind == "tf.Equal" else number <= 0
        if (below and _is_size(x)) or (op.kind == "tf.Equal" and number == 0 and _replaces_zero(x)):
            return [constant(np.array(False), types.BOOL, op.name)]
    return None


def _is_size(value: Value) -> bool:
    """Return whether a scalar is never negative: a size, a number, or a choice between such."""
    choice = op_of(value, "tf.SelectV2")
    for each in [value] if choice is None else choice.operands[1:]:
        known = None if each is None else each.data if each.data is not None else each.content
        if known is None or known.size != 1 or not nonnegative(known.item()):
            return False
        if isinstance(known.item(), Sym) and any(map(is_opaque, known.item().symbols())):
            return False
    return True


def _replaces_zero(value: Value) -> bool:
    """Return whether a value is SelectV2(Equal(y, 0), n, y) of a number n that is not 0."""
    op = op_of(value, "tf.SelectV2")
    if op is None:
        return False
    test, instead, y = op.operands
    if test is None or instead is None or y is None or number_of(instead) in (None, 0):
        return False
    return _is_test(test, "tf.Equal", y, 0)


def _stands_for(divisor: Value, y: Value) -> bool:
    """Return whether a divisor is y, or 1 for some that are 0 or -1."""
    if divisor.data is not None and y.data is not None:
        return np.array_equal(divisor.data, y.data)
    op = op_of(divisor, "tf.SelectV2")
    if divisor is y or op is None:
        return divisor is y
    test, one, other = op.operands
    if test is None or one is None or other is not y or number_of(one) != 1:
        return False
    either = op_of(test, "tf.LogicalOr")
    tests = [test] if either is None else either.operands
    return all(each is not None and _is_of_zero_or_minus_one(each, y) for each in tests)


def _is_of_zero_or_minus_one(test: Value, y: Value) -> bool:
    """Return whether a test holds of no y but 0 and -1."""
    never = test.data is not None and not test.data.any()
    return never or any(_is_test(test, "tf.Equal", y, number) for number in (0, -1))


def _is_test(test: Value, kind: str, x: Value, number: float) -> bool:
    """Return whether a value is this comparison, which goes either way, of x with a number."""
    op = op_of(test, kind)
    return op is not None and any(one is x and number_of(n) == number for one, n in either_way(op))


def _signs_differ(test: Value, x: Value, y: Value) -> bool:
    """Return whether a test is that one of two numbers is negative; of a size or constant that is not, whether the
    other is."""
    if bool(np.all(y.data >= 0)) if y.data is not None else y.shape == () and _is_size(y):
        return _is_negative(test, x)
    op = op_of(test, "tf.NotEqual")
    if op is None:
        return False
    return any(_is_negative(one, x) and _tells_sign(other, y) for one, other in either_way(op))


def _tells_sign(test: Value, y: Value) -> bool:
    """Return whether a test is that y is negative: an op, or of constants what it makes."""
    if test.data is None or y.data is None:
        return _is_negative(test, y)
    return np.array_equal(test.data, y.data < 0)


def _leaves(test: Value, x: Value, number: float, rest: Value | None) -> bool:
    """Return whether a test is that x is no multiple of a number. rest: what x leaves, if one value is to stand for
    it."""
    differs = op_of(test, "tf.NotEqual")
    for left, zero in either_way(differs) if differs is not None else ():
        found = op_of(left, "tf.TruncateMod")
        same = found is not None and found.operands[0] is x and number_of(found.operands[1]) == number  # type: ignore[arg-type]
        if same and number_of(zero) == 0 and rest in (None, left):
            return True
    return False


def _is_negative(test: Value, x: Value) -> bool:
    op = op_of(test, "tf.Less")
    return op is not None and op.operands[0] is x and number_of(op.operands[1]) == 0  # type: ignore[arg-type]


def _has_not_sign_one(test: Value, x: Value) -> bool:
    """Return whether a test is that x is not positive, by its sign; 0 is a multiple of any number."""
    op = op_of(test, "tf.NotEqual")
    sides = either_way(op) if op is not None else []
    return any(operand_of(sign, "tf.Sign") is x and number_of(one) == 1 for sign, one in sides)


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
