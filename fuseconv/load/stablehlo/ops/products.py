"""Products of matrices and tensors -> MatMul, BatchMatMulV2 or Einsum."""

from __future__ import annotations

import string

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.load.stablehlo.bytecode import Operation
from fuseconv.load.stablehlo.ops.registry import imports
from fuseconv.load.stablehlo.scope import Scope, axes, refuse_unless, tensor_type, text


@imports
def dot_general(tf: Scope, op: Operation, x: Value, y: Value) -> Value:
    """dot_general(x, y) -> MatMul or BatchMatMulV2 where the dimensions lie so, else Einsum."""
    ranks = [tensor_type(var).rank for var in op.operands]
    contracted, batch = (
        [axes(op.attribute(f"{side}_{kind}_dimensions"), rank) for side, rank in zip(("lhs", "rhs"), ranks)]
        for kind in ("contracting", "batching")
    )
    made = tensor_type(op.results[0]).dtype
    x, y = (value if value.dtype is made else tf.Cast(value, dtype=made) for value in (x, y))
    return product(tf, x, y, contracted, batch, ranks)


@imports
def dot(tf: Scope, op: Operation, x: Value, y: Value) -> Value:
    """The last dimension of x with the first of y."""
    ranks = [tensor_type(var).rank for var in op.operands]
    return product(tf, x, y, [[ranks[0] - 1], [0]], [[], []], ranks)


@imports
def einsum(tf: Scope, op: Operation, x: Value, y: Value) -> Value:
    return tf.Einsum(x, y, equation=text(op.attribute("einsum_config")))


def product(
    tf: Scope, x: Value, y: Value, contracted: list[list[int]], batch: list[list[int]], ranks: list[int]
) -> Value:
    """Return the product of x and y, summed over pairs of dimensions, for each pair of dimensions of the batch; of
    booleans, whether any product is true."""
    if x.dtype is types.BOOL:  # whether any pair is true; a sum of ones in float32 is never rounded to 0
        x, y = (tf.Cast(each, dtype=types.FLOAT32) for each in (x, y))
        return tf.Cast(product(tf, x, y, contracted, batch, ranks), dtype=types.BOOL)
    left, right = ranks
    leading = list(range(len(batch[0])))
    single = len(contracted[0]) == len(contracted[1]) == 1
    if single and batch[0] == batch[1] == leading:
        (a,), (b,) = contracted
        if right == len(leading) + 2 and (left == right or (not leading and left > 2 and a == left - 1)):
            adjoint_y = b == right - 1
            if left == right == 2:
                flags = {"transpose_a": a == 0, "transpose_b": adjoint_y}
                return tf.add("MatMul", [x, y], {name: True for name, flag in flags.items() if flag}, x.dtype)
            if not x.dtype.is_complex:
                flags = {"adj_x": a != left - 1, "adj_y": adjoint_y}
                return tf.add("BatchMatMulV2", [x, y], {name: True for name, flag in flags.items() if flag}, x.dtype)
    return tf.Einsum(x, y, equation=_equation(contracted, batch, ranks))


def _equation(contracted: list[list[int]], batch: list[list[int]], ranks: list[int]) -> str:
    refuse_unless(sum(ranks) <= 52, "its operands have more than 52 dimensions")
    letters = iter(string.ascii_letters)
    left = [next(letters) for _ in range(ranks[0])]
    right = [next(letters) for _ in range(ranks[1])]
    for a, b in zip(contracted[0] + batch[0], contracted[1] + batch[1]):
        right[b] = left[a]
    free = [
        side[axis] for which, side in enumerate((left, right)) for axis in range(ranks[which])
        if axis not in contracted[which] and axis not in batch[which]
    ]  # fmt: skip
    made = [left[axis] for axis in batch[0]] + free
    return f"{''.join(left)},{''.join(right)}->{''.join(made)}"
