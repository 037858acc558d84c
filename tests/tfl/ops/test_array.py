"""Results of ops that move elements."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from fuseconv.ir.dims import symbol
from fuseconv.ir.graph import Value
from fuseconv.ir.types import FLOAT32, INT32, INT64
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.type_inference import ShapeError

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


@pytest.mark.parametrize(
    ("build", "why"),
    [
        (lambda tfl: tfl.reshape(Value(FLOAT32, (2, 3)), [2, 4]), "RESHAPE: dimensions 6 and 8"),
        (lambda tfl: tfl.reshape(Value(FLOAT32, (2, 3)), [4, -1]), "RESHAPE: dimensions 6 and 4"),
        (lambda tfl: tfl.concatenation(X, Value(FLOAT32, (N, 3, 3)), axis=2), "CONCATENATION: dimensions 2 and 3"),
        (lambda tfl: tfl.pack(X, Value(FLOAT32, (N, 2, 4))), "PACK: dimensions 3 and 4"),
        (lambda tfl: tfl.slice_(X, [0, 0], [1, 1, 1]), "SLICE: dimensions 3 and 2"),
        (lambda tfl: tfl.slice_(X, [0, 0, 0], Value(INT32, (3, 1))), "SLICE: an operand of 2 dimensions"),
        (lambda tfl: tfl.scatter_nd(Value(INT32, (0, 1)), X, Value(INT32, (1, 3))), "SCATTER_ND: an operand of 2"),
        (lambda tfl: tfl.scatter_nd(Value(INT32, ()), X, [3]), "SCATTER_ND: it takes no scalars"),
        (lambda tfl: tfl.sparse_to_dense([1], [3], X, Value(FLOAT32, (4, 2))), "SPARSE_TO_DENSE: dimensions 1 and 8"),
        (lambda tfl: tfl.topk_v2(X, np.array(-2, np.int32)), "TOPK_V2: the -2 largest"),
        (lambda tfl: tfl.gather(np.array([1, 2], np.float32), [0, 2]), "GATHER: element 2 of 2"),
        (lambda tfl: tfl.gather(np.array([1, 2], np.float32), [0, -1]), "GATHER: element -1 of 2"),
    ],
)
def test_operands_that_do_not_fit_together(build: Callable[[Builder], object], why: str) -> None:
    """As LiteRT would say when it loads the file."""
    with pytest.raises(ShapeError, match=f"^{why}"):
        build(Builder([]))
    tfl = Builder([])
    assert tfl.reshape(X, [2, 3]).shape == (2, 3)
    assert tfl.gather(X, [0, 9], axis=1).shape == (N, 2, 3)
