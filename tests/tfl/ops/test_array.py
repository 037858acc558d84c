"""Results of ops that move elements."""

from __future__ import annotations

from fuseconv.ir.dims import symbol
from fuseconv.ir.graph import Value
from fuseconv.ir.types import FLOAT32, INT32, INT64
from fuseconv.tfl.builder import Builder

N = symbol("n")
X = Value(FLOAT32, (N, 2, 3), "x")


def test_shapes() -> None:
    tfl = Builder([])
    assert tfl.pack(X, X, axis=1).shape == (N, 2, 2, 3)
    assert tfl.concatenation(X, X, axis=0).shape == (2 * N, 2, 3)
    assert tfl.strided_slice(X, [0, 1], [0, 2], [1, 1], begin_mask=1, end_mask=1).shape == (N, 1, 3)
    assert [part.shape for part in tfl.split(tfl.const(2, INT32), X, num_splits=3)] == [(N, 2, 1)] * 3
    assert tfl.pad(X, [[0, 0], [1, 0], [0, 2]]).shape == (N, 3, 5)
    assert tfl.shape_(X, out_type="INT64").dtype is INT64
