"""Pad with a mirror by copies of rows: MIRROR_PAD(x) -> GATHER(x, [1, 0, 1, 2, 1]), or CONCATENATION of rows and x.

The kernel computes the place of each element and copies it alone. Others copy runs of them: of 128 x 128 x 64 floats
with a border of one GATHER takes a 26th of the time, of 72 x 16 a twelfth. So it is with integers, where quantization,
which reads one op better than two, runs this behind itself.
"""

from __future__ import annotations

import math

import numpy as np

from fuseconv.facts import TFL_ONLY
from fuseconv.ir import types
from fuseconv.ir.dims import Dim, Shape, may_vanish
from fuseconv.ir.graph import Op, Value
from fuseconv.pass_manager import rewrite_pass
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.kernel_limits import RANK

# Below, one op takes no longer than two.
_LEAST_ELEMENTS = 64
# The most places that are worth their bytes. Three ops, which copy most of x at once, take as many as 100 places do.
_MOST_PLACES = 256
_COPIED = (types.FLOAT32, types.INT8)
_MOST_DIMENSIONS = min(RANK["CONCATENATION"], RANK["STRIDED_SLICE"])


@rewrite_pass("expand-mirror-pads", ("tfl.MIRROR_PAD",), requires=(TFL_ONLY,))
def expand_mirror_pads(op: Op, out: list[Op]) -> list[Value] | None:
    """Copy rows to pad with a mirror: MIRROR_PAD(x, [[2, 0]]) -> GATHER(x, [2, 1, 0, 1, 2]).

    Of an unknown number of rows, or of many, CONCATENATION(GATHER(x, [2, 1]), x)."""
    x, paddings = op.operands
    if x is None or x.shape is None or paddings is None or paddings.data is None or x.dtype not in _COPIED:
        return None
    if x.quantization != op.result.quantization or len(x.shape) > _MOST_DIMENSIONS or any(map(may_vanish, x.shape)):
        return None
    # REFLECT leaves out the first and the last row.
    skipped = int(op.attrs.get("mode", "REFLECT") == "REFLECT")
    amounts = paddings.data.tolist()
    if not _are_many(x.shape) or not all(map(_has_rows, x.shape, amounts, [skipped] * len(amounts))):
        return None
    made: list[Op] = []
    tfl = Builder(made, op.name, op.sources)
    for axis, (before, after) in enumerate(amounts):
        size = x.shape[axis]  # type: ignore[index]
        if isinstance(size, int) and 0 < before + after <= _MOST_PLACES - size:
            places = np.pad(np.arange(size, dtype=np.int32), (before, after), "reflect" if skipped else "symmetric")
            x = tfl.gather(x, places, axis=axis)
        elif before or after:
            parts = [_first(tfl, x, axis, before, skipped), x, _last(tfl, x, axis, after, skipped)]
            x = tfl.concatenation(*[part for part in parts if part is not None], axis=axis)
    if not made:
        return None
    x.shape = op.result.shape
    for each in made:
        each.result.quantization = op.result.quantization
        if each.result is not x:  # names would take as many bytes as the ops
            each.result.name = ""
    out += made
    return [x]


def _are_many(shape: Shape) -> bool:
    """Return whether there are elements enough; unknown sizes count as such."""
    return not all(isinstance(dim, int) for dim in shape) or math.prod(shape) >= _LEAST_ELEMENTS  # type: ignore[operator]


def _has_rows(size: Dim, amounts: list[int], skipped: int) -> bool:
    """Return whether a dimension has the rows that are to be mirrored. Of an unknown one the gathered rows tell at run
    time, which come first."""
    before, after = amounts
    return max(amounts) + skipped <= size if isinstance(size, int) else before >= after


def _first(tfl: Builder, x: Value, axis: int, count: int, skipped: int) -> Value | None:
    """Return the first rows in reverse."""
    return _rows(tfl, x, axis, range(skipped + count - 1, skipped - 1, -1)) if count else None


def _last(tfl: Builder, x: Value, axis: int, count: int, skipped: int) -> Value | None:
    """Return the last rows in reverse."""
    assert x.shape is not None
    size, rank = x.shape[axis], len(x.shape)
    if not count:
        return None
    if isinstance(size, int):
        return _rows(tfl, x, axis, range(size - 1 - skipped, size - 1 - skipped - count, -1))
    begin, end, strides = [0] * rank, [0] * rank, [1] * rank
    begin[axis], end[axis], strides[axis] = -1 - skipped, -1 - skipped - count, -1
    mask = (1 << rank) - 1 - (1 << axis)
    y: Value = tfl.strided_slice(x, begin, end, strides, begin_mask=mask, end_mask=mask)
    y.shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
    return y


def _rows(tfl: Builder, x: Value, axis: int, places: range) -> Value:
    return tfl.gather(x, np.array(places, np.int32), axis=axis)  # type: ignore[no-any-return]
