"""Pad rows of pixels rather than pixels of few bytes: PAD of [n, 64, 64, 3] -> PAD of [n, 64, 192].

XNNPACK copies what is padded run by run, and a run ends with the last dimension even where that is not padded. That
takes some 10 ns for each pixel: 170 us for 128x128 of 3 floats. Padded as rows of pixels they take 18, with both
reshapes. LiteRT's own kernel takes 26 for pixels, and 31 for rows. What a single convolution reads it makes a part of
that, which costs nothing.
"""

from __future__ import annotations

import math

from fuseconv.facts import TFL_ONLY
from fuseconv.ir import types
from fuseconv.ir.graph import Op, Value
from fuseconv.pass_manager import rewrite_pass
from fuseconv.tfl.builder import Builder, with_shape

# With 64 channels of floats there is nothing to gain.
_FEW_CHANNELS = 32
# Two more ops are not worth less: of 256 pixels they gain a microsecond.
_MANY_PIXELS = 1024


@rewrite_pass("pad-narrow-pixels", ("tfl.PAD",), requires=(TFL_ONLY,))
def pad_narrow_pixels(op: Op, out: list[Op]) -> list[Value] | None:
    """Pad rows of pixels of few bytes: PAD(x [n,64,64,3]) -> RESHAPE(PAD(RESHAPE(x, [n,64,192])))."""
    x, paddings = op.operands
    if x is None or x.shape is None or op.result.shape is None or x.dtype is not types.FLOAT32 or len(x.shape) < 3:
        return None
    if paddings is None or paddings.data is None or paddings.data[-1].any() or not paddings.data[-2].any():
        return None
    readers = list(op.result.uses)
    if len(readers) == 1 and readers[0].kind in ("tfl.CONV_2D", "tfl.DEPTHWISE_CONV_2D"):
        return None
    *_, width, channels = x.shape
    pixels = math.prod(size for size in x.shape[:-1] if isinstance(size, int))
    if not isinstance(width, int) or not isinstance(channels, int) or not 0 < channels <= _FEW_CHANNELS:
        return None
    tfl = Builder(out, op.name, op.sources)
    rows, padded = (*x.shape[:-2], width * channels), tfl.static_shape(op.result.shape)
    flat = tfl.static_shape(rows)
    if pixels < _MANY_PIXELS or flat is None or padded is None:
        return None
    amounts = paddings.data[:-1].copy()
    amounts[-1] *= channels
    y = tfl.pad(with_shape(tfl.reshape(x, flat), rows), amounts)
    return [with_shape(tfl.reshape(y, padded), op.result.shape)]
