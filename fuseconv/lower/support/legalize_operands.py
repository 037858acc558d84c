"""Legalization of operands to kernel limits: types that a kernel lacks are promoted, and dimensions beyond its rank are
merged. `fuseconv.tfl.kernel_limits` holds what each kernel takes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.dims import Shape, product
from fuseconv.ir.graph import Value, constant
from fuseconv.ir.types import DType
from fuseconv.lower.rules import Lowering, Unsupported, require
from fuseconv.lower.support.dynamic_shapes import reshape, shape_of, shape_vector
from fuseconv.lower.support.string_indices import build_on_indices
from fuseconv.lower.support.type_promotion import build_on_complex_parts, cast, promote
from fuseconv.lower.support.uint64_as_int64 import as_int64, as_uint64, has_int64
from fuseconv.tfl.kernel_limits import BROADCAST_RANK, RANK, TYPES
from fuseconv.tfl.traits import MOVES
from fuseconv.tfl.type_inference import broadcast

# What computes the parts of complex numbers apart.
_LINEAR = MOVES | {
    "ADD", "SUB", "NEG", "SUM", "MEAN", "UNSORTED_SEGMENT_SUM", "SCATTER_ND", "PAD", "PADV2", "MIRROR_PAD",
    "MATRIX_DIAG", "MATRIX_SET_DIAG", "FILL", "CUMSUM",
}  # fmt: skip


def build_legalized(tfl: Lowering, kind: str, build: Callable[..., Any], *data: Value) -> Any:
    """Build the op `kind` by `build(*data)`, with operands promoted to a type of its kernel and results cast back.
    Refuses the op if no type will do, or if the rank is too high for the kernel. The parts of complex numbers are
    computed apart; strings that the kernel lacks are moved by their places."""
    check_rank(kind, *data)
    original = data[0].dtype
    if original.is_complex and kind in _LINEAR:
        return build_on_complex_parts(tfl, build, *data)
    if original is types.STRING and kind in MOVES and not _takes_strings(kind, data):
        return build_on_indices(tfl, build, *data)
    if has_int64(kind, data[0]):
        made = build(*(as_int64(tfl, kind, x) for x in data))
        return [as_uint64(tfl, kind, y) for y in made] if isinstance(made, list) else as_uint64(tfl, kind, made)
    wide = [promote(tfl, x, TYPES[kind]) for x in data]
    made = build(*wide)
    if wide[0].dtype is original:
        return made
    return [cast(tfl, y, original) for y in made] if isinstance(made, list) else cast(tfl, made, original)


def _takes_strings(kind: str, data: Sequence[Value]) -> bool:
    """Return whether the kernel takes these string operands: GATHER takes only those of a vector, and SLICE fails where
    its operand has another size than in the last run."""
    if kind == "GATHER":
        return len(data) == 1 and data[0].rank == 1
    return kind != "SLICE" and types.STRING in TYPES.get(kind, ())


def check_rank(kind: str, *data: Value) -> None:
    """Refuse the op if an operand's rank is higher than the kernel takes."""
    for x in data:
        limit = RANK.get(kind, 8)
        if x.shape is not None and len(x.shape) > limit:
            raise Unsupported(f"rank {x.rank} is more than the {limit} dimensions of {kind}")


def elementwise(tfl: Lowering, kind: str, *operands: Value | float, **attrs: Any) -> Value:
    """Build the elementwise op `kind` on operands that broadcast; numbers take the type of the first Value. Operands of
    one type that the kernel lacks are carried by a wider one; the result of such an op is cast back unless it is a
    truth value."""
    first = next(x for x in operands if isinstance(x, Value))
    allowed = TYPES.get(kind, (types.FLOAT32,))
    values = [x if isinstance(x, Value) else scalar(x, first.dtype) for x in operands]
    if first.dtype.is_complex and kind in _LINEAR:
        return build_on_complex_parts(tfl, lambda *parts: _broadcast(tfl, kind, list(parts), attrs), *values)
    if has_int64(kind, first):
        y = _broadcast(tfl, kind, [as_int64(tfl, kind, x) for x in values], attrs)
        return y if y.dtype is types.BOOL else as_uint64(tfl, kind, y)
    wide = [promote(tfl, x, allowed) for x in values]
    y = _broadcast(tfl, kind, wide, attrs)
    return y if y.dtype is types.BOOL else cast(tfl, y, first.dtype)


def select(tfl: Lowering, condition: Value, x: Value | float, y: Value | float) -> Value:
    """Build SELECT_V2: elements of x where the condition holds, else of y; all three broadcast. A number takes the
    other's type. What a constant takes everywhere is handed on, if it has the shape."""
    like = x if isinstance(x, Value) else y
    assert isinstance(like, Value)
    data = [branch if isinstance(branch, Value) else scalar(branch, like.dtype) for branch in (x, y)]
    if condition.data is not None and condition.data.size and condition.data.min() == condition.data.max():
        taken = data[0] if condition.data.all() else data[1]
        if taken.shape is not None and taken.shape == broadcast(condition.shape, *(value.shape for value in data)):
            return taken
    return build_legalized(tfl, "SELECT_V2", lambda a, b: _broadcast(tfl, "SELECT_V2", [condition, a, b], {}), *data)


