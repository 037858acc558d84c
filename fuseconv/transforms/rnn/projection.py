"""Tell a product with weights that a model computes of a whole sequence at once, in front of its steps.

PyTorch computes x @ kernel + bias of an LSTM so. TFLite's LSTM reads the sequence itself, and does that in each step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fuseconv.ir.graph import Op, Value, constant
from fuseconv.ir.terms import op_of, operand_of
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.operands import content_of
from fuseconv.tf.traits import ADDS, PRODUCTS

_SWAP = [1, 0, 2]
_SUMS = ADDS | {"tf.BiasAdd"}
_MATMULS = PRODUCTS - {"tf.Einsum"}


@dataclass(frozen=True)
class Projection:
    """x @ weights + biases of a sequence `x` [time, batch, k] or [batch, time, k]; the product is an op on all of it.

    moves: what turns around or transposes the projected sequence then, the first to be done first."""

    x: Value
    product: Op
    biases: tuple[Value, ...]
    moves: tuple[Op, ...]

    @classmethod
    def of(cls, value: Value) -> Projection | None:
        """Return what a sequence is the projection of; None of any other."""
        moves: list[Op] = []
        while value.op is not None and _is_move(value.op):
            moves.append(value.op)
            value = value.op.operands[0]  # type: ignore[assignment]
        shape, biases = value.shape, []
        if shape is None or len(shape) != 3:
            return None
        made = _unflattened(value, shape)
        while made.op is not None and made.op.kind in _SUMS:
            bias = next((v for v in made.op.operands if v is not None and v.data is not None), None)
            size = bias.data.size if bias is not None and bias.data is not None else 0
            if bias is None or bias.shape is None or size not in (1, shape[2]) or bias.shape[-1:] not in ((), (size,)):
                return None
            biases.append(bias)
            made = made.op.operands[0] if made.op.operands[1] is bias else made.op.operands[1]  # type: ignore[assignment]
            made = _unflattened(made, shape)
        product = op_of(made, _MATMULS)
        if product is None:
            return None
        if product.attrs.get("transpose_a") or product.attrs.get("adj_x"):
            return None
        x, weights = product.operands
        if x is None or weights is None or weights.data is None or weights.rank != 2:
            return None
        if product.kind == "tf.MatMul":
            x = operand_of(x, "tf.Reshape")
        if x is None or x.shape is None or x.shape[:-1] != shape[:-1] or not isinstance(x.shape[-1], int):
            return None
        return cls(x, product, tuple(reversed(biases)), tuple(reversed(moves)))

    def moved(self, tf: TfBuilder) -> Value:
        """Return the sequence as the moves make it."""
        x = self.x
        for move in self.moves:
            x = tf.add(move.type, [x, move.operands[1]], {}, x.dtype, (*move.result.shape[:-1], self.x.shape[-1]))  # type: ignore[index]
        return x

    def step(self, tf: TfBuilder, x: Value) -> Value:
        """Return the projection of one step's x [batch, k]."""
        _, weights = self.product.operands
        assert weights is not None and weights.shape is not None and x.shape is not None
        transposed = bool(self.product.attrs.get("transpose_b") or self.product.attrs.get("adj_y"))
        width = weights.shape[0] if transposed else weights.shape[1]
        attrs = {"transpose_b": True} if transposed else {}
        made = tf.add("MatMul", [x, weights], attrs, x.dtype, (x.shape[0], width))
        for bias in self.biases:
            vector = constant(bias.data.reshape(-1), bias.dtype, bias.name)  # type: ignore[union-attr]
            made = tf.add("AddV2", [made, vector], {}, x.dtype, made.shape)
        return made


def _is_move(op: Op) -> bool:
    """Return whether an op moves vectors [n] of a sequence, and nothing within them."""
    given = content_of(op.operands[1]) if op.kind in ("tf.ReverseV2", "tf.Transpose") else None
    if given is None or op.result.rank != 3:
        return False
    axes = [int(axis) for axis in np.reshape(given, -1)]
    return axes == _SWAP if op.kind == "tf.Transpose" else all(axis % 3 < 2 for axis in axes)


def _unflattened(value: Value, shape: tuple) -> Value:
    """Return the matrix [time * batch, n] that a sequence of this shape is reshaped from; the value itself if it is
    none."""
    op = value.op
    x = op.operands[0] if op is not None and op.kind == "tf.Reshape" else None
    return x if x is not None and x.rank == 2 and x.shape[-1] == shape[-1] and value.shape == shape else value  # type: ignore[index]
