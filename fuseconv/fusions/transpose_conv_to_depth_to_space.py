"""Transposed convolution with a stride equal to its window -> CONV_2D, then DEPTH_TO_SPACE, or RESHAPE of 1-d windows,
or nothing behind windows of one element.

Each element becomes a window that no other adds to: a convolution with a window of 1 makes its elements as channels. A
transposed convolution asks for the size of its result, batch included, which delegates cannot tell before they run.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern import Term, pattern
from fuseconv.fusions.fold_into_linear import linear_of
from fuseconv.ir.graph import Op, Value
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.linear import FUSED_ACTIVATIONS
from fuseconv.tfl.traits import ARITHMETIC, RESHAPES


@pattern
def side_by_side(tfl: Any, shape: Any, weights: Any, x: Any) -> Term:
    return tfl.TRANSPOSE_CONV(shape, weights, x, ..., name="linear")


def check(m: Match) -> None:
    found = linear_of(m)
    outputs, height, width, _ = found.sizes
    m.require(not m.shape.is_const or height * width == 1, "the size of the result is known")
    strides = [int(m.linear.attrs.get(name, 0)) for name in ("stride_h", "stride_w")]
    m.require(
        [height, width] == strides and height in (1, width),
        "the stride of the transposed convolution is not its window, or the window is no square",
    )
    sizes = m.x.shape and (m.x.shape[0], m.x.shape[1] * height, m.x.shape[2] * width, outputs)
    m.require(m.result.shape == sizes, "the result is not as large as the windows side by side")
    known = Builder([]).static_shape(m.result.shape) is not None
    m.require(height == width or known, "more than one size of the result is not known")
    m.require(not any(map(_may_go, m.result.uses)), "a constant behind it may go into its weights, which saves more")


def rewrite(tfl: Builder, m: Match) -> Value:
    found = linear_of(m)
    outputs, height, width, inputs = found.sizes
    # The places in the window come before the channels.
    weights = np.ascontiguousarray(found.array.transpose(1, 2, 0, 3)).reshape(-1, 1, 1, inputs)
    bias = np.tile(np.zeros(outputs, np.float32) if found.bias is None else found.bias, height * width)
    y = tfl.conv_2d(
        m.x, weights, bias, padding="VALID", stride_h=1, stride_w=1, fused_activation_function=found.activation
    )
    if height == width == 1:
        return y
    if height == width:
        return tfl.depth_to_space(y, block_size=height)
    return tfl.reshape(y, tfl.static_shape(m.result.shape))


def _may_go(reader: Op) -> bool:
    """Return True for constants and activations, behind reshapes too."""
    if reader.type in RESHAPES:
        return any(map(_may_go, reader.result.uses))
    constants = any(value is not None and value.is_const for value in reader.operands)
    return reader.type in FUSED_ACTIVATIONS or (reader.type in ARITHMETIC and constants)


FUSIONS = [Fusion("upsampling_by_channels", "DEPTH_TO_SPACE", side_by_side, rewrite, check)]
