"""Ranges of whole numbers, and what TF ops make of them: ids from 0 to 9, plus 1, are numbers from 1 to 10."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Op, Value
from fuseconv.ir.types import DType
from fuseconv.tf.operands import content_of
from fuseconv.tf.traits import ADDS, FORWARDS, REORDERS, REPEATS, RESHAPES, SELECTS, SLICES

# Vectors of more elements, such as tables, have one range for all of them; larger constants are not looked through.
_MOST_APART, _MOST_ELEMENTS = 16, 1 << 16


class Range(NamedTuple):
    """The least and the largest number that a tensor may hold; False is 0 and True is 1. There is one of each for all
    elements, or one for each place along the last axis, as where a slice starts."""

    low: tuple[int, ...]
    high: tuple[int, ...]

    @property
    def joined(self) -> Range:
        """The range of all elements."""
        return self if len(self.low) == 1 else Range((min(self.low),), (max(self.high),))

    def __or__(self, other: Range) -> Range:
        """Return the range of what may be an element of either."""
        a, b = _alike(self, other)
        return Range(tuple(map(min, a.low, b.low)), tuple(map(max, a.high, b.high)))

    def __and__(self, other: Range) -> Range:
        """Return the range of what is in both."""
        a, b = _alike(self, other)
        return Range(tuple(map(max, a.low, b.low)), tuple(map(min, a.high, b.high)))

    def holds(self, other: Range) -> bool:
        """Return whether all numbers of another range are in this one."""
        return self | other == _alike(self, other)[0]


TRUE, FALSE, TRUTH = Range((1,), (1,)), Range((0,), (0,)), Range((0,), (1,))
ANY = Range((-math.inf,), (math.inf,))  # type: ignore[arg-type]
_Ranges = Sequence[Range]
_Rule = Callable[[Op, _Ranges], Range]


@functools.cache
def every(dtype: DType) -> Range:
    """Return the range of all numbers of a type."""
    if dtype is types.BOOL:
        return TRUTH
    if dtype.numpy.kind not in "iu":
        return ANY
    ends = np.iinfo(dtype.numpy)
    return Range((int(ends.min),), (int(ends.max),))


def of_constant(data: np.ndarray) -> Range | None:
    """Return the range of a constant; None if it holds other things than whole numbers, or too many."""
    if data.dtype.kind not in "iub" or not 0 < data.size <= _MOST_ELEMENTS:
        return None
    apart = data.ndim > 0 and data.shape[-1] <= _MOST_APART
    rows = data.reshape(-1, data.shape[-1] if apart else data.size)
    low, high = (rows.min(0), rows.max(0)) if apart else (rows.min(1), rows.max(1))
    return Range(tuple(map(int, low)), tuple(map(int, high)))


def range_of_result(op: Op, ranges: _Ranges) -> Range | None:
    """Return the range of the only result of an op; None if nothing is known of it, or if numbers may wrap around.

    ranges: of the operands, `every` number of their types where nothing is known."""
    rule, ends = RULES.get(op.kind), every(op.result.dtype)
    if rule is None or ends is ANY:
        return None
    made = rule(op, ranges)
    return made if ends.holds(made) and not made.holds(ends) else None


def _alike(a: Range, b: Range) -> tuple[Range, Range]:
    """Return ranges of as many places each."""
    count = max(len(a.low), len(b.low))
    if {len(a.low), len(b.low)} - {1, count}:
        return a.joined, b.joined
    return _spread(a, count), _spread(b, count)


def _spread(a: Range, count: int) -> Range:
    return a if len(a.low) == count else Range(a.low * count, a.high * count)


def _of_two(lowest: Callable[..., int], highest: Callable[..., int]) -> _Rule:
    """Make a rule of what gives the ends of a range, each from the ends of two: low, high, low, high."""

    def rule(op: Op, ranges: _Ranges) -> Range:
        a, b = _alike(*ranges)
        ends = [*zip(a.low, a.high, b.low, b.high)]
        return Range(tuple(lowest(*each) for each in ends), tuple(highest(*each) for each in ends))

    return rule


def _first(op: Op, ranges: _Ranges) -> Range:
    return ranges[0]


def _moved(op: Op, ranges: _Ranges) -> Range:
    """Return the range of what has other places than the first operand."""
    return ranges[0].joined


def _any_of(ranges: _Ranges) -> Range:
    made = ranges[0].joined
    for each in ranges[1:]:
        made |= each.joined
    return made


def _negated(a: Range) -> Range:
    return Range(tuple(-each for each in a.high), tuple(-each for each in a.low))


def _not(a: Range) -> Range:
    return Range(tuple(1 - each for each in a.high), tuple(1 - each for each in a.low))


def _select(op: Op, ranges: _Ranges) -> Range:
    condition, yes, no = ranges
    return yes if condition.joined == TRUE else no if condition.joined == FALSE else yes | no


def _place(op: Op, ranges: _Ranges) -> Range:
    """Of ArgMax and ArgMin: all places along the axis."""
    x, axis = op.operands
    known = x is not None and x.shape and axis is not None and axis.data is not None
    size = x.shape[int(axis.data)] if known else None  # type: ignore[union-attr,index,arg-type]
    return Range((0,), (size - 1,)) if isinstance(size, int) and size else every(op.result.dtype)


def _remainder(op: Op, ranges: _Ranges) -> Range:
    number, divisor = _alike(*ranges)
    if min(divisor.low) <= 0:
        return every(op.result.dtype)
    same = all(low >= 0 and high < least for low, high, least in zip(*number, divisor.low))
    return number if same else Range((0,) * len(divisor.high), tuple(high - 1 for high in divisor.high))


def _pack(op: Op, ranges: _Ranges) -> Range:
    joined = [each.joined for each in ranges]
    if len(op.result.shape or ()) != 1 or not 0 < len(joined) <= _MOST_APART:
        return _any_of(ranges)
    return Range(tuple(each.low[0] for each in joined), tuple(each.high[0] for each in joined))


def _concat(op: Op, ranges: _Ranges) -> Range:
    parts, sizes = ranges[:-1], [value.shape and value.shape[-1] for value in op.operands[:-1] if value is not None]
    if len(op.result.shape or ()) != 1 or not all(isinstance(size, int) and 0 < size <= _MOST_APART for size in sizes):
        return _any_of(parts)
    spread = [_spread(each, size) for each, size in zip(parts, sizes)]  # type: ignore[arg-type]
    return Range(tuple(n for each in spread for n in each.low), tuple(n for each in spread for n in each.high))


def _gather(op: Op, ranges: _Ranges) -> Range:
    params, places, shape = ranges[0], content_of(op.operands[1]), op.operands[0].shape  # type: ignore[union-attr]
    if places is None or places.ndim != 1 or not shape or shape != (len(params.low),) or op.attrs.get("batch_dims"):
        return params.joined
    chosen = [place for place in places if isinstance(place, int) and 0 <= place < len(params.low)]
    if not chosen or len(chosen) < len(places):
        return params.joined
    return Range(tuple(params.low[place] for place in chosen), tuple(params.high[place] for place in chosen))


def _lowest_product(*ends: int) -> int:
    return min(x * y for x in ends[:2] for y in ends[2:])


def _highest_product(*ends: int) -> int:
    return max(x * y for x in ends[:2] for y in ends[2:])


_SAME = _of_two(
    lambda low, high, low2, high2: low == high == low2 == high2,
    lambda low, high, low2, high2: low <= high2 and low2 <= high,
)
_LESS = _of_two(lambda low, high, low2, high2: high < low2, lambda low, high, low2, high2: low < high2)
_LESS_EQUAL = _of_two(lambda low, high, low2, high2: high <= low2, lambda low, high, low2, high2: low <= high2)
_SUM = _of_two(lambda low, high, low2, high2: low + low2, lambda low, high, low2, high2: high + high2)
_DIFFERENCE = _of_two(lambda low, high, low2, high2: low - high2, lambda low, high, low2, high2: high - low2)
_LEAST = _of_two(lambda low, high, low2, high2: min(low, low2), lambda low, high, low2, high2: min(high, high2))
_LARGEST = _of_two(lambda low, high, low2, high2: max(low, low2), lambda low, high, low2, high2: max(high, high2))

RULES: dict[str, _Rule] = {
    **dict.fromkeys((*FORWARDS, "tf.BroadcastTo", "tf.Cast"), _first),
    **dict.fromkeys(REORDERS | REPEATS - {"tf.BroadcastTo"} | RESHAPES | SLICES, _moved),
    **dict.fromkeys(("tf.Transpose", "tf.XlaDynamicSlice"), _moved),
    **dict.fromkeys(("tf.Gather", "tf.GatherV2"), _gather),
    **dict.fromkeys(SELECTS, _select),
    **dict.fromkeys(ADDS, _SUM),
    "tf.Sub": _DIFFERENCE,
    "tf.Mul": _of_two(_lowest_product, _highest_product),
    "tf.Neg": lambda op, ranges: _negated(ranges[0]),
    "tf.FloorMod": _remainder,
    **dict.fromkeys(("tf.ArgMax", "tf.ArgMin"), _place),
    "tf.ConcatV2": _concat,
    "tf.Fill": lambda op, ranges: ranges[1],
    "tf.Pack": _pack,
    "tf.TensorScatterUpdate": lambda op, ranges: _any_of((ranges[0], ranges[2])),
    "tf.XlaDynamicUpdateSlice": lambda op, ranges: _any_of(ranges[:2]),
    "tf.Maximum": _LARGEST,
    "tf.Minimum": _LEAST,
    "tf.Less": _LESS,
    "tf.LessEqual": _LESS_EQUAL,
    "tf.Greater": lambda op, ranges: _LESS(op, ranges[::-1]),
    "tf.GreaterEqual": lambda op, ranges: _LESS_EQUAL(op, ranges[::-1]),
    "tf.Equal": _SAME,
    "tf.NotEqual": lambda op, ranges: _not(_SAME(op, ranges)),
    "tf.LogicalNot": lambda op, ranges: _not(ranges[0]),
    "tf.LogicalAnd": _LEAST,
    "tf.LogicalOr": _LARGEST,
    # Of no elements All is true and Any is false.
    "tf.All": lambda op, ranges: Range(ranges[0].joined.low, (1,)),
    "tf.Any": lambda op, ranges: Range((0,), ranges[0].joined.high),
}  # fmt: skip


def handed_on(op: Op, ranges: _Ranges) -> Value | None:
    """Return the operand that the result of an op of `BOUNDS` is, whatever the numbers are; None if that hangs on them.
    """
    x, y = op.operands[-2:]
    if op.kind in SELECTS:
        condition = ranges[0].joined
        return x if condition == TRUE else y if condition == FALSE else None
    a, b = _alike(*ranges)
    if op.kind == "tf.FloorMod":
        return x if min(a.low) >= 0 and all(map(operator.lt, a.high, b.low)) else None
    first, second = all(map(operator.ge, a.low, b.high)), all(map(operator.ge, b.low, a.high))
    if op.kind in ("tf.Minimum", "tf.LogicalAnd"):
        first, second = second, first
    return x if first else y if second else None


# Ops that hand on an operand where the numbers of the others say so.
BOUNDS = SELECTS | {"tf.FloorMod", "tf.LogicalAnd", "tf.LogicalOr", "tf.Maximum", "tf.Minimum"}
