"""softmax(q k^T * scale + mask) v -> the composite odml.scaled_dot_product_attention.

The contract is that of XNNPACK's reader (VisitScaledDotAttentionCompositeNode of xnnpack_delegate.cc) and of
litert-torch, which writes it (generative/layers/scaled_dot_product_attention.py). The operands are q [batch, rows,
heads, depth], k and v [batch, columns, heads, depth], and a mask [1 or batch, 1 or heads, 1 or rows, columns] that is
added. `scale` must be told, as readers take 1 / sqrt(depth) else. Of one head XNNPACK computes as if the batch were 1,
whatever it is.

On CPUs it is no faster than its ops: 0.96 to 1.01 of their latency with XNNPACK, 0.99 in the median of 18 shapes, with
the same numbers. So it is not made there unless it is asked for: runtimes before 2.17 do not know it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern import Constant, Term, pattern
from fuseconv.fusions.constant_operands import require_float32
from fuseconv.ir.dims import Shape
from fuseconv.ir.graph import Value
from fuseconv.ir.terms import op_of
from fuseconv.tfl.builder import Builder

_HEADS_FIRST = [0, 2, 1, 3]
# What MINIMUM puts in the place of masked scores; added to any score that comes from numbers of a size that does not
# overflow, it gives itself.
_LOWEST = -1e30


@pattern
def attention(tfl: Any, q: Any, k: Any, v: Any, scale: Constant, mask: Any, bound: Constant) -> Term:
    product = tfl.BATCH_MATMUL(q, k, name="product")
    scores = tfl.MUL(product, scale) | tfl.DIV(product, scale, name="divides") | product
    masked = tfl.ADD(scores, mask) | tfl.MINIMUM(scores, bound) | scores
    return tfl.BATCH_MATMUL(tfl.SOFTMAX(masked, beta=1.0), v, name="sum")


def check(m: Match) -> None:
    require_float32(m)
    shapes = [value.shape for value in (m.q, m.k, m.v)]
    m.require(all(shape is not None and len(shape) == 4 for shape in shapes), "q, k and v have not 4 dimensions")
    (batch, heads, _, depth), k, v = shapes
    m.require(
        not m.product.attrs.get("adj_x") and not m.sum.attrs.get("adj_x"),
        "the products transpose the scores or q, which the composite does not",
    )
    columns, keys = (k[2], k[3]) if m.product.attrs.get("adj_y") else (k[3], k[2])
    values = (v[3], v[2]) if m.sum.attrs.get("adj_y") else (v[2], v[3])
    m.require(isinstance(depth, int) and depth == keys and values == (columns, depth), "q, k and v differ in depth")
    m.require(isinstance(heads, int) and k[1] == v[1] == heads, "q, k and v differ in heads")
    m.require(k[0] == v[0] == batch, "q, k and v differ in batch")
    m.require(heads > 1 or batch == 1, "it has one head, for which NPUs compute as if the batch were 1")
    m.require(m.scale is None or m.scale.data.size == 1, "the scale is not one number")
    m.require(m.mask is None or _fits(m.mask.shape, columns), "the mask has not a number for each key")
    masks = m.bound is None or (_fits(m.bound.shape, columns) and _drops(m.bound.data))
    m.require(masks, "the constant of MINIMUM does more than mask scores")
    all_cancel = all(op_of(value, "tfl.TRANSPOSE") is not None for value in (m.q, m.k, m.v))
    m.require(all_cancel, "q, k and v come with heads first, and would have to be transposed")


def _fits(shape: Shape | None, columns: Any) -> bool:
    return shape is not None and 1 <= len(shape) <= 4 and shape[-1] == columns


def _drops(bound: np.ndarray) -> bool:
    """Return whether MINIMUM with these leaves each score as it is, or masks it."""
    return bool(((bound == np.inf) | (bound <= _LOWEST)).all())


def rewrite(tfl: Builder, m: Match) -> Value:
    number = 1.0 if m.scale is None else float(m.scale.data.reshape(()))
    scale = np.float32(number if m.divides is None else 1 / number)

    def body(tfl: Builder, q: Value, k: Value, v: Value, mask: Value | None = None) -> Value:
        q, k, v = (tfl.transpose(x, _HEADS_FIRST) for x in (tfl.mul(q, scale), k, v))
        scores = tfl.batch_matmul(q, k, adj_y=True)
        scores = scores if mask is None else tfl.add(scores, mask)
        return tfl.transpose(tfl.batch_matmul(tfl.softmax(scores, beta=1.0), v), _HEADS_FIRST)

    operands = [
        tfl.transpose(m.q, _HEADS_FIRST),
        tfl.transpose(m.k, _HEADS_FIRST if m.product.attrs.get("adj_y") else [0, 3, 1, 2]),
        tfl.transpose(m.v, [0, 3, 1, 2] if m.sum.attrs.get("adj_y") else _HEADS_FIRST),
    ]  # fmt: skip
    mask = m.mask if m.bound is None else tfl.const(np.where(np.isinf(m.bound.data), np.float32(0), m.bound.data))
    operands += [] if mask is None else [_of_rank_4(tfl, mask)]
    made = tfl.composite("odml.scaled_dot_product_attention", operands, body, {"scale": float(scale)})
    return tfl.transpose(made, _HEADS_FIRST)


def _of_rank_4(tfl: Builder, mask: Value) -> Value:
    assert mask.shape is not None
    shape = tfl.static_shape((1,) * (4 - len(mask.shape)) + mask.shape)
    return mask if len(mask.shape) == 4 or shape is None else tfl.reshape(mask, shape)


FUSIONS = [Fusion("odml.scaled_dot_product_attention", "STABLEHLO_COMPOSITE", attention, rewrite, check)]
