"""Simplify what is chosen and compared by booleans, as JAX spells `vmap` of a branch and `&` of loops' conditions.

    Less(Cast(b, int32), 1)         ->  LogicalNot(b)
    NotEqual(b, False)              ->  b
    SelectV2(LogicalNot(b), x, y)   ->  SelectV2(b, y, x)
    SelectV2(b, x, x)               ->  x
    SelectV2(False, x, y)           ->  y
"""

from __future__ import annotations

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Op, Value
from fuseconv.ir.terms import op_of
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.traits import COMPARISONS

# What tests of two operands compute.
TESTS = {
    "tf.Equal": np.equal, "tf.Greater": np.greater, "tf.GreaterEqual": np.greater_equal, "tf.Less": np.less,
    "tf.LessEqual": np.less_equal, "tf.NotEqual": np.not_equal,
}  # fmt: skip
assert TESTS.keys() >= COMPARISONS


def test_of_boolean(op: Op, tf: TfBuilder) -> list[Value] | None:
    """Forward or negate a boolean that is compared with a constant, as itself or as a number."""
    for place, (x, bound) in enumerate((op.operands, reversed(op.operands))):
        if x is None or bound is None or bound.data is None or bound.data.size != 1:
            continue
        flag = x if x.op is None or x.op.kind != "tf.Cast" else x.op.operands[0]
        if flag is None or flag.dtype is not types.BOOL or flag.shape is None or flag.shape != op.result.shape:
            continue
        numbers = np.array([False, True]).astype(x.dtype.numpy)
        limit = bound.data.reshape(())
        off, on = TESTS[op.kind](numbers, limit) if place == 0 else TESTS[op.kind](limit, numbers)
        if off != on:
            return [flag if on else tf.add("LogicalNot", [flag], {}, types.BOOL, flag.shape)]
    return None


def plain_choice(op: Op, tf: TfBuilder) -> list[Value] | None:
    """Forward what either side of a choice is, or the side that a constant chooses; choose by what a condition
    negates."""
    condition, x, y = op.operands
    one = x if x is y or (condition is not None and condition.data is not None and condition.data.all()) else None
    if one is None and condition is not None and condition.data is not None and not condition.data.any():
        one = y
    if one is not None and one.shape is not None and one.shape == op.result.shape:
        return [one]
    negated = op_of(condition, "tf.LogicalNot")
    if negated is None:
        return None
    return [tf.add("SelectV2", [negated.operands[0], y, x], {}, op.result.dtype, op.result.shape)]
