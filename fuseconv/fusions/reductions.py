"""A reduction whose result is given the reduced dimensions back as 1, or that keeps them for nobody -> one reduction.

Squeeze and excitation, and pooling over all places, are written like this.
"""

from __future__ import annotations

from typing import Any

from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern import Term, pattern
from fuseconv.ir.dims import Shape
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder

_REDUCTIONS = ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD", "REDUCE_ANY", "REDUCE_ALL")


@pattern
def reshaped(tfl: Any, x: Any) -> Term:
    return tfl["RESHAPE", "SQUEEZE", "EXPAND_DIMS"](tfl[_REDUCTIONS](x, ..., name="reduction"), ..., name="reshape")


def check(m: Match) -> None:
    axes = m.reduction.operands[1].data
    m.require(m.x.shape is not None and axes is not None, "the rank or the axes are not known")
    m.require(m.result.shape == _shape(m, axes), "it gives the result other dimensions")


def rewrite(tfl: Builder, m: Match) -> Value:
    operands, attrs = tuple(m.reduction.operands), m.reduction.attrs
    return tfl.op(m.reduction.type, operands, attrs | {"keep_dims": not attrs.get("keep_dims", False)})[0]


def _shape(m: Match, axes: Any) -> Shape:
    """The shape of the result if the reduction did with its dimensions what it does not do."""
    rank = len(m.x.shape)
    reduced = {int(axis) % rank for axis in axes.reshape(-1)}
    if m.reduction.attrs.get("keep_dims"):
        return tuple(dim for axis, dim in enumerate(m.x.shape) if axis not in reduced)
    return tuple(1 if axis in reduced else dim for axis, dim in enumerate(m.x.shape))


FUSIONS = [Fusion("reduction_keeps_dimensions", "MEAN", reshaped, rewrite, check)]
