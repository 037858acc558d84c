"""Leave out what guards against whole numbers that cannot come, by the ranges of the numbers that can.

JAX looks up ids as if they could be negative, which count from the end, or beyond the table, which gives NaN. Of ids
that lie in the table (`--input-range ids=0:29999`, the place of a maximum, a remainder) none of that is left. Known as
integer range analysis in MLIR, whose pass has the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from fuseconv.input_ranges import InputRange, checked_ranges
from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Module, Op, Value, detach, replace_uses
from fuseconv.pass_manager import module_pass
from fuseconv.report.records import Report
from fuseconv.tf.traits import ADDS, FORWARDS, REORDERS, REPEATS, RESHAPES, SELECTS, SLICES

# The least and the largest number that a tensor may hold; False is 0 and True is 1.
_Range = tuple[int, int]
_TRUTH: _Range = (0, 1)
_TRUE: _Range = (1, 1)
_FALSE: _Range = (0, 0)
# Larger constants are not looked through: they are tables, and many ops may read one.
_MOST_ELEMENTS = 1 << 16
# Ops that hand on an operand where the numbers of the others say so.
_BOUNDS = SELECTS | {"tf.FloorMod", "tf.LogicalAnd", "tf.LogicalOr", "tf.Maximum", "tf.Minimum"}


@module_pass("int-range-optimizations")
def int_range_optimizations(module: Module, input_ranges: Mapping[str, InputRange], report: Report) -> bool:
    """Forward what bounds and choices leave as it is, as all numbers are in a known range: Maximum(ids, 0) -> ids.

    input_ranges: of inputs, by the signature's names. Requires inferred shapes. Returns whether any op was replaced;
    dead ops stay. Raises InputError for a range that no input can have."""
    report.input_ranges = dict(input_ranges)
    ranges = _Ranges(report, _of_inputs(module, input_ranges) if input_ranges else {})
    has_some = bool(ranges.known)
    changed = [ranges.walk(graph) for graph in module.graphs() if has_some or not graph.kinds.isdisjoint(_LIMITS)]
    return any(changed)


def _of_inputs(module: Module, input_ranges: Mapping[str, InputRange]) -> dict[Value, _Range]:
    inputs = [dict(zip(signature.inputs, signature.graph.inputs)) for signature in module.signatures]
    types = [{name: value.dtype.numpy for name, value in values.items()} for values in inputs]
    given = checked_ranges(input_ranges, list(zip([signature.names for signature in module.signatures], types)))
    return {values[name]: ends for values, found in zip(inputs, given) for name, ends in found.items()}


class _Ranges:
    """The values of graphs whose numbers are known to lie in a range that is less than their type's."""

    def __init__(self, report: Report, known: dict[Value, _Range]) -> None:
        self.report = report
        self.known = known

    def walk(self, graph: Graph) -> bool:
        """Replace the ops of a graph that hand on an operand. Return whether there were any."""
        changed = False
        kept: list[Op] = []
        for op in graph.ops:
            rule = _RULES.get(op.kind)
            is_open = op.kind not in _SOURCES and self.known.keys().isdisjoint(op.operands)
            if rule is None or is_open or len(op.results) != 1:
                kept.append(op)
                continue
            ranges = [self.of(value) for value in op.operands]
            same = _handed_on(op, ranges) if op.kind in _BOUNDS else None
            if same is not None and same.shape is not None and same.shape == op.result.shape:
                replace_uses(op.result, same)
                self.report.removed(op, "int-range-optimizations", "the range of its operands decides its result")
                detach(op)
                changed = True
                continue
            kept.append(op)
            made = rule(op, ranges)
            if made is not None and _is_known(op.result.dtype, made):
                self.known[op.result] = made
        graph.ops = kept
        return changed

    def of(self, value: Value | None) -> _Range | None:
        """Return the range of a value; None if it may hold all numbers of its type, or is no whole number."""
        if value is None or value.data is None:
            return self.known.get(value)  # type: ignore[arg-type]
        data = value.data
        if data.dtype.kind not in "iub" or not 0 < data.size <= _MOST_ELEMENTS:
            return None
        return int(data.min()), int(data.max())


def _is_known(dtype: types.DType, made: _Range) -> bool:
    """Return whether a range tells something of a type, which holds all its numbers: others wrap around."""
    if dtype is types.BOOL:
        return made != _TRUTH
    if dtype.numpy.kind not in "iu":
        return False
    ends = np.iinfo(dtype.numpy)
    return bool(ends.min <= made[0] and made[1] <= ends.max)


def _handed_on(op: Op, ranges: Sequence[_Range | None]) -> Value | None:
    """Return the operand that is an op's result, whatever the numbers are."""
    if op.kind in SELECTS:
        choices = {_TRUE: op.operands[1], _FALSE: op.operands[2]}
        return choices.get(ranges[0]) if ranges[0] else None
    x, y = op.operands
    a, b = ranges
    if _is_untouched(op.kind, a, b):
        return x
    return y if op.kind != "tf.FloorMod" and _is_untouched(op.kind, b, a) else None


