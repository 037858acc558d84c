"""Reduction, then a RESHAPE that restores or drops the reduced dimensions -> the reduction with or without keep_dims.

Squeeze and excitation, and pooling over all places, are written like this. A sum of a known number of terms that is
divided by it is one reduction too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern import Constant, Term, pattern
from fuseconv.fusions.constant_operands import finite_array
from fuseconv.ir.dims import Shape, product
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.traits import REDUCTIONS, RESHAPES, activation_of


@pattern
def reshaped(tfl: Any, x: Any) -> Term:
    reduction = tfl[REDUCTIONS](x, ..., name="reduction")
    return tfl[RESHAPES](reduction | tfl[RESHAPES](reduction, ...), ..., name="reshape")


def check(m: Match) -> None:
    axes = m.reduction.operands[1].data
    m.require(m.x.shape is not None and axes is not None, "the rank or the axes are not known")
    m.require(
        m.result.shape == _shape(m, axes),
        "the RESHAPE gives the result other dimensions than the reduction does with or without keep_dims",
    )


def rewrite(tfl: Builder, m: Match) -> Value:
    operands, attrs = tuple(m.reduction.operands), m.reduction.attrs
    return tfl.op(m.reduction.type, operands, attrs | {"keep_dims": not attrs.get("keep_dims", False)})[0]


def _shape(m: Match, axes: Any) -> Shape:
    """Return the result shape of the reduction with `keep_dims` inverted."""
    rank = len(m.x.shape)
    reduced = {int(axis) % rank for axis in axes.reshape(-1)}
    if m.reduction.attrs.get("keep_dims"):
        return tuple(dim for axis, dim in enumerate(m.x.shape) if axis not in reduced)
    return tuple(1 if axis in reduced else dim for axis, dim in enumerate(m.x.shape))


@pattern
def divided(tfl: Any, x: Any, axes: Constant, share: Constant) -> Term:
    return tfl.MUL(tfl.SUM(x, axes, name="reduction"), share, name="last")


def check_divided(m: Match) -> None:
    share = finite_array(m.share)
    if m.x.shape is None or share is None or share.size != 1:
        m.refuse("the factor is not one float")
    count = product([m.x.shape[axis] for axis in {int(axis) % m.x.rank for axis in m.axes.data.reshape(-1)}])
    if not isinstance(count, int) or count == 0 or share.item() != np.float32(1 / count):
        m.refuse("the sum is not divided by a known number of terms")
    m.require(m.result.shape == m.reduction.result.shape, "the factor gives the result another shape")
    m.require(activation_of(m.last) == "NONE", "it has an activation, which the op cannot apply")


def rewrite_divided(tfl: Builder, m: Match) -> Value:
    """A sum that is divided by the number of its terms -> MEAN."""
    return tfl.op("MEAN", (m.x, m.axes), m.reduction.attrs)[0]


FUSIONS = [
    Fusion("reduction_keeps_dimensions", "MEAN", reshaped, rewrite, check),
    Fusion("sum_by_count", "MEAN", divided, rewrite_divided, check_divided),
]
