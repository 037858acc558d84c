"""One dimension of SHAPE(TRANSPOSE(x)) -> one dimension of SHAPE(x): no data needs to be moved."""

from __future__ import annotations

from typing import Any

from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern import Constant, Term, pattern
from fuseconv.ir.graph import Value
from fuseconv.ir.slice_spec import Pick, SliceSpec, Take
from fuseconv.tfl.builder import Builder


@pattern
def transposed_size(tfl: Any, x: Any, order: Constant, begin: Constant, end: Constant) -> Term:
    moved = tfl.TRANSPOSE(x, order, shared=True)
    return tfl.STRIDED_SLICE(tfl.SHAPE(moved, name="shape", shared=True), begin, end, 1, name="taken")


def check(m: Match) -> None:
    spec = SliceSpec.of(m.taken)
    entry = spec.entries[0] if spec is not None and len(spec.entries) == 1 else None
    one = isinstance(entry, Take) and entry.begin is not None and entry.begin >= 0 and entry.end == entry.begin + 1
    m.require(one or isinstance(entry, Pick), "more than one size of the shape is read, or none that is known")


def rewrite(tfl: Builder, m: Match) -> Value:
    axis = int(m.order.data[int(m.begin.data[0])])
    shape = tfl.shape(m.x, **m.shape.attrs)
    return tfl.strided_slice(shape, [axis], [axis + 1], [1], **m.taken.attrs)


FUSIONS = [Fusion("transposed_size", "STRIDED_SLICE", transposed_size, rewrite, check)]
