"""Folders of slices, gathers and scatters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fuseconv.ir.graph import Op
from fuseconv.ir.slice_spec import Pick, SliceSpec
from fuseconv.tf.folders.registry import kernel, require

_SCATTERED = {
    "TensorScatterAdd": np.add, "TensorScatterSub": np.subtract, "TensorScatterMax": np.maximum,
    "TensorScatterMin": np.minimum,
}  # fmt: skip


@kernel("Slice")
def slice_(op: Op, x: np.ndarray, begin: np.ndarray, size: np.ndarray) -> np.ndarray:
    require(begin.shape == size.shape == (x.ndim,))
    taken = []
    for dim, first, count in zip(x.shape, begin.tolist(), size.tolist()):
        last = dim if count == -1 else first + count
        require(0 <= first <= last <= dim)
        taken.append(slice(first, last))
    index: Any = (*taken, ...)
    return x[index]


@kernel("StridedSlice")
def strided_slice(
    op: Op, x: np.ndarray, begin: np.ndarray, end: np.ndarray, strides: np.ndarray, *, begin_mask: int = 0,
    end_mask: int = 0, ellipsis_mask: int = 0, new_axis_mask: int = 0, shrink_axis_mask: int = 0,
) -> np.ndarray:  # fmt: skip
    masks = begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask
    spec = SliceSpec.read((begin.tolist(), end.tolist(), strides.tolist()), masks)
    require(all(entry.stride > 0 for entry in spec.entries if isinstance(entry, Pick)))
    return x[spec.index()]  # an IndexError or ValueError declines, as where TensorFlow raises an error


def _inside(indices: np.ndarray, dim: int) -> None:
    require(indices.dtype != object and bool(np.all((indices >= 0) & (indices < dim))))


@kernel("DynamicStitch")
def dynamic_stitch(op: Op, *operands: np.ndarray) -> np.ndarray:
    """Return the rows that indices place, the last that comes to a place; not where a place gets none."""
    half = len(operands) // 2
    indices, data = operands[:half], operands[half:]
    tails = [rows.shape[places.ndim :] for places, rows in zip(indices, data)]
    places = np.concatenate([index.reshape(-1) for index in indices])
    rows = np.concatenate([part.reshape(-1, *tail) for part, tail in zip(data, tails)])
    count = int(places.max(initial=-1)) + 1
    _inside(places, count)
    require(len(places) == len(rows) and len(np.unique(places)) == count)
    made = np.empty((count, *tails[0]), rows.dtype)
    for place, row in zip(places.tolist(), rows):
        made[place] = row
    return made


@kernel("Gather")
def gather(op: Op, params: np.ndarray, indices: np.ndarray) -> np.ndarray:
    require(params.ndim)
    _inside(indices, params.shape[0])
    return np.take(params, indices, 0)


@kernel("GatherV2")
def gather_v2(
    op: Op, params: np.ndarray, indices: np.ndarray, axis: np.ndarray, *, batch_dims: int = 0
) -> np.ndarray:
    along = int(axis)
    require(-params.ndim <= along < params.ndim)
    along %= params.ndim
    batch = batch_dims + indices.ndim if batch_dims < 0 else batch_dims
    require(0 <= batch <= along and params.shape[:batch] == indices.shape[:batch])
    _inside(indices, params.shape[along])
    if not batch:
        return np.take(params, indices, along)
    # The batch becomes one dimension, and each of its members is gathered from on its own.
    count = int(np.prod(params.shape[:batch]))
    source = params.reshape(count, *params.shape[batch:])
    taken = indices.reshape(count, *indices.shape[batch:])
    shape = (*params.shape[:along], *indices.shape[batch:], *params.shape[along + 1 :])
    made = np.empty((count, *shape[batch:]), params.dtype)
    for member in range(count):
        made[member] = np.take(source[member], taken[member], along - batch)
    return made.reshape(shape)


@kernel("GatherNd")
def gather_nd(op: Op, params: np.ndarray, indices: np.ndarray) -> np.ndarray:
    return params[_coordinates(indices, params.shape)]


def _coordinates(indices: np.ndarray, shape: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Return an index for each of the leading dimensions. Declines one that is out of range."""
    require(indices.ndim and 1 <= indices.shape[-1] <= len(shape))
    coordinates = tuple(indices[..., axis] for axis in range(indices.shape[-1]))
    for coordinate, dim in zip(coordinates, shape):
        _inside(coordinate, dim)
    return coordinates


@kernel("ScatterNd")
def scatter_nd(op: Op, indices: np.ndarray, updates: np.ndarray, shape: np.ndarray) -> np.ndarray:
    require(updates.dtype != object)
    made = np.zeros(shape.tolist(), updates.dtype)
    return _scatter(np.add, made, indices, updates)


@kernel(*_SCATTERED)
def tensor_scatter(op: Op, x: np.ndarray, indices: np.ndarray, updates: np.ndarray) -> np.ndarray:
    return _scatter(_SCATTERED[op.type], x.copy(), indices, updates)


@kernel("TensorScatterUpdate")
def tensor_scatter_update(op: Op, x: np.ndarray, indices: np.ndarray, updates: np.ndarray) -> np.ndarray:
    made = x.copy()
    made[_coordinates(indices, x.shape)] = updates
    return made


def _scatter(function: Any, made: np.ndarray, indices: np.ndarray, updates: np.ndarray) -> np.ndarray:
    function.at(made, _coordinates(indices, made.shape), updates)
    return made


@kernel("XlaDynamicSlice")
def xla_dynamic_slice(op: Op, x: np.ndarray, start: np.ndarray, size: np.ndarray) -> np.ndarray:
    return x[_held_within(x, start, size.tolist())]


@kernel("XlaDynamicUpdateSlice")
def xla_dynamic_update_slice(op: Op, x: np.ndarray, update: np.ndarray, start: np.ndarray) -> np.ndarray:
    made = x.copy()
    made[_held_within(x, start, update.shape)] = update
    return made


def _held_within(x: np.ndarray, start: np.ndarray, sizes: Sequence[int]) -> tuple[slice, ...]:
    """Return the index of a slice, which begins no later than it is whole, as XLA has it."""
    require(start.shape == (x.ndim,) and len(sizes) == x.ndim)
    require(all(0 <= size <= dim for size, dim in zip(sizes, x.shape)))
    first = [min(max(at, 0), dim - size) for at, dim, size in zip(start.tolist(), x.shape, sizes)]
    return tuple(slice(at, at + size) for at, size in zip(first, sizes))
