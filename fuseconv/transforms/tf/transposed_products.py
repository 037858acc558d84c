"""Make products in the order in which they are needed: Transpose(MatMul(w, x)) -> MatMul(x, w).

`jax.vmap` makes this of `w @ x`, as Equinox writes all its layers; sums of such products, and slices of them, are
transposed behind. `jnp.einsum` multiplies its operands in an order of its own, and transposes the product.
"""

from __future__ import annotations

import numpy as np

from fuseconv.ir.graph import Op, Value, constant
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.operands import content_of
from fuseconv.tf.shape_functions.elementwise import BINARY, UNARY

_ELEMENTWISE = frozenset(f"tf.{kind}" for kind in (*UNARY, *BINARY))
# What is transposed in the place of one result may be so many ops deep.
_DEEPEST = 8
_MASKS = ("begin_mask", "end_mask")


def transposed_product(op: Op, tf: TfBuilder) -> list[Value] | None:
    """Transpose what products are made of, rather than what is made of them."""
    value, order = op.operands
    if value is None or not _swaps(order) or not _turns(value, 0) or value.is_const:
        return None
    return [_turned(value, tf)]


def transposed_einsum(op: Op, tf: TfBuilder) -> list[Value] | None:
    """Let an Einsum order the dimensions: Transpose(Einsum(x, y, "ab,cb->ac")) -> Einsum(x, y, "ab,cb->ca")."""
    value, order = op.operands
    product, axes = (value.op if value is not None else None), content_of(order)
    if value is None or product is None or product.kind != "tf.Einsum" or len(value.uses) != 1 or axes is None:
        return None
    terms, arrow, made = product.attrs["equation"].replace(" ", "").partition("->")
    if not arrow or len(made) != axes.size or "." in made:
        return None
    equation = f"{terms}->{''.join(made[axis] for axis in axes)}"
    return [tf.add("Einsum", product.operands, product.attrs | {"equation": equation}, value.dtype, op.result.shape)]


def _swaps(order: Value | None) -> bool:
    content = content_of(order)
    return content is not None and content.tolist() == [1, 0]


def _turns(value: Value | None, depth: int) -> bool:
    """Return whether a matrix can be had transposed at no cost."""
    if value is None or value.rank != 2 or depth > _DEEPEST or value.dtype.is_complex:
        return False
    op = value.op
    if op is None:
        return value.is_const
    if op.kind == "tf.Transpose":
        return _swaps(op.operands[1])
    if op.kind == "tf.MatMul":
        weights, x = op.operands
        return weights is not None and weights.is_const and x is not None and not x.is_const
    # What others read as it is would be computed twice.
    if len(value.uses) > 1 and any(use.kind not in ("tf.StridedSlice", "tf.Transpose") for use in value.uses):
        return False
    if op.kind == "tf.StridedSlice":
        known = all(bound is not None and bound.is_const and bound.shape == (2,) for bound in op.operands[1:])
        return known and op.attrs.keys() <= set(_MASKS) and _turns(op.operands[0], depth + 1)
    shared = [operand for operand in op.operands if operand is not None and operand.rank != 0]
    return op.kind in _ELEMENTWISE and bool(shared) and all(_turns(operand, depth + 1) for operand in shared)


def _turned(value: Value, tf: TfBuilder) -> Value:
    """Return a matrix transposed."""
    op = value.op
    assert value.shape is not None
    shape = value.shape[::-1]
    if op is None:
        assert value.data is not None
        return constant(np.ascontiguousarray(value.data.T), value.dtype, value.name)
    first, *others = op.operands
    assert first is not None
    if op.kind == "tf.Transpose":
        return first
    if op.kind == "tf.MatMul":
        turns = {"transpose_a": not op.attrs.get("transpose_b"), "transpose_b": not op.attrs.get("transpose_a")}
        attrs = {key: attr for key, attr in op.attrs.items() if key not in turns}
        attrs |= {key: True for key, turn in turns.items() if turn}
        return tf.add("MatMul", [others[0], first], attrs, value.dtype, shape)
    if op.kind == "tf.StridedSlice":
        arrays = [bound.data for bound in others if bound is not None and bound.data is not None]
        bounds = [constant(array[::-1].copy()) for array in arrays]
        masks = {key: _reversed(op.attrs[key]) for key in _MASKS if key in op.attrs}
        return tf.add("StridedSlice", [_turned(first, tf), *bounds], op.attrs | masks, value.dtype, shape)
    operands = [operand if operand is None or operand.rank == 0 else _turned(operand, tf) for operand in op.operands]
    return tf.add(op.type, operands, dict(op.attrs), value.dtype, shape)


def _reversed(mask: int) -> int:
    """Return a mask of two dimensions, in their other order."""
    return (mask & 1) << 1 | (mask & 2) >> 1
