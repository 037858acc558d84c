"""Tell sums of windows over an image that become their means: what StableHLO writes for average pooling."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Op, Value, constant
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.operands import content_of
from fuseconv.tf.traits import RESHAPES

_MOVES = RESHAPES | {"tf.Transpose"}
# Dimensions that are pooled become rows and columns by one of each.
_MOST_MOVES = 2


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
    value: Value, tf: TfBuilder, *, divisor: np.ndarray | None = None, factor: np.ndarray | None = None
) -> Value | None:
    """Return AvgPool(x) if sums of windows of x, divided by `divisor` or multiplied by `factor`, are the means of the
    elements that each window has; None if they are not. What is between them, as where channels are not last, stands
    behind the pool: Transpose(XlaReduceWindow(x)) / 4 -> Transpose(AvgPool(x))."""
    moves: list[Op] = []
    op = value.op
    while op is not None and op.kind in _MOVES and len(moves) < _MOST_MOVES:
        moves.append(op)
        op = op.operands[0].op if op.operands[0] is not None else None
    windows = Windows.of(op) if op is not None and op.kind == "tf.XlaReduceWindow" else None
    given = factor if divisor is None else divisor
    for move in moves if windows is not None else ():
        given = None if given is None else _before(move, given)
    if op is None or windows is None or given is None:
        return None
    x, counts, area = op.operands[0], windows.counts(), np.array(np.prod(windows.extents), np.float32)
    assert x is not None
    padding = windows.padding
    if padding is None or not _are(given, counts if factor is None else np.float32(1) / counts):
        if min(map(min, windows.pads)) < 0 or not _are(given, area if factor is None else np.float32(1) / area):
            return None
        assert x.shape is not None
        pads = [(0, 0), *windows.pads, (0, 0)]  # which count
        sizes = tuple(size + sum(ends) for size, ends in zip(x.shape, pads))
        operands = [x, constant(np.array(pads, np.int32)), constant(np.array(0, np.float32))]
        x, padding = tf.add("PadV2", operands, {}, x.dtype, sizes), "VALID"
    attrs = {"ksize": [1, *windows.extents, 1], "strides": [1, *windows.strides, 1], "padding": padding}
    made = tf.add("AvgPool", [x], attrs, x.dtype, op.result.shape)
    for move in reversed(moves):
        made = tf.add(move.type, [made, *move.operands[1:]], move.attrs, x.dtype, move.result.shape)
    return made


def _before(move: Op, given: np.ndarray) -> np.ndarray | None:
    """Return what an array that broadcasts with the result of a Transpose or Reshape is before it; None if it is of
    dimensions that a Reshape joins or splits."""
    if given.size == 1:
        return given.reshape(())
    x, rank = move.operands[0], move.result.rank
    if x is None or x.shape is None or move.result.shape is None or rank is None or given.ndim > rank:
        return None
    given = given.reshape((1,) * (rank - given.ndim) + given.shape)
    if move.kind == "tf.Transpose":
        order = content_of(move.operands[1])
        return None if order is None else given.transpose(np.argsort(order.tolist()))
    old, new = ([axis for axis, size in enumerate(shape) if size != 1] for shape in (x.shape, move.result.shape))
    if [x.shape[axis] for axis in old] != [move.result.shape[axis] for axis in new]:
        return None
    sizes = [1] * len(x.shape)
    for axis, place in zip(old, new):
        sizes[axis] = given.shape[place]
    return given.reshape(sizes) if np.prod(sizes) == given.size else None


def _are(given: np.ndarray, expected: np.ndarray) -> bool:
    """Return whether an array broadcasts to these numbers."""
    fits = given.ndim <= expected.ndim and all(a in (1, b) for a, b in zip(given.shape[::-1], expected.shape[::-1]))
    return fits and np.array_equal(np.broadcast_to(given, expected.shape), expected)


def _counts(size: int, extent: int, stride: int, ends: tuple[int, ...]) -> np.ndarray:
    first = np.arange(0, size + sum(ends) - extent + 1, stride) - ends[0]
    return np.maximum(np.minimum(first + extent, size) - np.maximum(first, 0), 0)
