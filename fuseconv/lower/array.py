"""Joining, cutting and moving whole tensors."""

from __future__ import annotations

import functools

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.dims import Dim, product
from fuseconv.ir.graph import Value
from fuseconv.lower.carriers import cast
from fuseconv.lower.native import check_rank, scalar, sizes, through
from fuseconv.lower.reduction import axes_of
from fuseconv.lower.rules import Lowering, constant_of, lowers, require
from fuseconv.lower.shapes import reshape, shape_of, size
from fuseconv.tfl.limits import RANK


@lowers
def ConcatV2(tfl, *values_and_axis):
    """CONCATENATION."""
    *values, axis = values_and_axis
    return _joined(tfl, values, axis)


@lowers
def Concat(tfl, axis, *values):
    """CONCATENATION."""
    return _joined(tfl, values, axis)


@lowers
def Split(tfl, axis, x, *, num_split=1):
    """SPLIT."""
    if num_split == 1:
        return x
    at = scalar(_axis(axis, x), types.INT32)
    return through(tfl, "SPLIT", lambda wide: tfl.split(at, wide, num_splits=num_split), x)


@lowers
def SplitV(tfl, x, size_splits, axis, *, num_split=1):
    """SPLIT into equal sizes, else SPLIT_V."""
    if num_split == 1:
        return x
    if size_splits.is_const and len(set(size_splits.data.tolist())) == 1:
        return Split(tfl, axis, x, num_split=num_split)
    at, parts = scalar(_axis(axis, x), types.INT32), cast(tfl, size_splits, types.INT32)
    return through(tfl, "SPLIT_V", lambda wide: tfl.split_v(wide, parts, at, num_splits=num_split), x)


@lowers
def Pack(tfl, *values, axis=0):
    """PACK."""
    at = axis % (len(shape_of(values[0])) + 1)
    return through(tfl, "PACK", lambda *wide: tfl.pack(*wide, axis=at, values_count=len(wide)), *values)


@lowers
def Unpack(tfl, x, *, num, axis=0):
    """UNPACK; of int64 SPLIT, its parts without the dimension."""
    shape = shape_of(x)
    at = axis % len(shape)
    if x.dtype not in (types.INT64, types.UINT32):
        return through(tfl, "UNPACK", lambda wide: tfl.unpack(wide, num=num, axis=at), x)
    parts = Split(tfl, scalar(at, types.INT32), x, num_split=num)
    rest = (*shape[:at], *shape[at + 1 :])
    return [reshape(tfl, part, rest, x) for part in (parts if isinstance(parts, list) else [parts])]


@lowers("Transpose", "ConjugateTranspose")
def Transpose(tfl, x, perm):
    """TRANSPOSE. Dimensions that stay neighbours are merged where there are more than 6."""
    require(not (x.dtype.is_complex and tfl.source.type == "ConjugateTranspose"), "TFLite cannot conjugate")
    rank = len(shape_of(x))
    order = [int(axis) % rank for axis in constant_of(perm, "the permutation")]
    if order == list(range(rank)):
        return x
    if rank > RANK["TRANSPOSE"]:
        return _merged_transpose(tfl, x, order)
    return through(tfl, "TRANSPOSE", lambda wide: tfl.transpose(wide, order), x)


@lowers
def Pad(tfl, x, paddings):
    """PAD."""
    return _padded(tfl, "PAD", x, paddings)


@lowers
def PadV2(tfl, x, paddings, value):
    """PADV2."""
    return _padded(tfl, "PADV2", x, paddings, value)


@lowers
def MirrorPad(tfl, x, paddings, *, mode):
    """MIRROR_PAD."""
    amounts = _index(tfl, paddings)
    return through(tfl, "MIRROR_PAD", lambda wide: tfl.mirror_pad(wide, amounts, mode=mode), x)


@lowers
def Tile(tfl, x, multiples):
    """TILE."""
    if multiples.is_const and (multiples.data == 1).all():
        return x
    times = _index(tfl, multiples)
    return through(tfl, "TILE", lambda wide: tfl.tile(wide, times), x)


@lowers
def ReverseV2(tfl, x, axis):
    """REVERSE_V2, one for each run of neighbouring axes."""
    runs: list[list[int]] = []
    for at in axes_of(x, axis):
        if runs and runs[-1][-1] == at - 1:
            runs[-1].append(at)
        else:
            runs.append([at])
    return through(tfl, "REVERSE_V2", lambda wide: functools.reduce(tfl.reverse_v2, runs, wide), x)


@lowers
def ReverseSequence(tfl, x, seq_lengths, *, seq_dim, batch_dim=0):
    """REVERSE_SEQUENCE."""
    rank = len(shape_of(x))
    at = {"seq_dim": seq_dim % rank, "batch_dim": batch_dim % rank}
    return through(tfl, "REVERSE_SEQUENCE", lambda wide: tfl.reverse_sequence(wide, seq_lengths, **at), x)


@lowers
def Roll(tfl, x, shift, axis):
    """CONCATENATION of the two parts where size and shift are known; else GATHER."""
    rank = len(shape_of(x))
    axes = [int(at) % rank for at in np.asarray(constant_of(axis, "the axis")).reshape(-1)]
    shifts = shift.data.reshape(-1).tolist() if shift.is_const else None
    for number, at in enumerate(axes):
        if isinstance(x.shape[at], int) and shifts is not None:
            x = _turned(tfl, x, at, shifts[number])
        else:
            by = scalar(shifts[number], types.INT32) if shifts else _element(tfl, shift, number)
            x = _turned_at_run_time(tfl, x, at, by)
    return x


