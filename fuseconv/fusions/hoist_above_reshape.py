"""Constants and activations behind a reshape or transpose -> before it, where a convolution or dense layer folds them.

conv -> RESHAPE -> ADD bias (Keras' Conv1D), dense -> RESHAPE -> ADD bias (attention), conv -> TRANSPOSE -> ADD (NCHW).
In attention, the product of queries and keys, scaled -> the layer that makes the queries, scaled.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern import Constant, Term, pattern
from fuseconv.fusions.constant_operands import broadcast_constant, finite_array, per_channel, trailing_dims
from fuseconv.ir import types
from fuseconv.ir.graph import Op, Value
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.linear import FUSED_ACTIVATIONS, linear
from fuseconv.tfl.traits import ARITHMETIC, LAYOUT_CHANGES, activation_of

# They put each element elsewhere and add none. A BATCH_TO_SPACE_ND leaves the channels where they are.
_MOVES = (*LAYOUT_CHANGES, "BATCH_TO_SPACE_ND")
# They have activations of their own.
_NOT_TAKEN = "no convolution or dense layer stands before it that takes the constant"
_NOT_ACTIVATED = "no op stands before it that takes the activation"


@pattern
def constant(tfl: Any, c: Constant) -> Term:
    moved = tfl[_MOVES](..., name="move")
    return tfl["ADD", "MUL"](moved, c, name="last") | tfl.SUB(c, moved, name="last")


@pattern
def activation(tfl: Any) -> Term:
    return tfl[FUSED_ACTIVATIONS](tfl[_MOVES](..., name="move"), name="last")


@pattern
def scaled_product(tfl: Any, x: Any, y: Any, c: Constant) -> Term:
    return tfl.MUL(tfl.BATCH_MATMUL(x, y, name="product"), c)


def check(m: Match) -> None:
    c = finite_array(m.c)
    m.require(c is not None and _reaches_linear_op(m.move.result, c), _NOT_TAKEN)


def check_activation(m: Match) -> None:
    m.require(_reaches_linear_op(m.move.result, np.zeros((), np.float32), ARITHMETIC), _NOT_ACTIVATED)


def rewrite(tfl: Builder, m: Match) -> Value:
    source, before = m.move.operands[0], _before(m.move, m.c.data)
    inner = tfl.op(m.last.type, (before, source) if m.last.type == "SUB" else (source, before), m.last.attrs)[0]
    return _move_behind(tfl, m, inner)


def rewrite_activation(tfl: Builder, m: Match) -> Value:
    """An activation behind a reshape or transpose -> before it."""
    return _move_behind(tfl, m, tfl.op(m.last.type, (m.move.operands[0],), {})[0])


def _move_behind(tfl: Builder, m: Match, value: Value) -> Value:
    value.shape = m.move.operands[0].shape
    return tfl.op(m.move.type, (value, *m.move.operands[1:]), m.move.attrs)[0]


def check_product(m: Match) -> None:
    c = finite_array(m.c)
    m.require(c is not None and c.size == 1 and c.ndim <= (m.result.rank or 0), "the factor is not one number")
    m.require(_reaches_linear_op(m.x, c.reshape(())) or _reaches_linear_op(m.y, c.reshape(())), _NOT_TAKEN)  # type: ignore[union-attr]


def rewrite_product(tfl: Builder, m: Match) -> Value:
    """(x @ y) * c -> (x * c) @ y, where x comes from a dense layer that takes the factor; or else y."""
    c = m.c.data.reshape(())
    x, y = (tfl.mul(m.x, c), m.y) if _reaches_linear_op(m.x, c) else (m.x, tfl.mul(m.y, c))
    return tfl.batch_matmul(x, y, **m.product.attrs)


def _reaches_linear_op(value: Value, c: np.ndarray, others: tuple[str, ...] = ()) -> bool:
    """Return True if a linear op defines the value, through reshapes and transposes without other uses, and can fold
    the constant; or if an op of the types `others` without an activation defines it."""
    array: np.ndarray | None = c
    while value.op is not None and array is not None and sum(value.uses.values()) == 1:
        found = linear(value.op)
        if found is not None:
            return found.activation == "NONE" and per_channel(array, value.shape, found.outputs) is not None
        if value.op.type in others and value.dtype is types.FLOAT32:
            return activation_of(value.op) == "NONE"
        if value.op.type not in _MOVES or value.op.dialect != "tfl" or value.variable:
            return False
        array = _before(value.op, array)
        value = value.op.operands[0]  # type: ignore[assignment]
    return False


def _before(move: Op, c: np.ndarray) -> np.ndarray | None:
    """Return the constant that has the same effect on the operand of the reshape or transpose as `c` has on its result;
    None if there is none."""
    source = move.operands[0]
    assert source is not None
    shape, after = source.shape, move.result.shape
    if shape is None or after is None or c.ndim > len(after):
        return None
    if c.size == 1:
        return c.reshape(())
    aligned: tuple[int, ...] = (1,) * (len(after) - c.ndim) + c.shape
    c = c.reshape(aligned)
    if any(size not in (1, dim) for size, dim in zip(aligned, after)):
        return None
    if move.type == "BATCH_TO_SPACE_ND":
        return c if c.size == aligned[-1] else None
    if move.type == "TRANSPOSE":
        perm = move.operands[1]
        if perm is None or perm.data is None:
            return None
        return c.transpose(np.argsort(perm.data))
    return _reshaped(c, after, shape)


def _reshaped(c: np.ndarray, after: tuple, before: tuple) -> np.ndarray | None:
    """Return `c`, which broadcasts over leading dimensions of `after`, as it broadcasts over those of `before`."""
    first = next(axis for axis, size in enumerate(c.shape) if size != 1)
    for axis in range(first, 0, -1):
        inner = after[axis:]
        if not all(isinstance(dim, int) for dim in inner):
            return None
        trailing = trailing_dims(before, math.prod(inner))
        if trailing is not None:
            stretched = broadcast_constant(c, inner)
            return None if stretched is None else stretched.reshape(trailing)
    return None


FUSIONS = [
    Fusion("constant_before_move", "RESHAPE", constant, rewrite, check),
    Fusion("activation_before_move", "RESHAPE", activation, rewrite_activation, check_activation),
    Fusion("attention_scale", "BATCH_MATMUL", scaled_product, rewrite_product, check_product),
]
