"""Results of reductions."""

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
TWO = Value(FLOAT32, (2, 4))
ZERO, ONES = np.float32(0), np.ones(2, np.int64)


def test_shapes_and_types() -> None:
    tfl = Builder([])
    assert tfl.sum(X, [1]).shape == (N, 3) and tfl.mean(X, [-1, 0], keep_dims=True).shape == (1, 2, 1)
    assert tfl.reduce_max(X, [0, 1, 2]).shape == () and tfl.cumsum(X, 1).shape == (N, 2, 3)
    assert tfl.arg_max(X, 1).dtype is INT64 and tfl.arg_max(X, 1, output_type="INT32").dtype is INT32
    assert [part.shape for part in tfl.topk_v2(X, 2)] == [(N, 2, 2)] * 2


@pytest.mark.parametrize(
    ("build", "why"),
    [
        (lambda tfl: tfl.arg_max(X, [0, 1]), "ARG_MAX: its operand 1 is to be one element"),
        (lambda tfl: tfl.cumsum(X, [0, 1]), "CUMSUM: its operand 1 is to be one element"),
        (lambda tfl: tfl.topk_v2(X, np.array(-2, np.int32)), "TOPK_V2: a number of the largest of -2"),
        (lambda tfl: tfl.topk_v2(X, 4), "TOPK_V2: a number of the largest of 4, and there are 3"),
        (lambda tfl: tfl.unsorted_segment_sum(TWO, [0, 1, 2], 3), "UNSORTED_SEGMENT_SUM: dimensions 2 and 3"),
        (lambda tfl: tfl.unsorted_segment_max(TWO, [0, 3], 3), "UNSORTED_SEGMENT_MAX: segment 3 of 3"),
        (lambda tfl: tfl.unsorted_segment_min(TWO, [0, -1], -1), "UNSORTED_SEGMENT_MIN: segment 0 of -1"),
        (lambda tfl: tfl.reduce_window(TWO, ZERO, ONES, ONES * 0, ONES, reduce_function="ADD"), ".* of 0"),
        (lambda tfl: tfl.reduce_window(TWO, ZERO, ONES * 9, ONES, ONES, reduce_function="ADD"), ".*: a dim"),
    ],
)
def test_operands_that_do_not_fit_together(build: Callable[[Builder], object], why: str) -> None:
    """As LiteRT would say when it loads the file."""
    with pytest.raises(ShapeError, match=f"^{why}"):
        build(Builder([]))
