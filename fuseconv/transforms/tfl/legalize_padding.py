"""SAME padding for windows that are further apart than they are wide -> none, for data without what no window reads.

Elements behind the last window, which the stride leaps over, make the sum of SAME padding negative. TensorFlow takes
that for 0. XNNPACK of TensorFlow 2.21 does not: its CONV_2D and DEPTHWISE_CONV_2D give zeros (LiteRT#4847). Nor does
Eigen's convolution of volumes, which runs CONV_3D: it begins before the data. TRANSPOSE_CONV, CONV_3D_TRANSPOSE,
MAX_POOL_2D and AVERAGE_POOL_2D were found right, with XNNPACK and without.

Where sizes are not known, a slice by computed sizes would leave XNNPACK no op behind it: it takes none whose sizes only
a run tells. The layers behind took ten times as long. Zeros by which windows of two elements are padded are the same
for all sizes. What remains, `bypass_xnnpack` keeps from XNNPACK.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fuseconv.facts import TFL_ONLY
from fuseconv.ir.dims import Dim, Shape, fresh
from fuseconv.ir.graph import Op, Value
from fuseconv.pass_manager import rewrite_pass
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.windows import WINDOWS, windows

_KINDS = frozenset(f"tfl.{name}" for name in WINDOWS)
_Window = tuple[int, int]  # how many elements it spans, and its stride


@rewrite_pass("legalize-padding", _KINDS, requires=(TFL_ONLY,))
def legalize_padding(op: Op, out: list[Op]) -> list[Value] | None:
    """Drop what no window reads, lest SAME pad by less than 0: CONV_2D(x, SAME) -> CONV_2D(x[:, :n], SAME), or VALID.

    The slice is for data that is padded in one dimension and too long in another, and for CONV_3D of unknown sizes.
    Windows of two elements on those become CONV_2D(PAD(x), VALID)."""
    (x, filter), attrs = op.operands[:2], op.attrs
    if attrs.get("padding", "SAME") != "SAME" or x is None or x.shape is None or filter is None or filter.shape is None:
        return None
    spans = [(span, stride) for span, stride, _ in windows(op, attrs) if isinstance(span, int)]
    sizes = x.shape[1:-1]
    if len(spans) < len(sizes) or all(stride <= span for span, stride in spans):
        return None
    read = [_read(size, *window) for size, window in zip(sizes, spans)]
    pads = [_zeros(size, *window) for size, window in zip(sizes, spans)]
    known = all(isinstance(size, int) for size, (span, stride) in zip(sizes, spans) if stride > span)
    tfl = Builder(out, op.name, op.sources)
    if all(pad == (0, 0) for pad in pads):
        attrs = attrs | {"padding": "VALID"}
    elif tuple(read) == sizes:
        return None
    elif None not in pads and not known:
        attrs = attrs | {"padding": "VALID"}
        x = tfl.pad(x, np.array([(0, 0), *pads, (0, 0)], np.int32))
    elif known or op.type == "CONV_3D":
        x = _part(tfl, x, read, spans)
    else:
        return None
    return tfl.typed_op(op.type, [x, *op.operands[1:]], [(op.result.dtype, op.result.shape)], attrs)


def _zeros(size: Dim, span: int, stride: int) -> tuple[int, int] | None:
    """Return how many zeros before and after the data SAME stands for; None if a size that is not known tells. Behind
    the last window there may be more of them."""
    if isinstance(size, int):
        total = max(-_surplus(size, span, stride), 0)
    elif min(span, stride) == 1 or span == 2:
        total = span - 1
    else:
        return None
    return total // 2, total - total // 2


def _surplus(size: int, span: int, stride: int) -> int:
    """Return how many elements lie behind the last window; negative where SAME pads."""
    return (size - 1) % stride + 1 - span


def _read(size: Dim, span: int, stride: int) -> Dim:
    """Return how many elements there are up to the end of the last window, or of the data; a new symbol if the size is
    not known and tells."""
    if stride <= span:
        return size
    return size - max(_surplus(size, span, stride), 0) if isinstance(size, int) else fresh()


def _part(tfl: Builder, x: Value, read: Sequence[Dim], spans: Sequence[_Window]) -> Value:
    """Build x [n,sizes...,c] -> [n,read...,c]."""
    shape: Shape = x.shape  # type: ignore[assignment]
    part = (shape[0], *read, shape[-1])
    rank = len(shape)
    whole = [size == all_ and not isinstance(size, int) for size, all_ in zip(part, shape)]
    known = all(same or isinstance(size, int) for size, same in zip(part, whole))
    end = tfl.ints([size if isinstance(size, int) else 0 for size in part]) if known else _ends(tfl, x, spans)
    bounds = [tfl.ints([0] * rank), end, tfl.ints([1] * rank)]
    masks = {"begin_mask": (1 << rank) - 1, "end_mask": sum(same << axis for axis, same in enumerate(whole))}
    return tfl.typed_op("STRIDED_SLICE", [x, *bounds], [(x.dtype, part)], masks)[0]


def _ends(tfl: Builder, x: Value, spans: Sequence[_Window]) -> Value:
    """Build the sizes of x without what lies behind the last window, int32 [rank]. Of a size of 0 it makes a negative
    number, up to which a slice has no elements either."""
    sizes = tfl.shape_(x)
    strides = np.array([1, *(stride for _, stride in spans), 1], np.int32)
    others = np.array([0, *(span - 1 for span, _ in spans), 0], np.int32)
    surplus = tfl.sub(tfl.floor_mod(tfl.sub(sizes, 1), strides), others)
    return tfl.sub(sizes, tfl.maximum(surplus, 0))
