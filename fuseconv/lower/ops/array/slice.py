"""Slice and StridedSlice."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.dims import Dim, Sym, product
from fuseconv.ir.graph import Value
from fuseconv.ir.slice_spec import WHOLE, Insert, Masks, Pick, Rest, SliceSpec, Take
from fuseconv.lower.rules import Lowering, lowers, require
from fuseconv.lower.support.dynamic_shapes import reshape, shape_of, static_dims
from fuseconv.lower.support.legalize_operands import build_legalized, scalar, sizes
from fuseconv.lower.support.merged_dims import merge_untouched_dims
from fuseconv.lower.support.type_promotion import cast
from fuseconv.tf.operands import content_of
from fuseconv.tfl.kernel_limits import RANK

_FAR = 2**31 - 1


@lowers
def Slice(tfl, x, begin, size):
    """SLICE; STRIDED_SLICE of merged dimensions where there are too many. A size that is not known but
    reaches to the end is -1."""
    shape = shape_of(x)
    known = content_of(size) if begin.is_const else None
    if known is not None and known.size == begin.data.size == len(shape):
        reach = [begin + count == dim for begin, count, dim in zip(begin.data.tolist(), known, shape)]
        known = np.where([isinstance(count, Sym) and whole for count, whole in zip(known, reach)], -1, known)
    if begin.is_const and known is not None and all(isinstance(count, int) for count in known):
        starts, sizes = begin.data.tolist(), known.tolist()
        cuts = [Take(b, None if n == -1 else b + n) for b, n in zip(starts, sizes)]
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
    masks = Masks(begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    if not (begin.is_const and end.is_const and strides.is_const):
        return _dynamic_slice(tfl, x, (begin, end, strides), masks)
    spec = SliceSpec.read([bound.data.tolist() for bound in (begin, end, strides)], masks)
    # What has no ellipsis is the same for any rank.
    rests = any(isinstance(entry, Rest) for entry in spec.entries)
    entries = spec.unfold(len(shape_of(x))) if rests or x.shape is not None else list(spec.entries)
    require(entries is not None, "the slice names more dimensions than its operand has")
    y = slice_dims(tfl, x, [entry for entry in entries if not isinstance(entry, Insert)])
    left = [entry for entry in entries if not isinstance(entry, Pick)]
    new = [axis for axis, entry in enumerate(left) if isinstance(entry, Insert)]
    if not new:
        return y
    if y.shape is not None:
        sizes = iter(y.shape)
        static = tfl.static_shape(tuple(1 if isinstance(entry, Insert) else next(sizes) for entry in left))
        if static is not None:
            return tfl.reshape(y, static)
    return functools.reduce(lambda value, axis: tfl.expand_dims(value, scalar(axis, types.INT32)), new, y)


def slice_dims(tfl: Lowering, x: Value, cuts: Sequence[Take | Pick]) -> Value:
    """Build the slice of x with one entry for each dimension; for each that is cut if the rank is not known."""
    if x.shape is None:
        return x if all(cut == WHOLE for cut in cuts) else _strided_slice(tfl, x, cuts)
    shape = x.shape
    touched = [not cut.takes_all(dim) for cut, dim in zip(cuts, shape)]
    if not any(touched):
        return x
    if len(shape) <= RANK["STRIDED_SLICE"]:
        return _strided_slice(tfl, x, cuts)
    runs = merge_untouched_dims(touched)
    if len(runs) > RANK["STRIDED_SLICE"]:
        # From the last to the first: a dimension that goes leaves those before it where they are.
        for axis in reversed([axis for axis, cut in enumerate(touched) if cut]):
            x = slice_dims(tfl, x, [cuts[axis] if at == axis else WHOLE for at in range(len(shape_of(x)))])
        return x
    merged = reshape(tfl, x, [product(shape[axis] for axis in run) for run in runs])
    y = _strided_slice(tfl, merged, [cuts[run[0]] if touched[run[0]] else WHOLE for run in runs])
    taken = iter(shape_of(y))
    dims: list[Dim] = []
    for run in runs:
        if isinstance(cuts[run[0]], Take):
            size = next(taken)
            dims += [size] if touched[run[0]] else [shape[axis] for axis in run]
    return reshape(tfl, y, dims, x)


def _strided_slice(tfl: Lowering, x: Value, cuts: Sequence[Take | Pick]) -> Value:
    spec = SliceSpec(tuple(_as_written(cut, size) for cut, size in zip(cuts, x.shape or [None] * len(cuts))))
    begins, ends, strides, masks = spec.operands()
    near = [[max(-_FAR, min(int(bound), _FAR)) for bound in bounds] for bounds in (begins, ends)]  # type: ignore[arg-type]
    return build_legalized(tfl, "STRIDED_SLICE", lambda wide: tfl.strided_slice(wide, *near, strides, **masks), x)


def _as_written(cut: Take | Pick, size: Dim | None) -> Take | Pick:
    if isinstance(cut, Pick):
        return Pick(cut.index)
    if isinstance(size, int):
        none = not range(*slice(cut.begin, cut.end, cut.stride).indices(size))
    else:
        none = cut.end == 0 and cut.stride > 0
    # XNNPACK takes an end of 0 for the end of the tensor.
    return Take(1, 1) if none else cut


def _dynamic_slice(tfl: Lowering, x: Value, bounds: tuple[Value, ...], masks: Masks) -> Value:
    rank = len(shape_of(x)) + bin(masks.new_axis_mask).count("1")
    require(rank <= RANK["STRIDED_SLICE"], f"{rank} dimensions are too many for bounds that are computed")
    bounds, masks = _without_empty_ellipsis(tfl, x, bounds, masks.without_clashes())
    near, attrs = [_int32(tfl, bound) for bound in bounds], masks._asdict()
    return build_legalized(tfl, "STRIDED_SLICE", lambda wide: tfl.strided_slice(wide, *near, **attrs), x)


def _without_empty_ellipsis(
    tfl: Lowering, x: Value, bounds: tuple[Value, ...], masks: Masks
) -> tuple[tuple[Value, ...], Masks]:
    """Leave out an ellipsis that stands for no dimension: TFLite's kernel takes it for one at least."""
    if not masks.ellipsis_mask:
        return bounds, masks
    (count,) = static_dims(shape_of(bounds[0], 1), "the number of bounds")
    if len(shape_of(x)) > count - 1 - bin(masks.new_axis_mask & ((1 << count) - 1)).count("1"):
        return bounds, masks
    place = masks.ellipsis_mask.bit_length() - 1
    places, below = [index for index in range(count) if index != place], (1 << place) - 1
    without = (mask & below | mask >> 1 & ~below for mask in masks._replace(ellipsis_mask=0))
    return tuple(_elements(tfl, bound, places) for bound in bounds), Masks(*without)


def _elements(tfl: Lowering, bound: Value, places: list[int]) -> Value:
    """Return some elements of a vector as int32; of one that is packed, others are not packed."""
    if bound.op is None or bound.op.kind != "tf.Pack" or not places:
        return tfl.gather(_int32(tfl, bound), places)
    scalars = [bound.op.operands[place] for place in places]
    return tfl.concatenation(*(reshape(tfl, _int32(tfl, x), (1,)) for x in scalars if x is not None), axis=0)


def _int32(tfl: Lowering, bound: Value) -> Value:
    if bound.data is not None:
        return tfl.const(np.clip(bound.data, -_FAR, _FAR).astype(np.int32))
    return cast(tfl, bound, types.INT32)
