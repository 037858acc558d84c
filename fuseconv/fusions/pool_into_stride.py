"""Pooling with a window of 1 and a stride, before a convolution with a window of 1 -> the convolution's stride."""

from __future__ import annotations

from typing import Any

from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern import Term, pattern
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder

_STRIDES = ("stride_h", "stride_w")


@pattern
def pooled(tfl: Any, x: Any, weights: Any) -> Term:
    pool = tfl["AVERAGE_POOL_2D", "MAX_POOL_2D"](x, name="pool", filter_height=1, filter_width=1, shared=True)
    return tfl.CONV_2D(pool, weights, ..., name="conv")


def check(m: Match) -> None:
    m.require(
        m.weights.shape is not None and m.weights.shape[1:3] == (1, 1), "the window of the convolution is larger than 1"
    )
    m.require(not m.pool.attrs.get("fused_activation_function"), "an activation stands between the two ops")


def rewrite(tfl: Builder, m: Match) -> Value:
    strides = {name: int(m.conv.attrs.get(name, 1)) * int(m.pool.attrs.get(name, 1)) for name in _STRIDES}
    return tfl.op("CONV_2D", (m.x, *m.conv.operands[1:]), m.conv.attrs | strides)[0]


FUSIONS = [Fusion("pool_into_stride", "CONV_2D", pooled, rewrite, check)]
