"""Indices that are put in one row, gathered by, and the result given their shape again -> GATHER by the indices.

So warps and deformable convolutions are written: XNNPACK computes a RESHAPE as a copy of all that was gathered."""

from __future__ import annotations

from typing import Any

from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern import Term, pattern
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder


@pattern
def around(tfl: Any, x: Any, indices: Any) -> Term:
    gather = tfl.GATHER(x, tfl.RESHAPE(indices, ..., name="row", shared=True), name="gather")
    return tfl.RESHAPE(gather, ..., name="last")


def check(m: Match) -> None:
    axis, batch = m.gather.attrs.get("axis", 0), m.gather.attrs.get("batch_dims", 0)
    x, indices, row = m.x.shape, m.indices.shape, m.row.result.shape
    m.require(None not in (x, indices, row) and axis >= 0 and batch >= 0, "a shape is unknown")
    m.require(indices[:batch] == row[:batch], "the first RESHAPE changes dimensions of the batch")
    made = (*x[:axis], *indices[batch:], *x[axis + 1 :])
    m.require(m.last.result.shape == made, "the last RESHAPE makes another shape than the indices have")


def rewrite(tfl: Builder, m: Match) -> Value:
    """RESHAPE(GATHER(x, RESHAPE(i))) -> GATHER(x, i)."""
    return tfl.op("GATHER", (m.x, m.indices), m.gather.attrs)[0]


FUSIONS = [Fusion("gather_by_any_shape", "GATHER", around, rewrite, check)]