def scalar(number: Any, dtype: DType) -> Value:
    """Return a constant scalar. Refuses the op if it puts a number among texts."""
    if dtype is types.STRING and not isinstance(number, bytes):
        raise Unsupported(f"it puts {number} among texts")
    return constant(np.array(number, dtype.numpy), dtype)


def filled(tfl: Lowering, shape: Shape | None, number: Any, dtype: DType, *sources: Value) -> Value:
    """Build a tensor of `shape` filled with one number; unknown dimensions are computed from `sources`, and the first
    of them has the shape if that is None."""
    dims = tfl.shape_(sources[0]) if shape is None else sizes(tfl, shape, *sources)
    return build_legalized(tfl, "FILL", lambda wide: tfl.fill(dims, wide), scalar(number, dtype))


def sizes(tfl: Lowering, shape: Shape, *sources: Value) -> Value:
    """Build the shape as an int32 vector: a constant where it is known, else the run-time shape of the source that has
    it."""
    if all(isinstance(dim, int) for dim in shape):
        return tfl.ints(list(shape))
    whole = next((x for x in sources if x.shape == shape), None)
    return shape_vector(tfl, shape, *sources) if whole is None else tfl.shape_(whole)


def broadcast_to(tfl: Lowering, x: Value, shape: Shape, *sources: Value) -> Value:
    """Broadcast x to the shape."""
    if x.shape == shape:
        return x
    dims = sizes(tfl, shape, x, *sources)
    return build_legalized(tfl, "BROADCAST_TO", lambda wide: tfl.broadcast_to(wide, dims), x)


def as_vectors(tfl: Lowering, *operands: Value) -> tuple[Any, ...]:
    """Return the operands of an elementwise op broadcast to each other, as vectors, and what gives a vector the op's
    shape."""
    shapes, full = [shape_of(each) for each in operands], shape_of(tfl.source.result)
    if any(shape != full for shape in shapes):
        static = all(isinstance(dim, int) for dim in full)
        dims = tfl.ints(list(full)) if static else functools.reduce(tfl.broadcast_args, map(tfl.shape_, operands))
        operands = tuple(
            build_legalized(tfl, "BROADCAST_TO", lambda wide: tfl.broadcast_to(wide, dims), each) for each in operands
        )
    for each in operands:
        each.shape = full
    vectors = [reshape(tfl, each, (product(full),), *operands) for each in operands]
    return *vectors, lambda made: reshape(tfl, made, full, *operands)


def _broadcast(tfl: Lowering, kind: str, operands: list[Value], attrs: dict[str, Any]) -> Value:
    """Build an op on operands of more dimensions than its kernel broadcasts: dimensions that are broadcast alike are
    merged, or, if these are too many yet, operands are broadcast before it."""

    def build(*operands: Value) -> Value:
        return tfl.op(kind, operands, attrs)[0]

    limit = BROADCAST_RANK.get(kind, 8)
    shapes = [x.shape for x in operands if x.shape is not None]
    if len(shapes) < len(operands):
        require(limit > 0, "the rank of an operand is not known")
        return build(*operands)
    if max(map(len, shapes)) <= limit or len(set(shapes)) == 1:
        return build(*operands)
    full: Shape = broadcast(*shapes)  # type: ignore[assignment]
    runs = broadcast_runs(shapes, full)
    if runs is None:
        known = [tfl.shape_(x) for x in operands]
        target = functools.reduce(tfl.broadcast_args, known)
        return build(*[tfl.broadcast_to(x, target) for x in operands])
    if len(runs) > limit:
        return build(*[broadcast_to(tfl, x, full, *operands) for x in operands])
    merged = [reshape(tfl, x, merge_runs(shape, runs, len(full)), *operands) for x, shape in zip(operands, shapes)]
    return reshape(tfl, build(*merged), full, *operands)


def broadcast_runs(shapes: Sequence[Shape], full: Shape) -> list[list[int]] | None:
    """Return groups of adjacent dimensions along which the same operands are broadcast, as lists of axes; None if that
    depends on run-time sizes."""
    rank = len(full)
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    runs: list[list[int]] = []
    last: tuple[bool, ...] | None = None
    for axis in range(rank):
        repeated = tuple(shape[axis] == 1 for shape in padded)
        if not all(shape[axis] in (1, full[axis]) for shape in padded):
            return None
        if all(repeated) and runs:
            runs[-1].append(axis)
            continue
        if repeated == last or (last is None and runs):
            runs[-1].append(axis)
        else:
            runs.append([axis])
        last = None if all(repeated) else repeated
    return runs


def merge_runs(shape: Shape, runs: list[list[int]], rank: int) -> Shape:
    """Return a shape of up to `rank` dimensions with each group of axes as one."""
    padded = (1,) * (rank - len(shape)) + tuple(shape)
    return tuple(product(padded[axis] for axis in run) for run in runs)
