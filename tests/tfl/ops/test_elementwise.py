"""Results of element-wise ops."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fuseconv.ir.dims import symbol
from fuseconv.ir.graph import Value
from fuseconv.ir.types import BOOL, FLOAT32, INT32
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.type_inference import ShapeError

N = symbol("n")
X, Y = Value(FLOAT32, (N, 1, 3), "x"), Value(FLOAT32, (2, 1), "y")


def test_shapes_and_types() -> None:
    tfl = Builder([])
    assert tfl.add(X, Y).shape == (N, 2, 3) and tfl.add(X, Y).dtype is FLOAT32
    assert tfl.less(X, Y).dtype is BOOL and tfl.select_v2(tfl.less(X, Y), X, Y).shape == (N, 2, 3)
    assert tfl.cast(X, out_data_type="INT32").dtype is INT32


@pytest.mark.parametrize("name", ["add", "mul", "squared_difference", "less", "equal"])
def test_operands_are_of_one_type(name: str) -> None:
    tfl = Builder([])
    with pytest.raises(ShapeError, match="its operands are of float32 and int32"):
        getattr(tfl, name)(X, Value(INT32, (2, 1)))


def test_shapes_that_do_not_fit() -> None:
    with pytest.raises(Exception, match=r"\[2, 1, 3\]|\[4\]|do not|broadcast"):
        Builder([]).add(Value(FLOAT32, (2, 3)), Value(FLOAT32, (4,)))


@pytest.mark.parametrize(
    ("build", "why"),
    [
        (lambda tfl: tfl.atan2(X, Y), "ATAN2: "),
        (lambda tfl: tfl.stablehlo_and(Value(INT32, (2, 3)), Value(INT32, (2, 4))), ".*: dimensions 3 and 4"),
        (lambda tfl: tfl.prelu(Value(FLOAT32, (2, 3)), Value(FLOAT32, (2, 1, 3))), "PRELU: "),
        (lambda tfl: tfl.prelu(X, Value(FLOAT32, (2, 3))), "PRELU: dimensions 1 and 2"),
        (lambda tfl: tfl.select(Value(BOOL, (2, 1)), X, X), "SELECT: "),
        (lambda tfl: tfl.select(Value(BOOL, (3,)), Y, Y), "SELECT: dimensions 3 and 2"),
        (lambda tfl: tfl.bucketize(X, boundaries=(0.5, 1.0, 0.5)), "BUCKETIZE: its boundaries do not ascend"),
    ],
)
def test_operands_that_do_not_fit_together(build: Callable[[Builder], object], why: str) -> None:
    """As LiteRT would say when it loads the file."""
    with pytest.raises(ShapeError, match=f"^{why}"):
        build(Builder([]))
