"""Ops on tensors of more dimensions than their kernels take: dimensions that the op treats alike become one.

`fuseconv.tfl.kernel_limits` holds how many a kernel takes. Elementwise ops that broadcast are merged in
`legalize_operands`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from fuseconv.ir.dims import product
from fuseconv.ir.graph import Value
from fuseconv.lower.rules import Lowering
from fuseconv.lower.support.dynamic_shapes import reshape, shape_of
from fuseconv.lower.support.legalize_operands import build_legalized
from fuseconv.tfl.kernel_limits import BROADCAST_RANK, RANK


def along_last(tfl: Lowering, kind: str, x: Value, build: Callable[[Value], Value]) -> Value:
    """Build the op `kind`, which reads rows of x [...,n] and writes rows [...,m], by `build(x)`; on x with its outer
    dimensions merged, [rows,n], where the kernel takes fewer."""
    shape = x.shape
    if shape is None or len(shape) <= RANK[kind]:
        return build(x)
    y = build(reshape(tfl, x, [product(shape[:-1]), shape[-1]]))
    return reshape(tfl, y, [*shape[:-1], y.shape[-1]], x)  # type: ignore[index]


def merging_dims(kind: str) -> Callable[[Callable[..., Value]], Callable[..., Value]]:
    """Decorate a rule that computes each element of its result from the one in its place. Where x has more dimensions
    than those at which operands of the op `kind` broadcast, as x and a number do, the rule gets all in one."""

    def decorate(rule: Callable[..., Value]) -> Callable[..., Value]:
        @functools.wraps(rule)
        def wrapped(tfl: Lowering, x: Value) -> Value:
            if x.shape is None or len(x.shape) <= BROADCAST_RANK[kind]:
                return rule(tfl, x)
            return reshape(tfl, rule(tfl, reshape(tfl, x, [product(x.shape)])), x.shape, x)

        return wrapped

    return decorate


def along_axis(tfl: Lowering, kind: str, build: Callable[..., Any], axis: int, *data: Value) -> Any:
    """Build the op `kind` by `build(*data, axis)`, with the dimensions before and after the axis merged where there are
    more than the kernel takes."""
    if any(x.shape is None for x in data):
        return build(*data, axis)
    shapes = [shape_of(x) for x in data]
    if len(shapes[0]) <= RANK.get(kind, 8):
        return build(*data, axis)
    merged = [
        reshape(tfl, x, (product(dims[:axis]), dims[axis], product(dims[axis + 1 :])), *data)
        for x, dims in zip(data, shapes)
    ]
    made = build(*merged, 1)

    def restored(y: Value) -> Value:
        return reshape(tfl, y, (*shapes[0][:axis], shape_of(y)[1], *shapes[0][axis + 1 :]), *data)

    return [restored(y) for y in made] if isinstance(made, list) else restored(made)


def merge_untouched_dims(touched: list[bool]) -> list[list[int]]:
    """Return groups of axes: each touched axis alone, runs of adjacent untouched axes together."""
    runs: list[list[int]] = []
    for axis, is_touched in enumerate(touched):
        if runs and not is_touched and not touched[axis - 1]:
            runs[-1].append(axis)
        else:
            runs.append([axis])
    return runs


def transpose(tfl: Lowering, x: Value, order: list[int]) -> Value:
    """Return x transposed, with dimensions merged that stay neighbors where the kernel takes fewer; where that leaves
    too many, one axis after another goes to its place first."""
    if len(order) <= RANK["TRANSPOSE"]:
        return build_legalized(tfl, "TRANSPOSE", lambda wide: tfl.transpose(wide, order), x)
    placed = 0
    while len(neighboring_axes(order)) > RANK["TRANSPOSE"]:
        moved = order[placed]
        before = [axis for axis in range(len(order)) if axis != moved]
        before.insert(placed, moved)
        x = transpose(tfl, x, before)
        order = [before.index(axis) for axis in order]
        placed += 1
    shape = shape_of(x)
    runs = neighboring_axes(order)
    in_place = sorted(runs)
    merged = reshape(tfl, x, [product(shape[axis] for axis in run) for run in in_place])
    perm = [in_place.index(run) for run in runs]
    y = build_legalized(tfl, "TRANSPOSE", lambda wide: tfl.transpose(wide, perm), merged)
    return reshape(tfl, y, [shape[axis] for axis in order], x)


def neighboring_axes(order: list[int]) -> list[list[int]]:
    """Split an order of axes into the runs that stay neighbors: [2, 0, 1] -> [[2], [0, 1]]."""
    runs: list[list[int]] = []
    for axis in order:
        if runs and runs[-1][-1] == axis - 1:
            runs[-1].append(axis)
        else:
            runs.append([axis])
    return runs
