"""Results of element-wise ops."""

from __future__ import annotations

import pytest

from fuseconv.ir.dims import symbol
from fuseconv.ir.graph import Value
from fuseconv.ir.types import BOOL, FLOAT32, INT32
from fuseconv.tfl.builder import Builder

N = symbol("n")
X, Y = Value(FLOAT32, (N, 1, 3), "x"), Value(FLOAT32, (2, 1), "y")


def test_shapes_and_types() -> None:
    tfl = Builder([])
    assert tfl.add(X, Y).shape == (N, 2, 3) and tfl.add(X, Y).dtype is FLOAT32
    assert tfl.less(X, Y).dtype is BOOL and tfl.select_v2(tfl.less(X, Y), X, Y).shape == (N, 2, 3)
    assert tfl.cast(X, out_data_type="INT32").dtype is INT32


def test_shapes_that_do_not_fit() -> None:
    with pytest.raises(Exception, match=r"\[2, 1, 3\]|\[4\]|do not|broadcast"):
        Builder([]).add(Value(FLOAT32, (2, 3)), Value(FLOAT32, (4,)))
