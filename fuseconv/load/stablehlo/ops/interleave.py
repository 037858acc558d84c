"""Elements of two tensors by turns, as `jax.lax.associative_scan` joins them.

    x0 0 x1 0 + 0 y0 0 y1  ->  Reshape(Pack(x, y))
"""

from __future__ import annotations

from typing import NamedTuple

from fuseconv.ir.graph import Value
from fuseconv.load.stablehlo.bytecode import Operation, Var
from fuseconv.load.stablehlo.ops.indexing import is_zero
from fuseconv.load.stablehlo.ops.shapes import times_longer
from fuseconv.load.stablehlo.scope import Scope, ints, tensor_type


class _Spread(NamedTuple):
    """A tensor with a zero between each two elements along an axis, and as many before them and behind."""

    x: Var
    axis: int
    before: int
    behind: int

    @staticmethod
    def of(var: Var) -> _Spread | None:
        op = var.op
        if op is None or op.name != "pad" or len(op.operands) != 2 or not is_zero(op.operands[1]):
            return None
        low, high, inner = (ints(op.attribute(name)) for name in (
            "edge_padding_low", "edge_padding_high", "interior_padding",
        ))  # fmt: skip
        touched = [axis for axis, amounts in enumerate(zip(low, high, inner)) if any(amounts)]
        if len(touched) != 1 or inner[touched[0]] != 1:
            return None
        (axis,) = touched
        return _Spread(op.operands[0], axis, low[axis], high[axis])


def interleaved(tf: Scope, op: Operation) -> Value | None:
    """Return what a sum is of two tensors of which each has zeros where the other one has elements: as many elements of
    both, or one more of the first. None of other sums, and where numbers of elements are not known."""
    spread = sorted((each for var in op.operands if (each := _Spread.of(var))), key=lambda each: each.before)
    if len(spread) != 2:
        return None
    first, second = spread
    if (first.axis, first.before, second.before) != (second.axis, 0, 1):
        return None
    axis, kind, other = first.axis, tensor_type(first.x), tensor_type(second.x)
    count, less = kind.shape[axis], other.shape[axis]
    if not count or not less or (count - less, first.behind, second.behind) not in ((0, 1, 0), (1, 0, 1)):
        return None
    x, y = tf.value(first.x), tf.value(second.x)
    if less < count:
        y = tf.PadV2(y, tf.const([[0, int(at == axis)] for at in range(kind.rank)]), tf.same(0, y))
    made = tf.Reshape(tf.Pack(x, y, axis=axis + 1), times_longer(tf, x, axis, 2, kind.shape))
    if less == count:
        return made
    return tf.Slice(made, [0] * kind.rank, [count + less if at == axis else -1 for at in range(kind.rank)])
