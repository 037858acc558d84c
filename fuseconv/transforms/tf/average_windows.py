"""Tell sums of windows over an image that become their means: what StableHLO writes for average pooling."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Op, Value
from fuseconv.tf.operands import content_of


class Windows(NamedTuple):
    """Windows over an image [N, H, W, C]: their extents, strides and padding by its rows and columns."""

    sizes: tuple[int, ...]
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    pads: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, op: Op) -> Windows | None:
        """Return the windows that an XlaReduceWindow sums; None of another one, or if they are not known."""
        x, start, *rest = op.operands
        numbers = [content_of(each) for each in rest]
        if op.attrs.get("computation") != "Add" or x is None or x.dtype is not types.FLOAT32 or x.rank != 4:
            return None
        if start is None or start.data is None or start.data.any() or len(numbers) != 5:
            return None
        known = [np.reshape(each, -1).tolist() for each in numbers if each is not None]
        if len(known) != 5 or not all(isinstance(size, int) for size in x.shape[1:3]):  # type: ignore[index]
            return None
        extents, strides, base, dilations, pads = known
        outer = [extents[0], extents[3], strides[0], strides[3], *base, *dilations]
        if outer != [1] * 12 or any([*pads[:2], *pads[6:]]):
            return None
        ends = (tuple(pads[2:4]), tuple(pads[4:6]))
        return cls(tuple(x.shape[1:3]), tuple(extents[1:3]), tuple(strides[1:3]), ends)  # type: ignore[arg-type, index]

    def counts(self) -> np.ndarray:
        """Return how many elements each window has, without those of the padding, as [1, H, W, 1]."""
        rows, columns = map(_counts, self.sizes, self.extents, self.strides, self.pads)
        return (rows[:, None] * columns)[None, :, :, None].astype(np.float32)

    @property
    def padding(self) -> str | None:
        """Return the name of the padding; None if it has none."""
        if not any(map(any, self.pads)):
            return "VALID"
        for size, extent, stride, ends in zip(self.sizes, self.extents, self.strides, self.pads):
            total = max((-(-size // stride) - 1) * stride + extent - size, 0)
            if ends != (total // 2, total - total // 2):
                return None
        return "SAME"


def constant_sums(op: Op) -> np.ndarray | None:
    """Return the sums of windows over one number, such as those of 1 that count their elements; None of others."""
    x, windows = op.operands[0], Windows.of(op)
    if windows is None or x is None or x.data is None or not x.data.size or (x.data != x.data.flat[0]).any():
        return None
    shape = (x.data.shape[0], *windows.counts().shape[1:3], x.data.shape[3])
    return np.ascontiguousarray(np.broadcast_to(windows.counts() * x.data.flat[0], shape))


def average_pool(
    value: Value, *, divisor: np.ndarray | None = None, factor: np.ndarray | None = None
) -> tuple[Value, dict[str, Any]] | None:
    """Return (x, attributes of AvgPool) if sums of windows of x, divided by `divisor` or multiplied by `factor`, are
    the means of the elements that each window has, those of the padding not counted; None if they are not."""
    op = value.op
    windows = Windows.of(op) if op is not None and op.kind == "tf.XlaReduceWindow" else None
    if op is None or windows is None or windows.padding is None:
        return None
    counts = windows.counts()
    given, expected = (divisor, counts) if divisor is not None else (factor, np.float32(1) / counts)
    if given is None or given.ndim > 4 or not all(a in (1, b) for a, b in zip(given.shape[::-1], expected.shape[::-1])):
        return None
    if not np.array_equal(np.broadcast_to(given, expected.shape), expected):
        return None
    window = {"ksize": [1, *windows.extents, 1], "strides": [1, *windows.strides, 1], "padding": windows.padding}
    assert op.operands[0] is not None
    return op.operands[0], window


def _counts(size: int, extent: int, stride: int, ends: tuple[int, ...]) -> np.ndarray:
    first = np.arange(0, size + sum(ends) - extent + 1, stride) - ends[0]
    return np.maximum(np.minimum(first + extent, size) - np.maximum(first, 0), 0)
