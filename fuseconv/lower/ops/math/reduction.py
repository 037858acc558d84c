"""Reductions, and scans along a dimension."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.dims import Dim, product
from fuseconv.ir.graph import Value
from fuseconv.ir.slice_spec import WHOLE, Take
from fuseconv.lower.ops.array.slice import slice_dims
from fuseconv.lower.rules import Lowering, constant_of, lowers, require
from fuseconv.lower.support.dynamic_shapes import dim_scalar, reshape, shape_of, static_dims
from fuseconv.lower.support.legalize_operands import build_legalized, elementwise, filled, scalar, select
from fuseconv.lower.support.type_promotion import cast, in_float32
from fuseconv.tfl.kernel_limits import RANK, TYPES
from fuseconv.tfl.softplus import softplus_of_negative


@lowers
def Sum(tfl, x, axis, *, keep_dims=False):
    """SUM; 0 of an empty tensor."""
    return reduced(tfl, "SUM", x, axis, keep_dims, 0)


@lowers
def Mean(tfl, x, axis, *, keep_dims=False):
    """MEAN; NaN of an empty tensor."""
    require(x.dtype.is_float or 0 not in (x.shape or ()), "the mean of an empty tensor of integers is not defined")
    return reduced(tfl, "MEAN", x, axis, keep_dims, np.nan)


@lowers
def Prod(tfl, x, axis, *, keep_dims=False):
    """REDUCE_PROD; MUL of halves of complex numbers; 1 of an empty tensor."""
    if x.dtype.is_complex and 0 not in shape_of(x):
        return _product_of_complex(tfl, x, axes_of(x, axis))
    return reduced(tfl, "REDUCE_PROD", x, axis, keep_dims, 1)


def _product_of_complex(tfl: Lowering, x: Value, axes: list[int]) -> Value:
    """Return the products along axes of known sizes: of the elements before and behind the middle, as often as there
    is more than one."""

    def part(x: Value, at: int, begin: int, end: int) -> Value:
        return slice_dims(tfl, x, [Take(begin, end) if axis == at else WHOLE for axis in range(len(shape_of(x)))])

    def joined(x: Value, last: Value, at: int) -> Value:
        return build_legalized(tfl, "CONCATENATION", lambda *each: tfl.concatenation(*each, axis=at), x, last)

    for at in axes:
        (size,) = static_dims([shape_of(x)[at]], "how many complex numbers are multiplied")
        while size > 1:
            half, odd = divmod(size, 2)
            made = elementwise(tfl, "MUL", part(x, at, 0, half), part(x, at, half, 2 * half))
            x = joined(made, part(x, at, size - 1, size), at) if odd else made
            size = half + odd
    return reshape(tfl, x, shape_of(tfl.source.result), x)


@lowers
def Max(tfl, x, axis, *, keep_dims=False):
    """REDUCE_MAX; the lowest number of an empty tensor."""
    lowest = -np.inf if x.dtype.is_float else np.iinfo(x.dtype.numpy).min
    return reduced(tfl, "REDUCE_MAX", x, axis, keep_dims, lowest)


@lowers
def Min(tfl, x, axis, *, keep_dims=False):
    """REDUCE_MIN; the highest number of an empty tensor."""
    highest = np.inf if x.dtype.is_float else np.iinfo(x.dtype.numpy).max
    return reduced(tfl, "REDUCE_MIN", x, axis, keep_dims, highest)


@lowers("Any")
def Any_(tfl, x, axis, *, keep_dims=False):
    """REDUCE_ANY; false of an empty tensor."""
    return reduced(tfl, "REDUCE_ANY", x, axis, keep_dims, False)


@lowers
def All(tfl, x, axis, *, keep_dims=False):
    """REDUCE_ALL; true of an empty tensor."""
    return reduced(tfl, "REDUCE_ALL", x, axis, keep_dims, True)


@lowers
def EuclideanNorm(tfl, x, axis, *, keep_dims=False):
    """SQRT of the SUM of squares."""
    require(x.dtype.is_float, f"the norm of {x.dtype} is not a float")
    square = elementwise(tfl, "MUL", x, x)
    return elementwise(tfl, "SQRT", reduced(tfl, "SUM", square, axis, keep_dims, 0))


@lowers
def ArgMax(tfl, x, dimension, *, output_type=None):
    """ARG_MAX; of int64 that of where the largest stands."""
    return _arg(tfl, "ARG_MAX", "REDUCE_MAX", x, dimension)


@lowers
def ArgMin(tfl, x, dimension, *, output_type=None):
    """ARG_MIN; of int64 the ARG_MAX of where the smallest stands."""
    return _arg(tfl, "ARG_MIN", "REDUCE_MIN", x, dimension)


@lowers
def Cumsum(tfl, x, axis, *, exclusive=False, reverse=False):
    """CUMSUM."""
    at = _axis_operand(tfl, x, axis)
    return build_legalized(tfl, "CUMSUM", lambda wide: tfl.cumsum(wide, at, exclusive=exclusive, reverse=reverse), x)


@lowers
def Cumprod(tfl, x, axis, *, exclusive=False, reverse=False):
    """MUL with itself moved by 1, 2, 4, ... elements, as often as the size of the dimension asks for; in a WHILE if
    that is not known."""
    return running(tfl, "MUL", x, axis, 1, exclusive, reverse)


def running(
    tfl: Lowering, kind: str, x: Value, axis: Value, nothing: float, exclusive: bool = False, reverse: bool = False
) -> Value:
    """Return what `kind` makes of all elements up to each one; nothing: its identity element."""

    def combined(tfl: Lowering, total: Value, other: Value) -> Value:
        return elementwise(tfl, kind, total, other)

    if x.dtype.is_complex:  # whose parts are not computed apart
        return _prefix_scan(tfl, x, axis, combined, nothing, exclusive, reverse)
    return build_legalized(
        tfl, "CUMSUM", lambda wide: _prefix_scan(tfl, wide, axis, combined, nothing, exclusive, reverse), x
    )


@lowers
@in_float32
def CumulativeLogsumexp(tfl, x, axis, *, exclusive=False, reverse=False):
    """The logarithm of the sum of exponentials with itself moved by 1, 2, 4, ... elements, as Cumprod."""
    # The logarithm of nothing: an infinity less itself would not be a number.
    nothing = float(np.finfo(np.float32).min)

    def combined(tfl: Lowering, total: Value, other: Value) -> Value:
        larger = elementwise(tfl, "MAXIMUM", total, other)
        distance = elementwise(tfl, "SUB", larger, elementwise(tfl, "MINIMUM", total, other))
        return elementwise(tfl, "ADD", larger, softplus_of_negative(tfl, distance))

    total = _prefix_scan(tfl, elementwise(tfl, "MAXIMUM", x, nothing), axis, combined, nothing, exclusive, reverse)
    return select(tfl, elementwise(tfl, "LESS_EQUAL", total, nothing), -np.inf, total)


@lowers
def TopKV2(tfl, x, k, *, sorted=True, index_type=None):
    """TOPK_V2, which sorts."""
    count = scalar(k.data, types.INT32) if k.is_const else cast(tfl, k, types.INT32)
    wide = next((t for t in TYPES["TOPK_V2"] if t is x.dtype), None)
    wide = wide or (types.FLOAT32 if x.dtype.is_float else types.INT64)
    require(x.dtype not in (types.FLOAT64, types.UINT64), f"TOPK_V2 has no kernel for {x.dtype}")
    values, indices = tfl.topk_v2(cast(tfl, x, wide), count)
    return [cast(tfl, values, x.dtype), cast(tfl, indices, tfl.source.results[1].dtype)]


@lowers
def TopK(tfl, x, *, k, sorted=True):
    """TOPK_V2, which sorts."""
    return TopKV2(tfl, x, scalar(k, types.INT32))


def reduced(tfl: Lowering, kind: str, x: Value, axis: Value, keep_dims: bool, empty: Any) -> Value:
    """Return the reduction `kind`; `empty` where there is nothing to reduce. The kernels count axes from the end as
    TensorFlow does, where the rank is not known."""
    build = getattr(tfl, kind.lower())
    if not axis.is_const or x.shape is None:
        at = cast(tfl, axis, types.INT32)
        return build_legalized(tfl, kind, lambda wide: build(wide, at, keep_dims=keep_dims), x)
    axes = axes_of(x, axis)
    if not axes:
        return x
    if 0 in shape_of(x):
        return filled(tfl, tfl.shape, empty, x.dtype, x)
    if len(shape_of(x)) <= RANK.get(kind, 8):
        return build_legalized(tfl, kind, lambda wide: build(wide, axes, keep_dims=keep_dims), x)
    dims, merged = _merged(shape_of(x), axes)
    if not merged:
        return reshape(tfl, x, shape_of(tfl.source.result), x)
    if len(dims) > RANK[kind]:
        require(kind != "MEAN" or x.dtype.is_float, "the mean of integers cannot be taken in steps")
        flat = reshape(tfl, x, (product(dims),))
        y = build_legalized(tfl, kind, lambda wide: _in_steps(tfl, build, wide, dims, merged, x), flat)
        return reshape(tfl, y, shape_of(tfl.source.result), x)
    y = build_legalized(tfl, kind, lambda wide: build(wide, merged), reshape(tfl, x, dims))
    return reshape(tfl, y, shape_of(tfl.source.result), x)


def _in_steps(
    tfl: Lowering, build: Callable[..., Value], x: Value, dims: Sequence[Dim], axes: Sequence[int], source: Value
) -> Value:
    """Reduce x of the shape `dims` along one axis after another, the last first, so that the other axes keep their
    numbers; the result is a vector. source: a value whose shape tells those sizes that are not known."""
    left = list(dims)
    for at in reversed(axes):
        parts = (product(left[:at]), left[at], product(left[at + 1 :]))
        x = build(reshape(tfl, x, parts, source), [1])
        del left[at]
    return reshape(tfl, x, (product(left),), source)


def axes_of(x: Value, axis: Value) -> list[int]:
    """Return the axes of a constant operand, each once and counted from the front."""
    rank = len(shape_of(x))
    return sorted({int(at) % rank for at in np.asarray(constant_of(axis, "the axis")).reshape(-1)}) if rank else []


def axis_of(x: Value, axis: Value) -> int:
    """Return the axis of a constant operand, counted from the front if the rank is known: kernels take both."""
    at = int(constant_of(axis, "the axis").reshape(()))
    return at if x.shape is None else at % len(x.shape)


def _axis_operand(tfl: Lowering, x: Value, axis: Value) -> Value:
    """Return the axis as an int32 scalar; a constant one is counted from the front if the rank is known."""
    if not axis.is_const or x.shape is None:
        return cast(tfl, axis, types.INT32)
    return scalar(axis_of(x, axis), types.INT32)


def _merged(shape: Any, axes: list[int]) -> tuple[list, list[int]]:
    """Return dimensions with neighbors merged that are reduced alike, and the axes among them; without those of 1."""
    runs: list[list[int]] = []
    for axis in [axis for axis, size in enumerate(shape) if size != 1]:
        if runs and (axis in axes) == (runs[-1][0] in axes):
            runs[-1].append(axis)
        else:
            runs.append([axis])
    return [product(shape[axis] for axis in run) for run in runs], [i for i, run in enumerate(runs) if run[0] in axes]


def _arg(tfl: Lowering, kind: str, reduce: str, x: Value, dimension: Value) -> Value:
    at = _axis_operand(tfl, x, dimension)
    if x.dtype in (types.INT64, types.UINT32):
        wide = cast(tfl, x, types.INT64)
        best = getattr(tfl, reduce.lower())(wide, at, keep_dims=True)
        kind, x = "ARG_MAX", elementwise(tfl, "EQUAL", wide, best)
    elif x.dtype not in TYPES[kind]:
        require(x.dtype is not types.FLOAT64 and x.dtype is not types.UINT64, f"{kind} has no kernel for {x.dtype}")
        x = cast(tfl, x, types.FLOAT32 if x.dtype.is_float else types.INT32)
    made = types.INT64 if tfl.dtype is types.INT64 else types.INT32
    return cast(tfl, getattr(tfl, kind.lower())(x, at, output_type=made.name.upper()), tfl.dtype)


def _prefix_scan(
    tfl: Lowering, x: Value, axis: Value, combined: Callable[..., Value], nothing: float, exclusive: bool, reverse: bool
) -> Value:
    """Build an inclusive scan along the axis with `combined(tfl, x, y)`, whose identity element is `nothing`."""
    at, dims = axis_of(x, axis), shape_of(x)
    if len(dims) > RANK["PADV2"]:
        flat = reshape(tfl, x, (product(dims[:at]), dims[at], product(dims[at + 1 :])), x)
        made = _prefix_scan(tfl, flat, scalar(1, types.INT32), combined, nothing, exclusive, reverse)
        return reshape(tfl, made, dims, x)

    def further(tfl: Lowering, total: Value, step: Value) -> Value:
        return combined(tfl, total, _shift(tfl, total, at, step, reverse, nothing))

    size = dims[at]
    if exclusive:
        x = _shift(tfl, x, at, scalar(1, types.INT32), reverse, nothing)
    if isinstance(size, int):
        for power in range(max(size - 1, 0).bit_length()):
            x = further(tfl, x, scalar(1 << power, types.INT32))
        return x
    *_, total = tfl.loop(
        lambda tfl, step, every, total: tfl.less(step, every),
        lambda tfl, step, every, total: [tfl.add(step, step), every, further(tfl, total, step)],
        [scalar(1, types.INT32), dim_scalar(tfl, size, x), x],
    )
    return total


def _shift(tfl: Lowering, x: Value, axis: int, step: Value, back: bool, fill: float) -> Value:
    """Return x shifted along the axis by `step` elements (toward the front if `back`), with `fill` in the vacated
    elements."""
    dims = shape_of(x)
    paddings = np.zeros((len(dims), 2), np.int32)
    paddings[axis, int(back)] = 1
    amounts, filler = tfl.mul(tfl.const(paddings), step), scalar(fill, x.dtype)
    padded = build_legalized(tfl, "PADV2", lambda wide, each: tfl.padv2(wide, amounts, each), x, filler)
    if back:
        begin, sizes = tfl.mul(tfl.const(np.eye(len(dims), dtype=np.int32)[axis]), step), tfl.ints([-1] * len(dims))
    else:
        begin = tfl.ints([0] * len(dims))
        own = isinstance(dims[axis], int)
        sizes = tfl.ints([dims[axis] if at == axis else -1 for at in range(len(dims))]) if own else tfl.shape_(x)
    moved = build_legalized(tfl, "SLICE", lambda wide: tfl.slice_(wide, begin, sizes), padded)
    moved.shape = dims
    return moved
