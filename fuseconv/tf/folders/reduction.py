"""Folders of reductions, scans, sorting and searching."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from fuseconv.ir.graph import Op
from fuseconv.tf.folders.registry import kernel, require, widened


def _axes(x: np.ndarray, axes: np.ndarray) -> tuple[int, ...]:
    wanted = [int(axis) for axis in axes.reshape(-1)]
    require(all(-x.ndim <= axis < x.ndim for axis in wanted))
    found = tuple(axis % x.ndim for axis in wanted)
    require(len(set(found)) == len(found))
    return found


@kernel("Sum")
def sum_(op: Op, x: np.ndarray, axes: np.ndarray, *, keep_dims: bool = False) -> np.ndarray:
    return _sum(x, _axes(x, axes), keep_dims).astype(x.dtype, copy=False)


def _sum(x: np.ndarray, axes: tuple[int, ...], keep_dims: bool) -> np.ndarray:
    wide = widened(x)
    return np.asarray(np.sum(wide, axis=axes, dtype=wide.dtype, keepdims=keep_dims))


@kernel("Prod")
def prod(op: Op, x: np.ndarray, axes: np.ndarray, *, keep_dims: bool = False) -> np.ndarray:
    wide = widened(x)
    made = np.prod(wide, axis=_axes(x, axes), dtype=wide.dtype, keepdims=keep_dims)
    return np.asarray(made).astype(x.dtype, copy=False)


@kernel("Mean")
def mean(op: Op, x: np.ndarray, axes: np.ndarray, *, keep_dims: bool = False) -> np.ndarray:
    over = _axes(x, axes)
    total = _sum(x, over, keep_dims)
    count = int(np.prod([x.shape[axis] for axis in over], dtype=np.int64))
    if x.dtype.kind not in "iu":
        return (total / total.dtype.type(count)).astype(x.dtype, copy=False)
    require(count)
    quotient = np.abs(total) // x.dtype.type(count)
    return np.where(total < 0, -quotient, quotient) if x.dtype.kind == "i" else quotient


@kernel("Max")
def max_(op: Op, x: np.ndarray, axes: np.ndarray, *, keep_dims: bool = False) -> np.ndarray:
    require(x.size)
    return np.max(x, axis=_axes(x, axes), keepdims=keep_dims)


@kernel("Min")
def min_(op: Op, x: np.ndarray, axes: np.ndarray, *, keep_dims: bool = False) -> np.ndarray:
    require(x.size)
    return np.min(x, axis=_axes(x, axes), keepdims=keep_dims)


@kernel("All")
def all_(op: Op, x: np.ndarray, axes: np.ndarray, *, keep_dims: bool = False) -> np.ndarray:
    return np.all(x, axis=_axes(x, axes), keepdims=keep_dims)


@kernel("Any")
def any_(op: Op, x: np.ndarray, axes: np.ndarray, *, keep_dims: bool = False) -> np.ndarray:
    return np.any(x, axis=_axes(x, axes), keepdims=keep_dims)


@kernel("EuclideanNorm")
def euclidean_norm(op: Op, x: np.ndarray, axes: np.ndarray, *, keep_dims: bool = False) -> np.ndarray:
    require(x.dtype.kind not in "iu")
    wide = widened(x)
    return np.sqrt(_sum(wide * np.conj(wide), _axes(x, axes), keep_dims)).astype(x.dtype, copy=False)


@kernel("ArgMax")
def arg_max(op: Op, x: np.ndarray, dimension: np.ndarray) -> np.ndarray:
    return _arg(np.argmax, op, x, dimension)


@kernel("ArgMin")
def arg_min(op: Op, x: np.ndarray, dimension: np.ndarray) -> np.ndarray:
    return _arg(np.argmin, op, x, dimension)


def _arg(function: Callable, op: Op, x: np.ndarray, dimension: np.ndarray) -> np.ndarray:
    (axis,) = _axes(x, dimension)
    require(x.shape[axis] and not (x.dtype.kind == "f" and np.isnan(x).any()))
    return np.asarray(function(x, axis=axis)).astype(op.result.dtype.numpy)


@kernel("Cumsum")
def cumsum(
    op: Op, x: np.ndarray, axis: np.ndarray, *, exclusive: bool = False, reverse: bool = False
) -> np.ndarray:
    return _scan(np.cumsum, x, axis, exclusive, reverse, 0)


@kernel("Cumprod")
def cumprod(
    op: Op, x: np.ndarray, axis: np.ndarray, *, exclusive: bool = False, reverse: bool = False
) -> np.ndarray:
    return _scan(np.cumprod, x, axis, exclusive, reverse, 1)


def _scan(
    function: Callable, x: np.ndarray, axis: np.ndarray, exclusive: bool, reverse: bool, neutral: int
) -> np.ndarray:
    (along,) = _axes(x, axis)
    source = np.flip(x, along) if reverse else x
    if exclusive and x.shape[along]:
        first = np.full_like(np.take(source, [0], along), neutral)
        rest = np.take(source, np.arange(x.shape[along] - 1), along)
        source = np.concatenate([first, rest], along)
    made = function(source, axis=along, dtype=x.dtype)
    return np.flip(made, along) if reverse else made


@kernel("TopKV2")
def top_k(op: Op, x: np.ndarray, k: np.ndarray, *, sorted: bool = True) -> list[np.ndarray]:
    require(k.ndim == 0)
    count = int(k)
    require(x.ndim and 0 <= count <= x.shape[-1] and not (x.dtype.kind == "f" and np.isnan(x).any()))
    # A stable sort of the reversed rows, read backwards, puts the lowest index first among equals.
    backwards = np.argsort(x[..., ::-1], axis=-1, kind="stable")[..., ::-1]
    indices = (x.shape[-1] - 1 - backwards)[..., :count]
    return [np.take_along_axis(x, indices, -1), indices.astype(op.results[1].dtype.numpy)]


@kernel("Where")
def where(op: Op, condition: np.ndarray) -> np.ndarray:
    return np.argwhere(condition).astype(np.int64)


@kernel("Unique")
def unique(op: Op, x: np.ndarray) -> list[np.ndarray]:
    require(x.ndim == 1 and not (x.dtype.kind == "f" and np.isnan(x).any()))
    # TensorFlow keeps the order of first appearance.
    _, first, inverse = np.unique(x, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return [x[first[order]], rank[inverse.reshape(-1)].astype(op.results[1].dtype.numpy)]


@kernel("ListDiff")
def list_diff(op: Op, x: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
    places = np.flatnonzero(~np.isin(x, y))
    return [x[places], places.astype(op.results[1].dtype.numpy)]


@kernel("Bucketize")
def bucketize(op: Op, x: np.ndarray, *, boundaries: Sequence[float]) -> np.ndarray:
    require(all(low <= high for low, high in itertools.pairwise(boundaries)))
    return np.searchsorted(np.array(boundaries, np.float32), x, side="right").astype(np.int32)


@kernel("InvertPermutation")
def invert_permutation(op: Op, x: np.ndarray) -> np.ndarray:
    require(x.ndim == 1 and sorted(x.tolist()) == list(range(len(x))))
    inverse = np.empty_like(x)
    inverse[x] = np.arange(len(x), dtype=x.dtype)
    return inverse
