"""Name exponential linear units and softplus, as JAX and PyTorch spell them out."""

from __future__ import annotations

from fuseconv.ir import types
from fuseconv.ir.graph import Op, Value
from fuseconv.ir.terms import either_way, number_of, op_of, operand_of, shaped
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.traits import ADDS

# From here on log(1 + exp(x)) is x, in float32.
_LARGE = 17


def elu_below_zero(op: Op, tf: TfBuilder) -> list[Value] | None:
    """Name Expm1 of what is nowhere above 0: Expm1(SelectV2(x > 0, 0, x)) -> Elu(SelectV2(x > 0, 0, x)), of one op."""
    x = op.operands[0]
    if x is None or x.dtype is not types.FLOAT32 or not (_held_below_zero(x) or _clipped_at_zero(x)):
        return None
    return [shaped(tf.Elu(x), op)]


def elu(op: Op, tf: TfBuilder) -> list[Value] | None:
    """Name an exponential linear unit: SelectV2(x > 0, x, Elu(SelectV2(x > 0, 0, x))) -> Elu(x).

    So does PyTorch's, Expm1(x) times what it is scaled by: SelectV2(x > 0, y, Expm1(x) * 2) -> SelectV2(x > 0, y,
    Elu(x) * 2), of one op."""
    condition, x, other = op.operands
    tested = _above_zero(condition)
    if x is None or tested is None or op.result.shape != tested.shape:
        return None
    below = operand_of(other, "tf.Elu")
    if below is not None:
        return [shaped(tf.Elu(x), op)] if tested is x and _held_below_zero(below) is x else None
    scaled, scale = _scaled(other)
    if operand_of(scaled, "tf.Expm1") is not tested or tested.dtype is not types.FLOAT32:
        return None
    if scale is None and tested is not x:
        return None
    unit = shaped(tf.Elu(tested), op)
    if scale is None:
        return [unit]
    assert condition is not None
    return [shaped(tf.SelectV2(condition, x, shaped(tf.Mul(unit, scale), op), dtype=x.dtype), op)]


def _scaled(value: Value | None) -> tuple[Value | None, Value | None]:
    """Return (x, 2) of x * 2, and (x, None) of another x."""
    op = op_of(value, "tf.Mul")
    for x, factor in either_way(op) if op is not None else ():
        if number_of(factor) is not None:
            return x, factor
    return value, None


def _held_below_zero(value: Value) -> Value | None:
    """Return x of SelectV2(x > 0, 0, x)."""
    op = op_of(value, "tf.SelectV2")
    if op is None:
        return None
    condition, zero, x = op.operands
    same = zero is not None and number_of(zero) == 0 and x is not None and _above_zero(condition) is x
    return x if same else None


def _clipped_at_zero(value: Value) -> bool:
    op = op_of(value, "tf.Minimum")
    return op is not None and any(number_of(bound) == 0 for _, bound in either_way(op))


def _above_zero(value: Value | None) -> Value | None:
    """Return x of x > 0, or of x >= 0: a unit is 0 at 0 either way."""
    op = op_of(value, ("tf.Greater", "tf.GreaterEqual"))
    if op is None:
        return None
    x, zero = op.operands
    return x if zero is not None and number_of(zero) == 0 else None


def softplus(op: Op, tf: TfBuilder) -> list[Value] | None:
    """Name a softplus: SelectV2(x != x, x, Relu(x) + Log1p(Exp(-|x|))) -> Softplus(x), which hands NaN on by itself.

    PyTorch's is x where x is large: SelectV2(x > 20, x, Log1p(Exp(x))) -> Softplus(x)."""
    condition, x, total = op.operands
    large = op_of(condition, "tf.Greater")
    if large is not None and large.operands[0] is x is not None:
        least, whole = number_of(large.operands[1]), x.dtype is types.FLOAT32 and op.result.shape == x.shape  # type: ignore[arg-type]
        same = operand_of(operand_of(total, "tf.Log1p"), "tf.Exp") is x and whole
        return [shaped(tf.Softplus(x), op)] if same and least is not None and least >= _LARGE else None
    test, add = op_of(condition, "tf.NotEqual"), op_of(total, ADDS)
    if x is None or x.dtype is not types.FLOAT32 or op.result.shape != x.shape:
        return None
    if test is None or add is None or test.operands != [x, x]:
        return None
    for above, below in either_way(add):
        decay = operand_of(operand_of(operand_of(operand_of(below, "tf.Log1p"), "tf.Exp"), "tf.Neg"), "tf.Abs")
        if decay is x and operand_of(above, "tf.Relu") is x:
            return [shaped(tf.Softplus(x), op)]
    return None
