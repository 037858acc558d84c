"""CONCATENATION of convolutions of one slice of the channels each -> one grouped convolution.

ResNeXt and AlexNet are written so where the framework has no groups. Measured on 1 thread, 16 x 16 x 128 with a window
of 3: 32 groups 107 us as slices, convolutions and a concatenation, 60 us as one op; 2 groups take as long.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern import Term, pattern
from fuseconv.fusions.shared_weights import READ_ELSEWHERE, bytes_of
from fuseconv.ir.graph import Op, Value
from fuseconv.ir.slice_spec import SliceSpec
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.linear import Linear, linear


@pattern
def joined(tfl: Any) -> Term:
    return tfl.CONCATENATION(tfl.CONV_2D(..., name="first"), ..., name="join")


def check(m: Match) -> None:
    m.require(
        m.result.rank == 4 and m.join.attrs.get("axis") in (3, -1), "the convolutions are not joined along channels"
    )
    groups = _groups(m)
    first, inputs = groups[0], groups[0].sizes[3]
    same = all(g.op.attrs == first.op.attrs and g.sizes == first.sizes for g in groups)
    m.require(
        same and len(groups) > 1, "the convolutions have different windows, strides, paddings or numbers of channels"
    )
    m.require(all(len(g.op.result.uses) == 1 for g in groups), "another op reads the result of one of the convolutions")
    parts = [_channels(group.data) for group in groups]
    x = parts[0].whole if parts[0] is not None else None
    m.require(x is not None and _size(x) == inputs * len(groups), "the convolutions do not read all channels")
    turns = [_Channels(x, at, at + inputs) for at in range(0, inputs * len(groups), inputs)]  # type: ignore[arg-type]
    m.require(parts == turns, "the convolutions do not read the channels one part after the other")
    if len(groups) * bytes_of(first.weights) > bytes_of(m.result):
        m.require(all(_is_own(m, group, place) for place, group in enumerate(groups)), READ_ELSEWHERE)


def rewrite(tfl: Builder, m: Match) -> Value:
    groups = _groups(m)
    part = _channels(groups[0].data)
    assert part is not None
    weights = np.concatenate([group.array for group in groups])
    biases = [np.zeros(group.outputs, np.float32) if group.bias is None else group.bias for group in groups]
    return tfl.op("CONV_2D", (part.whole, weights, np.concatenate(biases)), groups[0].op.attrs)[0]


def _is_own(m: Match, group: Linear, place: int) -> bool:
    """Return True if others that read a group's weights are the same group of another concatenation."""
    if m.constants is None:
        return True
    for op, _ in m.constants.others(group.weights, group.op):
        readers = [*op.result.uses] if op.results else []
        joins = [join for join in readers if join is not m.join and join.kind == m.join.kind]
        makers = [value.op for join in joins for value in join.operands if value is not None]
        if len(joins) != 1 or len(readers) != 1 or makers[place : place + 1] != [op]:
            return False
    return True


def _groups(m: Match) -> list[Linear]:
    found = [linear(value.op) for value in m.join.operands]
    groups = [group for group in found if group is not None and group.op.type == "CONV_2D"]
    m.require(len(groups) == len(found), "not all of them are convolutions with constants")
    return groups


class _Channels(NamedTuple):
    """Some channels of an image, from `begin` up to `end`."""

    whole: Value
    begin: int
    end: int


def _size(image: Value) -> int | None:
    """Return the number of channels of an image, None if it is not known or no image."""
    size = image.shape[3] if image.shape is not None and len(image.shape) == 4 else None
    return size if isinstance(size, int) else None


def _channels(value: Value) -> _Channels | None:
    """Return which channels a slice or a part of a split has; None of other values."""
    size = _size(value)
    if value.op is None or size is None:
        return None
    if value.op.type == "STRIDED_SLICE":
        return _sliced(value.op, size)
    if value.op.type != "SPLIT":
        return None
    axis, x = value.op.operands
    if x is None or axis is None or axis.data is None or int(axis.data.item()) not in (3, -1):
        return None
    number = value.op.results.index(value)
    return _Channels(x, number * size, (number + 1) * size)


def _sliced(op: Op, size: int) -> _Channels | None:
    x, spec = op.operands[0], SliceSpec.of(op)
    takes = spec.takes() if spec is not None else None
    if x is None or x.shape is None or takes is None or len(takes) < 4 or _size(x) is None:
        return None
    # Of whole dimensions the result has the size; the channels that it has tell where it ends.
    first = takes[3].begin or 0
    if len(x.shape) != 4 or x.shape[:3] != op.result.shape[:3] or not isinstance(first, int):  # type: ignore[index]
        return None
    first += _size(x) if first < 0 else 0  # type: ignore[operator]
    return _Channels(x, first, first + size)


FUSIONS = [Fusion("grouped_conv", "CONV_2D", joined, rewrite, check)]