@lowers
def InvertPermutation(tfl, x):
    """SCATTER_ND of the positions."""
    (count,) = shape_of(x, 1)
    where = reshape(tfl, cast(tfl, x, types.INT32), (count, 1))
    return tfl.scatter_nd(where, cast(tfl, positions(tfl, count, x), x.dtype), sizes(tfl, (count,), x))


def positions(tfl: Lowering, count: Dim, *sources: Value) -> Value:
    """0, 1, ... as int32: a constant where the count is known."""
    if isinstance(count, int):
        return tfl.const(np.arange(count, dtype=np.int32))
    return tfl.range(scalar(0, types.INT32), extent(tfl, count, *sources), scalar(1, types.INT32))


def extent(tfl: Lowering, dim: Dim, *sources: Value) -> Value:
    """A dimension as an int32 scalar, computed from the shapes of `sources` if it is not known."""
    return scalar(dim, types.INT32) if isinstance(dim, int) else reshape(tfl, size(tfl, dim, *sources), ())


def _axis(axis: Value, x: Value) -> int:
    return int(constant_of(axis, "the axis").reshape(())) % len(shape_of(x))


def _index(tfl: Lowering, x: Value) -> Value:
    """Sizes as int32; int64 ones that are computed stay as they are."""
    return tfl.const(x.data.astype(np.int32)) if x.is_const else x  # type: ignore[union-attr]


def _joined(tfl: Lowering, values: tuple[Value, ...] | list[Value], axis: Value) -> Value:
    if len(values) == 1:
        return values[0]
    at = _axis(axis, values[0])
    return through(tfl, "CONCATENATION", lambda *wide: tfl.concatenation(*wide, axis=at), *values)


def _padded(tfl: Lowering, kind: str, x: Value, paddings: Value, *value: Value) -> Value:
    """Dimensions that are not padded are merged with their neighbours where there are too many for the kernel."""
    amounts = _index(tfl, paddings)
    shape = shape_of(x)
    build = getattr(tfl, kind.lower())
    if len(shape) <= RANK[kind] or not amounts.is_const:
        return through(tfl, kind, lambda wide, *fill: build(wide, amounts, *fill), x, *value)
    runs = untouched_merged(amounts.data.any(1).tolist())  # type: ignore[union-attr]
    merged = reshape(tfl, x, [product(shape[axis] for axis in run) for run in runs])
    outer = tfl.const(np.array([amounts.data[run[0]] for run in runs]))  # type: ignore[index]
    y = through(tfl, kind, lambda wide, *fill: build(wide, outer, *fill), merged, *value)
    return reshape(tfl, y, tfl.shape, x)


def untouched_merged(touched: list[bool]) -> list[list[int]]:
    """The dimensions, those that an op does not touch in runs of neighbours."""
    runs: list[list[int]] = []
    for axis, is_touched in enumerate(touched):
        if runs and not is_touched and not touched[axis - 1]:
            runs[-1].append(axis)
        else:
            runs.append([axis])
    return runs


def _merged_transpose(tfl: Lowering, x: Value, order: list[int]) -> Value:
    shape = shape_of(x)
    runs: list[list[int]] = []
    for axis in order:
        if runs and runs[-1][-1] == axis - 1:
            runs[-1].append(axis)
        else:
            runs.append([axis])
    in_place = sorted(runs)
    merged = reshape(tfl, x, [product(shape[axis] for axis in run) for run in in_place])
    check_rank("TRANSPOSE", merged)
    perm = [in_place.index(run) for run in runs]
    y = through(tfl, "TRANSPOSE", lambda wide: tfl.transpose(wide, perm), merged)
    return reshape(tfl, y, [shape[axis] for axis in order], x)


def _turned(tfl: Lowering, x: Value, axis: int, by: int) -> Value:
    """x rolled by a known distance along a known size."""
    shape = shape_of(x)
    count = shape[axis]
    by = by % count if count else 0
    if not by:
        return x
    parts = []
    for begin, length in ((count - by, by), (0, count - by)):
        starts = [begin if at == axis else 0 for at in range(len(shape))]
        lengths = [length if at == axis else -1 for at in range(len(shape))]
        parts.append(through(tfl, "SLICE", lambda w, s=starts, n=lengths: tfl.slice_(w, s, n), x))
    return through(tfl, "CONCATENATION", lambda *wide: tfl.concatenation(*wide, axis=axis), *parts)


def _turned_at_run_time(tfl: Lowering, x: Value, axis: int, by: Value) -> Value:
    count = shape_of(x)[axis]
    source = tfl.floor_mod(tfl.sub(positions(tfl, count, x), by), extent(tfl, count, x))
    return through(tfl, "GATHER", lambda wide: tfl.gather(wide, source, axis=axis), x)


def _element(tfl: Lowering, x: Value, index: int) -> Value:
    """One element of a vector, or the scalar, as an int32 vector of one."""
    vector = reshape(tfl, cast(tfl, x, types.INT32), (1,)) if x.rank == 0 else cast(tfl, x, types.INT32)
    return vector if x.rank == 0 else tfl.slice_(vector, [index], [1])
