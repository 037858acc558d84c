"""One dimension of SHAPE(TRANSPOSE(x)) -> one dimension of SHAPE(x): no data needs to be moved."""

from __future__ import annotations

from typing import Any

from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern import Constant, Term, pattern
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder


@pattern
def transposed_size(tfl: Any, x: Any, order: Constant, begin: Constant, end: Constant) -> Term:
    moved = tfl.TRANSPOSE(x, order, shared=True)
    return tfl.STRIDED_SLICE(tfl.SHAPE(moved, name="shape", shared=True), begin, end, 1, name="taken")


def check(m: Match) -> None:
    m.require(m.taken.attrs.keys() <= {"shrink_axis_mask"}, "it is not one size that is taken")
    shrinks = m.taken.attrs.get("shrink_axis_mask") == 1
    start = int(m.begin.data[0])
    m.require(shrinks or (start >= 0 and int(m.end.data[0]) == start + 1), "it is not one size that is taken")


def rewrite(tfl: Builder, m: Match) -> Value:
    axis = int(m.order.data[int(m.begin.data[0])])
    shape = tfl.shape(m.x, **m.shape.attrs)
    return tfl.strided_slice(shape, [axis], [axis + 1], [1], **m.taken.attrs)


FUSIONS = [Fusion("transposed_size", "STRIDED_SLICE", transposed_size, rewrite, check)]
