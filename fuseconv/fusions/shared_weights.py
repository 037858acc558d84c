"""Weights that others read too: what is folded into them would be written to the file beside them.

A language model's head is its table of embeddings. A factor in front of it costs one small op; in the weights it would
cost the largest weight of the model once more. Layers that several branches or signatures share take a factor if all of
them do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from fuseconv.fuse.match import Match
from fuseconv.ir.constant_readers import OP_BYTES
from fuseconv.ir.dims import Sym
from fuseconv.ir.graph import Op, Value
from fuseconv.ir.product import Product
from fuseconv.tfl.linear import Linear, linear

READ_ELSEWHERE = "the weights are read elsewhere without the constant, and would be written twice"


def require_own_weights(
    m: Match, found: Linear, factor: np.ndarray, saved: Value, is_next: Callable[[Linear], bool]
) -> None:
    """Refuse to fold a factor into weights that others read without it, unless they are smaller than what is saved.

    factor: as it broadcasts to the weights. saved: the result of the op that goes. is_next: tells of another linear op
    that the same factor is still to go into its weights."""
    weights = found.weights
    if m.constants is None or weights.stored.nbytes <= max(OP_BYTES, bytes_of(saved)):  # type: ignore[union-attr]
        return
    before = _factors(weights)
    behind = (*before, factor.reshape((1,) * (len(found.sizes) - factor.ndim) + factor.shape))
    for op, value in m.constants.others(weights, found.op):
        other = linear(op)
        if other is None or other.weights is not value:
            m.refuse(READ_ELSEWHERE)
        theirs = _factors(value)
        taken = _equal(theirs[: len(behind)], behind)
        m.require(taken or (_equal(theirs, before) and is_next(other)), READ_ELSEWHERE)


def factor_before(op: Op | None) -> np.ndarray | None:
    """Return the constant a of MUL(x, a) and ADD(MUL(x, a), b); None of other ops."""
    if op is not None and op.kind == "tfl.ADD":
        op = next((value.op for value in op.operands if value is not None and not value.is_const), None)
    return None if op is None or op.kind != "tfl.MUL" else _constant(op)


def factor_behind(op: Op) -> np.ndarray | None:
    """Return the constant a of MUL(y, a) and MUL(ADD(y, b), a), where y is the op's result and has no other reader."""
    readers = [*op.result.uses]
    while len(readers) == 1 and readers[0].kind == "tfl.ADD" and _constant(readers[0]) is not None:
        readers = [*readers[0].result.uses]
    return _constant(readers[0]) if len(readers) == 1 and readers[0].kind == "tfl.MUL" else None


def same_array(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    """Return True for two arrays with the same elements."""
    return a is not None and b is not None and a.shape == b.shape and np.array_equal(a, b)


def _constant(op: Op) -> np.ndarray | None:
    return next((value.data for value in op.operands if value is not None and value.is_const), None)


def _factors(weights: Value) -> tuple[np.ndarray, ...]:
    return weights.factors if isinstance(weights, Product) else ()


def _equal(these: Sequence[np.ndarray], those: Sequence[np.ndarray]) -> bool:
    return len(these) == len(those) and all(map(same_array, these, those))


def bytes_of(value: Value) -> int:
    """Return the bytes of a tensor of float32, with sizes that are not known taken for 1."""
    size = 4
    for dim in value.shape or (0,):
        known = dim.substitute({}, 1) if isinstance(dim, Sym) else dim
        size *= known if isinstance(known, int) else 1
    return size
