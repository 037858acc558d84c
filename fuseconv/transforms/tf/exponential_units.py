"""Name exponential linear units and softplus, as JAX spells them out."""

from __future__ import annotations

from fuseconv.ir import types
from fuseconv.ir.graph import Op, Value
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.terms import either_way, number_of, operand_of, shaped
from fuseconv.tf.traits import ADDS


def elu_below_zero(op: Op, tf: TfBuilder) -> list[Value] | None:
    """Name Expm1 of what is nowhere above 0: Expm1(SelectV2(x > 0, 0, x)) -> Elu(SelectV2(x > 0, 0, x)), of one op."""
    x = op.operands[0]
    if x is None or x.dtype is not types.FLOAT32 or not (_held_below_zero(x) or _clipped_at_zero(x)):
        return None
    return [shaped(tf.Elu(x), op)]


def elu(op: Op, tf: TfBuilder) -> list[Value] | None:
    """Name an exponential linear unit: SelectV2(x > 0, x, Elu(SelectV2(x > 0, 0, x))) -> Elu(x)."""
    condition, x, other = op.operands
    below = operand_of(other, "tf.Elu")
    if x is None or below is None or op.result.shape != x.shape:
        return None
    held = _held_below_zero(below)
    return [shaped(tf.Elu(x), op)] if held is x and _above_zero(condition) is x else None


def _held_below_zero(value: Value) -> Value | None:
    """Return x of SelectV2(x > 0, 0, x)."""
    op = value.op
    if op is None or op.kind != "tf.SelectV2":
        return None
    condition, zero, x = op.operands
    same = zero is not None and number_of(zero) == 0 and x is not None and _above_zero(condition) is x
    return x if same else None


def _clipped_at_zero(value: Value) -> bool:
    op = value.op
    return op is not None and op.kind == "tf.Minimum" and any(number_of(bound) == 0 for _, bound in either_way(op))


def _above_zero(value: Value | None) -> Value | None:
    """Return x of x > 0."""
    op = value.op if value is not None else None
    if op is None or op.kind != "tf.Greater":
        return None
    x, zero = op.operands
    return x if zero is not None and number_of(zero) == 0 else None


def softplus(op: Op, tf: TfBuilder) -> list[Value] | None:
    """Name a softplus: SelectV2(x != x, x, Relu(x) + Log1p(Exp(-|x|))) -> Softplus(x), which hands NaN on by itself."""
    condition, x, total = op.operands
    test, add = (value.op if value is not None else None for value in (condition, total))
    if x is None or x.dtype is not types.FLOAT32 or op.result.shape != x.shape or test is None or add is None:
        return None
    if test.kind != "tf.NotEqual" or test.operands != [x, x] or add.kind not in ADDS:
        return None
    for above, below in either_way(add):
        decay = operand_of(operand_of(operand_of(operand_of(below, "tf.Log1p"), "tf.Exp"), "tf.Neg"), "tf.Abs")
        if decay is x and operand_of(above, "tf.Relu") is x:
            return [shaped(tf.Softplus(x), op)]
    return None
