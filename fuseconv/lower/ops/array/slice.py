"""Slice and StridedSlice."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.dims import Dim, product
from fuseconv.ir.graph import Value
from fuseconv.lower.ops.array.concat_and_split import merge_untouched_dims
from fuseconv.lower.rules import Lowering, lowers, require
from fuseconv.lower.support.dynamic_shapes import reshape, shape_of
from fuseconv.lower.support.kernel_limits import build_legalized, scalar, sizes
from fuseconv.lower.support.type_promotion import cast
from fuseconv.tfl.limits import RANK

_FAR = 2**31 - 1


@dataclass(frozen=True)
class DimSlice:
    """The slice of one dimension: begin:end:stride, where None is open; if `shrink`, the element `begin` only, without
    the dimension."""

    begin: int | None = None
    end: int | None = None
    stride: int = 1
    shrink: bool = False

    def takes_all(self, size: Dim) -> bool:
        ends = self.end is None or (isinstance(size, int) and self.end >= size)
        return not self.shrink and self.stride == 1 and self.begin in (None, 0) and ends

    def takes_none(self, size: Dim) -> bool:
        if self.shrink:
            return False
        if isinstance(size, int):
            return not range(*slice(self.begin, self.end, self.stride).indices(size))
        return self.end == 0 and self.stride > 0


@lowers
def Slice(tfl, x, begin, size):
    """SLICE; STRIDED_SLICE of merged dimensions where there are too many."""
    shape = shape_of(x)
    if begin.is_const and size.is_const:
        starts, sizes = begin.data.tolist(), size.data.tolist()
        cuts = [DimSlice(b, None if n == -1 else b + n) for b, n in zip(starts, sizes)]
        if len(shape) > RANK["SLICE"] or all(cut.takes_all(dim) for cut, dim in zip(cuts, shape)):
            return slice_dims(tfl, x, cuts)
        return build_legalized(tfl, "SLICE", lambda wide: tfl.slice_(wide, starts, sizes), x)
    return build_legalized(tfl, "SLICE", lambda wide: tfl.slice_(wide, begin, cast(tfl, size, begin.dtype)), x)


@lowers
def XlaDynamicSlice(tfl, x, start_indices, size_indices):
    """SLICE from a start that MAXIMUM and MINIMUM clamp so that the slice lies within x."""
    shape, lengths, starts = shape_of(x), _int32(tfl, size_indices), _int32(tfl, start_indices)
    last = tfl.sub(sizes(tfl, shape, x), lengths)
    starts = tfl.maximum(tfl.minimum(starts, last), tfl.ints([0] * len(shape)))
    return build_legalized(tfl, "SLICE", lambda wide: tfl.slice_(wide, starts, lengths), x)


@lowers
def StridedSlice(
    tfl, x, begin, end, strides, *, begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=0
):
    """STRIDED_SLICE; where the bounds are constant, RESHAPE or EXPAND_DIMS adds the new dimensions."""
    masks = begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask
    if not (begin.is_const and end.is_const and strides.is_const):
        return _dynamic_slice(tfl, x, (begin, end, strides), masks)
    spec = _dense(begin.data.tolist(), end.data.tolist(), strides.data.tolist(), masks, len(shape_of(x)))
    y = slice_dims(tfl, x, [cut for cut in spec if cut is not None])
    new = [axis for axis, cut in enumerate(cut for cut in spec if cut is None or not cut.shrink) if cut is None]
    if not new:
        return y
    static = tfl.static_shape(tfl.shape)
    if static is not None:
        return tfl.reshape(y, static)
    return functools.reduce(lambda value, axis: tfl.expand_dims(value, scalar(axis, types.INT32)), new, y)


def slice_dims(tfl: Lowering, x: Value, cuts: Sequence[DimSlice]) -> Value:
    """Build the slice of x with one DimSlice for each dimension."""
    shape = shape_of(x)
    touched = [not cut.takes_all(dim) for cut, dim in zip(cuts, shape)]
    if not any(touched):
        return x
    if len(shape) <= RANK["STRIDED_SLICE"]:
        return _strided_slice(tfl, x, cuts)
    runs = merge_untouched_dims(touched)
    if len(runs) > RANK["STRIDED_SLICE"]:
        # From the last to the first: a dimension that goes leaves those before it where they are.
        for axis in reversed([axis for axis, cut in enumerate(touched) if cut]):
            x = slice_dims(tfl, x, [cuts[axis] if at == axis else DimSlice() for at in range(len(shape_of(x)))])
        return x
    merged = reshape(tfl, x, [product(shape[axis] for axis in run) for run in runs])
    y = _strided_slice(tfl, merged, [cuts[run[0]] if touched[run[0]] else DimSlice() for run in runs])
    taken = iter(shape_of(y))
    dims: list[Dim] = []
    for run in runs:
        if not cuts[run[0]].shrink:
            size = next(taken)
            dims += [size] if touched[run[0]] else [shape[axis] for axis in run]
    return reshape(tfl, y, dims, x)


def _strided_slice(tfl: Lowering, x: Value, cuts: Sequence[DimSlice]) -> Value:
    # XNNPACK takes an end of 0 for the end of the tensor.
    cuts = [DimSlice(1, 1) if cut.takes_none(size) else cut for cut, size in zip(cuts, shape_of(x))]
    begins = [_near(cut.begin) for cut in cuts]
    ends = [cut.begin + 1 if cut.shrink and cut.begin is not None else _near(cut.end) for cut in cuts]
    strides = [cut.stride for cut in cuts]
    masks = {
        "begin_mask": _bits(cut.begin is None for cut in cuts),
        "end_mask": _bits(cut.end is None and not cut.shrink for cut in cuts),
        "shrink_axis_mask": _bits(cut.shrink for cut in cuts),
    }
    return build_legalized(
        tfl, "STRIDED_SLICE", lambda wide: tfl.strided_slice(wide, begins, ends, strides, **masks), x
    )


def _dense(
    begins: list[int], ends: list[int], strides: list[int], masks: tuple[int, int, int, int, int], rank: int
) -> list[DimSlice | None]:
    """Return a cut for each dimension of the operand, and None where a new dimension goes; the ellipsis is spelled out.

    Source of the contract: TensorFlow's StridedSlice. Of the masks, the ellipsis wins over a new axis, that over
    shrinking, and that over open bounds.
    """
    begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask = masks
    bits = [1 << index for index in range(len(begins))]
    taken = sum(not bit & (ellipsis_mask | new_axis_mask) for bit in bits)
    spec: list[DimSlice | None] = []
    for bit, begin, end, stride in zip(bits, begins, ends, strides):
        if bit & ellipsis_mask:
            spec += [DimSlice()] * (rank - taken)
        elif bit & new_axis_mask:
            spec.append(None)
        elif bit & shrink_axis_mask:
            spec.append(DimSlice(begin, shrink=True))
        else:
            spec.append(DimSlice(None if bit & begin_mask else begin, None if bit & end_mask else end, stride))
    return spec if ellipsis_mask else spec + [DimSlice()] * (rank - taken)


def _dynamic_slice(
    tfl: Lowering, x: Value, bounds: tuple[Value, Value, Value], masks: tuple[int, int, int, int, int]
) -> Value:
    names = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
    rank = len(shape_of(x)) + bin(masks[3]).count("1")
    require(rank <= RANK["STRIDED_SLICE"], f"{rank} dimensions are too many for bounds that are computed")
    near = [_int32(tfl, bound) for bound in bounds]
    return build_legalized(
        tfl, "STRIDED_SLICE", lambda wide: tfl.strided_slice(wide, *near, **dict(zip(names, masks))), x
    )


def _int32(tfl: Lowering, bound: Value) -> Value:
    if bound.data is not None:
        return tfl.const(np.clip(bound.data, -_FAR, _FAR).astype(np.int32))
    return cast(tfl, bound, types.INT32)


def _near(bound: int | None) -> int:
    return 0 if bound is None else max(-_FAR, min(bound, _FAR))


def _bits(flags: Iterable[bool]) -> int:
    return sum(1 << index for index, flag in enumerate(flags) if flag)
