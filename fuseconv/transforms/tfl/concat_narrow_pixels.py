"""Repeat pixels of few bytes by copies of rows: RESIZE_NEAREST_NEIGHBOR of [n, 64, 64, 3] to twice the size ->
CONCATENATION of the pixels with themselves, then of the rows.

The kernel computes the place of each pixel and copies it alone. As long as a pixel has few bytes, that takes 2 to 7
times as long as two copies of the whole tensor, which XNNPACK makes. So it is with integers, where quantization, which
reads one op better than four, runs this behind itself.
"""

from __future__ import annotations

from fuseconv.facts import TFL_ONLY
from fuseconv.ir import types
from fuseconv.ir.graph import Op, Value
from fuseconv.pass_manager import rewrite_pass
from fuseconv.tfl.builder import Builder

# With 32 channels of floats the kernel is as fast or faster, and one op; so it is with 128 of int8.
_FEW_BYTES = 124
_COPIED = (types.FLOAT32, types.INT8)
# The delegate concatenates no more.
_MOST_COPIES = 5


@rewrite_pass("concat-narrow-pixels", ("tfl.RESIZE_NEAREST_NEIGHBOR",), requires=(TFL_ONLY,))
def concat_narrow_pixels(op: Op, out: list[Op]) -> list[Value] | None:
    """Copy rows rather than pixels of few bytes: RESIZE_NEAREST_NEIGHBOR(x, [2h, 2w]) -> CONCATENATION(x, x)."""
    x, counts = op.operands[0], _counts(op)
    if x is None or x.shape is None or counts is None:
        return None
    made: list[Op] = []
    tfl = Builder(made, op.name, op.sources)
    _, height, width, channels = x.shape
    rows, columns = counts
    if columns > 1:
        x = tfl.concatenation(*[x] * columns, axis=3)
    if rows > 1:
        x = tfl.concatenation(*[tfl.reshape(x, [-1, height, width * columns * channels])] * rows, axis=2)
    result = tfl.reshape(x, [-1, height * rows, width * columns, channels])
    result.shape = op.result.shape
    for each in made:
        each.result.quantization = op.result.quantization
    out += made
    return [result]


def _counts(op: Op) -> tuple[int, int] | None:
    """Return how often each row and each column is repeated; None if they are not, or other ops do it no faster."""
    x, shape = op.operands[0], op.result.shape
    if x is None or x.shape is None or shape is None or x.dtype not in _COPIED:
        return None
    if op.attrs.get("align_corners") or not op.attrs.get("half_pixel_centers"):
        return None
    if x.quantization != op.result.quantization:
        return None
    height, width, channels = x.shape[1:]
    tall, wide = shape[1:3]
    if not all(isinstance(size, int) and size > 0 for size in (height, width, channels, tall, wide)):
        return None
    assert isinstance(height, int) and isinstance(width, int) and isinstance(channels, int)
    assert isinstance(tall, int) and isinstance(wide, int)
    if tall % height or wide % width or channels * x.dtype.numpy.itemsize > _FEW_BYTES:
        return None
    counts = tall // height, wide // width
    return counts if 1 < max(counts) <= _MOST_COPIES else None
