"""PAD with zeros, then a convolution without padding -> a convolution with SAME padding, where that pads the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern import Constant, Term, pattern
from fuseconv.ir import types
from fuseconv.ir.dims import Dim, Shape
from fuseconv.ir.graph import Op, Value
from fuseconv.tfl.builder import Builder

# For each convolution, the axes of its filter and the options that belong to the spatial dimensions, in their order.
WINDOWS = {
    "CONV_2D": ((1, 2), ("h", "w")),
    "DEPTHWISE_CONV_2D": ((1, 2), ("h", "w")),
    "CONV_3D": ((0, 1, 2), ("d", "h", "w")),
}


@pattern
def padded(tfl: Any, x: Any, paddings: Constant) -> Term:
    pad = tfl.PAD(x, paddings, shared=True) | tfl.PADV2(x, paddings, 0.0, shared=True)
    return tfl[tuple(WINDOWS)](pad, ..., name="conv", padding="VALID")


def check(m: Match) -> None:
    m.require(m.x.dtype is types.FLOAT32, f"TFLite's kernels pad float32 with zeros, not {m.x.dtype}")
    pads = m.paddings.data.tolist()
    m.require(m.x.shape is not None, "the rank of what is padded is not known")
    m.require(pads[0] == pads[-1] == [0, 0], "it pads the batch or the channels")
    m.require(pads_as_same(m.conv, m.conv.attrs, m.x.shape[1:-1], pads[1:-1]), "SAME pads by other numbers")


def rewrite(tfl: Builder, m: Match) -> Value:
    attrs = m.conv.attrs | {"padding": "SAME"}
    return tfl.op(m.conv.type, (m.x, *m.conv.operands[1:]), attrs)[0]


def windows(conv: Op, attrs: dict[str, Any]) -> list[tuple[Dim, int, int]]:
    """Return for each spatial dimension of a convolution with these attributes how many elements the window spans, its
    stride, and its dilation."""
    axes, letters = WINDOWS[conv.type]
    shape = conv.operands[1].shape  # type: ignore[union-attr]
    spans: list[tuple[Dim, int, int]] = []
    for axis, letter in zip(axes, letters):
        dilation = int(attrs.get(f"dilation_{letter}_factor", 1))
        size = shape[axis] if shape is not None else 0
        spans.append(((size - 1) * dilation + 1, int(attrs.get(f"stride_{letter}", 0)), dilation))
    return spans


def pads_as_same(conv: Op, attrs: dict[str, Any], sizes: Shape, pads: Sequence[Sequence[Dim]]) -> bool:
    """Return True if SAME padding of data of these sizes equals these zeros before and after it, in each spatial
    dimension, for a convolution with these attributes."""
    spans = windows(conv, attrs)
    return all(_as_same(size, pair, span, stride) for size, pair, (span, stride, _) in zip(sizes, pads, spans))


def _as_same(size: Dim, pad: Sequence[Dim], span: Dim, stride: int) -> bool:
    before, after = pad
    if not (isinstance(span, int) and isinstance(before, int) and isinstance(after, int)):
        return False
    if stride == 1:
        return before == (span - 1) // 2 and before + after == span - 1
    if not isinstance(size, int):
        return False  # what SAME pads with depends on the size
    count = -(-size // stride)
    total = max((count - 1) * stride + span - size, 0)
    # Zeros that lie behind the last window are read by none.
    return before == total // 2 and (size + before + after - span) // stride + 1 == count


FUSIONS = [Fusion("pad_into_convolution", "CONV_2D", padded, rewrite, check)]
