"""MEAN of a product with a constant, and of a sum with one behind it -> the MEAN, then the constants.

These are the same all along the dimensions that go: a norm's scale and offset before global pooling. A dense layer
behind takes them into its weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern import Constant, Term, pattern
from fuseconv.fusions.constant_operands import finite_array, require_float32
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.traits import activation_of


@pattern
def affine(tfl: Any, x: Any, a: Constant, b: Constant, axes: Constant) -> Term:
    return tfl.MEAN(tfl.ADD(tfl.MUL(x, a, name="product"), b, name="total"), axes, name="mean")


@pattern
def scaled(tfl: Any, x: Any, a: Constant, axes: Constant) -> Term:
    return tfl.MEAN(tfl.MUL(x, a, name="product"), axes, name="mean")


def check(m: Match) -> None:
    require_float32(m)
    for op in (m.product, m.total):
        plain = op is None or activation_of(op) == "NONE"
        m.require(plain, "an activation stands between the constant and the mean")
    shape = m.x.shape
    whole = shape is not None and all(op is None or op.result.shape == shape for op in (m.product, m.total))
    m.require(whole, "a constant gives the data a larger shape")
    for constant in (m.a, m.b):
        m.require(
            constant is None or (finite_array(constant) is not None and _reduced(m, constant) is not None),
            "the constant is not the same along the dimensions that go",
        )


def rewrite(tfl: Builder, m: Match) -> Value:
    mean = tfl.op("MEAN", (m.x, m.axes), m.mean.attrs)[0]
    made = tfl.mul(mean, _reduced(m, m.a))
    return made if m.b is None else tfl.add(made, _reduced(m, m.b))


def _reduced(m: Match, constant: Value) -> np.ndarray | None:
    """Return a constant as it stands beside the mean; None if it differs along a dimension that goes."""
    rank = m.x.rank
    data = constant.data.reshape((1,) * (rank - constant.rank) + constant.data.shape)  # type: ignore[operator,union-attr]
    gone = {int(axis) % rank for axis in m.axes.data.reshape(-1)}
    if any(data.shape[axis] != 1 for axis in gone):
        return None
    if not m.mean.attrs.get("keep_dims"):
        data = np.squeeze(data, tuple(gone))
    while data.ndim and data.shape[0] == 1:
        data = data[0]
    return data


FUSIONS = [Fusion("mean_of_affine", "MEAN", (affine, scaled), rewrite, check)]
