"""Lowering of gathers, scatters and other ops on indices."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.dims import Dim, product
from fuseconv.ir.graph import Value
from fuseconv.lower.ops.segment import unsorted
from fuseconv.lower.rules import Lowering, constant_of, lowers, require
from fuseconv.lower.support.distinct_rows import has_distinct_rows
from fuseconv.lower.support.dynamic_shapes import dim_scalar, iota, reshape, shape_of, static_dims
from fuseconv.lower.support.legalize_operands import build_legalized, elementwise, filled, select, sizes
from fuseconv.lower.support.type_promotion import cast

# Places of rows that are kept in the file rather than computed.
_MOST_KNOWN = 256


@lowers
def Gather(tfl, params, indices):
    """GATHER."""
    return _gathered(tfl, params, indices, 0, 0)


@lowers
def GatherV2(tfl, params, indices, axis, *, batch_dims=0):
    """GATHER."""
    at = int(constant_of(axis, "the axis").reshape(()))
    batch = batch_dims % len(shape_of(indices)) if batch_dims < 0 else batch_dims
    return _gathered(tfl, params, indices, at if params.shape is None else at % len(params.shape), batch)


@lowers
def GatherNd(tfl, params, indices):
    """GATHER_ND."""
    where = _integers(tfl, indices)
    return build_legalized(tfl, "GATHER_ND", lambda wide: tfl.gather_nd(wide, where), params)


@lowers
def ScatterNd(tfl, indices, updates, shape):
    """SCATTER_ND."""
    dims = tfl.ints(tfl.shape) if tfl.source.result.is_static else cast(tfl, shape, types.INT32)
    where = cast(tfl, indices, types.INT32)
    return build_legalized(tfl, "SCATTER_ND", lambda wide: tfl.scatter_nd(where, wide, dims), updates)


@lowers
def SparseToDense(tfl, sparse_indices, output_shape, sparse_values, default_value):
    """SPARSE_TO_DENSE."""
    (rank,) = static_dims(shape_of(output_shape, 1), "the rank of what SPARSE_TO_DENSE makes")
    require(rank <= 4, "SPARSE_TO_DENSE makes tensors of up to 4 dimensions, and the model's has more")
    where, shape = _integers(tfl, sparse_indices), _integers(tfl, output_shape)

    def spread(values: Value, default: Value) -> Value:
        return tfl.sparse_to_dense(where, shape, values, default)

    return build_legalized(tfl, "SPARSE_TO_DENSE", spread, sparse_values, default_value)


@lowers
def UnravelIndex(tfl, indices, dims):
    """FLOOR_DIV and FLOOR_MOD by constant sizes, joined by PACK."""
    sizes = constant_of(dims, "the shape that is indexed").tolist()
    parts = []
    for axis, size in enumerate(sizes):
        place = tfl.floor_div(cast(tfl, indices, types.INT32), math.prod(sizes[axis + 1 :]))
        parts.append(cast(tfl, tfl.floor_mod(place, size), tfl.dtype))
    return tfl.pack(*parts, axis=0, values_count=len(parts))


@lowers("TensorScatterAdd", "ScatterNdNonAliasingAdd")
def TensorScatterAdd(tfl, tensor, indices, updates):
    """ADD of SCATTER_ND."""
    return elementwise(tfl, "ADD", tensor, _scattered(tfl, tensor, indices, updates))


@lowers
def TensorScatterSub(tfl, tensor, indices, updates):
    """SUB of SCATTER_ND."""
    return elementwise(tfl, "SUB", tensor, _scattered(tfl, tensor, indices, updates))


@lowers
def TensorScatterUpdate(tfl, tensor, indices, updates):
    """DYNAMIC_UPDATE_SLICE of a single update; SELECT_V2 of SCATTER_ND where no element is written twice, or of the
    last update of each; else GATHER of the last of each row, SELECT_V2 where there is one. If there may be no update to
    gather, or the rows are few and known: GATHER of rows and updates, joined."""
    if product(shape_of(indices)[:-1]) == 1:
        return _updated_once(tfl, tensor, indices, updates)
    source = _known_source(tensor, indices)
    if source is not None:
        return _updated_as_known(tfl, tensor, indices, updates, source)
    if has_distinct_rows(indices, tfl.variables):
        return _updated_apart(tfl, tensor, indices, updates)
    rows = _Rows(tfl, tensor, indices, updates)
    count, width = shape_of(rows.updates)
    if count == 0:
        return tensor
    if isinstance(count, int) and width == 1:
        return _updated_elements(tfl, tensor, indices, updates, rows)
    if isinstance(count, int):
        new = _gathered_rows(tfl, [rows.updates], tfl.maximum(rows.last, 0))
        return reshape(tfl, select(tfl, rows.written, new, rows.tensor), shape_of(tensor), tensor)
    own = iota(tfl, shape_of(rows.tensor)[0], rows.tensor)
    chosen = tfl.select_v2(tfl.greater_equal(rows.last, 0), tfl.add(rows.last, rows.total), own)
    new = _gathered_rows(tfl, [rows.tensor, rows.updates], chosen)
    return reshape(tfl, new, shape_of(tensor), tensor)


def _updated_once(tfl: Lowering, tensor: Value, indices: Value, update: Value) -> Value:
    """Return a tensor with one part replaced, where the only index [..., level] says."""
    dims = shape_of(tensor)
    (level,) = static_dims(shape_of(indices)[-1:], "how many dimensions an index has")
    where = reshape(tfl, cast(tfl, indices, types.INT32), (level,))
    rest = tfl.ints([0] * (len(dims) - level))
    begin = tfl.concatenation(where, rest, axis=0) if level < len(dims) else where
    part = reshape(tfl, update, (*[1] * level, *dims[level:]), tensor)
    return build_legalized(
        tfl, "DYNAMIC_UPDATE_SLICE", lambda a, b: tfl.dynamic_update_slice(a, b, begin), tensor, part
    )  # fmt: skip


def _updated_apart(tfl: Lowering, tensor: Value, indices: Value, updates: Value) -> Value:
    """Return a tensor with parts replaced of which no two are at one place."""
    dims, (*outer, depth) = shape_of(tensor), shape_of(indices)
    (level,) = static_dims([depth], "how many dimensions an index has")
    where, there = cast(tfl, indices, types.INT32), filled(tfl, tuple(outer), 1, types.INT32, indices)
    written = tfl.scatter_nd(where, there, sizes(tfl, dims[:level], tensor))
    mask = reshape(tfl, tfl.greater(written, 0), (*dims[:level], *[1] * (len(dims) - level)), tensor)
    return select(tfl, mask, _scattered(tfl, tensor, indices, updates), tensor)


def _updated_elements(tfl: Lowering, tensor: Value, indices: Value, updates: Value, rows: _Rows) -> Value:
    """Return a tensor with elements replaced. To gather one for each element of the tensor takes longer than to find
    out which updates are the last of theirs, and to add 0 for the others."""
    (count,) = shape_of(rows.ids)
    is_last = tfl.equal(tfl.gather(rows.last, rows.ids), iota(tfl, count, indices))
    kept = select(tfl, reshape(tfl, is_last, shape_of(updates), indices), updates, 0)
    written = reshape(tfl, rows.written, shape_of(tensor), tensor)
    return select(tfl, written, _scattered(tfl, tensor, indices, kept), tensor)


def _known_source(tensor: Value, indices: Value) -> np.ndarray | None:
    """Return for each row of a tensor which of rows and updates, joined, it becomes: int32 [rows]; None if that is not
    known, or are too many numbers to keep in the file."""
    if indices.data is None or not indices.data.size:
        return None
    level = indices.data.shape[-1]
    dims = [dim for dim in shape_of(tensor)[:level] if isinstance(dim, int)]
    where = indices.data.reshape(-1, level)
    if len(dims) < level or math.prod(dims) > _MOST_KNOWN or (where < 0).any() or (where >= dims).any():
        return None
    source = np.arange(math.prod(dims), dtype=np.int32)
    for number, row in enumerate(np.ravel_multi_index(tuple(where.T), dims)):
        source[row] = source.size + number
    return source


def _updated_as_known(tfl: Lowering, tensor: Value, indices: Value, updates: Value, source: np.ndarray) -> Value:
    *outer, level = shape_of(indices)
    dims = shape_of(tensor)
    width = product(dims[int(level) :])  # type: ignore[arg-type]
    rows = [reshape(tfl, x, (count, width), tensor) for x, count in ((tensor, source.size), (updates, product(outer)))]
    return reshape(tfl, _gathered_rows(tfl, rows, tfl.const(source)), dims, tensor)


@lowers
def InplaceUpdate(tfl, x, i, v):
    """As TensorScatterUpdate of rows."""
    return TensorScatterUpdate(tfl, x, tfl.expand_dims(i, 1), v)


@lowers
def InplaceAdd(tfl, x, i, v):
    """As TensorScatterAdd of rows."""
    return TensorScatterAdd(tfl, x, tfl.expand_dims(i, 1), v)


@lowers
def InplaceSub(tfl, x, i, v):
    """As TensorScatterSub of rows."""
    return TensorScatterSub(tfl, x, tfl.expand_dims(i, 1), v)


@lowers
def TensorScatterMax(tfl, tensor, indices, updates):
    """MAXIMUM with UNSORTED_SEGMENT_MAX, SELECT_V2 where there is an update."""
    return _extreme(tfl, "MAX", tensor, indices, updates)


@lowers
def TensorScatterMin(tfl, tensor, indices, updates):
    """MINIMUM with UNSORTED_SEGMENT_MIN, SELECT_V2 where there is an update."""
    return _extreme(tfl, "MIN", tensor, indices, updates)


@lowers
def OneHot(tfl, indices, depth, on_value, off_value, *, axis=-1):
    """ONE_HOT."""
    which, count = _integers(tfl, indices), cast(tfl, depth, types.INT32)
    return build_legalized(
        tfl, "ONE_HOT", lambda on, off: tfl.one_hot(which, count, on, off, axis=axis), on_value, off_value
    )


@lowers
def Unique(tfl, x, *, out_idx=None):
    """UNIQUE; of strings, UNIQUE of the indices at which they first occur."""
    made = tfl.source.results[1].dtype
    values, indices = _unique(tfl, x, made)
    return [values, indices]


@lowers
def UniqueV2(tfl, x, axis, *, out_idx=None):
    """UNIQUE of a vector; of slices along an axis, UNIQUE of the indices at which they first occur."""
    made, shape = tfl.source.results[1].dtype, shape_of(x)
    along = [int(each) % len(shape) for each in constant_of(axis, "the axis").reshape(-1)]
    if len(shape) == 1 or not along:
        shape_of(x, 1)
        return list(_unique(tfl, x, made))
    return list(_unique_slices(tfl, x, along[0], made))


@lowers
def DynamicPartition(tfl, data, partitions):
    """GATHER of the rows WHERE the partition is EQUAL to each number."""
    rank, count = len(shape_of(partitions)), product(shape_of(partitions))
    rows = reshape(tfl, data, (count, *shape_of(data)[rank:]), partitions)
    numbers = reshape(tfl, partitions, (count,), partitions)
    made = []
    for number in range(len(tfl.source.results)):
        chosen = tfl.reshape(tfl.where(tfl.equal(numbers, number)), [-1])
        made.append(_gathered(tfl, rows, chosen, 0, 0))
    return made


@lowers("DynamicStitch", "ParallelDynamicStitch")
def DynamicStitch(tfl, *indices_and_data):
    """GATHER from the joined rows, which constant indices must all name; of others, UNSORTED_SEGMENT_MAX finds the last
    row that has each index."""
    half = len(indices_and_data) // 2
    indices, data = indices_and_data[:half], indices_and_data[half:]
    if not all(each.is_const for each in indices):
        return _stitched_at_run_time(tfl, indices, data)
    flat = np.concatenate([constant_of(each, "an index").reshape(-1) for each in indices])
    source = {int(row): number for number, row in enumerate(flat)}
    require(sorted(source) == list(range(len(source))), "there are rows that no index names")
    rows = [reshape(tfl, x, (at.data.size, *shape_of(x)[at.rank :])) for at, x in zip(indices, data)]
    return _gathered_rows(tfl, rows, tfl.const(np.array([source[row] for row in range(len(source))], np.int32)))


def _stitched_at_run_time(tfl: Lowering, indices: Sequence[Value], data: Sequence[Value]) -> Value:
    named = [reshape(tfl, each, (product(shape_of(each)),), each) for each in indices]
    rows = [
        reshape(tfl, x, (product(shape_of(at)), *shape_of(x)[len(shape_of(at)) :]), at) for at, x in zip(indices, data)
    ]
    joined = named[0] if len(named) == 1 else tfl.concatenation(*named, axis=0)
    size = tfl.maximum(tfl.add(tfl.reduce_max(joined, [0]), 1), 0)
    last = tfl.unsorted_segment_max(iota(tfl, shape_of(joined)[0], joined), joined, size)
    # TensorFlow says nothing of rows that no index names.
    return _gathered_rows(tfl, rows, tfl.maximum(last, 0))


@lowers
def DataFormatDimMap(tfl, x, *, src_format="NHWC", dst_format="NCHW"):
    """GATHER of where each dimension goes."""
    places = [dst_format.index(letter) for letter in src_format]
    # Negative dimensions count from the end.
    return _gathered(tfl, tfl.const(np.array(places, x.dtype.numpy)), tfl.floor_mod(x, len(places)), 0, 0)


@lowers
def DataFormatVecPermute(tfl, x, *, src_format="NHWC", dst_format="NCHW"):
    """GATHER of the sizes, or of the rows, in the new order."""
    letters = [letter for letter in src_format if len(src_format) == shape_of(x)[0] or letter in "HWD"]
    order = [letters.index(letter) for letter in dst_format if letter in letters]
    return _gathered(tfl, x, tfl.ints(order), 0, 0)


def _gathered(tfl: Lowering, params: Value, indices: Value, axis: int, batch_dims: int) -> Value:
    taken = None if params.shape is None else params.shape[axis : axis + 1]
    all_of_them = taken is not None and taken == indices.shape and indices.data is not None
    if all_of_them and np.array_equal(indices.data, np.arange(indices.data.size)):  # type: ignore[arg-type,union-attr]
        return params
    which = _integers(tfl, indices)
    return build_legalized(
        tfl, "GATHER", lambda wide: tfl.gather(wide, which, axis=axis, batch_dims=batch_dims), params
    )


def _gathered_rows(tfl: Lowering, tensors: Sequence[Value], order: Value) -> Value:
    """Return the rows of all tensors, joined, that `order` names by their places."""

    def gathered(*wide: Value) -> Value:
        return tfl.gather(wide[0] if len(wide) == 1 else tfl.concatenation(*wide, axis=0), order, axis=0)

    return build_legalized(tfl, "GATHER", gathered, *tensors)


def _integers(tfl: Lowering, indices: Value) -> Value:
    """Return indices as int32 or int64."""
    return indices if indices.dtype in (types.INT32, types.INT64) else cast(tfl, indices, types.INT32)


def _unique(tfl: Lowering, x: Value, index_type: types.DType) -> tuple[Value, Value]:
    """Return the distinct elements in the order of their first places, and for each element the place of its own among
    them."""
    require(x.dtype not in (types.FLOAT64, types.UINT64), f"UNIQUE has no kernel for {x.dtype}")
    if x.dtype is types.STRING:
        (count,) = shape_of(x, 1)
        equal = tfl.equal(reshape(tfl, x, (count, 1), x), reshape(tfl, x, (1, count), x))
        places, indices = _first_places(tfl, equal, index_type)
        return tfl.gather(x, places, axis=0), indices
    wide = x.dtype if x.dtype in (types.FLOAT32, types.INT32, types.INT64) else types.INT64
    wide = types.FLOAT32 if x.dtype.is_float else wide
    values, indices = tfl.unique(cast(tfl, x, wide), idx_out_type=index_type.name.upper())
    return cast(tfl, values, x.dtype), indices


def _unique_slices(tfl: Lowering, x: Value, axis: int, index_type: types.DType) -> tuple[Value, Value]:
    """Return the distinct slices of a tensor along an axis in the order of their first places, and for each slice the
    place of its own among them. Slices with NaN equal none, as in TensorFlow."""
    shape = shape_of(x)
    count, size = shape[axis], product((*shape[:axis], *shape[axis + 1 :]))
    order = [axis, *(other for other in range(len(shape)) if other != axis)]
    rows = tfl.transpose(x, order) if axis else x
    pair = reshape(tfl, rows, (count, 1, size), x), reshape(tfl, rows, (1, count, size), x)
    equal = tfl.reduce_all(elementwise(tfl, "EQUAL", *pair), [2])
    if x.dtype.is_float:
        numbers = iota(tfl, count, x)
        itself = tfl.equal(reshape(tfl, numbers, (count, 1), x), reshape(tfl, numbers, (1, count), x))
        equal = tfl.logical_or(equal, itself)
    places, indices = _first_places(tfl, equal, index_type)
    return _gathered(tfl, x, places, axis, 0), indices


def _first_places(tfl: Lowering, equal: Value, index_type: types.DType) -> tuple[Value, Value]:
    """Return the places of the elements that equal none before them, and for each element the place of its own among
    these. equal [n, n]: whether two elements are equal. ARG_MAX is where each occurs first."""
    first = tfl.arg_max(equal, tfl.const(1, types.INT32), output_type="INT32")
    places, indices = tfl.unique(first, idx_out_type=index_type.name.upper())
    return places, indices


def _scattered(tfl: Lowering, tensor: Value, indices: Value, updates: Value) -> Value:
    where, shape = cast(tfl, indices, types.INT32), sizes(tfl, shape_of(tensor), tensor)
    return build_legalized(tfl, "SCATTER_ND", lambda wide: tfl.scatter_nd(where, wide, shape), updates)


class _Rows:
    """A scatter into the rows of a matrix.

    tensor [rows, n], updates [updates, n].
    ids [updates]: the row of each update.
    last [rows, 1]: the number of the last update of each row, negative where there is none.
    written [rows, 1]: whether there is one.
    """

    def __init__(self, tfl: Lowering, tensor: Value, indices: Value, updates: Value) -> None:
        *outer, depth = shape_of(indices)
        (level,) = static_dims([depth], "how many dimensions an index has")
        dims = shape_of(tensor)
        strides = sizes(tfl, tuple(product(dims[at + 1 : level]) for at in range(level)), tensor)
        rows: Dim = product(dims[:level])
        count: Dim = product(outer)
        width = product(dims[level:])
        where = reshape(tfl, cast(tfl, indices, types.INT32), (count, level), indices)
        self.ids = reshape(tfl, where, (count,), indices) if level == 1 else tfl.sum(tfl.mul(where, strides), [1])
        self.total = dim_scalar(tfl, rows, tensor)
        self.tensor = reshape(tfl, tensor, (rows, width), tensor)
        self.updates = reshape(tfl, updates, (count, width), indices, tensor)
        last = unsorted(tfl, "UNSORTED_SEGMENT_MAX", iota(tfl, count, indices), self.ids, self.total)
        self.last = last
        self.written = reshape(tfl, tfl.greater_equal(last, 0), (rows, 1), tensor)


def _extreme(tfl: Lowering, which: str, tensor: Value, indices: Value, updates: Value) -> Value:
    rows = _Rows(tfl, tensor, indices, updates)
    best = unsorted(tfl, f"UNSORTED_SEGMENT_{which}", rows.updates, rows.ids, rows.total)
    new = elementwise(tfl, f"{which}IMUM", rows.tensor, best)
    return reshape(tfl, select(tfl, rows.written, new, rows.tensor), shape_of(tensor), tensor)
