"""Results of ops that take and place elements by where they are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from fuseconv.ir.dims import symbol
from fuseconv.ir.graph import Value
from fuseconv.ir.types import FLOAT32, INT32
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.type_inference import ShapeError

N = symbol("n")
X = Value(FLOAT32, (N, 2, 3), "x")
IDS = Value(INT32, (2, 3), "ids")


def test_shapes() -> None:
    tfl = Builder([])
    assert tfl.strided_slice(X, [0, 1], [0, 2], [1, 1], begin_mask=1, end_mask=1).shape == (N, 1, 3)
    assert tfl.slice_(X, [0, 1, 2], [-1, 1, -1]).shape == (N, 1, 1)
    assert tfl.gather(X, [0, 9], axis=1).shape == (N, 2, 3)
    assert tfl.scatter_nd(IDS, Value(FLOAT32, (2, 4)), [5, 6, 7, 4]).shape == (5, 6, 7, 4)
    assert tfl.one_hot(IDS, 4, np.float32(1), np.float32(0), axis=1).shape == (2, 4, 3)


@pytest.mark.parametrize(
    ("build", "why"),
    [
        (lambda tfl: tfl.slice_(X, [0, 0], [1, 1, 1]), "SLICE: dimensions 3 and 2"),
        (lambda tfl: tfl.slice_(X, [0, 0, 0], Value(INT32, (3, 1))), "SLICE: an operand of 2 dimensions"),
        (lambda tfl: tfl.slice_(X, [0, 1, 0], [-1, 2, -1]), "SLICE: an end of 3, and there are 2"),
        (lambda tfl: tfl.slice_(X, [0, 0, -1], [-1, 2, 1]), "SLICE: a begin of -1"),
        (lambda tfl: tfl.slice_(X, [0, 0, 4], [-1, 2, -1]), "SLICE: a dimension of -1 elements"),
        (lambda tfl: tfl.strided_slice(X, [0], [1, 1], [1]), "STRIDED_SLICE: dimensions 1 and 2"),
        (lambda tfl: tfl.strided_slice(X, [0], [1], [0], shrink_axis_mask=1), "STRIDED_SLICE: a stride of 0"),
        (lambda tfl: tfl.strided_slice(X, [9], [0], [-(2**31)]), "STRIDED_SLICE: a stride of -2147483648"),
        (lambda tfl: tfl.gather(np.array([1, 2], np.float32), [0, 2]), "GATHER: element 2 of 2"),
        (lambda tfl: tfl.gather(np.array([1, 2], np.float32), [0, -1]), "GATHER: element -1 of 2"),
        (lambda tfl: tfl.gather(X, IDS, axis=1, batch_dims=2), "GATHER: 2 dimensions of batches before axis 1"),
        (lambda tfl: tfl.gather(X, IDS, axis=0, batch_dims=-3), "GATHER: -3 dimensions of batches"),
        (lambda tfl: tfl.gather(IDS, Value(INT32, (4, 3)), axis=1, batch_dims=1), "GATHER: dimensions 2 and 4"),
        (lambda tfl: tfl.one_hot(IDS, 4, np.float32(1), np.float32(0), axis=-2), "ONE_HOT: an axis of -2"),
        (lambda tfl: tfl.one_hot(IDS, 4, X, X), "ONE_HOT: its operand 2 is to be one element"),
        (lambda tfl: tfl.one_hot(IDS, -4, np.float32(1), np.float32(0)), "ONE_HOT: a dimension of -4 elements"),
        (lambda tfl: tfl.unique(X), "UNIQUE: its operand 0 has 3 dimensions"),
        (lambda tfl: tfl.scatter_nd(Value(INT32, (0, 1)), X, Value(INT32, (1, 3))), "SCATTER_ND: its operand 2 has 2"),
        (lambda tfl: tfl.scatter_nd(Value(INT32, ()), X, [3]), "SCATTER_ND: its operand 0 has 0"),
        (lambda tfl: tfl.scatter_nd(IDS, Value(FLOAT32, (3, 4)), [5, 6, 7, 4]), "SCATTER_ND: dimensions 3 and 2"),
        (lambda tfl: tfl.sparse_to_dense([1], [3], X, np.float32(0)), "SPARSE_TO_DENSE: its operand 2 has 3"),
        (lambda tfl: tfl.sparse_to_dense([1], [3], np.float32(0), IDS), "SPARSE_TO_DENSE: its operand 3 is to be one"),
        (lambda tfl: tfl.sparse_to_dense(IDS, [4, 4], np.float32(0), np.float32(0)), "SPARSE_TO_DENSE: dimensions 2"),
        (lambda tfl: tfl.dynamic_update_slice(X, X, [0, 0]), "DYNAMIC_UPDATE_SLICE: dimensions 3 and 2"),
        (lambda tfl: tfl.dynamic_update_slice(IDS, Value(INT32, (3, 3)), [0, 0]), "DYNAMIC_UPDATE_SLICE: a part of 3"),
    ],
)
def test_operands_that_do_not_fit_together(build: Callable[[Builder], object], why: str) -> None:
    """As LiteRT would say when it loads the file."""
    with pytest.raises(ShapeError, match=f"^{why}"):
        build(Builder([]))
