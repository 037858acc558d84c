"""Results of reductions."""

from __future__ import annotations

from fuseconv.ir.dims import symbol
from fuseconv.ir.graph import Value
from fuseconv.ir.types import FLOAT32, INT32, INT64
from fuseconv.tfl.builder import Builder

N = symbol("n")
X = Value(FLOAT32, (N, 2, 3), "x")


def test_shapes_and_types() -> None:
    tfl = Builder([])
    assert tfl.sum(X, [1]).shape == (N, 3) and tfl.mean(X, [-1, 0], keep_dims=True).shape == (1, 2, 1)
    assert tfl.reduce_max(X, [0, 1, 2]).shape == () and tfl.cumsum(X, 1).shape == (N, 2, 3)
    assert tfl.arg_max(X, 1).dtype is INT64 and tfl.arg_max(X, 1, output_type="INT32").dtype is INT32
    assert [part.shape for part in tfl.topk_v2(X, 2)] == [(N, 2, 2)] * 2
