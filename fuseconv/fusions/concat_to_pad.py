"""CONCATENATION of a constant, broadcast over the batch, with the data, plus another constant -> PAD and one ADD.

Class tokens and the embeddings of positions behind them are written like this. A padded row plus a constant is that
constant: the sum of the token and its position. Nobody asks for the size of the batch any more, which delegates cannot
tell. Zeros that are joined to data, as in the shortcuts of residual networks, are padding alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern import Constant, Dialect, Term, pattern
from fuseconv.fusions.constant_operands import finite_array
from fuseconv.ir.graph import Op, Value
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.kernel_limits import RANK, TYPES
from fuseconv.tfl.traits import activation_of


def _joined(tfl: Dialect, x: Any, c: Any, dims: Any) -> Term:
    repeated = tfl["BROADCAST_TO", "TILE"](c, dims, name="repeated") | tfl.FILL(dims, c, name="repeated")
    return tfl.CONCATENATION(repeated, x, name="behind") | tfl.CONCATENATION(x, repeated, name="before")


@pattern
def with_positions(tfl: Any, x: Any, c: Constant, dims: Any, p: Constant) -> Term:
    return tfl.ADD(_joined(tfl, x, c, dims), p, name="last")


@pattern
def zeros(tfl: Any, x: Any, c: Constant, dims: Any) -> Term:
    return _joined(tfl, x, c, dims)


def check_positions(m: Match) -> None:
    m.require(
        finite_array(m.c) is not None and finite_array(m.p) is not None,
        "the constants are not of float32, or hold infinity or NaN",
    )
    _require_padding(m)
    token = _token(m)
    m.require(token is not None and m.p.rank <= m.x.rank, "the sizes along the joined dimension are not known")
    m.require((token + m.p.data).size == m.p.data.size, "the two constants are larger as one than the positions are")


def rewrite_positions(tfl: Builder, m: Match) -> Value:
    activation = activation_of(m.last)
    return tfl.add(_padded(tfl, m), _token(m) + m.p.data, fused_activation_function=activation)


def check_zeros(m: Match) -> None:
    m.require(
        m.c.dtype in TYPES["PAD"] and not m.c.data.any(), "what is joined to the data is not all zeros, as PAD writes"
    )
    _require_padding(m)


def rewrite_zeros(tfl: Builder, m: Match) -> Value:
    """CONCATENATION of zeros, broadcast over the batch, with the data -> PAD."""
    return _padded(tfl, m)


def _require_padding(m: Match) -> None:
    """Refuse joins that PAD cannot express: the sizes along the axis must be known, and the constant be one for all
    rows."""
    join, repeated = _join(m), m.repeated.result.shape
    m.require(not join.attrs.get("fused_activation_function"), "an activation stands between the two ops")
    m.require(m.x.shape is not None and repeated is not None, "a rank is not known")
    m.require(len(m.x.shape) <= RANK["PAD"], f"PAD takes up to {RANK['PAD']} dimensions")
    m.require(isinstance(repeated[_axis(m)], int), "how often the constant is repeated is not known")
    aligned = zip(m.c.shape[::-1], repeated[::-1])
    m.require(
        all(size in (1, dim) for size, dim in aligned),
        "the constant is repeated along a dimension of more than one element, which PAD cannot do",
    )


def _padded(tfl: Builder, m: Match) -> Value:
    pads = np.zeros((len(m.x.shape), 2), np.int32)
    pads[_axis(m), int(m.behind is None)] = m.repeated.result.shape[_axis(m)]
    return tfl.pad(m.x, pads)


def _token(m: Match) -> np.ndarray | None:
    """Return the constant with zeros beside it where the data stand; None if their number is not known."""
    axis, rank = _axis(m), len(m.x.shape)
    count, beside = m.repeated.result.shape[axis], m.x.shape[axis]
    if not isinstance(beside, int):
        return None
    token = np.expand_dims(m.c.data, tuple(range(rank - m.c.data.ndim)))
    token = np.broadcast_to(token, (*token.shape[:axis], count, *token.shape[axis + 1 :]))
    pads = [(0, 0)] * rank
    pads[axis] = (0, beside) if m.behind is not None else (beside, 0)
    return np.pad(token, pads)


def _join(m: Match) -> Op:
    return m.behind if m.behind is not None else m.before


def _axis(m: Match) -> int:
    return int(_join(m).attrs.get("axis", 0)) % len(m.x.shape)


FUSIONS = [
    Fusion("token_into_positions", "PAD", with_positions, rewrite_positions, check_positions),
    Fusion("zeros_are_padding", "PAD", zeros, rewrite_zeros, check_zeros),
]
