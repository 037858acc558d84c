"""Joining, cutting and moving whole tensors."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.dims import may_vanish, product
from fuseconv.ir.graph import Value
from fuseconv.lower.ops.math.reduction import axes_of, axis_of
from fuseconv.lower.rules import Lowering, constant_of, lowers
from fuseconv.lower.support.dynamic_shapes import dim_scalar, iota, reshape, shape_of, static_dims
from fuseconv.lower.support.legalize_operands import build_legalized, scalar, sizes
from fuseconv.lower.support.merged_dims import along_axis, merge_untouched_dims, neighboring_axes, transpose
from fuseconv.lower.support.type_promotion import cast, conjugate
from fuseconv.tfl.kernel_limits import RANK


@lowers
def ConcatV2(tfl, *values_and_axis):
    """CONCATENATION."""
    *values, axis = values_and_axis
    return _concatenate(tfl, values, axis)


@lowers
def ParallelConcat(tfl, *values, shape=None):
    """CONCATENATION of rows."""
    return _concatenate(tfl, values, scalar(0, types.INT32))


@lowers
def Concat(tfl, axis, *values):
    """CONCATENATION."""
    return _concatenate(tfl, values, axis)


@lowers
def Split(tfl, axis, x):
    """SPLIT."""
    return _split(tfl, x, axis, len(tfl.source.results))


@lowers
def SplitV(tfl, x, size_splits, axis):
    """SPLIT into equal sizes, else SPLIT_V."""
    count = len(tfl.source.results)
    if count == 1 or (size_splits.is_const and len(set(size_splits.data.tolist())) == 1):
        return _split(tfl, x, axis, count)
    parts = cast(tfl, size_splits, types.INT32)

    def split(merged: Value, along: int) -> list[Value]:
        where = scalar(along, types.INT32)
        return build_legalized(tfl, "SPLIT_V", lambda wide: tfl.split_v(wide, parts, where, num_splits=count), merged)

    return along_axis(tfl, "SPLIT_V", split, axis_of(x, axis), x)


@lowers
def Pack(tfl, *values, axis=0):
    """PACK."""
    at = axis if values[0].shape is None else axis % (len(values[0].shape) + 1)
    return build_legalized(tfl, "PACK", lambda *wide: tfl.pack(*wide, axis=at, values_count=len(wide)), *values)


@lowers
def Unpack(tfl, x, *, axis=0):
    """UNPACK; of int64 SPLIT, its parts without the dimension."""
    shape = shape_of(x)
    at, num = axis % len(shape), len(tfl.source.results)
    if x.dtype not in (types.INT64, types.UINT32):
        return build_legalized(tfl, "UNPACK", lambda wide: tfl.unpack(wide, num=num, axis=at), x)
    parts = _split(tfl, x, scalar(at, types.INT32), num)
    return [reshape(tfl, part, (*shape[:at], *shape[at + 1 :]), x) for part in parts]


@lowers("Transpose", "ConjugateTranspose")
def Transpose(tfl, x, perm):
    """TRANSPOSE. Dimensions that stay neighbors are merged where there are more than 6."""
    if x.dtype.is_complex and tfl.source.type == "ConjugateTranspose":
        x = conjugate(tfl, x)
    if not perm.is_const:
        return build_legalized(tfl, "TRANSPOSE", lambda wide: tfl.transpose(wide, cast(tfl, perm, types.INT32)), x)
    rank = len(perm.data)
    order = [int(axis) % rank for axis in perm.data]
    if order == list(range(rank)):
        return x
    return transpose(tfl, x, order)


@lowers
def Pad(tfl, x, paddings):
    """PAD."""
    return _pad_merged(tfl, "PAD", x, paddings)


@lowers
def PadV2(tfl, x, paddings, value):
    """PADV2; PAD of zeros, which XNNPACK takes."""
    if value.data is not None and value.dtype is not types.STRING and not any(value.data.tobytes()):
        return Pad(tfl, x, paddings)
    return _pad_merged(tfl, "PADV2", x, paddings, value)


@lowers
def MirrorPad(tfl, x, paddings, *, mode):
    """MIRROR_PAD."""
    amounts = _index(tfl, paddings)
    return build_legalized(tfl, "MIRROR_PAD", lambda wide: tfl.mirror_pad(wide, amounts, mode=mode), x)


@lowers
def Tile(tfl, x, multiples):
    """TILE."""
    if multiples.is_const and (multiples.data == 1).all():
        return x
    times = _index(tfl, multiples)
    return build_legalized(tfl, "TILE", lambda wide: tfl.tile(wide, times), x)


@lowers
def ReverseV2(tfl, x, axis):
    """REVERSE_V2, one for each run of neighboring axes."""
    runs = neighboring_axes(axes_of(x, axis))
    return build_legalized(tfl, "REVERSE_V2", lambda wide: functools.reduce(tfl.reverse_v2, runs, wide), x)


@lowers
def Reverse(tfl, x, dims):
    """REVERSE_V2 of the dimensions that are marked."""
    return ReverseV2(tfl, x, tfl.const(np.flatnonzero(constant_of(dims, "the choice of dimensions")).astype(np.int32)))


@lowers
def ReverseSequence(tfl, x, seq_lengths, *, seq_dim, batch_dim=0):
    """REVERSE_SEQUENCE."""
    rank = len(shape_of(x))
    at = {"seq_dim": seq_dim % rank, "batch_dim": batch_dim % rank}
    return build_legalized(tfl, "REVERSE_SEQUENCE", lambda wide: tfl.reverse_sequence(wide, seq_lengths, **at), x)


@lowers
def Roll(tfl, x, shift, axis):
    """CONCATENATION of the two parts where axis, size and shift are known; else GATHER along each dimension."""
    shape = shape_of(x)
    constant = axis.is_const and shift.is_const
    if constant:
        axes = [int(at) % len(shape) for at in axis.data.reshape(-1)]
        shifts = dict.fromkeys(axes, 0)
        for at, by in zip(axes, shift.data.reshape(-1).tolist()):
            shifts[at] += by
    for at in sorted(shifts) if constant else range(len(shape)):
        if constant and isinstance(shape[at], int):
            x = _roll_static(tfl, x, at, shifts[at])
        else:
            by = scalar(shifts[at], types.INT32) if constant else _shift_of_axis(tfl, shift, axis, at, len(shape))
            x = _roll_dynamic(tfl, x, at, by)
    return x


@lowers
def InvertPermutation(tfl, x):
    """SCATTER_ND of the positions."""
    (count,) = shape_of(x, 1)
    where = reshape(tfl, cast(tfl, x, types.INT32), (count, 1))
    return tfl.scatter_nd(where, cast(tfl, iota(tfl, count, x), x.dtype), sizes(tfl, (count,), x))


def _split(tfl: Lowering, x: Value, axis: Value, count: int) -> list[Value]:
    """Return `count` equal parts of x."""
    if count == 1:
        return [x]
    at = axis_of(x, axis)

    def split(merged: Value, along: int) -> list[Value]:
        where = scalar(along, types.INT32)
        return build_legalized(tfl, "SPLIT", lambda wide: tfl.split(where, wide, num_splits=count), merged)

    return along_axis(tfl, "SPLIT", split, at, x)


def _index(tfl: Lowering, x: Value) -> Value:
    """Return sizes as int32; int64 ones that are computed stay as they are."""
    return tfl.const(x.data.astype(np.int32)) if x.is_const else x  # type: ignore[union-attr]


def _concatenate(tfl: Lowering, values: tuple[Value, ...] | list[Value], axis: Value) -> Value:
    if len(values) == 1:
        return values[0]

    def join(*merged_and_axis: Any) -> Value:
        *merged, at = merged_and_axis
        return build_legalized(tfl, "CONCATENATION", lambda *wide: tfl.concatenation(*wide, axis=at), *merged)

    known = next((value for value in values if value.shape is not None), values[0])
    return along_axis(tfl, "CONCATENATION", join, axis_of(known, axis), *values)


def _pad_merged(tfl: Lowering, kind: str, x: Value, paddings: Value, *value: Value) -> Value:
    """Pad x with the dimensions that are not padded merged where there are too many for the kernel; where that leaves
    too many, pad one dimension after the other."""
    amounts = _index(tfl, paddings)
    shape = shape_of(x)
    build = getattr(tfl, kind.lower())
    if len(shape) <= RANK[kind] or amounts.data is None:
        return build_legalized(tfl, kind, lambda wide, *fill: build(wide, amounts, *fill), x, *value)
    runs = merge_untouched_dims([bool(pair.any()) for pair in amounts.data])
    if len(runs) > RANK[kind]:
        for axis in np.flatnonzero(amounts.data.any(axis=1)):
            alone = np.where(np.arange(len(shape))[:, None] == axis, amounts.data, 0)
            x = _pad_merged(tfl, kind, x, tfl.const(alone), *value)
        return x
    merged = reshape(tfl, x, [product(shape[axis] for axis in run) for run in runs])
    outer = tfl.const(amounts.data[[run[0] for run in runs]])
    y = build_legalized(tfl, kind, lambda wide, *fill: build(wide, outer, *fill), merged, *value)
    dims = [dim + int(pair.sum()) for dim, pair in zip(shape, amounts.data)]
    return reshape(tfl, y, dims, x)


def _roll_static(tfl: Lowering, x: Value, axis: int, by: int) -> Value:
    """Roll x by a known distance along a dimension of known size."""
    shape = shape_of(x)
    (count,) = static_dims([shape[axis]], "the size of the dimension")
    by = by % count if count else 0
    if not by:
        return x

    def turn(merged: Value, along: int) -> Value:
        parts = []
        for begin, length in ((count - by, by), (0, count - by)):
            starts = [begin if at == along else 0 for at in range(len(shape_of(merged)))]
            lengths = [length if at == along else -1 for at in range(len(shape_of(merged)))]
            parts.append(build_legalized(tfl, "SLICE", lambda w, s=starts, n=lengths: tfl.slice_(w, s, n), merged))
        return build_legalized(tfl, "CONCATENATION", lambda *wide: tfl.concatenation(*wide, axis=along), *parts)

    return along_axis(tfl, "SLICE", turn, axis, x)


def _roll_dynamic(tfl: Lowering, x: Value, axis: int, by: Value) -> Value:
    count = shape_of(x)[axis]
    size = dim_scalar(tfl, count, x)
    if may_vanish(count):  # the kernel looks at its divisor where there is nothing to divide, too
        size = tfl.maximum(size, 1)
    source = tfl.floor_mod(tfl.sub(iota(tfl, count, x), by), size)
    return build_legalized(tfl, "GATHER", lambda wide: tfl.gather(wide, source, axis=axis), x)


def _shift_of_axis(tfl: Lowering, shift: Value, axis: Value, dimension: int, rank: int) -> Value:
    """Return how far to roll along a dimension, an int32 scalar: the sum of the shifts whose axis it is."""
    shift, axis = cast(tfl, shift, types.INT32), cast(tfl, axis, types.INT32)
    mine = cast(tfl, tfl.equal(tfl.floor_mod(axis, rank), dimension), types.INT32)
    distance = tfl.mul(mine, shift)
    return tfl.sum(distance, [0]) if shape_of(distance) else distance