def _is_untouched(kind: str, a: _Range | None, b: _Range | None) -> bool:
    """Return whether the operand of range `a` is the result, beside one of range `b`."""
    if kind == "tf.LogicalAnd":
        return b == _TRUE or a == _FALSE
    if kind == "tf.LogicalOr":
        return b == _FALSE or a == _TRUE
    if a is None or b is None:
        return False
    if kind == "tf.Maximum":
        return a[0] >= b[1]
    if kind == "tf.Minimum":
        return a[1] <= b[0]
    return a[0] >= 0 and a[1] < b[0]  # a remainder


_Ranged = Sequence[_Range | None]


def _first(op: Op, ranges: _Ranged) -> _Range | None:
    return ranges[0]


def _any_of(ranges: _Ranged) -> _Range | None:
    """Return the range of what may be an element of each."""
    known = [each for each in ranges if each is not None]
    return (min(low for low, _ in known), max(high for _, high in known)) if len(known) == len(ranges) else None


def _place(op: Op, ranges: _Ranged) -> _Range | None:
    """Of ArgMax and ArgMin: all places along the axis."""
    x, axis = op.operands
    if x is None or not x.shape or axis is None or axis.data is None:
        return None
    size = x.shape[int(axis.data)]
    return (0, size - 1) if isinstance(size, int) and size else None


def _cast(op: Op, ranges: _Ranged) -> _Range | None:
    return None if op.result.dtype is types.BOOL else ranges[0]


def _both(combine: Callable[[_Range, _Range], _Range | None]) -> Callable[[Op, _Ranged], _Range | None]:
    """Make a rule of what two ranges make, which are known."""

    def rule(op: Op, ranges: _Ranged) -> _Range | None:
        a, b = ranges
        return None if a is None or b is None else combine(a, b)

    return rule


def _less(a: _Range, b: _Range) -> _Range:
    return _TRUE if a[1] < b[0] else _FALSE if a[0] >= b[1] else _TRUTH


def _equal(a: _Range, b: _Range) -> _Range:
    return _FALSE if a[1] < b[0] or b[1] < a[0] else _TRUE if a[0] == a[1] == b[0] == b[1] else _TRUTH


def _not(a: _Range) -> _Range:
    return 1 - a[1], 1 - a[0]


def _product(a: _Range, b: _Range) -> _Range:
    corners = [x * y for x in a for y in b]
    return min(corners), max(corners)


_RULES: dict[str, Callable[[Op, _Ranged], _Range | None]] = {
    **dict.fromkeys(FORWARDS | REORDERS | REPEATS | RESHAPES | SLICES, _first),
    **dict.fromkeys(("tf.Gather", "tf.GatherV2", "tf.Transpose"), _first),
    **dict.fromkeys(SELECTS, lambda op, ranges: _any_of(ranges[1:])),
    **dict.fromkeys(ADDS, _both(lambda a, b: (a[0] + b[0], a[1] + b[1]))),
    **dict.fromkeys(("tf.ArgMax", "tf.ArgMin"), _place),
    "tf.Fill": lambda op, ranges: ranges[1],
    "tf.ConcatV2": lambda op, ranges: _any_of(ranges[:-1]),  # the last operand is the axis
    "tf.Pack": lambda op, ranges: _any_of(ranges),
    "tf.Cast": _cast,
    "tf.FloorMod": lambda op, ranges: (0, ranges[1][1] - 1) if ranges[1] and ranges[1][0] > 0 else None,
    "tf.Sub": _both(lambda a, b: (a[0] - b[1], a[1] - b[0])),
    "tf.Neg": lambda op, ranges: (-ranges[0][1], -ranges[0][0]) if ranges[0] else None,
    "tf.Mul": _both(_product),
    "tf.Maximum": _both(lambda a, b: (max(a[0], b[0]), max(a[1], b[1]))),
    "tf.Minimum": _both(lambda a, b: (min(a[0], b[0]), min(a[1], b[1]))),
    "tf.Less": _both(_less),
    "tf.LessEqual": _both(lambda a, b: _not(_less(b, a))),
    "tf.Greater": _both(lambda a, b: _less(b, a)),
    "tf.GreaterEqual": _both(lambda a, b: _not(_less(a, b))),
    "tf.Equal": _both(_equal),
    "tf.NotEqual": _both(lambda a, b: _not(_equal(a, b))),
    "tf.LogicalNot": lambda op, ranges: _not(ranges[0]) if ranges[0] else None,
    "tf.LogicalAnd": lambda op, ranges: _FALSE if _FALSE in ranges else _any_of(ranges),
    "tf.LogicalOr": lambda op, ranges: _TRUE if _TRUE in ranges else _any_of(ranges),
    # Of no elements All is true and Any is false.
    "tf.All": lambda op, ranges: _TRUE if ranges[0] == _TRUE else None,
    "tf.Any": lambda op, ranges: _FALSE if ranges[0] == _FALSE else None,
}
# Ops that make a range of any numbers, without which, and without ranges of inputs, there is nothing to do.
_LIMITS = frozenset({"tf.ArgMax", "tf.ArgMin", "tf.FloorMod"})
# Ops whose results have a range where those of no operand is known but by its being a constant.
_SOURCES = _LIMITS | REPEATS | {"tf.Fill"}
