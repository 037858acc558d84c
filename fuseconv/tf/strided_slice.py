"""Decoder of StridedSlice's masks: one entry for each dimension."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fuseconv.ir import dims
from fuseconv.ir.dims import Dim, Sym
from fuseconv.tf.operands import nonnegative


@dataclass(frozen=True)
class Take:
    """The elements begin:end:stride of a dimension; None where a mask says "as far as there are any"."""

    begin: Any
    end: Any
    stride: Any


@dataclass(frozen=True)
class Pick:
    """One element of a dimension, which goes away. TensorFlow wants a positive stride here too."""

    index: Any
    stride: Any


@dataclass(frozen=True)
class Insert:
    """A new dimension of size 1."""


Entry = Take | Pick | Insert
WHOLE = Take(None, None, 1)


def unfold(
    rank: int,
    begin: Sequence[Any],
    end: Sequence[Any],
    strides: Sequence[Any],
    begin_mask: int,
    end_mask: int,
    ellipsis_mask: int,
    new_axis_mask: int,
    shrink_axis_mask: int,
) -> list[Entry] | None:
    """Return the entries of a StridedSlice of a tensor of this rank, in the order of its dimensions.

    The ellipsis (at most one; implied at the end) stands for as many whole dimensions as the others leave. Where masks
    clash, the ellipsis goes before the new axis, and the new axis before the shrunk one. None if the specification
    takes more dimensions than there are.
    """
    count = len(begin)
    ellipses = [i for i in range(count) if ellipsis_mask >> i & 1]
    if len(ellipses) > 1:
        return None
    taken = sum(1 for i in range(count) if i not in ellipses and not new_axis_mask >> i & 1)
    spare = rank - taken
    if spare < 0:
        return None
    entries: list[Entry] = []
    for i in range(count):
        bit = 1 << i
        if ellipsis_mask & bit:
            entries += [WHOLE] * spare
        elif new_axis_mask & bit:
            entries.append(Insert())
        elif shrink_axis_mask & bit:
            entries.append(Pick(begin[i], strides[i]))
        else:
            first = None if begin_mask & bit else begin[i]
            last = None if end_mask & bit else end[i]
            entries.append(Take(first, last, strides[i]))
    if not ellipses:
        entries += [WHOLE] * spare
    return entries


def length(dim: Dim, take: Take) -> Dim:
    """Return how many elements of a dimension of size `dim` are taken; a fresh unknown where that depends on
    clamping."""
    begin, end, stride = take.begin, take.end, take.stride
    if isinstance(stride, Sym):
        return dims.fresh("slice")
    if begin is None and end is None:
        return dims.ceildiv(dim, abs(stride))
    if isinstance(dim, int) and not isinstance(begin, Sym) and not isinstance(end, Sym):
        return len(range(*slice(begin, end, stride).indices(dim)))
    if stride > 0:
        first = 0 if begin is None else begin
        last = dim if end is None else end
        inside = all(nonnegative(d) for d in (first, last, dim - last, last - first))
        if inside:
            return dims.ceildiv(last - first, stride)
    return dims.fresh("slice")
