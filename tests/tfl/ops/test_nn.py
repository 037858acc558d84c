"""Results of layers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fuseconv.ir.dims import symbol
from fuseconv.ir.graph import Value
from fuseconv.ir.types import FLOAT32
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.type_inference import ShapeError

N = symbol("n")


def value(*shape: object) -> Value:
    return Value(FLOAT32, shape)  # type: ignore[arg-type]


def test_shapes() -> None:
    tfl = Builder([])
    assert tfl.fully_connected(value(N, 5), value(3, 5), value(3)).shape == (N, 3)
    assert tfl.fully_connected(value(N, 7, 5), value(3, 5), None, keep_num_dims=True).shape == (N, 7, 3)
    image, window = value(N, 7, 8, 2), {"padding": "SAME", "stride_h": 2, "stride_w": 2}
    assert tfl.conv_2d(image, value(4, 3, 3, 2), value(4), **window).shape == (N, 4, 4, 4)
    assert tfl.max_pool_2d(image, **window, filter_height=2, filter_width=2).shape == (N, 4, 4, 2)
    assert tfl.batch_matmul(value(N, 4, 5), value(5, 3)).shape == (N, 4, 3)


@pytest.mark.parametrize(
    ("build", "why"),
    [
        (lambda tfl: tfl.fully_connected(value(N, 5), value(3, 4), None, keep_num_dims=True), "dimensions 5 and 4"),
        (lambda tfl: tfl.batch_matmul(value(N, 4, 5), value(4, 3)), "dimensions 5 and 4"),
        (lambda tfl: tfl.batch_matmul(value(4, 5), value(5, 3), adj_x=True), "dimensions 4 and 5"),
        (lambda tfl: tfl.conv_2d(value(1, 7, 8, 5), value(4, 3, 3, 2), value(4)), "5 channels are no groups of 2"),
        (lambda tfl: tfl.conv_3d(value(1, 7, 8, 9, 5), value(3, 3, 3, 2, 4)), "5 channels are no groups of 2"),
    ],
)
def test_operands_that_do_not_fit_together(build: Callable[[Builder], object], why: str) -> None:
    """As LiteRT would say when it loads the file."""
    with pytest.raises(ShapeError, match=why):
        build(Builder([]))
