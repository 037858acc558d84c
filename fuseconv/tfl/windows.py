"""The windows of convolutions: how far they reach, and what SAME padding adds to the data for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fuseconv.ir.dims import Dim, Shape
from fuseconv.ir.graph import Op

# For each convolution, the axes of its filter and the options that belong to the spatial dimensions, in their order.
WINDOWS = {
    "CONV_2D": ((1, 2), ("h", "w")),
    "DEPTHWISE_CONV_2D": ((1, 2), ("h", "w")),
    "CONV_3D": ((0, 1, 2), ("d", "h", "w")),
}


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
    """Return whether SAME pads one dimension with these zeros, or with others that no window reads."""
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


def read_shares(conv: Op) -> list[np.ndarray] | None:
    """Return, for each spatial dimension and each place in the window, the share of positions [places] at which that
    place reads data and not SAME's padding. It is 1 where the size is not known, as at all places but those near the
    ends. None if the window's size is not known."""
    data = conv.operands[0]
    if data is None or data.shape is None:
        return None
    padded, shares = conv.attrs.get("padding", "SAME") != "VALID", []
    for size, (span, stride, dilation) in zip(data.shape[1:-1], windows(conv, conv.attrs)):
        if not isinstance(span, int):
            return None
        places = np.arange(0, span, dilation)
        if padded and isinstance(size, int) and size > 0:
            shares.append(_read_share(size, places, span, stride))
        else:
            shares.append(np.ones(len(places)))
    return shares


def _read_share(size: int, places: np.ndarray, span: int, stride: int) -> np.ndarray:
    count = -(-size // stride)
    first = places - max((count - 1) * stride + span - size, 0) // 2
    # At position i, a place reads element first + i * stride.
    begin, end = (np.clip(-(-(bound - first) // stride), 0, count) for bound in (0, size))
    return (end - begin) / count
