"""TRANSPOSE of the right operand of a matrix product -> BATCH_MATMUL(adj_y); of a product -> that of the other order.

XNNPACK has no such option for the matrix on the left.
"""

from __future__ import annotations

from typing import Any

from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern import Constant, Term, pattern
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder


@pattern
def transposed(tfl: Any, x: Any, y: Any, perm: Constant) -> Term:
    return tfl.BATCH_MATMUL(x, tfl.TRANSPOSE(y, perm), name="product")


def check(m: Match) -> None:
    rank = m.perm.data.size
    swapped = [*range(rank - 2), rank - 1, rank - 2]
    m.require(rank >= 2 and m.perm.data.tolist() == swapped, "the TRANSPOSE does not swap the last two dimensions")


def rewrite(tfl: Builder, m: Match) -> Value:
    attrs = m.product.attrs | {"adj_y": not m.product.attrs.get("adj_y", False)}
    result = m.product.result
    return tfl.op("BATCH_MATMUL", (m.x, m.y), attrs, [(result.dtype, result.shape)])[0]


@pattern
def transposed_product(tfl: Any, x: Any, y: Any, perm: Constant) -> Term:
    return tfl.TRANSPOSE(tfl.BATCH_MATMUL(x, y, name="product"), perm)


def check_product(m: Match) -> None:
    check(m)
    attrs = m.product.attrs
    m.require(attrs.get("adj_x") or attrs.get("adj_y"), "the product would have to transpose its matrix on the left")
    m.require(not m.x.is_const and not m.y.is_const, "weights stand on the right")


def rewrite_product(tfl: Builder, m: Match) -> Value:
    """The TRANSPOSE of a product, as gradients of weights are written -> (x' y)' = y' x."""
    attrs = m.product.attrs
    turned = {"adj_x": not attrs.get("adj_y", False), "adj_y": not attrs.get("adj_x", False)}
    return tfl.op("BATCH_MATMUL", (m.y, m.x), attrs | turned, [(m.result.dtype, m.result.shape)])[0]


FUSIONS = [
    Fusion("transpose_into_product", "BATCH_MATMUL", transposed, rewrite, check),
    Fusion("transposed_product", "BATCH_MATMUL", transposed_product, rewrite_product, check_product),
]
